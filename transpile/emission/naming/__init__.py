"""Names of values, arguments and functions."""
