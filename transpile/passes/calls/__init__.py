"""Calls of functions: inlining, definitions of custom calls, views of arguments."""
