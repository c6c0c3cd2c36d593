"""The NumPy target: everything, on NumPy alone (ml_dtypes where the program has narrow types)."""

from ..base import Target

TARGET = Target(name="numpy", title="NumPy", namespace="np", imports=("import numpy as np",), folder="numpy")
