"""From a module to Python text: the public ``emit``."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from keyword import iskeyword
from pathlib import Path
from typing import Any

from ..collection import collection_paused
from ..compilation import READABLE, STYLES, Options, compile, kernels_in, written_as
from ..errors import Diagnostic, UsageError
from ..frontends import load
from ..frontends.witnesses import Witnesses
from ..hlo.custom_calls import known_functions
from ..hlo.device_groups import device_count
from ..hlo.ir import HloModule
from ..hlo.printer import module_sha256
from ..hlo.verifier import verify
from ..settings import SETTINGS
from ..target import Limits, Target, load_target
from .any_size import emit_any_size
from .formatting import formatted
from .functions.constants import TENSORS
from .layout import LINE_LENGTH, Layout
from .module.entry_point import SIZES
from .module.generated import GeneratedModule
from .module.header import body_sha256, with_body_hash
from .module.module_writer import Settings, joined, write_module
from .module.shared_helpers import OWN, helper_names, helpers_file, require_sharing
from .naming.identifiers import identifier
from .trees.argument_trees import captured_objects, leaf_paths
from .trees.likely_trees import with_likely_trees
from .trees.result_trees import has_trees

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
    edges: str = "xla",
    results: str = "own",
    helpers: str = "own",
    classes: str = "own",
    line_length: int = LINE_LENGTH,
    debug: bool = False,
    observe: Callable[[str, str], None] | None = None,
    begin: Callable[[str], None] | None = None,
) -> GeneratedModule:
    """Emit a module for an array library.

    ``source`` is a module, HLO text, bytes or a path; an object of JAX, such as a ``Lowered`` or a function, which is
    traced for the ``examples``; or a program at several sizes (``from_jax`` gives one for ``xla2py.array("B, 64")``),
    which becomes a module for any size. ``annotate`` is ``none``, ``short`` (source lines
    behind statements) or ``full`` (the HLO above them, too); ``checks`` is ``exact``, ``cast`` (arguments of another
    float dtype are cast) or ``none``, as which False counts; ``format=False``
    skips black; ``constants`` are large ones: in an ``.npz`` file (``auto``), a
    ``.safetensors`` file, or ``inline`` in the text; ``nested`` lets ``main`` take the trees that
    the traced function took, ``params["w"]`` where there would be ``params_w``, and, where ``source`` knows it (from
    JAX, not from text), return the tree that it returned: ``return {"w": w}, loss``; it is the default where
    ``source`` knows both. ``name`` is what the
    header calls the source; ``sources`` is a folder whose ``.py`` files, where the module's metadata names them, give
    the variables their names; ``custom_calls`` names a function ``module:function`` for custom-call targets. It gets
    the operands and, by keyword, ``shape`` (sizes; a tuple of them for a tuple) and ``backend_config``, must be pure,
    and is called once per execution. ``memory`` is what a program may use on targets that work in chunks (``"2GiB"``),
    ``chunks`` how large a chunk is there: bytes (``"32MiB"``) or the number of elements along every axis that is cut
    (``"4096"``). ``style`` is ``readable``, or ``fast`` on targets that write kernels of their own (NumPy with Numba,
    CuPy): what joins between two arrays that must be stored becomes one kernel; in ``fused`` however small. Large ones
    run in so many ``threads`` on NumPy (1; ``auto`` leaves the number to Numba); on targets that work in chunks these
    are the threads of the library that ``memory`` is enough for (8). ``allow`` names packages that a module may
    import where they are faster (``scipy`` on NumPy, ``cudnn`` on CuPy), as kernels may. With ``graph`` the module
    offers ``replay``: ``main`` as a CUDA graph (CuPy). With ``precision="tf32"`` float32 is rounded to TF32 before it
    is multiplied, where the program does not ask for more (CuPy). With ``edges="library"``, plain calls of the array
    library are used where these differ from HLO only on singular, non-finite or out-of-range input (docs/edges.md). The
    arrays that ``main`` returns are the caller's ``own``; with ``results="may-alias"`` they may be arguments, or views
    of them or of each other, and those that cannot be written. The functions that a module copies are its ``own``, or
    in a file that those of a package import (``shared``), or of a folder (``beside``). Objects that a ``nested``
    program returns are of small classes of the module's ``own`` with the fields of the traced ones; or of these, which
    the module imports (``import``).
    No line is longer than ``line_length`` columns that black can break; names and strings it cannot.
    ``debug`` verifies the program after each pass, which finds a bug in a pass where it is. ``observe`` is called with
    the name of each pass and the program after it as text, ``begin`` with the name of what is done next.

    Raises HloSyntaxError and HloVerificationError for bad input, UnsupportedError naming every instruction that the
    target cannot express, or a graph cannot hold, or of which no text is right at any size (XP424, XP426), UsageError
    for an unknown target or pass.
    """
    checks = SIZES if checks == SIZES else chosen_word("checks", checks)
    disable_passes = checked_words("disable_passes", disable_passes)
    if isinstance(source, Witnesses):
        nested = nested if nested is not None else _takes_trees(source.modules[0])
        given = {**locals(), "target": _target(target)}
        return emit_any_size(given.pop("source"), emit, given)
    module = source if isinstance(source, HloModule) else load(source, examples=examples)
    if not isinstance(source, HloModule):
        verify(module)
    if sources is not None:
        module = with_sources(module, Path(sources))
    nested = nested if nested is not None else _takes_trees(module)
    module = replace(module, trees=None) if not nested else module if module.trees else with_likely_trees(module)
    chosen = written_as(_target(target), module)
    hooks = checked_hooks(custom_calls or {})
    require_style(style, chosen)
    require_threads(threads, style, chosen)
    require_packages(allow, chosen)
    require_graphs(graph, chosen)
    require_precision(precision, chosen)
    annotate, constants = chosen_word("annotate", annotate), chosen_word("constants", constants)
    edges, helpers = chosen_word("edges", edges), chosen_word("helpers", helpers)
    classes = chosen_word("classes", classes)
    require_line_length(line_length)
    results = chosen_word("results", results)
    require_sharing(helpers, style == READABLE and not graph and device_count(module) == 1)
    limits = Limits(memory, chunks, str(threads)) if chosen.arrange is not None else Limits()
    asked = Options(
        tuple(disable_passes), hooks, limits, style, str(threads), graph, precision, edges, debug, tuple(allow), results
    )
    compiled = compile(module, chosen, asked, observe, begin)
    compiled.require_support(*(captured_objects(module) if graph and nested else ()))
    settings = Settings(
        annotate=annotate,
        checks=checks,
        constants=constants,
        nested=nested,
        classes=classes,
        chains="chains" not in disable_passes,
        releases="releases" not in disable_passes and not module.free_sizes,  # large arrays would have another text
        cutting="cutting" not in disable_passes,
        graph=graph,
        style=style,
        helpers=helpers,
        line_length=line_length,
        source_name=_source_name(source, module, name),
        options=_options(
            hooks,
            limits,
            disable_passes,
            style=style,
            threads=str(threads),
            allow=",".join(allow),
            graph=graph,
            precision=precision,
            annotate=annotate,
            checks="exact" if checks == SIZES else checks,
            edges=edges,
            results=results,
            helpers=helpers,
            classes=classes,
            format=format,
            constants=constants,
            nested=nested,
            line_length=line_length,
        ),
        source_sha256=module_sha256(module, with_result_tree=nested),
    )
    begin = begin or (lambda name: None)
    begin("writing")
    written = write_module(compiled.program, compiled.target, settings)
    begin("formatting")
    layout = Layout(line_length)
    text = joined([formatted(piece, layout) for piece in written.pieces] if format else written.pieces)
    text, title = with_body_hash(text), identifier(module.name) or "module"
    names = helper_names(text, chosen.name) if helpers != OWN else ()
    handed = known_functions(module) if device_count(module) == 1 else {}
    return GeneratedModule(
        text,
        title,
        chosen.name,
        written.constants,
        written.functions,
        compiled.program,
        callbacks=handed,
        helpers=helpers_file(names, chosen.name, line_length) if names else "",
        line_length=line_length,
        shapes=written.shapes,
        plan=compiled.plan,
        has_tensors=constants == TENSORS,
    )


def _takes_trees(module: HloModule) -> bool:
    """Tell whether ``main`` takes or returns trees where nobody says so."""
    return device_count(module) == 1 and has_trees(module, leaf_paths(module))


def _options(hooks: Mapping[str, str], limits: Limits, disabled: Sequence[str], **chosen: str | bool | int) -> str:
    """Return what the command line adds to emit this module again; a folder of sources has no name that fits
    everywhere.
    """
    named = {name.replace("_", "-"): value for name, value in chosen.items()}
    given = [_option(name, value) for name, value in named.items() if value not in (SETTINGS[name].default, "")]
    given += [f"--{name} {''.join(size.split())}" for name, size in limits.given()]
    given += [f"--disable-pass {','.join(disabled)}"] if disabled else []
    given += [f"--custom-call {target}={hook}" for target, hook in hooks.items() if target.replace("_", "").isalnum()]
    return "".join(f" {option}" for option in given)


def _option(name: str, value: str | bool | int) -> str:
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    return f"--no-{name}" if SETTINGS[name].flags and value == "none" else f"--{name} {value}"


def with_sources(module: HloModule, folder: Path) -> HloModule:
    """The module with the Python files that its metadata names and that lie below a folder."""
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
    """Custom-call hooks, each of the form ``package.module:function``: only identifiers become code."""
    for target, hook in hooks.items():
        module, _, function = hook.partition(":")
        if not all(part.isidentifier() and not iskeyword(part) for part in (function, *module.split("."))):
            message = f"the hook {hook!r} for the custom call {target!r} is not of the form module:function"
            raise UsageError(Diagnostic("XP413", message))
    return dict(hooks)


def require_style(style: str, target: Target) -> None:
    """Raise UsageError for a style that there is not, or not on this target (XP414), or that needs packages which are
    not installed (XP417)."""
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


def require_threads(threads: str | int, style: str, target: Target) -> None:
    """Raise UsageError (XP418) for what is no number of threads, and where nothing runs in threads: neither kernels nor
    tasks that work in chunks."""
    words = str(threads)
    if words in ("", "1"):
        return
    if not _THREADS.fullmatch(words):
        raise UsageError(Diagnostic("XP418", f"threads: '{words}' is no number of threads", hint="1, 2, .. or auto"))
    if target.arrange is not None:
        if words == "auto":
            message = f"memory for {target.title} is planned for a number of threads, which must be known"
            raise UsageError(Diagnostic("XP418", message, hint="as many as tasks will run in, such as 16"))
        return
    kernels = kernels_in(style, target)
    if kernels is None or kernels.parallel_from is None:
        message = f"modules for {target.title} in the style '{style}' have no threads of their own"
        raise UsageError(Diagnostic("XP418", message, hint="leave --threads out, or add: -t numpy --style fast"))


def require_packages(allow: Sequence[str], target: Target) -> None:
    """Raise UsageError (XP416) for a package that modules for a target have no use for."""
    for name in checked_words("allow", allow):
        if name not in target.packages:
            known = f"one of: {', '.join(target.packages)}" if target.packages else "leave --allow out"
            message = f"allow: modules for {target.title} have no use for '{name}'"
            raise UsageError(Diagnostic("XP416", message, hint=known))


def chosen_word(name: str, value: bool | str) -> str:
    """The word that a value of a setting with choices stands for. Raises UsageError (XP416) where it is none."""
    setting = SETTINGS[name]
    problem = setting.problem(value)
    if problem is not None:
        raise UsageError(Diagnostic("XP416", f"{name}: {problem}", hint=f"one of: {', '.join(setting.choices)}"))
    return str(setting.read(value, Path()))


def require_line_length(line_length: int) -> None:
    """Raise UsageError (XP416) for a length that lines cannot have."""
    problem = SETTINGS["line-length"].problem(line_length)
    if problem is not None:
        raise UsageError(Diagnostic("XP416", f"line_length: {problem}, not {line_length!r}"))


def checked_words(name: str, value: object) -> tuple[str, ...]:
    """The words of an option that takes several. Raises UsageError (XP416) where it is no sequence of words."""
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(word, str) for word in value):
        hint = f"{name}=({value!r},)" if isinstance(value, str) else f'{name}=("..",)'
        raise UsageError(Diagnostic("XP416", f"{name}: expected several words, not {value!r}", hint=hint))
    return tuple(value)


def require_graphs(graph: bool, target: Target) -> None:
    """Raise UsageError (XP415) for a graph on a target that has none."""
    if graph and target.graphs is None:
        raise UsageError(Diagnostic("XP415", f"{target.title} has no graphs", hint="leave --graph out"))


def require_precision(precision: str, target: Target) -> None:
    """Raise UsageError (XP416) for a precision of products that there is not, or not on this target."""
    word = chosen_word("precision", precision)
    if word not in target.precisions:
        message = f"precision: modules for {target.title} have no '{word}'"
        raise UsageError(Diagnostic("XP416", message, hint="leave --precision out"))


def _target(target: str | Target) -> Target:
    return target if isinstance(target, Target) else load_target(target)


def _source_name(source: object, module: HloModule, name: str | None) -> str:
    """Return what the header calls the source: one line of plain characters, whatever the file was called."""
    if name is None and isinstance(source, os.PathLike):
        name = Path(source).name
    chosen = name if name is not None else f"{module.name}.hlo"
    return "".join(c if c.isalnum() or c in "._-/+ :()[]," else "_" for c in chosen)[:200]
