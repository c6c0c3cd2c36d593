"""What the array library does where XLA would do otherwise."""
