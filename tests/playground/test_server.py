"""The server of the page: who is let in, what is handed out, that questions can be stopped."""

import http.client
import json
import time
from threading import Thread

import pytest

from xla2py.tests.playground.serving import serving
from xla2py.transpile.errors import UsageError
from xla2py.transpile.playground.server import ADDRESS

NEGATE = "ENTRY main { x = f32[2] parameter(0)  ROOT y = f32[2] negate(x) }"
FOREVER = """
HloModule forever
test { p = (s32[]) parameter(0)  ROOT yes = pred[] constant(true) }
step { p = (s32[]) parameter(0)  k = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)  two = s32[] xor(k, one)  ROOT t = (s32[]) tuple(two) }
ENTRY main { k = s32[] parameter(0)  start = (s32[]) tuple(k)
  ROOT end = (s32[]) while(start), condition=test, body=step }
"""


@pytest.fixture(scope="module")
def server():
    with serving() as found:
        yield found


def request(server, method, path, body=None, **headers):
    """The status, the headers and the body of an answer; ``path`` follows the token."""
    connection = http.client.HTTPConnection(ADDRESS, server.server_port, timeout=60)
    kind = {"Content-Type": "application/json"} if body is not None else {}
    connection.request(method, path, body, {**kind, **headers})
    answer = connection.getresponse()
    found = answer.status, answer.headers, answer.read()
    connection.close()
    return found


def ask(server, **question):
    status, _, body = request(server, "POST", f"/{server.token}/ask", json.dumps(question))
    assert status == 200
    return json.loads(body)


def test_it_listens_on_this_machine_alone(server):
    assert server.server_address[0] == "127.0.0.1"
    assert len(server.token) >= 20 and server.token in server.url


@pytest.mark.parametrize(
    "method, path", [("GET", ""), ("GET", "site.json"), ("GET", "program"), ("POST", "ask"), ("POST", "stop")]
)
def test_who_has_no_token_or_another_host_is_not_let_in(server, method, path):
    body = "{}" if method == "POST" else None
    for start in ("/", "/wrong/", f"/{server.token[:-1]}/", "//"):
        assert request(server, method, start + path, body)[0] == 403
    for host in ("attacker.example", f"attacker.example:{server.server_port}", ADDRESS, ""):
        assert request(server, method, f"/{server.token}/{path}", body, Host=host)[0] == 403
    assert request(server, method, f"/{server.token}/{path}", body, Origin="http://attacker.example")[0] == 403


def test_it_hands_out_the_page_and_nothing_else(server):
    for name in ("", "main.js", "style.css", "examples/softmax.hlo"):
        status, headers, body = request(server, "GET", f"/{server.token}/{name}")
        assert status == 200 and body
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "no-referrer"
    for name in (
        "../pyproject.toml",
        "%2e%2e/pyproject.toml",
        "examples/../main.js",
        "/etc/passwd",
        "transpile/cli.py",
    ):
        assert request(server, "GET", f"/{server.token}/{name}")[0] == 404
    assert request(server, "GET", f"/{server.token}/program")[0] == 404  # nothing is watched
    assert request(server, "PUT", f"/{server.token}/main.js", "x")[0] == 501


def test_only_tables_of_json_are_questions(server):
    where = f"/{server.token}/ask"
    assert request(server, "POST", where, "[1]")[0] == 400
    assert request(server, "POST", where, "{" * 100_000)[0] == 400
    assert request(server, "POST", where, "{}", **{"Content-Type": "text/plain"})[0] == 400
    for length in (str(10**12), "9" * 5000, "-1", "two"):
        for name in ("ask", "stop"):
            assert request(server, "POST", f"/{server.token}/{name}", "{}", **{"Content-Length": length})[0] == 413


def test_it_answers_in_a_process_that_can_be_stopped(server):
    assert "def main" in ask(server, ask="emit", text=NEGATE)["source"]
    answers = []
    thread = Thread(target=lambda: answers.append(ask(server, ask="run", text=FOREVER)))
    thread.start()
    while thread.is_alive():
        time.sleep(0.2)
        assert request(server, "POST", f"/{server.token}/stop")[0] == 200
    assert answers[0]["stopped"]
    assert ask(server, ask="run", text=NEGATE)["results"]


def test_a_watched_program_is_told_when_it_changes():
    state = {"text": NEGATE}

    def program():
        if not state["text"]:
            raise UsageError()
        return "model.hlo", state["text"]

    with serving(program) as server:
        where = f"/{server.token}/program"
        first = json.loads(request(server, "GET", where)[2])
        assert (first["name"], first["text"]) == ("model.hlo", NEGATE)
        assert request(server, "GET", f"{where}?seen={first['version']}")[0] == 204
        state["text"] = NEGATE.replace("negate", "abs")
        second = json.loads(request(server, "GET", f"{where}?seen={first['version']}")[2])
        assert "abs" in second["text"]
        state["text"] = ""
        assert "problem" in json.loads(request(server, "GET", f"{where}?seen={second['version']}")[2])
