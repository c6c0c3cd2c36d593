"""The types of numeric options, each with its valid range."""

from __future__ import annotations

import math
from typing import Any

import click


class _FiniteRange(click.FloatRange):
    """A range of floats that excludes NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return number


SEED = click.IntRange(0, 2**64 - 1)
COUNT = click.IntRange(1, 10**9)
RETRIES = click.IntRange(0, 1000)
SECONDS = _FiniteRange(0.001, 10**6)
MEBIBYTES = click.IntRange(16, 2**30)
