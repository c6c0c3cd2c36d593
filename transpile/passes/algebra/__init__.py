"""Raising rules for arithmetic on numbers."""
