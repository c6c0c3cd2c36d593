"""Raising rules for creating and rearranging arrays."""
