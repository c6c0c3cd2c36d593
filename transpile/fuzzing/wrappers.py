"""Steps that only pass values on: barriers, fusions, asynchronous calls and copies, dependencies, domains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from .program import Body, RandomProgram, Value
from .shape_chains import STEPS, add_call, shape_chain

_DOMAIN = 'domain={kind="sharding", entry={replicated}, exit={maximal device=0}}'


def wrapped(name: str, random: Random) -> RandomProgram:
    """A chain of shape operations with such steps between them."""
    return shape_chain(name, random, STEPS | WRAPPERS)


def barrier(body: Body) -> None:
    """Two values behind one barrier."""
    values = [body.any_value(), body.any_value()]
    shape = f"({', '.join(value.shape for value in values)})"
    held = body.instruction(shape, "opt-barrier", [body.instruction(shape, "tuple", values)])
    for index, value in enumerate(values):
        body.add("get-tuple-element", [held], value.type, value.dimensions, value.bound, f"index={index}")


def fusion(body: Body) -> None:
    kind = body.random.choice(["kLoop", "kInput", "kOutput"])

    def write(arguments: list[Value], result: Value, name: str) -> None:
        _passed(body, result, "fusion", arguments, f"kind={kind}, calls={name}")

    add_call(body, write)


def asynchronous(body: Body) -> None:
    """A call that starts, may be asked how far it is, and ends."""

    def write(arguments: list[Value], result: Value, name: str) -> None:
        shape = f"(({', '.join(value.shape for value in arguments)}), {result.shape}, u32[])"
        state = body.instruction(shape, "async-start", arguments, f"calls={name}")
        if body.random.random() < 0.5:
            state = body.instruction(shape, "async-update", [state])
        _passed(body, result, "async-done", [state])

    add_call(body, write)


def asynchronous_copy(body: Body) -> None:
    value = body.any_value()
    state = body.instruction(f"({value.shape}, {value.shape}, u32[])", "copy-start", [value])
    _passed(body, value, "copy-done", [state])


def dependency(body: Body) -> None:
    value = body.any_value()
    token = body.instruction("token[]", "after-all", [])
    if body.random.random() < 0.5:
        token = body.instruction("token[]", "after-all", [token, token])
    _passed(body, value, "add-dependency", [value, token])


def domain(body: Body) -> None:
    value = body.any_value()
    _passed(body, value, "domain", [value], _DOMAIN)


def _passed(body: Body, like: Value, opcode: str, operands: Sequence[Value | str], attributes: str = "") -> None:
    body.add(opcode, operands, like.type, like.dimensions, like.bound, attributes)


WRAPPERS: dict[str, tuple[Callable[[Body], None], int]] = {
    "barrier": (barrier, 2),
    "fusion": (fusion, 3),
    "asynchronous": (asynchronous, 3),
    "asynchronous_copy": (asynchronous_copy, 2),
    "dependency": (dependency, 2),
    "domain": (domain, 2),
}
