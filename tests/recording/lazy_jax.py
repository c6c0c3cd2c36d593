"""JAX for tests: functions are traced and run from recordings, and JAX is imported for what is not recorded.

``from xla2py.tests.recording.lazy_jax import jax, jnp, lax`` in place of imports of JAX. ``jax.jit`` of a function has
``lower`` and can be called; its programs and values are answers (:mod:`.answers`), values as NumPy arrays. Functions
such as ``jnp.sin`` can be called within such a function, or beside it, where their values are answers, too.
"""

from __future__ import annotations

import _thread
import importlib
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from xla2py.tests.recording import trees
from xla2py.tests.recording.answers import ANSWERS, NotRecordedError
from xla2py.tests.recording.functions import Fingerprint
from xla2py.tests.recording.lines import placed, replaced
from xla2py.tests.recording.questions import Question
from xla2py.tests.recording.values import NoAnswerError, map_arrays

_STATE = threading.local()  # asking: this thread is within JAX; x64: whether its types have 64 bits
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_NOT_OF_FUNCTIONS = ("compiler_ir", "in_avals", "lower", "mlir_module_serialized", "runtime_executable")
_DTYPES = "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
_CONSTANTS: dict[str, Any] = {
    **{f"jax.numpy.{name}": getattr(np, name) for name in [*_DTYPES, "pi", "e", "inf", "nan", "newaxis"]},
    "jax.numpy.bfloat16": ml_dtypes.bfloat16,
}


class Lazy:
    """A module or a function of JAX by its name, which is imported when it is called."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.recorded_as = ["jax", name]

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__") or attribute in _NOT_OF_FUNCTIONS:
            raise AttributeError(attribute)
        if getattr(_STATE, "asking", False):
            return getattr(self.real, attribute)
        name = f"{self._name}.{attribute}"
        return _OURS[name] if name in _OURS else Lazy(name)

    @property
    def real(self) -> Any:
        """Return what is named."""
        return _real(self._name)

    @property
    def __name__(self) -> str:
        return self._name.rpartition(".")[2]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _value(self, args, kwargs)

    def __repr__(self) -> str:
        return self._name


@dataclass(eq=False)
class Transformed:
    """A function that a transformation of JAX gives: ``jax.grad(f, 1)``."""

    transformation: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __post_init__(self) -> None:
        self.recorded_as = [self.transformation, self.function, self.args, self.kwargs]
        self.__name__ = getattr(self.function, "__name__", "function")
        self.__wrapped__ = self.function

    @property
    def real(self) -> Any:
        """Return the function of JAX."""
        return _real(self.transformation)(within(self.function), *self.args, **self.kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _value(self, args, kwargs)


class Jitted(Transformed):
    """The result of ``jax.jit``."""

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Return the program for arguments of some shapes."""
        return self.real.lower(*args, **kwargs) if is_asking() else Lowered(self, args, kwargs, {})

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Return the function as it is traced for arguments of some shapes."""
        return self.real.trace(*args, **kwargs) if is_asking() else Traced(self, args, kwargs)


@dataclass
class Traced:
    """A function for arguments of some shapes."""

    jitted: Jitted
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def lower(self, **options: Any) -> Lowered:
        """Return its program, perhaps for another platform."""
        return Lowered(self.jitted, self.args, self.kwargs, options)


@dataclass
class Lowered:
    """The program of a function, as texts."""

    jitted: Jitted
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    options: dict[str, Any]

    def live(self) -> Any:
        """Return the ``jax.stages.Lowered``."""
        return self.jitted.real.trace(*real_tree(self.args), **real_tree(self.kwargs)).lower(**self.options)

    def as_text(self, dialect: str | None = None, debug_info: bool = False) -> str:
        """Return the text in a dialect."""
        return self.text(f"as {dialect}, {debug_info}", lambda: self.live().as_text(dialect, debug_info=debug_info))

    def compiler_ir(self, dialect: str) -> Lowered:
        """Return what has ``as_hlo_text``."""
        return self

    def as_hlo_text(self) -> str:
        """Return HLO."""
        return self.text("as HLO", lambda: str(self.live().compiler_ir(dialect="hlo").as_hlo_text()))

    def compile(self) -> Compiled:
        """Return the program as XLA optimises it."""
        return Compiled(self)

    def text(self, what: str, live: Callable[[], str]) -> str:
        """Return a text of the program, ``what`` names it, from the recordings."""
        found = Fingerprint()
        try:
            given = found.of(self.jitted), found.of(shapes(self.args)), found.of(shapes(self.kwargs)), self.options
        except NoAnswerError:
            return asked(live)
        question = Question(f"{what}: {named(self.jitted)}", (what, *given, uses_x64()), is_text=True)
        return replaced(ANSWERS.ask(question, lambda: placed(asked(live), found.places)), found.places)


@dataclass
class Compiled:
    """A program as XLA optimises it."""

    lowered: Lowered

    def as_text(self) -> str:
        """Return its HLO."""
        return self.lowered.text("optimised", lambda: str(self.lowered.live().compile().as_text()))


@dataclass(frozen=True)
class ShapeDtypeStruct:
    """The shape and the dtype of an array."""

    shape: tuple[int, ...]
    dtype: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", np.dtype(self.dtype))

    @property
    def real(self) -> Any:
        """Return JAX's."""
        return _real("jax.ShapeDtypeStruct")(self.shape, self.dtype)


