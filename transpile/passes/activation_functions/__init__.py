"""Raising rules for the functions of neural networks."""
