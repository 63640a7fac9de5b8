"""Scripts that keep the repository in shape; `make help` lists what calls them."""
