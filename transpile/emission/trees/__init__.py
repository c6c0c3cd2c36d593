"""Trees of arguments and of results, and their types."""
