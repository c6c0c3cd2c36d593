"""Raising rules for arithmetic."""
