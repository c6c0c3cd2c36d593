"""A wheel works where nothing else is installed: ``python installed.py PROGRAM.hlo`` in such an environment."""

import subprocess
import sys
from pathlib import Path

import xla2py


def command(*words: str) -> str:
    """What the installed command prints."""
    run = [str(Path(sys.executable).with_name("xla2py")), *words]
    return subprocess.run(run, check=True, capture_output=True, text=True).stdout


def main(program: str) -> None:
    """Emit a program by the command and in Python, and run it."""
    generated = xla2py.emit(Path(program))
    assert generated.source == command("emit", program), "the command and the function differ"
    assert callable(generated.load().main)
    print(command("run", program), end="")


if __name__ == "__main__":
    main(sys.argv[1])
