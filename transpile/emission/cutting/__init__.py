"""Prelude functions cut to their use: partial evaluation of their syntax trees by what a module's calls give."""

from .cut import Cut
from .docstrings import with_short_docstrings
from .facts import Call
from .independent import cut
from .uses import calls_of, without_arguments

__all__ = ["Call", "Cut", "calls_of", "cut", "with_short_docstrings", "without_arguments"]
