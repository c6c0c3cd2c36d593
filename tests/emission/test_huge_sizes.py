"""Emission does not depend on the sizes of arrays: neither its time nor its memory, nor what it recognises."""

import resource
import sys
from pathlib import Path
from time import process_time

import pytest

import xla2py
from xla2py.tests.recording.lazy_jax import jax
from xla2py.tests.whole import much
from xla2py.transpile.errors import XlaToPythonError
from xla2py.transpile.fuzzing.free_sizes import names_of, program_at

EXAMPLES = Path(__file__).parents[2] / "examples"
HUGE = 2**31
MEMORY = 128 << 10  # KiB that the process may grow by: an array of so many elements takes more

PAD = """HloModule m
ENTRY e {{
  x = f32[{n}] parameter(0)
  low = f32[3] slice(x), slice={{[1:4]}}
  first = f32[3] reverse(low), dimensions={{0}}
  high = f32[{h}] slice(x), slice={{[{a}:{b}]}}
  last = f32[{h}] reverse(high), dimensions={{0}}
  ROOT r = f32[{r}] concatenate(first, x, last), dimensions={{0}}
}}"""
POLYNOMIAL = """HloModule m
ENTRY e {{
  x = f32[{n}] parameter(0)
  first = f32[1] slice(x), slice={{[0:1]}}
  number = f32[] reshape(first)
  factor = f32[{n}] broadcast(number), dimensions={{}}
  product = f32[{n}] multiply(x, x)
  ROOT r = f32[{n}] add(product, factor)
}}"""


def cost(source, target="numpy", **options):
    """The text that is emitted, the processor time in seconds, and by how many KiB the process grew."""
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, process_time()
    text = xla2py.emit(source, target, **options).source
    return text, process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before


def require_like(small, huge):
    assert sum(spent for _, spent, _ in huge) < 2 * sum(spent for _, spent, _ in small) + 1
    assert sum(memory for *_, memory in huge) < MEMORY


def random_programs(count):
    """Each as a small program and as one with an axis of 2**31 elements."""
    seed = found = 0
    while found < count:
        names = names_of(seed)
        small = {name: 11 + k for k, name in enumerate(names)}
        try:
            yield program_at(seed, small), program_at(seed, {**small, names[seed % len(names)]: HUGE})
            found += 1
        except XlaToPythonError:  # more elements than any machine can address
            pass
        seed += 1


def test_random_programs():
    xla2py.emit(program_at(0, {"N": 11, "M": 12, "K": 13}))  # what is loaded once
    pairs = list(random_programs(much(15, 50)))
    require_like([cost(small) for small, _ in pairs], [cost(huge) for _, huge in pairs])


def test_examples():
    pytest.importorskip("jax", reason="the examples import it")
    sys.path.insert(0, str(EXAMPLES))
    import any_size

    texts = []
    for name, sizes in any_size.FREE.items():
        function, arguments = any_size.load_program(name)
        small = EXAMPLES / "hlo" / f"{name}.before.hlo"
        huge = _lowered(function, arguments, next(iter(sizes)))
        texts += [(small.read_text("utf-8"), huge)] if huge else []
    assert len(texts) >= 12
    xla2py.emit(texts[0][0])
    require_like([cost(small) for small, _ in texts], [cost(huge) for _, huge in texts])


def _lowered(function, arguments, free):
    """An example's text with a huge size in place of a free one; None where JAX has no program of it."""

    def resized(leaf):
        if not hasattr(leaf, "dtype"):
            return leaf
        return jax.ShapeDtypeStruct(tuple(HUGE - 8 if n == free else n for n in leaf.shape), leaf.dtype)

    try:
        return jax.jit(function).lower(*jax.tree.map(resized, arguments)).as_text("hlo")
    except (OverflowError, RuntimeError, ValueError, TypeError):
        return None


def padded(n, after):
    return PAD.format(n=n, h=after, a=n - 1 - after, b=n - 1, r=n + after + 3)


@pytest.mark.parametrize("n", [20, HUGE])
def test_borders_are_recognised(n):
    text, _, memory = cost(padded(n, 3))
    assert 'return np.pad(x, 3, mode="reflect")' in text and memory < MEMORY
    assert 'mode="reflect"' in cost(padded(n, n // 2))[0]


def test_a_coefficient_of_many_is_no_polynomial():
    text, _, memory = cost(POLYNOMIAL.format(n=HUGE))
    assert "polyval" not in text and memory < MEMORY


def recurrence(n):
    """``y[i] = 0.9 y[i - 1] + x[i]`` as JAX scans it."""

    def line(left, right):
        return left[0] * right[0], right[0] * left[1] + right[1]

    def states(x):
        return jax.lax.associative_scan(line, (jax.numpy.full_like(x, 0.9), 0.1 * x))[1]

    return jax.jit(states).lower(jax.ShapeDtypeStruct((n,), "float32")).as_text("hlo")


@pytest.mark.parametrize(("target", "options"), [("numpy", {}), ("dask", {"memory": "512MiB"})])
def test_a_scan_with_one_factor_is_a_call_at_any_size(target, options):
    for n in (2**20, 2**29):
        text, _, memory = cost(recurrence(n), target, **options)
        assert "associative_scan" in text and "pad(" not in text and memory < MEMORY
