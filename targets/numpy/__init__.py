"""The NumPy target: everything, on NumPy alone (ml_dtypes where the program has narrow types)."""

from ..base import TEMPLATES, Target

TARGET = Target(
    name="numpy",
    title="NumPy",
    namespace="np",
    imports=("import numpy as np",),
    macros=TEMPLATES / "numpy",
    prelude=TEMPLATES / "numpy" / "prelude",
)
