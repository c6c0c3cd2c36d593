"""An alias of :mod:`xla2py.transpile.target`, for targets in separate packages."""

from ..transpile.target import *  # noqa: F403
