"""Raising rules for reductions."""
