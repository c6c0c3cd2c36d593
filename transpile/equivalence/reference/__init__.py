"""XLA's results, from worker processes."""
