"""The server of the page on this machine, for its own user alone.

The server listens on 127.0.0.1. It only answers requests that name it as their host (so a page from elsewhere cannot
make its own name resolve to it) and whose path begins with its token. It serves the files of the page, the watched
program, and answers to questions. A separate process computes these: a question can be stopped, and a crash only ends
that process.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ..equivalence.reference.worker import Limits, RemoteError, Worker, WorkerDied, WorkerTimeout
from ..errors import XlaToPythonError
from .answers import Answer, Question, answer
from .site import site_files

ADDRESS = "127.0.0.1"
LONGEST_QUESTION = 256 << 20  # bytes of a question
_SECONDS = 600.0  # time limit of a question
_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
Program = Callable[[], tuple[str, str]]  # name and text of the watched file; raises XlaToPythonError


class Playground(ThreadingHTTPServer):
    """The server of a page. ``program`` reads the watched file, if there is one."""

    daemon_threads = True

    def __init__(self, port: int = 0, program: Program | None = None) -> None:
        super().__init__((ADDRESS, port), _Handler)
        self.token = secrets.token_urlsafe(16)
        self.files = {name: path.read_bytes() for name, path in site_files().items()}
        self.files["site.json"] = json.dumps({"backend": "server", "watches": program is not None}).encode()
        self.program = program
        self._worker, self._one = Worker(), Lock()

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.server_port}/{self.token}/"

    @property
    def hosts(self) -> tuple[str, str]:
        """The values of ``Host`` for a browser that the user sent here."""
        return f"{ADDRESS}:{self.server_port}", f"localhost:{self.server_port}"

    def ask(self, question: Question) -> Answer:
        """Return the answer to a question, from the process; one at a time."""
        with self._one:
            try:
                found: Answer = self._worker.ask(answer, question, limits=Limits(_SECONDS)).value
                return found
            except (WorkerDied, WorkerTimeout) as error:
                return {"stopped": True, "errors": [{"code": "stopped", "message": f"it was stopped: {error}"}]}
            except RemoteError as error:
                return {"errors": [{"code": "bug", "message": f"internal error: {error}"}]}

    def stop_question(self) -> None:
        """End the process, and so its question; the next question starts another process."""
        self._worker.kill()

    def server_close(self) -> None:
        super().server_close()
        self._worker.kill()
        with self._one:
            self._worker.stop()


class _Handler(BaseHTTPRequestHandler):
    server: Playground
    server_version, sys_version = "xla2py", ""

    def do_GET(self) -> None:
        self._answer({"program": self._program}, self._file)

    def do_POST(self) -> None:
        self._answer({"ask": self._ask, "stop": self._stop}, self._missing)

    def _answer(self, doors: dict[str, Callable[[], None]], other: Callable[[], None]) -> None:
        """Answer a request that has the token and names this server as its host."""
        _, _, path = urlsplit(self.path).path.partition("/")
        token, _, self.name = path.partition("/")
        if self.headers.get("Host", "") not in self.server.hosts or not self._is_own_origin():
            self._send(HTTPStatus.FORBIDDEN, b"this server answers to its own name alone\n", ".txt")
        elif not secrets.compare_digest(token.encode(), self.server.token.encode()):
            self._send(HTTPStatus.FORBIDDEN, b"the address that xla2py serve printed has a token\n", ".txt")
        else:
            doors.get(self.name, other)()

    def _is_own_origin(self) -> bool:
        origin = self.headers.get("Origin")
        return origin is None or origin in [f"http://{host}" for host in self.server.hosts]

    def _file(self) -> None:
        name = self.name or "index.html"
        content = self.server.files.get(name)
        if content is None:
            self._missing()
        else:
            self._send(HTTPStatus.OK, content, Path(name).suffix)

    def _missing(self) -> None:
        self._send(HTTPStatus.NOT_FOUND, b"there is nothing here\n", ".txt")

    def _program(self) -> None:
        """Send the watched program, unless it is the one that was ``seen``."""
        if self.server.program is None:
            return self._missing()
        try:
            name, text = self.server.program()
            found = {"name": name, "text": text}
        except XlaToPythonError as error:
            found = {"name": "", "problem": str(error)}
        found["version"] = hashlib.sha256(json.dumps(found).encode()).hexdigest()
        if [found["version"]] == parse_qs(urlsplit(self.path).query).get("seen"):
            return self._send(HTTPStatus.NO_CONTENT, b"", ".json")
        return self._send_json(found)

    def _ask(self) -> None:
        body = self._body()
        if body is None:
            return None
        try:
            question = json.loads(body)
        except (ValueError, RecursionError):
            question = None
        if self.headers.get_content_type() != "application/json" or not isinstance(question, dict):
            return self._send(HTTPStatus.BAD_REQUEST, b"a question is a table of JSON\n", ".txt")
        return self._send_json(self.server.ask(question))

    def _stop(self) -> None:
        if self._body() is not None:
            self.server.stop_question()
            self._send_json({})

    def _body(self) -> bytes | None:
        """Return what was sent; None, and the answer that says so, if it is too long or of no known length."""
        length = self.headers.get("Content-Length", "")
        if length.isdecimal() and len(length) < 20 and int(length) <= LONGEST_QUESTION:
            return self.rfile.read(int(length))
        self.close_connection = True
        self._send(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, b"this question is too long\n", ".txt")
        return None

    def _send_json(self, found: Any) -> None:
        self._send(HTTPStatus.OK, json.dumps(found).encode(), ".json")

    def _send(self, status: HTTPStatus, content: bytes, suffix: str) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{_TYPES.get(suffix, 'text/plain')}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing, as addresses contain the token."""
