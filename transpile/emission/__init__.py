"""The public ``emit``: from a module to Python text."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from keyword import iskeyword
from pathlib import Path
from typing import Any

from ..collection import collection_paused
from ..compilation import compile, kernels_in, written_as
from ..errors import Diagnostic, UsageError
from ..frontends import load
from ..frontends.witnesses import Witnesses, or_at_sizes
from ..hlo.custom_calls import known_functions
from ..hlo.device_groups import device_count
from ..hlo.ir import HloModule
from ..hlo.printer import module_sha256
from ..hlo.verifier import verify
from ..options import LINE_LENGTH, READABLE, SETTINGS, SIZES, STYLES, Options, checked_words, chosen_word
from ..target import Target, load_target
from .formatting import formatted
from .functions.constants import LARGEST_UNSTORED, TENSORS
from .layout import Layout
from .module.generated import GeneratedModule
from .module.header import Origin, body_sha256, with_body_hash
from .module.module_writer import write_module
from .module.shared_helpers import SHARED, helper_files, joined
from .naming.identifiers import identifier
from .replicas.collectives import called_back
from .stored_trees import with_stored_trees
from .trees.argument_trees import captured_objects, leaf_paths
from .trees.likely_trees import with_likely_trees
from .trees.result_groups import has_trees
from .weights import warn_of_nonfinite, with_weights

_THREADS = re.compile("[1-9][0-9]{0,3}|auto")

__all__ = ["GeneratedModule", "body_sha256", "emit"]


@collection_paused()
def emit(
    source: Any,
    target: str | Target = "numpy",
    *,
    examples: Sequence[Any] = (),
    annotate: str = "short",
    checks: bool | str = "exact",
    format: bool = True,
    constants: str = "auto",
    nested: bool | None = None,
    disable_passes: Sequence[str] = (),
    name: str | None = None,
    sources: str | os.PathLike[str] | None = None,
    custom_calls: Mapping[str, str] | None = None,
    memory: str = "",
    chunks: str = "",
    style: str = "readable",
    threads: str | int = "",
    allow: Sequence[str] = (),
    graph: bool = False,
    precision: str = "float32",
    edge_cases: str = "xla",
    results: str = "own",
    helpers: str = "auto",
    classes: str = "own",
    weights: str | os.PathLike[str] = "",
    line_length: int = LINE_LENGTH,
    debug: bool = False,
    edges: str = "",
    observe: Callable[[str, str], None] | None = None,
    begin: Callable[[str], None] | None = None,
) -> GeneratedModule:
    """Emit a module for an array library.

    ``source`` is an ``HloModule``, HLO text, bytes or a path; a JAX object such as a ``Lowered``; a JAX function, which
    is traced for the ``examples``; or a program at several sizes (the result of ``from_jax`` for ``xla2py.array("B,
    64")``), which becomes a module for any size. The options are those of the command (docs/command.md):

    - ``annotate``: ``none``, ``short`` (source lines after statements) or ``full`` (also the HLO above them).
    - ``checks``: ``exact``, ``cast`` (arguments with another float dtype are cast), or ``none`` or False.
    - ``format``: False skips black. ``line_length``: the maximum line length, except for long names and strings.
    - ``constants``: save large constants in an ``.npz`` or a ``.safetensors`` file, or write them into the text
      (``inline``). With ``auto``, weights that the traced function closes over are in a ``.safetensors`` file.
    - ``nested``: ``main`` takes and returns the trees of the traced function, ``params["w"]`` instead of ``params_w``.
      This is the default if ``source`` knows both trees (JAX does, text does not).
    - ``classes``: return objects as small classes of the module (``own``), or as the traced classes (``import``).
    - ``name``: the name of the source in the header.
    - ``sources``: a folder of the ``.py`` files that metadata refers to; variables are named after theirs.
    - ``custom_calls``: a function ``module:function`` for each custom-call target. It gets the operands and, by
      keyword, ``shape`` (sizes; a tuple of sizes for a tuple) and ``backend_config``. It must be pure, and is called
      once per execution.
    - ``memory``, ``chunks``: for targets that work in chunks, the memory that a program may use (``"2GiB"``), and the
      size of a chunk in bytes (``"32MiB"``) or in elements along every axis that can be cut (``"4096"``).
    - ``style``: ``readable``, or ``fast``, which fuses the operations between two stored arrays into one compiled
      kernel (NumPy and Dask with Numba, CuPy).
    - ``threads``: on NumPy, the number of threads of large kernels (1; ``auto`` leaves it to Numba). On targets that
      work in chunks, the number of threads that ``memory`` is planned for (8).
    - ``allow``: packages that a module may import for speed, ``scipy`` on NumPy, ``cudnn`` on CuPy.
    - ``graph``: add a function ``replay``, which runs ``main`` as a CUDA graph (CuPy).
    - ``precision``: ``tf32`` rounds float32 to TF32 before multiplying, unless the program asks for more (CuPy).
    - ``edge_cases``: ``library`` makes the library's plain calls if they differ from HLO only on singular, non-finite
      or out-of-range input (docs/edges.md). ``edges`` is the former name.
    - ``results``: ``own`` returns arrays that the caller owns; with ``may-alias`` they may be arguments, views of
      arguments or of each other, or read-only.
    - ``helpers``: copy helper functions into the module (``own``), or import them from a file of the folder
      (``shared``), which has a ``.safetensors`` file beside it for the constants of all modules. With ``auto``, the
      command writes such a file only for several replicas.
    - ``weights``: a checkpoint, ``.npz``, ``.safetensors`` or a folder of orbax. Its arrays become constants in place
      of the arguments that have their names: ``params.layers.0.w``, with or without ``params``.
    - ``disable_passes``: rewrites to turn off. ``debug`` verifies the program after each pass, and the module.
    - ``observe`` is called with the name of each pass and the text of the program after it, and with ``names`` and an
      explanation of the names of values; ``begin`` with the name of the next step.

    Raises HloSyntaxError and HloVerificationError for bad input; UnsupportedError, listing every instruction that the
    target or a graph cannot express, or if no single text works for all sizes (XP424, XP426); UsageError for an unknown
    target, pass or option value.
    """
    checks = SIZES if checks == SIZES else chosen_word("checks", checks)
    disable_passes = checked_words("disable_passes", disable_passes)
    if edges:
        warnings.warn("edges is called edge_cases now", DeprecationWarning, stacklevel=3)
        edge_cases, edges = edges, ""
    is_read = isinstance(source, HloModule | Witnesses)
    module = source if is_read else or_at_sizes(partial(load, source, examples=examples))
    if weights:
        module = with_weights(module, weights)
    if isinstance(module, Witnesses):
        nested = nested if nested is not None else _takes_trees(module.modules[0])
        given = {key: value for key, value in locals().items() if key not in ("source", "module", "is_read", "weights")}
        from .any_size import emit_any_size  # few programs have open sizes

        return emit_any_size(module, emit, {**given, "target": _target(target)})
    if not is_read:
        verify(module)
    warn_of_nonfinite(module)
    if sources is not None:
        module = with_sources(module, Path(sources))
    nested = nested if nested is not None else _takes_trees(module)
    module = replace(module, trees=None) if not nested else module if module.trees else with_likely_trees(module)
    chosen = written_as(_target(target), module)
    options = Options(
        annotate=chosen_word("annotate", annotate),
        checks=checks,
        format=format,
        constants=chosen_word("constants", constants),
        nested=nested,
        disable_passes=tuple(disable_passes),
        custom_calls=checked_hooks(custom_calls or {}),
        memory="".join(memory.split()),
        chunks="".join(chunks.split()),
        style=style,
        threads=str(threads),
        allow=checked_words("allow", allow),
        graph=graph,
        precision=chosen_word("precision", precision),
        edge_cases=chosen_word("edge_cases", edge_cases),
        results=chosen_word("results", results),
        helpers=chosen_word("helpers", helpers),
        classes=chosen_word("classes", classes),
        weights=os.fspath(weights),
        line_length=line_length,
        debug=debug,
    )
    _require(options, chosen)
    if chosen.arrange is None:
        options = replace(options, memory="", chunks="")  # no array is cut
    origin = Origin(_source_name(source, module, name), module_sha256(module, with_result_tree=nested))
    if constants in LARGEST_UNSTORED and chosen.arrange is None and device_count(module) == 1:
        module = with_stored_trees(module, chosen.lacks, LARGEST_UNSTORED[constants])
    compiled = compile(module, chosen, options, observe, begin)
    compiled.require_support(*(captured_objects(module) if graph and nested else ()))
    begin = begin or (lambda name: None)
    begin("writing")
    written = write_module(compiled.program, compiled.target, options, origin, observe)
    begin("formatting")
    layout = Layout(line_length)
    text = joined([formatted(piece, layout) for piece in written.pieces] if format else written.pieces)
    if debug and not module.free_sizes:  # the text for any sizes is verified when it is whole
        from ..python.verifier import require_sound

        require_sound(text, [function.name for function in written.functions])
    text, title = with_body_hash(text), identifier(module.name) or "module"
    known, called = known_functions(module) if device_count(module) == 1 else {}, called_back(compiled.program)
    return GeneratedModule(
        text,
        title,
        chosen.name,
        written.constants,
        written.functions,
        compiled.program,
        callbacks={name: known[name] for name in called if name in known},
        helpers=helper_files(text, chosen.name, line_length) if options.helpers == SHARED else {},
        line_length=line_length,
        shapes=written.shapes,
        plan=compiled.plan,
        has_tensors=constants == TENSORS or bool(module.stored),
        result_tree=written.result_tree,
    )


def _takes_trees(module: HloModule) -> bool:
    """Return whether ``main`` takes or returns trees by default."""
    return device_count(module) == 1 and has_trees(module, leaf_paths(module))


def _require(options: Options, target: Target) -> None:
    """Raise UsageError for options that the target does not support (XP414 to XP418)."""
    require_style(options.style, target)
    require_threads(options.threads, options.style, target)
    require_packages(options.allow, target)
    require_graphs(options.graph, target)
    require_precision(options.precision, target)
    require_line_length(options.line_length)


def with_sources(module: HloModule, folder: Path) -> HloModule:
    """Return the module with the texts of the Python files below ``folder`` that its metadata names."""
    root = folder.resolve()
    names = {frame.file_name for frame in module.stack_frames}
    names |= {i.metadata.source_file for i in module.instructions() if i.metadata is not None}
    texts = dict(module.sources)
    for name in sorted(names):
        path = (root / name).resolve()
        if path.suffix == ".py" and path.is_relative_to(root) and path.is_file():
            texts[name] = path.read_text(encoding="utf-8", errors="replace")
    return replace(module, sources=texts)


def checked_hooks(hooks: Mapping[str, str]) -> dict[str, str]:
    """Return custom-call hooks as a dict.

    Raises UsageError (XP413) for a hook that is not of the form ``package.module:function``: only identifiers become
    code.
    """
    for target, hook in hooks.items():
        module, _, function = hook.partition(":")
        if not all(part.isidentifier() and not iskeyword(part) for part in (function, *module.split("."))):
            message = f"the hook {hook!r} for the custom call {target!r} is not of the form module:function"
            raise UsageError(Diagnostic("XP413", message))
    return dict(hooks)


def require_style(style: str, target: Target) -> None:
    """Raise UsageError for an unknown style or one that the target lacks (XP414), or if packages that the style needs
    are not installed (XP417).
    """
    if style not in STYLES:
        raise UsageError(
            Diagnostic("XP414", f"there is no style '{style}'", hint=f"the styles are: {', '.join(STYLES)}")
        )
    if style != READABLE and target.kernels is None:
        raise UsageError(Diagnostic("XP414", f"{target.title} has no style '{style}'", hint="leave --style out"))
    missing = target.kernels.missing() if style != READABLE and target.kernels is not None else ()
    if missing and target.kernels is not None:
        message = f"the style '{style}' for {target.title} needs {' and '.join(missing)}"
        hint = f"pip install 'xla2py[{target.kernels.extra}]'"
        raise UsageError(Diagnostic("XP417", message, hint=hint))


def require_threads(threads: str, style: str, target: Target) -> None:
    """Raise UsageError (XP418) if ``threads`` is not a number of threads, or if modules of this target and style run
    neither kernels nor tasks in threads.
    """
    if threads in ("", "1"):
        return
    if not _THREADS.fullmatch(threads):
        message = f"threads: '{threads}' is not a number of threads"
        raise UsageError(Diagnostic("XP418", message, hint="1, 2, .. or auto"))
    if target.arrange is not None:
        if threads == "auto":
            message = f"memory for {target.title} is planned for a number of threads, which must be known"
            raise UsageError(Diagnostic("XP418", message, hint="as many as tasks will run in, such as 16"))
        return
    kernels = kernels_in(style, target)
    if kernels is None or kernels.parallel_from is None:
        message = f"modules for {target.title} in the style '{style}' have no threads of their own"
        raise UsageError(Diagnostic("XP418", message, hint="leave --threads out, or add: -t numpy --style fast"))


def require_packages(allow: Sequence[str], target: Target) -> None:
    """Raise UsageError (XP416) for a package that modules for the target cannot use."""
    for name in allow:
        if name not in target.packages:
            known = f"one of: {', '.join(target.packages)}" if target.packages else "leave --allow out"
            message = f"allow: modules for {target.title} have no use for '{name}'"
            raise UsageError(Diagnostic("XP416", message, hint=known))


def require_line_length(line_length: int) -> None:
    """Raise UsageError (XP416) for a line length outside the allowed range."""
    problem = SETTINGS["line-length"].problem(line_length)
    if problem is not None:
        raise UsageError(Diagnostic("XP416", f"line_length: {problem}, not {line_length!r}"))


def require_graphs(graph: bool, target: Target) -> None:
    """Raise UsageError (XP415) if a graph is wanted and the target has none."""
    if graph and target.graphs is None:
        raise UsageError(Diagnostic("XP415", f"{target.title} has no graphs", hint="leave --graph out"))


def require_precision(precision: str, target: Target) -> None:
    """Raise UsageError (XP416) for a precision of products that the target does not have."""
    if precision not in target.precisions:
        message = f"precision: modules for {target.title} have no '{precision}'"
        raise UsageError(Diagnostic("XP416", message, hint="leave --precision out"))


def _target(target: str | Target) -> Target:
    return target if isinstance(target, Target) else load_target(target)


def _source_name(source: object, module: HloModule, name: str | None) -> str:
    """Return the source's name for the header: one line of plain characters, whatever the name of the file."""
    if name is None and isinstance(source, os.PathLike):
        name = Path(source).name
    chosen = name if name is not None else f"{module.name}.hlo"
    return "".join(c if c.isalnum() or c in "._-/+ :()[]," else "_" for c in chosen)[:200]
