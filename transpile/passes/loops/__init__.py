"""Passes over what loops carry, store and recompute."""
