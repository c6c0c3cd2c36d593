"""Answers of XLA and JAX: recorded ones where there are, else asked of what is installed.

``--answers=recorded`` (the default) asks what is not recorded, ``record`` also writes it and drops what nobody asks any
more, ``live`` believes no recording and tells where the installed versions say something else.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from xla2py.tests.recording.questions import Question
from xla2py.tests.recording.store import Record, Records, Store
from xla2py.tests.recording.values import NoAnswerError, from_json, to_json
from xla2py.transpile.errors import Diagnostic, XlaToPythonError
from xla2py.transpile.hlo.source import SourceText

_REFUSALS = ("XP461", "XP462")  # XLA refused the program, or ended the process


class NotRecordedError(AssertionError):
    """A question that is not recorded where JAX is not installed."""


def installed_version() -> str:
    """Return the version of JAX that texts are recorded for, such as 0.10; nothing where it is not installed."""
    try:
        return ".".join(version("jax").split(".")[:2]) if find_spec("jax") else ""
    except ImportError:
        return ""


class Answers:
    """Answers for the tests of one process."""

    def __init__(self, store: Store, mode: str) -> None:
        self.store, self.mode = store, mode
        self.version = installed_version()
        self.module, self.test = "", ""  # that ask now
        self.texts_of = ""  # the version of JAX whose texts they are about; nothing for the installed one
        self.disagreements: list[str] = []
        self.unrecorded: Counter[str] = Counter()  # answers of each module that could be recorded

    def ask(self, question: Question, live: Callable[[], Any], fits: Callable[[Any], bool] = lambda _: True) -> Any:
        """Return the answer to a question; ``live`` asks what is installed. Raises what it raises.

        A recorded answer that does not fit any more is none.
        """
        key = question.key
        records = self.store.records(self.module)
        records.asked.add(key)
        found = self._recorded(key, question.is_text)
        recorded = json.loads(found.answer) if found is not None else {}
        if found is not None and "gives" in recorded and not fits(from_json(recorded["gives"])):
            found.versions, found = [], None
        if found is None and not self._can_ask(question):
            where = f"JAX {self.texts_of}".strip()
            raise NotRecordedError(
                f"the answer to this is not recorded: run 'make record' where {where} is installed\n{question.title}"
            )
        if found is not None and (self.mode != "live" or not self._can_ask(question)):
            return _given(recorded)
        answer, outcome = _answered(live)
        text = json.dumps(answer, ensure_ascii=False)
        if found is not None and found.answer != text:
            self.disagreements.append(f"{self.module}: {found.test}: {found.question}")
        if self.mode == "recorded" and answer is not None:
            self.unrecorded[self.module] += 1
        if self.mode == "record" and answer is not None:
            records.add(Record(key, self.test, question.title, [self.version], text))
        return _given(answer) if answer is not None else outcome

    def _can_ask(self, question: Question) -> bool:
        """Tell whether what is installed can answer."""
        if question.is_text and self.texts_of not in ("", self.version):
            return False
        return bool(self.version) or not question.needs_jax

    def _recorded(self, key: str, is_text: bool) -> Record | None:
        """Return the answer under the installed version, or else, where that need not be the same, under any."""
        found = [record for record in self.store.find(self.module, key) if record.versions]
        wanted = (is_text and self.texts_of) or self.version
        exact = [record for record in found if wanted in record.versions]
        if exact or (is_text and wanted):
            return exact[0] if exact else None
        if found and self.mode == "record":
            found[0].versions = sorted({*found[0].versions, self.version})
        return found[0] if found else None

    def write(self, modules: set[str], whole: set[str]) -> None:
        """Write the records of modules; those whose tests all ran and passed lose what nobody asked."""
        for name in sorted(modules):
            records: Records = self.store.records(name)
            if name in whole:
                records.drop(self.version)
            records.write()


def _answered(live: Callable[[], Any]) -> tuple[Any, Any]:
    """Return an answer or a refusal as JSON, None for what cannot be kept, and the answer itself."""
    outcome = None
    try:
        outcome = live()
        return {"gives": to_json(outcome)}, outcome
    except NoAnswerError:
        return None, outcome
    except XlaToPythonError as error:
        if any(each.code not in _REFUSALS for each in error.diagnostics):
            raise
        return {"refuses": [[each.code, each.message] for each in error.diagnostics]}, None


def _given(answer: Any) -> Any:
    if "refuses" in answer:
        source = SourceText("", "<hlo>")
        raise XlaToPythonError(*(Diagnostic(code, message, source=source) for code, message in answer["refuses"]))
    return from_json(answer["gives"])


ANSWERS = Answers(Store(), "recorded")  # of the tests of this process
