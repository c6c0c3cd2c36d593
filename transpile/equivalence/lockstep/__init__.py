"""The first instruction whose value differs."""
