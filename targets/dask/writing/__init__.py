"""The writer of a plan: ``main``, and the functions that run on blocks."""
