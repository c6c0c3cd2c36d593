"""Histograms as bar charts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar. ``height`` is from 0 to 1, by the logarithm of ``count``; ``label`` is below it, ``text`` describes it."""

    label: str
    text: str
    count: int
    height: float
    is_outside: bool = False

    @property
    def shown_count(self) -> str:
        """The count in few characters."""
        for size, unit in ((10**9, "G"), (10**6, "M"), (10**4, "k")):
            if self.count >= size:
                return f"{self.count / (1000 if unit == 'k' else size):.3g}{unit}"
        return str(self.count) if self.count else ""


@dataclass(frozen=True, slots=True)
class Chart:
    """The bars of a histogram, under a title."""

    title: str
    bars: tuple[Bar, ...]

    @property
    def text(self) -> str:
        """The chart in words, for screen readers."""
        return f"{self.title}: " + ("; ".join(bar.text for bar in self.bars if bar.count) or "nothing")


def chart(title: str, unit: str, edges: Sequence[float], counts: Sequence[int], odd: int, *, is_bad: bool) -> Chart:
    """Return a chart of differences in ``unit``: ``counts[i]`` are at most ``edges[i]``, the last are beyond all edges.

    ``odd`` counts elements of which only one side is NaN or infinite. If the array ``is_bad``, the bar beyond all edges
    is marked.
    """
    top = math.log1p(max([*counts, odd, 1]))

    def bar(label: str, text: str, count: int, is_outside: bool = False) -> Bar:
        return Bar(label, f"{text}: {count:,}", count, math.log1p(count) / top, is_outside)

    bars = [
        bar(_number(edge) if edge else "0", f"at most {_number(edge)} {unit}".rstrip() if edge else "equal", count)
        for edge, count in zip(edges, counts, strict=False)
    ]
    bars.append(bar("more", f"more than {_number(edges[-1])} {unit}".rstrip(), counts[-1], is_bad))
    if odd:
        bars.append(bar("NaN ∞", "NaN or infinite on one side", odd, True))
    return Chart(title, tuple(bars))


def _number(value: float) -> str:
    """Return an edge in few characters: ``0.5``, ``1e-4``."""
    return f"{value:.0e}".replace("e-0", "e-") if value < 0.01 else f"{value:g}"
