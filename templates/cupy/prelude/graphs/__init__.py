"""Functions here replace those of the same names where a program is captured."""
