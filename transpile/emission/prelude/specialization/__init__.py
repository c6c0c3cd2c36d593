"""Prelude functions cut to their use: partial evaluation of their syntax trees by what a module's calls give."""

from .calls import calls_of, without_arguments
from .docstrings import with_short_docstrings
from .independent import cut
from .lattice import Call
from .specialize import Cut

__all__ = ["Call", "Cut", "calls_of", "cut", "with_short_docstrings", "without_arguments"]
