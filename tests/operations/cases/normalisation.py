"""batch-norm-training, -inference and -grad."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from xla2py.tests.operations.case import Case, case, shape_text
from xla2py.tests.operations.values import numbers
from xla2py.transpile.equivalence.verdicts.comparison import Budget


def cases() -> Iterator[Case]:
    for name in ("f32", "f64", "bf16", "f16"):
        for sizes, feature in [((4, 3, 5, 2), 3), ((4, 3, 5, 2), 1), ((6, 3), 1), ((3, 6), 0), ((1, 3), 1)]:
            x, gradient = numbers(name, *sizes), numbers(name, *sizes, seed=1)
            count = sizes[feature]
            scale, offset, mean = (numbers(name, count, seed=k) for k in (2, 3, 4))
            variance = (np.abs(numbers(name, count, seed=5)) + x.dtype.type(0.5)).astype(x.dtype)
            whole, part = shape_text(x), shape_text(scale)
            attributes = f"epsilon=0.001, feature_index={feature}"
            low = name in ("bf16", "f16")
            budget = Budget(terms=x.size, relative=0.05 if low else None, absolute=0.05 if low else None)
            body = f"r = ({whole}, {part}, {part}) batch-norm-training(p0, p1, p2), {attributes}"
            yield case("batch-norm-training", body, x, scale, offset, budget=budget)
            body = f"r = {whole} batch-norm-inference(p0, p1, p2, p3, p4), {attributes}"
            yield case("batch-norm-inference", body, x, scale, offset, mean, variance, budget=budget)
            body = f"r = ({whole}, {part}, {part}) batch-norm-grad(p0, p1, p2, p3, p4), {attributes}"
            yield case("batch-norm-grad", body, x, scale, mean, variance, gradient, budget=budget)
