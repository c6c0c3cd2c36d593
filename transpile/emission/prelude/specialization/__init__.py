"""Specialization of prelude functions: partial evaluation of their syntax trees, given the calls of a module."""

from .calls import calls_of, cut_calls
from .docstrings import with_short_docstrings
from .independent import cut
from .lattice import Call
from .specialize import Cut

__all__ = ["Call", "Cut", "calls_of", "cut", "cut_calls", "with_short_docstrings"]
