"""Raising rules for making and moving arrays."""
