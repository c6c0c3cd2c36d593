"""How fast emitted NumPy modules are: beside NumPy written by hand and jax.jit on the CPU, in the same run.

    python benchmarks/numpy_modules.py [--seconds 0.5] [NAME...]

The programs are those of examples/ on their own arguments, by hand those of examples/by_hand/, and convolutions of the
sizes of a network, by hand unfolded with ``sliding_window_view``. All run on one core. A figure is the least CPU time
of a call, in milliseconds; the three take turns. Results are compared first.
"""

# ruff: noqa: E402  libraries look at these settings when they are imported
from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

os.environ.pop("OPENBLAS_CORETYPE", None)  # OpenBLAS picks its kernels itself
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import jax
import numpy as np

import xla2py
from xla2py.examples.lower import FOLDER, NAMES, hlo_file, load_program

Call = Callable[[], Any]
AT_ONCE = 0.005  # seconds of calls between two looks at the clock
LAYERS = {  # batch, size of an image, channels, output channels, size of a window, stride
    "3x3, 64 channels": (4, 56, 64, 64, 3, 1),
    "3x3, stride 2": (4, 56, 64, 128, 3, 2),
    "7x7, stride 2, 3 channels": (4, 112, 3, 64, 7, 2),
    "1x1": (4, 56, 64, 256, 1, 1),
    "5x5, 1 channel": (1, 512, 1, 1, 5, 1),
}


def layer(name: str) -> tuple[Callable[..., Any], tuple[np.ndarray, ...], Callable[..., Any]]:
    """A convolution of a network, its arguments, and what one would write by hand."""
    batch, size, channels, features, window, stride = LAYERS[name]
    draw = np.random.default_rng(0)
    x = draw.normal(size=(batch, size, size, channels)).astype(np.float32)
    kernel = draw.normal(size=(window, window, channels, features)).astype(np.float32)
    edge = window // 2

    def function(x: Any, kernel: Any) -> Any:
        return jax.lax.conv_general_dilated(
            x, kernel, (stride, stride), [(edge, edge)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def by_hand(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
        padded = np.pad(x, ((0, 0), (edge, edge), (edge, edge), (0, 0)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (window, window), (1, 2))
        return np.tensordot(windows[:, ::stride, ::stride], kernel, ([3, 4, 5], [2, 0, 1]))

    return function, (x, kernel), by_hand


def gradients(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the gradients of a convolution's operands from that of its result."""

    def of(x: Any, kernel: Any, change: Any) -> Any:
        return jax.vjp(function, x, kernel)[1](change)

    return of


def example(name: str) -> dict[str, Call]:
    function, arguments = load_program(name)
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(arguments)]
    emitted = xla2py.emit(xla2py.load(hlo_file(name, "before"))).load().main
    calls = {"xla2py": lambda: emitted(*leaves), "jax": jitted(function, arguments)}
    path = FOLDER / "by_hand" / f"{name}.py"
    if path.exists():
        by_hand: dict[str, Any] = {}
        exec(compile(path.read_text(), path, "exec"), by_hand)
        calls["by hand"] = lambda: by_hand["main"](*leaves)
    return calls


def jitted(function: Callable[..., Any], arguments: Any) -> Call:
    """A call that ends when its results are there; its arguments are arrays of JAX already."""
    compiled, on_device = jax.jit(function), jax.tree.map(jax.numpy.asarray, arguments)
    return lambda: jax.block_until_ready(compiled(*on_device))


def programs() -> Iterator[tuple[str, Callable[[], dict[str, Call]]]]:
    for name in NAMES:
        yield name, lambda name=name: example(name)
    for name in LAYERS:
        yield name, lambda name=name: convolution(name)
        yield f"{name}, gradients", lambda name=name: convolution_gradients(name)


def convolution(name: str) -> dict[str, Call]:
    function, arguments, by_hand = layer(name)
    emitted = xla2py.emit(xla2py.from_jax(function, *arguments)).load().main
    return {
        "xla2py": lambda: emitted(*arguments),
        "jax": jitted(function, arguments),
        "by hand": lambda: by_hand(*arguments),
    }


def convolution_gradients(name: str) -> dict[str, Call]:
    function, arguments, _ = layer(name)
    arguments = (*arguments, np.asarray(function(*arguments)))
    both = gradients(function)
    emitted = xla2py.emit(xla2py.from_jax(both, *arguments)).load().main
    return {"xla2py": lambda: emitted(*arguments), "jax": jitted(both, arguments)}


def least(calls: dict[str, Call], seconds: float) -> dict[str, float]:
    """The least CPU seconds of a call of each, after at least three turns."""
    times: dict[str, float] = {}
    repeats = {}
    for name, call in calls.items():
        started = time.process_time()
        call()
        repeats[name] = max(1, int(AT_ONCE / max(1e-6, time.process_time() - started)))
    ends = time.perf_counter() + seconds * len(calls)
    for turn in count():
        if turn >= 3 and time.perf_counter() > ends:
            return times
        for name, call in calls.items():
            started = time.process_time()
            for _ in range(repeats[name]):
                call()
            spent = (time.process_time() - started) / repeats[name]
            times[name] = min(times.get(name, spent), spent)
    raise AssertionError


def assert_alike(calls: dict[str, Call]) -> None:
    wanted = jax.tree.leaves(calls["jax"]())
    for leaf, same in zip(jax.tree.leaves(calls["xla2py"]()), wanted, strict=True):
        scale = max(1.0, float(np.abs(np.asarray(same, np.complex128)).max(initial=0)))
        np.testing.assert_allclose(np.asarray(leaf), np.asarray(same), rtol=1e-2, atol=1e-2 * scale)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="programs whose names begin so; all by default")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each variant of a program")
    options = parser.parse_args()
    print(f"{'program':38} {'xla2py':>9} {'by hand':>9} {'jax.jit':>9} {'/ by hand':>9} {'/ jax.jit':>9}")
    with np.errstate(all="ignore"):
        for name, made in programs():
            if options.names and not name.startswith(tuple(options.names)):
                continue
            calls = made()
            assert_alike(calls)
            times = least(calls, options.seconds)
            own, hand, jax_time = times["xla2py"], times.get("by hand"), times["jax"]
            columns = [own * 1e3, hand and hand * 1e3, jax_time * 1e3, hand and own / hand, own / jax_time]
            print(f"{name:38}", *(" " * 9 if x is None else f"{x:9.3f}" for x in columns), flush=True)


if __name__ == "__main__":
    main()
