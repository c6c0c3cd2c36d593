"""Programs for several devices: the collectives in every spelling of their groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from xla2py.transpile.equivalence.inputs.generate import make_inputs
from xla2py.transpile.hlo.ir import HloModule
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.verifier import verify

REDUCERS = """
add {{ a = {0}[] parameter(0)
  b = {0}[] parameter(1)
  ROOT r = {0}[] add(a, b) }}
greatest {{ a = {0}[] parameter(0)
  b = {0}[] parameter(1)
  ROOT r = {0}[] maximum(a, b) }}
product {{ a = {0}[] parameter(0)
  b = {0}[] parameter(1)
  ROOT r = {0}[] multiply(a, b) }}
"""


@dataclass(frozen=True)
class SeveralDevices:
    """A program: replicas, partitions, and HLO after the module line."""

    name: str
    body: str
    replicas: int = 4
    partitions: int = 1
    given: tuple[list[np.ndarray], ...] = field(default=(), compare=False)  # arguments, if random ones will not do

    @property
    def text(self) -> str:
        return f"HloModule m, replica_count={self.replicas}, num_partitions={self.partitions}\n{self.body}"

    def module(self) -> HloModule:
        module = parse_module(self.text)
        verify(module)
        return module

    def inputs(self) -> list[list[np.ndarray]]:
        """Other arguments for every device."""
        if self.given:
            return list(self.given)
        return [make_inputs(self.module(), seed) for seed in range(self.replicas * self.partitions)]

    def __str__(self) -> str:
        return self.name


def entry(*lines: str, element_type: str = "f32", sizes: str = "4,8") -> str:
    body = "\n  ".join([f"x = {element_type}[{sizes}] parameter(0)", *lines])
    return REDUCERS.format(element_type) + f"ENTRY main {{\n  {body}\n}}\n"


GROUPS = {
    "of two": "replica_groups={{0,1},{2,3}}",
    "out of order": "replica_groups={{3,0},{2,1}}",
    "iota": "replica_groups=[2,2]<=[4]",
    "transposed iota": "replica_groups=[2,2]<=[2,2]T(1,0)",
    "empty": "replica_groups={}",
    "one": "replica_groups={{0,2,1,3}}",
    "alone": "replica_groups={{0},{1},{2},{3}}",
}
# With the groups above, of four ids: how the ids are to be read, and on which devices.
MODES = {
    "replicas": ("", 4, 1),
    "replicas of partitions": ("", 4, 2),
    "replicas and partitions": (", channel_id=1", 4, 2),
    "all devices": (", channel_id=1, use_global_device_ids=true", 2, 2),
}
PARTITION_MODES = {"replicas": ("", 4, 1), "partitions": (", channel_id=1", 2, 4)}


def grouped() -> Iterator[SeveralDevices]:
    """Every collective of groups, with every spelling in one program for each way to read the ids."""
    for mode, (how, replicas, partitions) in MODES.items():
        lines, results = [], []
        for k, (spelling, groups) in enumerate(GROUPS.items()):
            if "use_global" in how and spelling == "empty":
                continue
            size = {"empty": 4, "one": 4, "alone": 1}.get(spelling, 2)
            count = size * (partitions if mode == "replicas and partitions" else 1)
            results += [
                (f"sum{k}", "f32[4,8]"),
                (f"part{k}", f"f32[4,{8 // count}]"),
                (f"all{k}", f"f32[{4 * count},8]"),
            ]
            lines += [
                f"sum{k} = f32[4,8] all-reduce(x), {groups}{how}, to_apply=add",
                f"part{k} = f32[4,{8 // count}] reduce-scatter(x), {groups}{how}, dimensions={{1}}, to_apply=add",
                f"all{k} = f32[{4 * count},8] all-gather(x), {groups}{how}, dimensions={{0}}",
            ]
        yield SeveralDevices(f"among {mode}", entry(*lines, tuple_of(results)), replicas, partitions)
    for mode, (how, replicas, partitions) in PARTITION_MODES.items():
        lines, results = [], []
        for k, (spelling, groups) in enumerate(GROUPS.items()):
            if spelling != "empty":  # XLA wants the groups of the array form
                results.append((f"r{k}", "f32[4,8]"))
                lines.append(f"r{k} = f32[4,8] all-to-all(x), {groups}{how}, dimensions={{1}}")
        yield SeveralDevices(f"all-to-all among {mode}", entry(*lines, tuple_of(results)), replicas, partitions)


def tuple_of(results: list[tuple[str, str]]) -> str:
    """The root: all results together."""
    return f"ROOT t = ({', '.join(shape for _, shape in results)}) tuple({', '.join(name for name, _ in results)})"


def element_types() -> Iterator[SeveralDevices]:
    for element_type in ("s8", "u16", "s32", "u64", "f16", "bf16", "f64", "c64"):
        lines = ["sum = {0}[4,8] all-reduce(x), to_apply=add", "all = {0}[16,8] all-gather(x), dimensions={{0}}"]
        lines += ["part = {0}[1,8] reduce-scatter(x), dimensions={{0}}, to_apply=product"]
        lines += ["next = {0}[4,8] collective-permute(x), source_target_pairs={{{{0,1}},{{1,2}},{{3,3}}}}"]
        lines += ["ROOT r = ({0}[4,8], {0}[16,8], {0}[1,8], {0}[4,8]) tuple(sum, all, part, next)"]
        text = entry(*(line.format(element_type) for line in lines), element_type=element_type)
        yield SeveralDevices(element_type, text)
    lines = ["any = pred[6] all-reduce(x), to_apply=add", "every = pred[6] all-reduce(x), to_apply=product"]
    lines += ["ROOT r = (pred[6], pred[6]) tuple(any, every)"]
    yield SeveralDevices("pred", entry(*lines, element_type="pred", sizes="6"))


LAST = """last { a = f32[] parameter(0)
  b = f32[] parameter(1)
  half = f32[] constant(0.5)
  c = f32[] multiply(b, half)
  ROOT r = f32[] subtract(c, a) }
