"""Patterns, rules and users of nodes: what passes are written with."""
