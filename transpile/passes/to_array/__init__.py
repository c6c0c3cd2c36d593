"""The lowering from the HLO dialect to the array dialect."""

from . import (  # noqa: F401 - they register their rules
    communication,
    contraction,
    control,
    convolution,
    custom_calls,
    dynamic_sizes,
    elementwise,
    gathering,
    indexing,
    linear_algebra,
    loops,
    normalization,
    random,
    reduction,
    scattering,
    simplifications,
    sorting,
    structure,
    transfers,
    windows,
)
from .custom_calls import is_placement, refusal as custom_call_refusal
from .lowering import FLOAT32, LOWERING_CHOICES, RULES, TF32, ModuleLowering, Options

__all__ = [
    "FLOAT32",
    "LOWERING_CHOICES",
    "RULES",
    "TF32",
    "ModuleLowering",
    "Options",
    "custom_call_refusal",
    "is_placement",
]
