"""The text of a function: its statements, loops, branches, arguments and constants."""
