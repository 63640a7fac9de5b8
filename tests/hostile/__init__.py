"""Hostile input over the whole public interface."""
