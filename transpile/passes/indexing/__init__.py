"""Raising rules for taking and putting elements."""
