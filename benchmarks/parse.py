"""How fast HLO text is read and printed, and in how much memory: ``python benchmarks/parse.py``.

Required: 1 MB of text a second, 5,000 instructions in half a second, memory below ten times the text. Times are the
best of a few runs, in CPU seconds.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator

import numpy as np

from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.printer import print_module

RUNS = 3
ROW = "{:<34}{:>9}{:>14}{:>10}{:>10}{:>10}{:>10}"


def chain(count: int, metadata: bool) -> str:
    """Element-wise operations one after the other, in the style of JAX's dumps."""
    lines = ["HloModule chain\n\nENTRY main {"]
    lines += [f"  p.{i} = f32[128,256]{{1,0}} parameter({i})" for i in range(2)]
    for i in range(2, count):
        name = f'op_name="jit(step)/layer_{i // 7}/add" stack_frame_id={i // 5}'
        written = f", metadata={{{name}}}" if metadata else ""
        lines.append(f"  p.{i} = f32[128,256]{{1,0}} add(p.{i - 1}, p.{i - 2}){written}")
    return "\n".join([*lines, "}", ""])


def jax_program() -> tuple[str, str]:
    """A training step of a small network: as lowered, and as XLA's CPU compiler leaves it."""
    import jax
    import jax.numpy as jnp
    from jaxlib import _hlo

    def loss(weights: list[jax.Array], x: jax.Array) -> jax.Array:
        for w in weights:
            x = jax.nn.softmax(jnp.tanh(x @ w) + x)
        return x.sum()

    def step(weights: list[jax.Array], x: jax.Array) -> list[jax.Array]:
        return [w - 0.1 * g for w, g in zip(weights, jax.grad(loss)(weights, x), strict=True)]

    lowered = jax.jit(step).lower([jnp.ones((64, 64))] * 60, jnp.ones((8, 64)))
    options = _hlo.HloPrintOptions()
    options.print_large_constants = True
    optimised = lowered.compile().runtime_executable().hlo_modules()[0].to_string(options)
    return lowered.as_text("hlo", debug_info=True), optimised


def constant(element_type: str, values: np.ndarray, form: str = "{}") -> str:
    rows = values.reshape(-1, values.shape[-1]).tolist()
    text = ", ".join(f"{{{', '.join(form.format(value) for value in row)}}}" for row in rows)
    return f"ENTRY main {{ ROOT c = {element_type}[{len(rows)},{len(rows[0])}] constant({{{text}}}) }}"


def cases() -> Iterator[tuple[str, str]]:
    random = np.random.default_rng(0)
    lowered, optimised = jax_program()
    yield "JAX training step, lowered", lowered
    yield "JAX training step, optimised", optimised
    yield "5,000 instructions", chain(5_000, metadata=True)
    yield "5,000 instructions, bare", chain(5_000, metadata=False)
    yield "100,000 instructions", chain(100_000, metadata=True)
    yield "f32[512,512] constant", constant("f32", random.standard_normal((512, 512)), "{:.9g}")
    yield "s32[1000,1000] constant", constant("s32", random.integers(-999, 999, (1000, 1000)))
    yield "u64[500,100] constant, 19 digits", constant("u64", random.integers(2**62, 2**63, (500, 100)))
    yield "pred[1000,1000] constant", constant("pred", random.integers(0, 2, (1000, 1000)))
    yield "c64[100,1000] constant", constant("c64", random.standard_normal((100, 1000)), "({0:.9g}, {0:.9g})")


def seconds(call: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(RUNS):
        gc.collect()
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


def peak_memory(call: Callable[[], object]) -> int:
    """The most bytes in use at once."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def main() -> None:
    print(ROW.format("", "MB", "instructions", "parse s", "MB/s", "memory", "print s"))
    for name, text in cases():
        module = parse_module(text)
        parsing = seconds(lambda text=text: parse_module(text))
        printing = seconds(lambda module=module: print_module(module))
        memory = peak_memory(lambda text=text: parse_module(text)) / len(text)
        megabytes = len(text) / 1e6
        count = sum(1 for _ in module.instructions())
        numbers = (f"{megabytes:.2f}", f"{count:,}", f"{parsing:.3f}", f"{megabytes / parsing:.1f}", f"{memory:.1f}x")
        print(ROW.format(name, *numbers, f"{printing:.3f}"))


if __name__ == "__main__":
    main()
