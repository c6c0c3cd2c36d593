"""The smallest program that still shows a fault."""
