"""Functions of JAX as modules, from recordings: what ``xla2py.emit`` and ``xla2py.from_jax`` make of a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from xla2py.tests.recording.answers import ANSWERS
from xla2py.tests.recording.functions import Fingerprint
from xla2py.tests.recording.lazy_jax import Lowered, asked, is_asking, jax, named, real_tree, shapes, uses_x64, within
from xla2py.tests.recording.lines import placed, replaced
from xla2py.tests.recording.questions import Question
from xla2py.tests.recording.values import NoAnswerError
from xla2py.transpile.frontends import free_arrays, jax as frontend, loading
from xla2py.transpile.hlo.ir import Built, HloModule, Trees
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.printer import print_module
from xla2py.transpile.hlo.source import SourceText

_CLASS = "<class>"  # no key of a dict of parameters
_CLASSES = {kind.__name__: kind for kind in (Trees, Built)}


@contextmanager
def recorded_modules() -> Iterator[None]:
    """The frontend answers from the recordings."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (loading, free_arrays):
            patch.setattr(module, "lower", _lowered(frontend.lower))
        patch.setattr(loading, "of_lowered", _of_lowered(frontend.of_lowered))
        patch.setattr(free_arrays, "required_jax", lambda: jax)
        yield


def _lowered(live: Callable[..., HloModule]) -> Callable[..., HloModule]:
    def lower(fn: Any, *args: Any, **kwargs: Any) -> HloModule:
        if is_asking():
            return live(fn, *args, **kwargs)
        return _module(fn, args, kwargs, lambda: live(within(fn), *real_tree(args), **real_tree(kwargs)))

    return lower


def _of_lowered(live: Callable[..., HloModule]) -> Callable[..., HloModule]:
    def of_lowered(found: Any, name: str) -> HloModule:
        if not isinstance(found, Lowered):
            return live(found, name)
        return _module(found.jitted, found.args, found.kwargs, lambda: live(found.live(), name), found.options)

    return of_lowered


def _module(fn: Any, args: Any, kwargs: Any, live: Callable[[], HloModule], *options: Any) -> HloModule:
    found = Fingerprint()
    try:
        given = found.of(fn), found.of(shapes(args)), found.of(shapes(kwargs)), options
    except NoAnswerError:
        return asked(live)
    name = getattr(fn, "__name__", type(fn).__name__)
    question = Question(f"module of {named(fn)}", ("module", name, *given, uses_x64()), is_text=True)
    answer = ANSWERS.ask(question, lambda: _to_answer(asked(live), found), lambda given: is_whole(given["trees"]))
    return _of_answer(answer, found) if isinstance(answer, dict) else answer


def _to_answer(module: HloModule, found: Fingerprint) -> Any:
    """Return a module as texts; itself where these would not be the whole of it."""
    places = found.places
    answer = {"name": module.source.name, "text": placed(print_module(module), places), "trees": _plain(module.trees)}
    if module.constant_names:
        answer["constant_names"] = dict(module.constant_names)
    if module.loop_paths:
        answer["loop_paths"] = {name: [*paths] for name, paths in module.loop_paths.items()}
    again = _of_answer(answer, found)
    return answer if _same(again, module) else module


def _same(again: HloModule, module: HloModule) -> bool:
    return (
        print_module(again) == print_module(module)
        and (again.trees, again.sources) == (module.trees, module.sources)
        and (again.constant_names, again.loop_paths) == (module.constant_names, module.loop_paths)
        and not module.host_functions
    )


def _of_answer(answer: Mapping[str, Any], found: Fingerprint) -> HloModule:
    source = SourceText(replaced(answer["text"], found.places), answer["name"])
    module = parse_module(source)
    sources = frontend._sources(frontend._files_of_function(module.stack_frames))
    names = answer.get("constant_names", {})
    paths = {name: tuple(each) for name, each in answer.get("loop_paths", {}).items()}
    trees = _object(answer["trees"])
    return replace(module, sources=sources, trees=trees, constant_names=names, loop_paths=paths)


def _plain(value: Any) -> Any:
    """Return trees in terms of lists, tuples and dicts."""
    if type(value).__name__ in _CLASSES:
        fields = {name: _plain(getattr(value, name)) for name in type(value).__dataclass_fields__}
        return {_CLASS: type(value).__name__, **fields}
    if isinstance(value, frozenset):
        return {_CLASS: "frozenset", "of": sorted(value)}
    return map_parts(_plain, value)


def is_whole(value: Any) -> bool:
    """Tell whether trees that were recorded have the fields that these have now."""
    if isinstance(value, dict) and value.get(_CLASS) in _CLASSES:
        expected = {_CLASS, *_CLASSES[value[_CLASS]].__dataclass_fields__}
        return value.keys() == expected and all(map(is_whole, value.values()))
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return all(map(is_whole, parts))


def _object(value: Any) -> Any:
    if isinstance(value, dict) and _CLASS in value:
        fields = {name: _object(part) for name, part in value.items() if name != _CLASS}
        return frozenset(fields["of"]) if value[_CLASS] == "frozenset" else _CLASSES[value[_CLASS]](**fields)
    return map_parts(_object, value)


def map_parts(function: Callable[[Any], Any], value: Any) -> Any:
    """Return a list, a tuple or a dict with its parts replaced; anything else as it is."""
    if type(value) in (list, tuple):
        return type(value)(map(function, value))
    return {key: function(part) for key, part in value.items()} if isinstance(value, dict) else value
