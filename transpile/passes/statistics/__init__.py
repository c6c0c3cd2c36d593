"""Raising rules for counting, ordering and filtering."""
