"""What XLA gives, from a process of its own."""
