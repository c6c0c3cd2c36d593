"""Raising rules for matrices."""
