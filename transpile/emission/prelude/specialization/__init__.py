"""Specialization of prelude functions: partial evaluation of their syntax trees, given the calls of a module."""

from .docstrings import with_short_docstrings
from .lattice import Call, calls_of, cut_calls
from .specialize import Cut, cut

__all__ = ["Call", "Cut", "calls_of", "cut", "cut_calls", "with_short_docstrings"]
