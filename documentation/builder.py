"""``docs/builder.md``: every operation of the builder, its signature, and the NumPy code that it becomes."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, get_overloads

from ..transpile.emission import emit
from ..transpile.errors import UnsupportedError
from ..transpile.hlo.builder import arrays, communication, contractions, control, core, elementwise, reductions
from ..transpile.hlo.builder.examples import BuilderExample, example, operations

_TITLES: dict[type, str] = {
    core.BuilderCore: "Parameters and constants",
    elementwise.ElementwiseOperations: "Element-wise operations",
    arrays.ArrayOperations: "Making, moving, cutting and joining arrays",
    reductions.ReductionOperations: "Operations with sub-computations, batch normalisation",
    contractions.ContractionOperations: "Products, factorisations and transforms",
    control.ControlOperations: "Tuples, control, random numbers",
    communication.CommunicationOperations: "Replicas, partitions and the host",
}

_INTRODUCTION = """\
`XlaBuilder` builds HLO by hand, with the operations, names and rules of XLA's own builder in Python spelling.

```python
>>> import xla2py
>>> from xla2py.transpile.hlo.builder import F32, make_shape
>>> b = xla2py.XlaBuilder("scaled")
>>> x = b.parameter(0, make_shape(F32, [2, 3]), "x")
>>> scale = b.parameter(1, make_shape(F32, [3]), "scale")
>>> y = b.mul(x, scale, broadcast_dimensions=[1])
>>> total = b.reduce(y, 0.0, lambda a, c: a + c, [1])
>>> module = b.build()
>>> print(xla2py.emit(module, checks=False).source.split("\\n\\n\\n")[-1], end="")
{example}
```

- The last operation is the result, unless you pass another one to `build`.
- An operand may be a constant: a number or a list of numbers, which takes the other operand's type, or an array.
- Python operators build operations: `a + b`, `a @ b`, `a < b`, `~a`, `a[1:3, 0]`. `t[1]` is an element of a tuple;
  tuples can be unpacked.
- A called computation is a Python function of operands, a method such as `b.max`, another builder, or a computation. A
  function that returns a tuple makes a computation that returns one.
- Enumerations and shapes may be written as text: `Padding.SAME` or `"SAME"`.
- Operands of different rank need `broadcast_dimensions`; dimensions of size 1 are broadcast implicitly.
- An invalid call raises `HloVerificationError` immediately; the message names the rule.

## Shapes and layouts

Import everything below from `xla2py.transpile.hlo.builder`, including the element types (`PRED`, `S4` .. `U64`,
`F8E4M3FN`, `BF16`, `F16`, `F32`, `F64`, `C64`, `C128`, ..) and the argument types (`Padding`, `PaddingConfig`,
`DotDimensionNumbers`, `GatherDimensionNumbers`, `ScatterDimensionNumbers`, `ChannelHandle`, `ReplicaGroup`, `FftType`,
`RandomAlgorithm`, `Transpose`). [Layouts](layouts.md) explains tiles, padding and buffers.

| XLA | here |
|---|---|
| `ShapeUtil::MakeShape(F32, {2, 3})` | `make_shape(F32, [2, 3])` |
| `ShapeUtil::MakeShapeWithDenseLayout` | `make_shape(F32, [2, 3], [0, 1])` |
| `ShapeUtil::MakeTupleShape`, `MakeTokenShape` | `TupleShape((shape, ..))`, `TOKEN` |
| `ParseShape`, `ParseLayout` | `parse_shape(text)`, `parse_layout(text)` |
| `ShapeUtil::HumanStringWithLayout`, `LayoutUtil::HumanString` | `str(shape)`, `str(layout)` |
| `ShapeUtil::Equal`, `Compatible` | `a == b` with layouts, `compatible(a, b)` without |
| `ShapeUtil::GetDimension`, `GetDimensionNumber` | `dimension_size(shape, -1)`, `dimension_number(shape, -1)` |
| `ShapeUtil::TrueNumDimensions`, `ElementsIn`, `ByteSizeOf` | `true_rank(shape)`, `shape.size`, `byte_size(shape)` |
| `LayoutUtil::IsMonotonicWithDim0Major`, `..Dim0Minor` | `is_major_to_minor(layout)`, `is_minor_to_major(layout)` |
| `LayoutUtil::MakeDescendingLayout`, `MinorToMajor` | `Layout.default(rank)`, `layout.minor_to_major` |
| `IndexUtil::MultidimensionalIndexToLinearIndex` | `linear_index(shape, index)` |
| `IndexUtil::LinearIndexToMultidimensionalIndex` | `multi_index(shape, place)`; `is_padding(shape, place)` |

