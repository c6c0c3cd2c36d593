"""Raising rules for random numbers."""
