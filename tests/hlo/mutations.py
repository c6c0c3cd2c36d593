"""Programs with tokens dropped, doubled, swapped and replaced, and what becomes of them.

Whatever a text says, the pipeline answers with a module or with coded diagnostics, soon and in little memory.
``python -m xla2py.tests.hlo.mutations --count 100000`` runs a campaign and writes each finding to a file.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType

from xla2py import emit
from xla2py.tests.operations.tables import cases_by_opcode
from xla2py.tests.replicas.programs import control, element_types, grouped, others, reducers
from xla2py.transpile.errors import XlaToPythonError
from xla2py.transpile.frontends import load
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES
from xla2py.transpile.hlo.verifier import verify

SECONDS = 5.0  # of the processor, for one mutant
BYTES = 1 << 30  # what one mutant may hold beyond what the process holds already
TARGETS = ("numpy",) * 8 + ("dask", "cupy")
LARGEST = 8_000  # characters of a program in the corpus: more of the same is slow, not new

_ROOT = Path(__file__).parents[2]
_FILES = ("examples/hlo/*.hlo", "tests/hlo/grammar/*.hlo", "tests/emission/pairs/*.hlo")
_CASES_OF_AN_OPCODE = 3
_PORTION = 5_000  # mutants between two lines on how far a campaign is
_METADATA = re.compile(r", metadata=\{[^{}]*\}")
_STACK_TABLES = re.compile(r"^(?:FileNames|FunctionNames|FileLocations|StackFrames)\n(?:\d.*\n)+", re.MULTILINE)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[A-Za-z_%][\w.\-]*|-?\d[\w.]*|->|<=|[^\s]')
_NUMBER = re.compile(r"-?\d+")
_EXTREMES = (
    *("0", "1", "-1", "2", "3", "7", "64", "65", "255", "1000000", "2147483647", "-2147483648", "4294967295"),
    *("1000000000000", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "99999999999999999999"),
)
_WORDS = (
    *("f32", "f64", "bf16", "f16", "s32", "s64", "u8", "u32", "u64", "s4", "pred", "c64", "f8e4m3fn", "token"),
    *("{}", "()", "[]", "nan", "inf", "-nan", "-inf", "1e400", "0.5", "true", "false", "?", "<=", "{...}", "ROOT"),
)
ASYNCHRONOUS_LOOP = """work { x = f32[4] parameter(0)  ROOT y = f32[4] negate(x) }
cond { s = (s32[], ((f32[4]), f32[4], s32[])) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)  ROOT c = pred[] compare(i, n), direction=LT }
body { s = (s32[], ((f32[4]), f32[4], s32[])) parameter(0)  i = s32[] get-tuple-element(s), index=0
  k = s32[] constant(1)  j = s32[] add(i, k)  state = ((f32[4]), f32[4], s32[]) get-tuple-element(s), index=1
  u = ((f32[4]), f32[4], s32[]) async-update(state), calls=work
  ROOT t = (s32[], ((f32[4]), f32[4], s32[])) tuple(j, u) }
ENTRY e { p = f32[4] parameter(0)  a = ((f32[4]), f32[4], s32[]) async-start(p), calls=work
  zero = s32[] constant(0)  t = (s32[], ((f32[4]), f32[4], s32[])) tuple(zero, a)
  w = (s32[], ((f32[4]), f32[4], s32[])) while(t), condition=cond, body=body
  last = ((f32[4]), f32[4], s32[]) get-tuple-element(w), index=1  ROOT d = f32[4] async-done(last), calls=work }
"""
# What starts and ends apart, and what few programs have.
_HALVES = (
    ASYNCHRONOUS_LOOP,
    """HloModule transfers, replica_count=2
ENTRY e { x = f32[4] parameter(0)  t = token[] after-all()
  r = (f32[4], u32[], token[]) recv(t), channel_id=1
  s = (f32[4], u32[], token[]) send(x, t), channel_id=1
  d = (f32[4], token[]) recv-done(r), channel_id=1  e = token[] send-done(s), channel_id=1
  h = (f32[4], u32[], token[]) send(x, e), channel_id=2, is_host_transfer=true
  i = token[] send-done(h), channel_id=2, is_host_transfer=true
  f = ((f32[3], pred[]), token[]) infeed(i)  g = (f32[3], pred[]) get-tuple-element(f), index=0
  o = token[] outfeed(g, i), outfeed_shape=(f32[3], pred[])  ROOT v = f32[4] get-tuple-element(d), index=0 }
