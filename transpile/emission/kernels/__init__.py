"""The writer of a module's kernels; the languages are part of the targets."""
