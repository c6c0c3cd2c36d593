"""Programs that talk to the host: they go up the ladder with its functions handed to ``main``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from xla2py.tests.replicas.programs import SeveralDevices
from xla2py.tests.replicas.test_definitions import HOST

# Several arrays at once, one of a type that CuPy lacks.
TUPLES = """ENTRY main {
  x = f32[4] parameter(0)
  t = token[] after-all()
  fed = ((f8e4m3fn[4], s32[]), token[]) infeed(t), infeed_config="several"
  data = (f8e4m3fn[4], s32[]) get-tuple-element(fed), index=0
  narrow = f8e4m3fn[4] get-tuple-element(data), index=0
  number = s32[] get-tuple-element(data), index=1
  wide = f32[4] convert(narrow)
  sum = f32[4] add(wide, x)
  back = f8e4m3fn[4] convert(sum)
  both = (f8e4m3fn[4], s32[]) tuple(back, number)
  next = token[] get-tuple-element(fed), index=1
  done = token[] outfeed(both, next), outfeed_config="out", outfeed_shape=(f8e4m3fn[4], s32[])
  ROOT r = (f32[4], s32[]) tuple(sum, number)
}
"""

# As often as the data says: a number comes and the sum goes, in this order.
LOOP = """small { s = (f32[], token[]) parameter(0)
  total = f32[] get-tuple-element(s), index=0
  most = f32[] constant(10)
  ROOT p = pred[] compare(total, most), direction=LT }
step { s = (f32[], token[]) parameter(0)
  total = f32[] get-tuple-element(s), index=0
  t = token[] get-tuple-element(s), index=1
  fed = (f32[], token[]) infeed(t)
  number = f32[] get-tuple-element(fed), index=0
  sum = f32[] add(total, number)
  next = token[] get-tuple-element(fed), index=1
  done = token[] outfeed(sum, next), outfeed_shape=f32[]
  ROOT r = (f32[], token[]) tuple(sum, done) }
ENTRY main {
  x = f32[] parameter(0)
  t = token[] after-all()
  s = (f32[], token[]) tuple(x, t)
  w = (f32[], token[]) while(s), condition=small, body=step
  ROOT r = f32[] get-tuple-element(w), index=0
}
"""


@dataclass(frozen=True)
class Hosted:
    """A program, the functions that it takes from the host, and what ``infeed`` gives, by call."""

    several: SeveralDevices
    functions: tuple[str, ...]
    feed: tuple[Any, ...]

    def __str__(self) -> str:
        return str(self.several)


NARROW = np.array([0.5, -2, 448, np.nan], ml_dtypes.float8_e4m3fn)
BOTH = ("infeed", "outfeed")
ALL = (*BOTH, "to_host", "from_host")
THREE = (np.float32([7, 0, -1]),)


def hosted() -> list[Hosted]:
    """All functions of the host, for one replica and for two; several arrays at once; a loop."""
    return [
        Hosted(SeveralDevices("all functions", HOST, 1), ALL, THREE),
        Hosted(SeveralDevices("two replicas", HOST, 2), ALL, THREE),
        Hosted(SeveralDevices("several arrays", TUPLES, 1), BOTH, ((NARROW, np.int32(5)),)),
        Hosted(SeveralDevices("loop", LOOP, 1), BOTH, tuple(np.float32([3, 4, 5, 6, 7, 8]))),
    ]


class Host:
    """The functions of the host, for one replica. It keeps a log of the calls.

    ``give`` makes its arrays those of the library that calls it, ``take`` makes NumPy's of what that sends.
    """

    def __init__(self, feed: Sequence[Any], give: Callable[[Any], Any], take: Callable[[Any], Any]) -> None:
        self.left = list(feed)
        self.give, self.take = give, take
        self.log: list[tuple[Any, ...]] = []
        self.held: Any = None

    def infeed(self, config: str = "") -> Any:
        self.log.append(("infeed", config))
        return self.give(self.left.pop(0))

    def outfeed(self, *data: Any) -> None:
        """Arrays, behind the instruction's configuration if it has one."""
        self.log.append(("outfeed", *(x if isinstance(x, str) else self.take(x) for x in data)))

    def to_host(self, channel: int, data: Any) -> None:
        self.held = self.take(data)
        self.log.append(("to_host", channel, self.held))

    def from_host(self, channel: int) -> Any:
        self.log.append(("from_host", channel))
        return self.give(self.held * channel)


def opcodes() -> list[str]:
    """The operations in these programs, once for each that has them."""
    return [opcode for one in hosted() for opcode in {i.opcode for i in one.several.module().instructions()}]
