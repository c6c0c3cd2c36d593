"""Names of values after their operands: ``tau_mask``, ``sqrt_var``, ``x_minus_mean``.

The word of an operation alone, ``mask`` or ``difference``, only repeats the line. It is combined with the operand that
has a name of its own, the author's or an argument's. If that is too long, or if there is none, the word stays alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ...array.node import Node, literal_value
from ...array.operations import OPERATIONS
from ...array.traversal import unviewed
from ..functions.context import Writing
from .source import is_empty_word

LONGEST = 20  # characters of such a name

_LOG, _SHIFTED = "log_", "shifted_"
_EMPTY = frozenset(("state", "total"))  # uninformative names of operands
_LAST_KEY = re.compile(r"""(?:\.|\[["'])([A-Za-z]\w*)(?:["']\])?$""")  # the key of a leaf: params["tau"], state.count
_MASK = ("{}_mask",)
_COMPLEMENT = "one_minus_{}"
_LESS_ITS_OWN = {"mean": "centered_{}", "max": "shifted_{}"}  # an array minus its own reduction


class SubjectNames:
    """The names of a function's values after their operands."""

    def __init__(self, writer: Writing) -> None:
        self.writer = writer
        self.joined: set[str] = set()  # names of two operands, which form no further names

    def of(self, node: Node) -> str:
        """Return the name of a value after its operands; empty if these have no names of their own."""
        if not node.parameters.get("is_part"):
            node = node.parameters.get("stands_for") or node
        return self.of_choice(node) or short(
            self._mask(node) if node.operation.names_after == _MASK else self._form(node)
        )

    def of_choice(self, node: Node) -> str:
        """Return the name of ``np.where(done, x, new_x)`` after its arrays, if these agree; else an empty string."""
        if node.opcode != "select":
            return ""
        words = {self.word(each) for each in node.operands[1:] if not each.is_literal} - {""}
        is_filled = any(each.is_literal for each in node.operands[1:])
        if len(words) != 1:
            return ""
        return short(_after("masked_{}" if is_filled else "{}", words.pop().removeprefix("masked_")))

    def word(self, node: Node, *, is_beside: bool = False, may_be_joined: bool = False) -> str:
        """Return the name of an operand; empty if it is only an operation's word, or a number.

        If the operand ``is_beside`` another one, an argument's name like ``x`` is enough. Names that were joined from
        two operands are long, and are only returned if they ``may_be_joined``.
        """
        writer = self.writer
        while node.operation.is_view and node.operation.is_light and node not in writer.texts and node.operands:
            node = node.operands[0]
        if node.is_python_int:
            return ""
        own = writer.plan.user_names.get(node, "")
        text: str = writer.texts.get(node) or own
        if not text.isidentifier():
            key = _LAST_KEY.search(text)
            name = key[1] if key else writer.arguments.leaf_names.get(node, "")
        else:
            name = writer.names.numbered.get(text, text)
            is_made = node.operands or node.opcode == "array"
            if name != own and is_made and name.rpartition("_")[2] in operation_words():
                return ""
        is_empty = is_empty_word(name) and not (is_beside and node.opcode == "parameter")
        says_little = name in _EMPTY or is_empty or (name in self.joined and not may_be_joined)
        return "" if says_little or name in writer.constants.names else name

    def _mask(self, node: Node) -> str:
        words = {self.word(each) for each in _compared(node)}
        return _after(_MASK[0], words.pop()) if len(words) == 1 else ""

    def _form(self, node: Node) -> str:
        """Return the name after one array, if all other operands are numbers, or after two; else an empty string."""
        forms = node.operation.names_after
        arrays = [each for each in node.operands if not each.is_literal]
        if node.opcode == "convert" and arrays and (word := self.word(arrays[0])):
            return f"{word}_{node.type.dtype.name}"
        if len(arrays) == 1 and forms and (node.operation.is_commutative or _is_first(node, arrays[0])):
            return _after(forms[0], self.word(arrays[0]))
        if len(arrays) == 1 and node.opcode == "subtract" and literal_value(node.operands[0]) == 1:
            return _after(_COMPLEMENT, self.word(arrays[0]))
        if len(arrays) != 2 or len(forms) != 2:
            return ""
        if arrays[0] is arrays[1] and node.opcode == "multiply":
            return _after("{}_squared", self.word(arrays[0]))
        own = unviewed(arrays[1]) if node.opcode == "subtract" else arrays[1]
        if own.opcode in _LESS_ITS_OWN and own.operands[0] is arrays[0]:
            return _after(_LESS_ITS_OWN[own.opcode], self.word(arrays[0]))
        return self._of_both(
            forms[1], arrays[0], self._index(arrays[1]) if node.operation.takes_positions else arrays[1]
        )

    def _index(self, node: Node) -> Node:
        """Return the array that an index is computed from with only numbers: ``i`` in ``clip(i, 0, 9)``."""
        while node.operation.is_elementwise and not self.word(node):
            given = [each for each in node.operands if not each.is_literal]
            if len(given) != 1:
                break
            (node,) = given
        return node

    def _of_both(self, form: str, *arrays: Node) -> str:
        """Return the name after two arrays, at least one of which has an informative name."""
        words = [self.word(each, is_beside=True) for each in arrays]
        if not all(words) or words[0] == words[1] or not any(map(self.word, arrays)):
            return ""
        name = form.format(*words)
        self.joined.add(name)
        return name


def _is_first(node: Node, operand: Node) -> bool:
    """Return whether an operand is the main one of an operation: ``x`` or ``a`` in its row, or the only one."""
    names = node.operation.operands
    return names[node.operands.index(operand)] in ("x", "a") if len(names) == len(node.operands) else True


def short(name: str) -> str:
    """Return a name, or an empty string if it is too long."""
    return name if len(name) <= LONGEST else ""


@cache
def operation_words() -> frozenset[str]:
    """Return the default names of all operations' results."""
    return frozenset(word for row in OPERATIONS.values() for word in row.default_names)


def _after(form: str, word: str) -> str:
    """Return ``exp_x`` for ``x`` and for ``shifted_x``, but ``scale`` for ``log_scale``. What is called a spectrum has
    none of its own.
    """
    if form == "exp_{}" and word.startswith(_LOG):
        return word.removeprefix(_LOG)
    if form == "exp_{}":
        word = word.removeprefix(_SHIFTED)
    return form.format(word) if word and not word.endswith(form.removeprefix("{}_")) else ""


def _compared(node: Node) -> Iterator[Node]:
    """Yield the arrays that a mask compares, without numbers; numbers if it is one."""
    for operand in node.operands:
        if operand.operation.names_after == _MASK:
            yield from _compared(operand)
        elif not operand.is_literal and (operand.ndim or not node.ndim):
            yield operand
