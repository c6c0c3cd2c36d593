"""The generated documents of a checkout; ``write.py`` writes them."""
