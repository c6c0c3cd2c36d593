"""``xla2py run FILE``."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from ..errors import Diagnostic, UsageError
from ..hlo.carriers import as_declared
from ..hlo.device_groups import device_count
from ..hlo.shapes import Shape
from ..options import SETTINGS
from ..settings import load_settings
from ..target import Target, adopted, load_target, require_targets
from .emit import generate
from .modules import read_at_one_size, shown_name
from .options import Command, arguments_options, choose, function_option, one_size_option, setting_options
from .terminal import note, working, write_table

if TYPE_CHECKING:
    from ..emission import GeneratedModule

CALL_BACK = "call_back"  # the prelude function that calls a callback


@click.command(cls=Command)
@click.argument("source", metavar="FILE")
@setting_options(*SETTINGS)
@function_option
@one_size_option
@arguments_options
@click.option("-o", "--output", metavar="OUT.npz", help="Write the results to a file.")
def command(
    source: str,
    function: str | None,
    sizes: tuple[str, ...],
    arguments: str | None,
    seed: int,
    output: str | None,
    **given: Any,
) -> None:
    """Emit a program, run it, and show the shapes, dtypes and statistics of its results.

    Without --args, xla2py uses the arguments of an HloSnapshot, or generates some that suit the program: indices in
    range, matrices that can be factored. The replicas of a program run as threads: replica k gets arguments generated
    from the seed plus k, and its results are named result.k.
    """
    from ..equivalence.inputs.generate import describe, make_inputs, nest
    from .arrays import arguments_for, parameter_leaves, write_results

    options = choose(given, load_settings(Path.cwd()))
    targets = require_targets(options.pop("target"))
    if len(targets) > 1 and given["target"] is not None:
        raise UsageError(Diagnostic("XP402", "run takes one target"))
    target = targets[0]
    module = read_at_one_size(source, function, sizes)
    emitted = _loaded(generate(module, target, shown_name(source), {**options, "nested": False}))
    devices = device_count(module)
    body = emitted.main if devices == 1 else partial(emitted.replica, None)
    parameters = inspect.signature(body).parameters.values()
    names = [parameter.name for parameter in parameters if parameter.default is parameter.empty]
    if len(names) != len(module.entry.parameters):
        functions = ", ".join(names[len(module.entry.parameters) :])
        raise UsageError(Diagnostic("XP409", f"run cannot supply the functions that the program calls: {functions}"))
    wanted = list(parameter_leaves(module, names))
    shapes = [parameter.shape for parameter in module.entry.parameters]
    inputs, origin = arguments_for(module, arguments, seed, names)
    own = load_target(target)
    if devices > 1:
        given_to_all = arguments is not None or module.arguments
        each = [inputs if given_to_all else make_inputs(module, seed + k) for k in range(devices)]
        call = partial(_on_replicas, emitted, own, [nest(shapes, arrays) for arrays in each])
    else:
        call = partial(_on_one, emitted, own, nest(shapes, inputs))
    with working(f"running {shown_name(source)} on {target}"):
        results, seconds = _timed(call, own, module.entry.root.shape)
    rows = [(name, *_columns(describe(array))) for (name, _), array in zip(wanted, inputs, strict=True)]
    rows += [(name, *_columns(describe(array))) for name, array in results.items()]
    write_table(("value", "type", "minimum", "maximum", "mean", "not finite"), rows)
    note(f"{origin}; ran on {target} in {seconds:.3g} s")
    if output is not None:
        write_results(Path(output), results)


def _loaded(generated: GeneratedModule) -> ModuleType:
    try:
        return generated.load()
    except ImportError as error:
        hint = f"pip install 'xla2py[{generated.target}]'"
        message = f"the {generated.target} target cannot run here: {error}"
        raise UsageError(Diagnostic("XP408", message, hint=hint)) from error


def _on_one(emitted: ModuleType, target: Target, arguments: list[Any]) -> Any:
    return emitted.main(*adopted(target, arguments))


def _on_replicas(emitted: ModuleType, target: Target, arguments: list[list[Any]]) -> Any:
    return emitted.run_local([adopted(target, each) for each in arguments])


def _timed(call: Callable[[], Any], target: Target, shape: Shape) -> tuple[dict[str, Any], float]:
    """Return the results as NumPy arrays by name, and the seconds it took to get them."""
    from .arrays import named_results

    start = time.perf_counter()
    try:
        results = named_results(call())
        results = dict(zip(results, as_declared(results.values(), shape), strict=True))
    except Exception as error:
        if _is_of_callback(error):
            raise UsageError(Diagnostic("XP409", f"run cannot supply what the program calls back: {error}")) from error
        if type(error).__module__.split(".")[0] not in target.library.packages:  # a fault of ours
            raise
        raise UsageError(Diagnostic("XP408", f"the {target.name} target cannot run here: {error}")) from error
    return results, time.perf_counter() - start


def _is_of_callback(error: Exception) -> bool:
    """Return whether an error was raised because the program was not given a function that it calls back."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place is not None and place.tb_frame.f_code.co_name == CALL_BACK


def _columns(statistics: Any) -> tuple[str, ...]:
    """Return an array's statistics as columns of a table."""
    numbers = (statistics.minimum, statistics.maximum, statistics.mean)
    shown = ("" if number is None else f"{number:.6g}" for number in numbers)
    odd = ((statistics.nans, "NaN"), (statistics.infinities, "inf"))
    not_finite = ", ".join(f"{count} {name}" for count, name in odd if count)
    return (f"{statistics.dtype}{list(statistics.shape)}", *shown, not_finite)
