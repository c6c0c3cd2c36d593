"""Programs that JAX exported for arrays of any sizes: ``jax.export`` with ``symbolic_shape``."""

from __future__ import annotations

from typing import Any

from ..errors import Diagnostic, UsageError
from ..hlo.ir import HloModule
from ..hlo.parser import parse_module
from ..hlo.source import SourceText
from .hlo_proto import read_literal
from .jax import not_lowered, required_jax, with_trees
from .jaxlib_conversion import refined_to_hlo
from .loading import symbols_of
from .token_arguments import without_tokens
from .witnesses import NAME, Assignment, Witnesses, witnesses


def program_of_symbols(exported: Any) -> Witnesses:
    """The program of a ``jax.export.Exported`` at several sizes, of which its symbols are the names.

    Raises ``UsageError``: XP425 for a size such as ``2*B``, which no name stands for, XP722 where JAX refuses sizes.
    """
    symbols = symbols_of(exported)
    for symbol in symbols:
        if not NAME.fullmatch(symbol):
            message = f"an argument has an axis of size {symbol}, which needs a name of its own"
            raise UsageError(Diagnostic("XP425", message))
    return witnesses(symbols, lambda sizes: _program_at(exported, sizes))


def _program_at(exported: Any, sizes: Assignment) -> HloModule:
    jax = required_jax()
    shapes = (tuple(sizes[str(n)] if not isinstance(n, int) else n for n in aval.shape) for aval in exported.in_avals)
    leaves = [jax.ShapeDtypeStruct(shape, aval.dtype) for shape, aval in zip(shapes, exported.in_avals, strict=True)]
    arguments, keywords = jax.tree_util.tree_unflatten(exported.in_tree, leaves)
    name = str(exported.fun_name)
    try:
        lowered = jax.jit(exported.call).lower(*arguments, **keywords)
        converted = refined_to_hlo(lowered.compiler_ir("stablehlo"))
    except Exception as error:  # whatever JAX raises at sizes that the export does not allow
        raise not_lowered(name, error) from error
    literals = {instruction: read_literal(literal) for instruction, literal in converted.literals.items()}
    module = without_tokens(parse_module(SourceText(converted.text, f"<{name}>"), literals))
    return with_trees(module, exported)
