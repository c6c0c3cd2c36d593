"""The array library's own semantics, where they differ from XLA's."""
