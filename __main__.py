"""``python -m xla2py`` is the command ``xla2py``."""

from .transpile.cli import main

main()
