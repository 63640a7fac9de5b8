"""The colours of all figures."""

__all__ = ["BLUE", "CYCLE", "GREEN", "GREY", "ORANGE", "PURPLE", "RED", "SKY"]

# The Okabe-Ito palette with a red that is red (Paul Tol): distinguishable with every common colour-vision deficiency.
BLUE = "#0072B2"  # the text's blue points u, label +1
RED = "#CC3311"  # the text's red points v, label -1
GREEN = "#009E73"
ORANGE = "#E69F00"
PURPLE = "#CC79A7"
SKY = "#56B4E9"
GREY = "#666666"
CYCLE = [BLUE, RED, GREEN, ORANGE, PURPLE, SKY, GREY]
