"""The description of an emitted module: its docstring, and the signature that its arguments are checked against."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from functools import partial

from ...array.program import Program
from ...array.result_trees import placed
from ...hlo.custom_calls import callbacks
from ...hlo.ir import ResultTree
from ...hlo.shapes import ArrayShape, Shape, TupleShape, dimension_texts, leaves
from ..layout import Layout
from ..naming.identifiers import identifier
from ..replicas.collectives import Replicas, called_back
from ..replicas.sharded_arrays import layout_lines
from ..trees.argument_trees import Path, Tree, tree_of
from ..trees.result_groups import display
from ..trees.shared_trees import like_arguments

_QUOTES = '"""' * 2
_NAMELESS = "Lambda"  # the title of a function that JAX found no name for


def type_text(shape: Shape, declared: Shape | None = None) -> str:
    """Return the text of a type: ``float32[4, 8]``; a tuple in parentheses; ``None`` for a token.

    If the ``declared`` element type of the program is another one, which the target carries in this one, both are
    named: ``uint8[4, 8] of float8_e5m2``.
    """
    if isinstance(shape, TupleShape):
        given = declared.elements if isinstance(declared, TupleShape) else (None,) * len(shape.elements)
        return f"({', '.join(map(type_text, shape.elements, given))})"
    if isinstance(shape, ArrayShape):
        text = f"{shape.element_type.dtype}[{', '.join(dimension_texts(shape))}]"
        own = declared.element_type if isinstance(declared, ArrayShape) else shape.element_type
        return text if own is shape.element_type else f"{text} of {own.dtype}"
    return "None"


def signature(program: Program, names: list[str], paths: Sequence[Path | None]) -> Tree:
    """Return the type of each argument by name: a text, or a tree of texts; tokens are left out.

    If some argument is a tree, tuples are trees, too.
    """
    has_trees = any(path is not None for path in paths)
    found = []
    parameters = program.entry.computation.parameters[: len(names)]
    for name, path, parameter in zip(names, paths, parameters, strict=True):
        argument, keys = (name, ()) if path is None else (path.argument_of(name), path.keys)
        for place, shape in leaves(parameter.shape) if has_trees else [((), parameter.shape)]:
            found.append((argument, (*keys, *place), type_text(shape)))
    return tree_of([leaf for leaf in found if leaf[2] != "None"])  # a token


def arrays_by_type(program: Program, names: list[str]) -> dict[tuple[str, tuple[int, ...]], list[str]]:
    """Return the names of the arguments that are arrays, by dtype and shape."""
    found: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for name, parameter in zip(names, program.entry.computation.parameters, strict=False):
        if isinstance(shape := parameter.shape, ArrayShape):
            found.setdefault((str(shape.element_type.dtype), tuple(shape.dimensions)), []).append(name)
    return found


def docstring(
    program: Program,
    names: list[str],
    paths: Sequence[Path | None],
    replicas: Replicas | None,
    tree: ResultTree,
    notes: Iterable[str],
    layout: Layout,
    *,
    is_checked: bool,
) -> str:
    """Return the docstring of a module: title, arguments and results.

    ``notes`` are about the classes of the results. If the arguments are checked, it only lists those of which it says
    more than the check.
    """
    wrapped = partial(_wrapped, width=layout.line_length)
    title = identifier(program.module.name.removeprefix("jit_")).replace("_", " ").strip() or "module"
    title = f"{title[0].upper()}{title[1:]}"
    lines = [f"{title}.", ""]
    if replicas is not None:
        lines += [replicas.summary(), ""]
    shards = program.original.layout
    if shards is not None:
        lines += [*(line for each in layout_lines(shards, names, program.original) for line in wrapped(each)), ""]
    declared = program.original.entry
    pairs = list(zip(program.entry.computation.parameters, declared.parameters, strict=True))[: len(names)]
    groups: list[tuple[list[str], str]] = []
    for name, (parameter, given) in zip(names, pairs, strict=True):
        shape = type_text(parameter.shape, given.shape)
        if is_checked and shape == type_text(parameter.shape):
            continue
        if groups and groups[-1][1] == shape:
            groups[-1][0].append(name)
        else:
            groups.append(([name], shape))
    for group, shape in groups:
        lines += wrapped(f"{', '.join(group)}: {shape}")
    root, given = program.entry.computation.root, declared.root
    each = list(map(type_text, root.element_shapes, given.element_shapes))
    results = ", ".join(each) or "()"
    if tree is not None:
        shown = display(like_arguments(placed(tree, each), signature(program, names, paths)))
        results = shown.replace("\\", r"\\")  # of keys
    one_line = f"Returns {results}." if title == _NAMELESS else f"{title}; returns {results}."
    is_short = len(lines) == 2 and layout.fits(one_line + _QUOTES)
    lines = [one_line, ""] if is_short else [*lines, *wrapped(f"returns: {results}")]
    given_otherwise = program.original.trees.notes if tree is not None and program.original.trees is not None else ()
    for note in (*given_otherwise, *notes):
        lines += wrapped(note)
    called = called_back(program)
    left_out = dict.fromkeys(one.name for one in callbacks(program.module) if one.name not in called)
    if called:
        lines += wrapped(f"calls back: {', '.join(called)}, where it gets there")
    if left_out:
        lines += wrapped(f"left out, as nothing reads what it gives: {', '.join(left_out)}")
    if not lines[-1]:
        lines.pop()
    return lines[0] if len(lines) == 1 else "\n".join(lines) + "\n"


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent="    ", break_long_words=False) or [text]
