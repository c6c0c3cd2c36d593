"""Raising rules for activation functions of neural networks."""
