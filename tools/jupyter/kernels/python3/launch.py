"""Start the ordinary kernel."""

from ipykernel import kernelapp

kernelapp.launch_new_instance()
