"""Raising rules for gathers and scatters."""
