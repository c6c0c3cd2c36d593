"""Which values are folded into expressions, and the order of the statements."""
