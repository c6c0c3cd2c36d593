"""What writes a module's kernels; the languages stand with their targets."""