""",
)
_CHANGES = ("drop", "double", "swap", "neighbours", "word", *("number",) * 4, *("same",) * 5)


@dataclass(frozen=True)
class Finding:
    """A text that did not end as it should: an exception of another kind, too long, or too much memory."""

    kind: str
    text: str
    detail: str


class _TooSlow(BaseException):
    """No ``Exception``, so that nothing on the way catches it."""


@cache
def corpus() -> tuple[str, ...]:
    """Programs of every opcode, without notes on where they come from: a mutant of a note says nothing."""
    texts = [path.read_text() for pattern in _FILES for path in sorted(_ROOT.glob(pattern))]
    for cases in cases_by_opcode().values():
        texts += [case.text() for case in cases[:: -(-len(cases) // _CASES_OF_AN_OPCODE)]]
    texts += [program.text for program in (*grouped(), *element_types(), *reducers(), *others(), *control())]
    texts += _HALVES
    plain = (_STACK_TABLES.sub("", _METADATA.sub("", text)) for text in texts)
    return tuple(text for text in plain if len(text) <= LARGEST)


def mutant(seed: int) -> str:
    """A program of the corpus after one to three changes; the same for the same seed."""
    draw = random.Random(seed)
    text = draw.choice(corpus())
    for _ in range(draw.choice((1, 1, 1, 1, 2, 3))):
        text = _changed(draw, text)
    return text


def _changed(draw: random.Random, text: str) -> str:
    tokens = [match.span() for match in _TOKEN.finditer(text)]
    if len(tokens) < 2:
        return text
    (start, end), (other_start, other_end) = sorted(draw.sample(tokens, 2))
    token, other = text[start:end], text[other_start:other_end]
    match draw.choice(_CHANGES):
        case "drop":
            return text[:start] + text[end:]
        case "double":
            return text[:end] + " " + text[start:]
        case "swap":
            return text[:start] + other + text[end:other_start] + token + text[other_end:]
        case "neighbours":
            k = draw.randrange(len(tokens) - 1)
            (a, b), (c, d) = tokens[k : k + 2]
            return text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]
        case "number":
            numbers = [span for span in tokens if _NUMBER.fullmatch(text, *span)] or tokens
            start, end = draw.choice(numbers)
            return text[:start] + draw.choice(_EXTREMES) + text[end:]
        case "word":
            return text[:start] + draw.choice(_WORDS) + text[end:]
        case _:  # another token of its kind: an opcode for an opcode, a name for a name
            kind = _kind(text, start, end)
            alike = [span for span in tokens if _kind(text, *span) == kind]
            return text[:start] + text[slice(*draw.choice(alike))] + text[end:]


def _kind(text: str, start: int, end: int) -> str:
    """What a token is: a type, an opcode or computation, an attribute, another name, a number, or itself."""
    token = text[start:end]
    if token in ELEMENT_TYPES:
        return "type"
    if token[0].isalpha():
        return f"name before {text[end : end + 1]}"
    return "number" if _NUMBER.fullmatch(token) else token


def examine(text: str, target: str) -> Finding | None:
    """What is wrong with the way a text ends, if anything. For the main thread of a process with time limits."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        module = load(text.encode())
        verify(module)
        emit(module, target, format=False)
    except XlaToPythonError as error:
        wrong = [diagnostic.code for diagnostic in error.diagnostics if not diagnostic.code.startswith("XP")]
        return Finding("no code", text, str(error)) if wrong else None
    except _TooSlow:
        return Finding("time", text, traceback.format_exc())
    except MemoryError:
        return Finding("memory", text, traceback.format_exc())
    except Exception as error:
        return Finding(type(error).__name__, text, traceback.format_exc())
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return None


def findings(seeds: range) -> Iterator[tuple[int, Finding]]:
    """The seeds whose mutants end in another way than they should."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_bytes_held() + BYTES, limits[1]))
    try:
        for seed in seeds:
            finding = examine(mutant(seed), TARGETS[seed % len(TARGETS)])
            if finding is not None:
                yield seed, finding
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
        signal.signal(signal.SIGPROF, before)


def _bytes_held() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def main() -> int:
    """Run a campaign; findings go to files, one for each kind and place of failure."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("mutants"))
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    places: Counter[str] = Counter()
    for start in range(0, options.count, _PORTION):
        done = min(start + _PORTION, options.count)
        for seed, finding in findings(range(options.first + start, options.first + done)):
            lines = [line.strip() for line in finding.detail.splitlines() if line.strip().startswith("File ")]
            place = f"{finding.kind} {lines[-1] if lines else ''}: {finding.detail.strip().splitlines()[-1][:100]}"
            places[place] += 1
            if places[place] == 1:
                print(seed, place, flush=True)
                (options.output / f"{seed}.hlo").write_text(finding.text)
                (options.output / f"{seed}.txt").write_text(f"{TARGETS[seed % len(TARGETS)]}\n{finding.detail}")
        print(f"{done} mutants, {sum(places.values())} findings, {time.process_time():.0f} s", flush=True)
    return bool(places)


if __name__ == "__main__":
    sys.exit(main())
