"""Functions that emitted modules for the array API carry with them."""
