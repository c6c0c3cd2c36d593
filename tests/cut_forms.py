"""Prelude functions as an emitted module would have them that calls them once, in the way in which a test does."""

import inspect
from collections.abc import Callable
from copy import deepcopy
from functools import cache, wraps
from typing import Any

import numpy as np
import pytest

from xla2py.transpile.emission.prelude.library import prelude
from xla2py.transpile.emission.prelude.specialization import Call, cut
from xla2py.transpile.emission.prelude.specialization.lattice import Array, Callback, Fact, Known, tuple_of

PRELUDE = "xla2py.templates.prelude."


def fact_of(value: Any) -> Fact:
    """What emission knows of such an argument."""
    if isinstance(value, np.ndarray):
        return Array(value.dtype, value.shape) if value.ndim else None
    if isinstance(value, np.ufunc):
        return Callback(is_ufunc=True)
    if value is None or isinstance(value, bool | int | float | str | type):
        return Known(value)
    if isinstance(value, tuple):
        return tuple_of([fact_of(part) for part in value])
    return Callback() if inspect.isfunction(value) else None


@cache
def _cut(name: str, arguments: tuple[Fact, ...], keywords: tuple[tuple[str, Fact], ...]) -> tuple[Any, dict[str, int]]:
    """The function, and the parameters that it has no longer, with their places."""
    library = prelude()
    result = cut(library.definitions, [name], {name: [Call(arguments, dict(keywords))]})
    own = library.with_definitions(result.definitions)
    definitions = own.closure([name])
    text = "\n".join(sorted(own.imports_of(definitions)) + [definition.source for definition in definitions])
    namespace: dict[str, Any] = {}
    exec(compile(text, f"{name}, cut", "exec"), namespace)
    return namespace[name], result.lost.get(name, {})


def cut_form(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the prelude that runs as it is cut to each of its calls."""

    @wraps(function)
    def run(*arguments: Any, **keywords: Any) -> Any:
        facts = tuple(map(fact_of, arguments))
        form, lost = _cut(function.__name__, facts, tuple((k, fact_of(v)) for k, v in keywords.items()))
        kept = [value for place, value in enumerate(arguments) if place not in lost.values()]
        return form(*kept, **{name: value for name, value in keywords.items() if name not in lost})

    return run


def both_forms(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the prelude that also runs as it is cut to each of its calls, where it must do the same."""
    form = cut_form(function)

    @wraps(function)
    def run(*arguments: Any, **keywords: Any) -> Any:
        copied = deepcopy((arguments, keywords))
        try:
            results = function(*arguments, **keywords)
        except Exception as error:
            with pytest.raises(type(error)):
                form(*copied[0], **copied[1])
            raise
        of_cut = form(*copied[0], **copied[1])
        if inspect.isgenerator(results):
            of_cut, results = list(of_cut), list(results)
        assert_identical(of_cut, results)
        return results

    return run


def assert_identical(actual: Any, expected: Any) -> None:
    """Check that two results have the same bits, dtypes and shapes, in the same tuples."""
    assert type(actual) is type(expected)
    if isinstance(expected, tuple | list):
        assert len(actual) == len(expected)
        for pair in zip(actual, expected, strict=True):
            assert_identical(*pair)
    elif isinstance(expected, np.ndarray | np.generic):
        assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
        assert actual.tobytes() == expected.tobytes()
    else:
        assert actual == expected


class ModuleInBothForms:
    """A module of the prelude whose functions run in both forms."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return in_both_forms(getattr(self._module, name))


def in_both_forms(value: Any) -> Any:
    """A function or module of the prelude that runs in both forms, anything else as it is."""
    if inspect.isfunction(value) and value.__module__.startswith(PRELUDE):
        return both_forms(value)
    return ModuleInBothForms(value) if inspect.ismodule(value) and value.__name__.startswith(PRELUDE) else value
