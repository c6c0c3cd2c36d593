"""Another name of :mod:`xla2py.transpile.target`, for targets that are installed apart."""

from ..transpile.target import *  # noqa: F403
