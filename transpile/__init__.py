"""The compiler from HLO to Python, independent of array libraries."""