```python
>>> from xla2py.transpile.hlo.builder import compatible, dimension_size, linear_index, parse_shape, true_rank
>>> column_major = parse_shape("f32[2,1,3]{0,1,2}")
>>> column_major == make_shape(F32, [2, 1, 3]), compatible(column_major, make_shape(F32, [2, 1, 3]))
(False, True)
>>> true_rank(column_major), dimension_size(column_major, -1), linear_index(column_major, (1, 0, 2))
(2, 3, 5)
```

## Operations

Below, `becomes` builds an operation and prints the body of the emitted NumPy function.
"""


def becomes(code: str, parameters: str, replica_count: int = 1) -> None:
    """Print the body of the NumPy function that an example becomes, or why there is none."""
    print(_emitted(BuilderExample("example", code, parameters, replica_count)))


def page() -> str:
    """The whole document."""
    lines = ["# XlaBuilder", "", "<!-- Written by `python -m xla2py.documentation.write`. -->", ""]
    lines += [_INTRODUCTION.replace("{example}", _scaled())]
    known = set(operations())
    for owner, title in _TITLES.items():
        lines += [f"### {title}", ""]
        for name, method in vars(owner).items():
            if name in known:
                lines += _entry(name, method)
    return "\n".join(lines).rstrip() + "\n"


def _entry(name: str, method: Callable[..., Any]) -> Iterator[str]:
    yield from (f"#### `{name}`", "", "```python")
    yield from (f"{name}{_signature(form)}" for form in get_overloads(method) or [method])
    yield from ("```", "", _plain(inspect.getdoc(method) or ""), "")
    shown = example(name)
    replicas = f", {shown.replica_count}" if shown.replica_count != 1 else ""
    yield from ("```python", f">>> becomes({shown.code!r}, {shown.parameters!r}{replicas})", _emitted(shown), "```", "")


def _signature(method: Callable[..., Any]) -> str:
    """Names and defaults, without ``self`` and types."""
    signature = inspect.signature(method)
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in list(signature.parameters.values())[1:]]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def _plain(docstring: str) -> str:
    """A docstring as Markdown."""
    return re.sub(r":\w+:`[~.\w]*?(\w+)`", r"`\1`", docstring).replace("``", "`")


def _emitted(shown: BuilderExample) -> str:
    try:
        source = emit(shown.build(), annotate="none", checks=False, results="may-alias").source
    except UnsupportedError as error:
        return "\n".join(f"# {diagnostic.message}" for diagnostic in error.diagnostics)
    (function,) = [
        f for f in ast.parse(source).body if isinstance(f, ast.FunctionDef) and f.name in ("main", "replica")
    ]
    body = source.splitlines()[function.body[0].lineno - 1 : function.end_lineno]
    return textwrap.dedent("\n".join(line for line in body if line.strip()))


def _scaled() -> str:
    code = "b.reduce(b.mul(x, scale, [1]), 0.0, lambda a, c: a + c, [1])"
    source = emit(BuilderExample("scaled", code, "x=f32[2,3] scale=f32[3]").build(), checks=False).source
    return source.split("\n\n\n")[-1].rstrip()