def jit(function: Any = None, **options: Any) -> Any:
    """Return a function that is traced: as ``jax.jit``."""
    if function is None:
        return lambda function: jit(function, **options)
    return Jitted("jax.jit", function, (), options)


@contextmanager
def enable_x64(is_on: bool = True) -> Iterator[None]:
    """Types of 64 bits: as ``jax.enable_x64``."""
    before, _STATE.x64 = getattr(_STATE, "x64", None), is_on
    try:
        yield
    finally:
        _STATE.x64 = before


def _transformation(name: str) -> Callable[..., Any]:
    def transform(function: Any, *args: Any, **kwargs: Any) -> Transformed:
        return Transformed(name, function, args, kwargs)

    return transform


_OURS: dict[str, Any] = {
    **_CONSTANTS,
    **{name: _transformation(name) for name in ("jax.grad", "jax.value_and_grad", "jax.vmap", "jax.checkpoint")},
    "jax.jit": jit,
    "jax.enable_x64": enable_x64,
    "jax.ShapeDtypeStruct": ShapeDtypeStruct,
    "jax.tree": trees,
    "jax.tree_util": trees,
}
jax, jnp, lax = Lazy("jax"), Lazy("jax.numpy"), Lazy("jax.lax")
_OURS |= {"jax.numpy": jnp, "jax.lax": lax}


def _value(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what a function of JAX gives for arrays; while JAX traces, what it gives to that."""
    if is_asking() or any(_is_of_jax(leaf) for leaf in trees.leaves((args, kwargs))):
        return function.real(*args, **kwargs)

    def live() -> Any:
        found = asked(lambda: function.real(*real_tree(args), **real_tree(kwargs)))
        return map_arrays(_kept, found)

    found = Fingerprint()
    try:
        parts = found.of(function), found.of(args), found.of(kwargs), uses_x64()
    except NoAnswerError:
        return live()
    return ANSWERS.ask(Question(f"value of {named(function)}", ("value", *parts)), live)


def _is_of_jax(leaf: Any) -> bool:
    return type(leaf).__module__.startswith(("jax.", "jax._", "jaxlib."))


def _kept(leaf: Any) -> Any:
    """Return an array of JAX as one of NumPy, and a named tuple of JAX as one without names."""
    if isinstance(leaf, tuple):
        return tuple(map_arrays(_kept, part) for part in leaf)
    return np.asarray(leaf) if hasattr(leaf, "addressable_shards") and leaf.dtype.kind != "O" else leaf


def shapes(tree: Any) -> Any:
    """Return arguments with arrays as their shapes and dtypes: programs depend on nothing else of them."""
    return map_arrays(
        lambda leaf: ["array", leaf.dtype.name, list(leaf.shape)] if hasattr(leaf, "dtype") else leaf, tree
    )


def real_tree(tree: Any) -> Any:
    return map_arrays(lambda leaf: leaf.real if isinstance(leaf, ShapeDtypeStruct | Lazy) else leaf, tree)


def within(function: Any) -> Any:
    return function.real if isinstance(function, Lazy | Transformed) else function


def named(function: Any) -> str:
    """Return what a reader knows a function by, the same in each process."""
    name = repr(function) if isinstance(function, Lazy) else f"{getattr(function, '__name__', function)}"
    return _ADDRESS.sub("", name)


def uses_x64() -> bool:
    """Tell whether types have 64 bits: as a test asked of this module, or of JAX itself."""
    own = getattr(_STATE, "x64", None)
    real = getattr(sys.modules.get("jax"), "config", None)
    return bool(getattr(real, "jax_enable_x64", False)) if own is None else own


def is_asking() -> bool:
    return getattr(_STATE, "asking", False)


@cache
def _real(name: str) -> Any:
    """Return what a dotted name of JAX stands for."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            found = getattr(found, part)
        return found
    raise NotRecordedError(f"this is asked of JAX, which is not installed: {name}")


def asked(live: Callable[[], Any]) -> Any:
    """Call a function of JAX in a thread of its own, whose stack is nobody's: programs name the lines that called."""
    _exclude_frames()
    outcome: list[Any] = []
    done, x64 = threading.Event(), uses_x64()

    def run() -> None:
        _STATE.asking = True
        try:
            with _real("jax").enable_x64(True) if x64 else nullcontext():
                outcome.append(live())
        except BaseException as error:
            outcome.append(error)
        finally:
            done.set()

    _thread.start_new_thread(run, ())
    done.wait()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


@cache
def _exclude_frames() -> None:
    """Keep this file out of the lines that programs come from."""
    _real("jax._src.source_info_util").register_exclusion(__file__)
