"""Finds the first instruction whose value differs."""
