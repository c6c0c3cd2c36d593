"""What stands in for functions of the same names where a program is captured."""
