"""The costs of a program on the device of a target, counted on the target's twin."""

from __future__ import annotations

from ...emission import emit
from ...hlo.ir import HloModule
from ...target import Costs, Target
from ..inputs.generate import make_inputs, nest


def device_costs(module: HloModule, target: Target, style: str) -> Costs:
    """Return the costs of a call of ``main`` in a style, with generated arguments that suit the program.

    The target must have a twin. Raises the exceptions of emission, and of ``main`` on the twin.
    """
    assert target.twin is not None, "costs are counted on a twin"
    generated = emit(module, target, format=False, style=style, nested=False)
    shapes = [parameter.shape for parameter in module.entry.parameters]
    return target.twin.costs(generated.load, nest(shapes, make_inputs(module)))
