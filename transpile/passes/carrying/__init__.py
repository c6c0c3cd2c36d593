"""Element types that a target has no dtype for, carried in bytes."""

from .rewriting import carrying

__all__ = ["carrying"]
