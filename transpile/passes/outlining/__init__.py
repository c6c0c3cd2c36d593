"""Outlining: repeated code becomes functions and loops."""