"""


def reducers() -> Iterator[SeveralDevices]:
    for reducer in ("add", "greatest", "product"):
        line = f"ROOT r = f32[4,8] all-reduce(x), to_apply={reducer}"
        yield SeveralDevices(f"all-reduce by {reducer}", entry(line))
    line = "ROOT r = f32[4,8] all-reduce(x), replica_groups={{0,1,2},{3}}, to_apply=add"
    yield SeveralDevices("all-reduce with unequal groups", entry(line))
    lines = ["y = f32[200,100] broadcast(x), dimensions={1}", "ROOT r = f32[200,100] all-reduce(y), to_apply=add"]
    yield SeveralDevices("all-reduce of more than fits one message", entry(*lines, sizes="100"))
    line = "ROOT r = f32[] all-reduce(x), to_apply=add"
    yield SeveralDevices("all-reduce of a scalar", entry(line, sizes=""))
    lines = ["y = f32[4,8] negate(x)", "z = f32[3] slice(w), slice={[1:4]}"]
    lines = ["w = f32[5] parameter(1)", *lines]
    lines += ["ROOT r = (f32[4,8], f32[3]) all-reduce(y, z), to_apply=add"]
    yield SeveralDevices("all-reduce of a tuple", entry(*lines))
    yield SeveralDevices("nothing at all", entry("ROOT r = f32[0,8] all-reduce(x), to_apply=add", sizes="0,8"))


def others() -> Iterator[SeveralDevices]:
    pairs = "source_target_pairs={{0,1},{1,2},{2,3},{3,0}}"
    yield SeveralDevices("ring", entry(f"ROOT r = f32[4,8] collective-permute(x), {pairs}"))
    line = "ROOT r = f32[4,8] collective-permute(x), source_target_pairs={{0,2},{1,1}}"
    yield SeveralDevices("zeros for who is no target", entry(line))
    line = "ROOT r = f32[4,8] collective-permute(x), source_target_pairs={{0,1},{1,0}}, channel_id=3"
    yield SeveralDevices("permute across partitions", entry(line), 2, 2)
    line = "ROOT r = f32[4,8] collective-permute(x), source_target_pairs={{0,1},{1,0}}"
    yield SeveralDevices("permute across replicas of partitions", entry(line), 2, 2)
    lines = ["a = f32[4,8] negate(x)", "b = f32[4,8] add(x, x)"]
    lines += ["ROOT r = (f32[4,8], f32[4,8]) all-to-all(a, b), replica_groups={{0,1},{3,2}}"]
    yield SeveralDevices("all-to-all of a tuple", entry(*lines))
    line = "started = f32[4,8] all-reduce-start(x), to_apply=add"
    yield SeveralDevices("all-reduce-start", entry(line, "ROOT r = f32[4,8] all-reduce-done(started)"))
    lines = ["started = (f32[4,8], f32[16,8]) all-gather-start(x), dimensions={0}"]
    yield SeveralDevices("all-gather-start", entry(*lines, "ROOT r = f32[16,8] all-gather-done(started)"))
    lines = [f"started = (f32[4,8], f32[4,8]) collective-permute-start(x), {pairs}"]
    done = "ROOT r = f32[4,8] collective-permute-done(started)"
    yield SeveralDevices("collective-permute-start", entry(*lines, done))


CONTROL = """
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
far { s = (f32[], f32[4]) parameter(0)
  d = f32[] get-tuple-element(s), index=0
  t = f32[] constant(0.01)
  ROOT p = pred[] compare(d, t), direction=GT }
