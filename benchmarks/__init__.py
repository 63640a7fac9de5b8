"""Timings against peers: each module compares one problem family, as ratios within one run."""
