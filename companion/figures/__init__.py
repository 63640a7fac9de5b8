"""What the pages draw and move: the figure style, pictures as bytes, panels, sliders."""