step { s = (f32[], f32[4]) parameter(0)
  x = f32[4] get-tuple-element(s), index=1
  near = f32[4] collective-permute(x), source_target_pairs={{0,1},{1,2},{2,3},{3,0}}
  half = f32[] constant(0.5)
  halves = f32[4] broadcast(half), dimensions={}
  both = f32[4] add(x, near)
  y = f32[4] multiply(both, halves)
  e = f32[4] subtract(y, x)
  q = f32[4] multiply(e, e)
  zero = f32[] constant(0)
  n = f32[] reduce(q, zero), dimensions={0}, to_apply=add
  m = f32[] all-reduce(n), to_apply=add
  ROOT t = (f32[], f32[4]) tuple(m, y) }
ENTRY main {
  x = f32[4] parameter(0)
  one = f32[] constant(1)
  s = (f32[], f32[4]) tuple(one, x)
  w = (f32[], f32[4]) while(s), condition=far, body=step
  ROOT r = f32[4] get-tuple-element(w), index=1
}
"""

COUNTED = """
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
few { s = (s32[], f32[4], f32[5,4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT p = pred[] compare(i, n), direction=LT }
step { s = (s32[], f32[4], f32[5,4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4] get-tuple-element(s), index=1
  all = f32[5,4] get-tuple-element(s), index=2
  sum = f32[4] all-reduce(x), to_apply=add, replica_groups={{0,1},{2,3}}
  y = f32[4] sine(sum)
  row = f32[1,4] reshape(y)
  zero = s32[] constant(0)
  next = f32[5,4] dynamic-update-slice(all, row, i, zero)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT t = (s32[], f32[4], f32[5,4]) tuple(j, y, next) }
ENTRY main {
  x = f32[4] parameter(0)
  zero = s32[] constant(0)
  nothing = f32[] constant(0)
  rows = f32[5,4] broadcast(nothing), dimensions={}
  s = (s32[], f32[4], f32[5,4]) tuple(zero, x, rows)
  ROOT w = (s32[], f32[4], f32[5,4]) while(s), condition=few, body=step
}
"""

BRANCHES = """
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
together { a = f32[4] parameter(0)
  ROOT r = f32[4] all-reduce(a), to_apply=add }
around { a = f32[4] parameter(0)
  ROOT r = f32[4] collective-permute(a), source_target_pairs={{0,1},{1,2},{2,3},{3,0}} }
ENTRY main {
  x = f32[4] parameter(0)
  zero = f32[] constant(0)
  n = f32[] reduce(x, zero), dimensions={0}, to_apply=add
  all = f32[] all-reduce(n), to_apply=add
  p = pred[] compare(all, zero), direction=GT
  one = f32[4] conditional(p, x, x), true_computation=together, false_computation=around
  np = pred[] not(p)
  two = f32[4] conditional(np, x, x), true_computation=together, false_computation=around
  ROOT r = (f32[4], f32[4]) tuple(one, two)
}
"""


def control() -> Iterator[SeveralDevices]:
    yield SeveralDevices("a loop whose end is data", CONTROL)
    yield SeveralDevices("a counted loop", COUNTED)
    yield SeveralDevices("branches", BRANCHES)
