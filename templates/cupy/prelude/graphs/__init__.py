"""Functions that replace those of the same names when a program is captured."""
