"""Repeated code as functions and loops."""
