"""The functions that are copied into modules."""
