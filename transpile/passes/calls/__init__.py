"""Calls of functions: inlining, interfaces, definitions of custom calls, views of arguments."""
