"""Functions that are copied into emitted modules for the array API."""
