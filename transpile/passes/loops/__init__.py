"""What loops carry, store and compute again."""
