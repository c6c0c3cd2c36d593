"""Large constants, kept beside an emitted module."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np


@cache
def constants() -> Mapping[str, Any]:
    """The large constants of this module, from the .npz file of its name."""
    stored: Mapping[str, Any] = np.load(Path(__file__).with_suffix(".npz"), allow_pickle=False)
    return stored
