"""The program, as it is emitted, its arguments, and an oracle."""

from pathlib import Path

import numpy as np

import xla2py

xla2py.emit(xla2py.load("model.hlo")).save("model.py")
np.savez("failing.npz", np.ones((8, 512), np.float32))
oracle = Path("still_fails.sh")
oracle.write_text('#!/bin/sh\ngrep -q exponential "$1"\n')
oracle.chmod(0o755)
