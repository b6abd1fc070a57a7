"""Optimisation passes, one file each; pipeline.py is their order."""
