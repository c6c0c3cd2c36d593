"""Raising rules for folding axes."""
