"""What XLA and JAX answered, in ``tests/recorded``: a file a test module, a line a question.

A line says which test asked what, under which versions of JAX this was the answer, and the answer. Lines of one test
stand together, so what changed is read in the diff.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "recorded"
_ANSWER = ', "answer": '  # in no text of JSON, where quotes are escaped


@dataclass
class Record:
    """The answer to a question under some versions of JAX, and a test that asked it."""

    key: str
    test: str
    question: str
    versions: list[str]
    answer: str  # JSON, read when it is given: there are many

    @classmethod
    def read(cls, line: str) -> Record:
        """Return the record of a line of its file."""
        asked, _, answer = line.rstrip().partition(_ANSWER)
        return cls(**json.loads(f"{asked}}}"), answer=answer[:-1])

    def line(self) -> str:
        """Return the record as a line of its file."""
        asked = {name: value for name, value in vars(self).items() if name != "answer"}
        return f"{json.dumps(asked, ensure_ascii=False)[:-1]}{_ANSWER}{self.answer}}}"


@dataclass
class Records:
    """The records of one test module, and the keys that were asked in this run."""

    path: Path
    by_key: dict[str, list[Record]] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)

    @classmethod
    def read(cls, path: Path) -> Records:
        """Return the records of a file, none where there is no such file."""
        found = cls(path)
        if path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                found.add(Record.read(line))
        return found

    def add(self, record: Record) -> None:
        """Add an answer; the same answer under another version is one record."""
        for same in self.by_key.setdefault(record.key, []):
            if same.answer == record.answer:
                same.versions = sorted({*same.versions, *record.versions})
                return
        self.by_key[record.key].append(record)

    def drop(self, version: str) -> None:
        """Forget what nobody asked under a version."""
        for key in self.by_key.keys() - self.asked:
            for record in self.by_key[key]:
                record.versions = [each for each in record.versions if each != version]

    def write(self) -> None:
        """Write the records that hold under some version, those of one test together."""
        records = [record for same in self.by_key.values() for record in same if record.versions]
        records.sort(key=lambda record: (record.test, record.question, record.key, record.versions))
        self.path.unlink(missing_ok=True)
        if records:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text("".join(f"{record.line()}\n" for record in records), encoding="utf-8")


class Store:
    """The records of all test modules, each read when first asked for."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.folder = folder
        self.records = cache(self._records)

    def _records(self, module: str) -> Records:
        return Records.read((self.folder / module).with_suffix(".jsonl"))

    def find(self, module: str, key: str) -> list[Record]:
        """Return the answers to a question: of the module, else of one that asked it earlier for a shared cache."""
        found = self.records(module).by_key.get(key)
        return found if found is not None else self._elsewhere().get(key, [])

    @cache  # noqa: B019 - the store lives as long as the process
    def _elsewhere(self) -> dict[str, list[Record]]:
        files = sorted(self.folder.rglob("*.jsonl"))
        modules = [path.relative_to(self.folder).with_suffix("").as_posix() for path in files]
        return {key: found for module in modules for key, found in self.records(module).by_key.items()}

    def __iter__(self) -> Iterator[Records]:
        for path in sorted(self.folder.rglob("*.jsonl")):
            yield self.records(path.relative_to(self.folder).with_suffix("").as_posix())
