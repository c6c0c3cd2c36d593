"""Finds the smallest program that still shows a fault."""
