"""The plan of a program in chunks: chunk sizes, strategies and phases."""
