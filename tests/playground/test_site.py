"""The static page: what xla2py needs in a tab, and, where ``make page`` has made one, that it works there."""

import json
import re
import subprocess
import sys
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from zipfile import ZipFile

import pytest

from xla2py.documentation.page import PACKAGES, _sent
from xla2py.tests.pages.browser import browser, shown
from xla2py.tests.playground.test_page import LARGE
from xla2py.tests.playground.test_server import FOREVER
from xla2py.transpile.playground.site import FOLDER, site_files

CHECKOUT = Path(__file__).parents[2]
SITE = CHECKOUT / "build" / "page"
EXAMPLES = {name: path for name, path in site_files().items() if name.startswith("examples/")}
IN_A_TAB = """
import json, sys
ALLOWED = {*sys.argv[1].split(","), *sys.stdlib_module_names, "xla2py", "blib2to3"} - {"multiprocessing", "ssl"}
class Tab:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, *more):
        top = name.partition(".")[0]
        is_there = top in ALLOWED or top.startswith("_") or top.endswith("__mypyc")
        return self.finder.find_spec(name, *more) if is_there else None
sys.meta_path[:] = [Tab(finder) for finder in sys.meta_path if hasattr(finder, "find_spec")]
sys.path.insert(0, sys.argv[2])
from xla2py.transpile.playground.answers import answer
import ml_dtypes
assert ml_dtypes.__file__.startswith(sys.argv[2])
found = {name: [answer({"ask": kind, "text": text}).get("errors") for kind in ("emit", "run", "download")]
         for name, text in json.load(sys.stdin).items()}
found["style"] = next(s["choices"] for s in answer({"ask": "about"})["settings"] if s["name"] == "style")
print(json.dumps(found))
"""


def test_a_tab_has_all_that_emission_and_runs_import():
    names = ",".join(name.replace("-", "_") for name in PACKAGES)
    texts = {name: path.read_text(encoding="utf-8") for name, path in EXAMPLES.items()}
    command = [sys.executable, "-c", IN_A_TAB, names, str(FOLDER / "stand_in")]
    done = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("style") == ["readable"]
    assert found == {name: [None] * 3 for name in EXAMPLES}


def test_scripts_refer_to_what_there_is_and_make_no_markup_of_text():
    for path in FOLDER.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert all((FOLDER / name).exists() for name in re.findall(r'(?:from|import) "\./([^"]+)"', text)), path
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text), (
            path
        )
    page = (FOLDER / "index.html").read_text(encoding="utf-8")
    assert "unsafe" not in page and not re.search(r"\son\w+=|\sstyle=|https?:", page)


@contextmanager
def hosted():
    """The site on a static host."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def tab():
    """A tab with the page from a static host, loaded."""
    if not (SITE / "site.json").exists():
        pytest.skip("no build/page (make page): the page is tested with the local server in place of Pyodide")
    with browser() as chromium, hosted() as address, shown(chromium, address) as page:
        page.set_default_timeout(60_000)
        page.locator(".listing code", has_text="np.exp").wait_for(timeout=120_000)
        yield page


def test_the_tab_emits_runs_and_shows_errors(tab):
    tab.fill("#program", tab.input_value("#program").replace("exponential(", "tanh("))
    tab.locator(".listing code", has_text="np.tanh").wait_for()
    tab.click("#run")
    tab.locator(".card canvas").first.wait_for()
    tab.fill("#program", tab.input_value("#program").replace("tanh(", "tahn("))
    tab.locator(".problem", has_text="unknown opcode").wait_for()
    assert all(url.startswith((tab.url.partition("#")[0], "blob:")) for url in tab.requests)
    assert tab.complaints == []


def test_the_site_is_small_and_what_a_start_imports_is_bytecode(tab):
    kept = json.loads((SITE / "site.json").read_text(encoding="utf-8"))
    assert sum(_sent(SITE / name) for name in (*kept["own"], *(each["file"] for each in kept["files"]))) < 14e6
    (wheel,) = (SITE / "pyodide").glob("xla2py-*.whl")
    names = ZipFile(wheel).namelist()
    assert {"xla2py/transpile/emission/__init__.pyc", "xla2py/templates/prelude/arrays_in_files.py"} <= set(names)
    assert "enum.pyc" in ZipFile(SITE / "pyodide" / "python_stdlib.zip").namelist()


def test_all_texts_of_the_gallery_emit_in_the_tab(tab):
    emits = """async (texts) => {
      const { connect } = await import("./backend.js");
      const backend = connect(await (await fetch("site.json")).json(), () => {});
      const found = {};
      for (const [name, text] of Object.entries(texts)) {
        const { errors } = await backend.ask({ ask: "emit", text, target: "numpy" });
        if (errors) found[name] = errors[0].message;
      }
      return found;
    }"""
    texts = {path.name: path.read_text(encoding="utf-8") for path in (CHECKOUT / "examples" / "hlo").glob("*.hlo")}
    found = tab.evaluate(emits, texts)
    narrow = {name for name, text in texts.items() if re.search(r"\b(bf16|f8\w+|[su]4)\[", text)}
    has_narrow = not (SITE / "pyodide" / "ml_dtypes-0-py3-none-any.whl").exists()
    assert set(found) == (set() if has_narrow else narrow), found


def test_the_tab_stops_what_takes_long_and_begins_anew(tab):
    tab.fill("#program", FOREVER)
    tab.locator(".listing code", has_text="while np.bool_(True)").wait_for()
    tab.click("#run")
    tab.locator("#stop").click()
    tab.locator("#stop").wait_for(state="hidden")
    tab.set_input_files("#file", {"name": "large.hlo", "mimeType": "", "buffer": LARGE.encode()})
    tab.locator("#stop").click()
    tab.locator(".problem", has_text="it was stopped").wait_for()
    tab.select_option("#example", "Softmax")
    tab.locator(".listing code", has_text="np.exp").wait_for(timeout=120_000)


def test_the_tab_works_without_a_network(tab):
    tab.wait_for_function(
        "async () => (await navigator.serviceWorker.getRegistration())?.active?.state === 'activated'"
    )
    tab.context.set_offline(True)
    tab.reload()
    tab.locator(".listing code", has_text="np.exp").wait_for(timeout=120_000)
    tab.context.set_offline(False)
