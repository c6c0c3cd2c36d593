# make demo   set up, emit an example for NumPy and run it
# make test   set up, lint, check types and imports, run the tests
# make quick  lint, check types and imports, run the tests that need neither XLA nor a browser
# make record write what XLA and JAX answer to tests and is not recorded; drop what nobody asks any more
# make prove  all tests, whole, with all answers asked anew of the installed XLA; hours
# make net    emit anew what tests emitted when build/net was recorded, see tests/emitted_net.py
# make newest run the tests on Debian 13 with Python 3.13 and what is newest today, where this can be set up
# make docs   write the generated documentation again
# make site   the documentation as pages with a search, in build/site
# make page   the page that turns HLO into Python in a browser, in build/page
# make dist   an sdist and a wheel, in dist, installed and tried in a fresh environment
# make clean  remove what the others made

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
EXAMPLE ?= examples/hlo/attention.before.hlo

# Modules are compiled once, not by each process that a test starts.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test quick record prove net newest lint types contract pytest quick-pytest docs site page dist clean

# tests that need no other process, no XLA and no array library but NumPy
QUICK = tests/array tests/builder tests/commands/test_emit.py tests/commands/test_other_commands.py \
	tests/commands/test_terminal.py tests/hlo tests/kernels/test_index_maps.py tests/kernels/test_verifier.py \
	tests/prelude/test_names.py tests/test_architecture.py tests/test_diagnostics.py tests/test_files.py \
	tests/test_gallery.py::test_gallery_is_current tests/test_packaging.py tests/test_settings.py

demo: $(VENV)/.ready
	$(BIN)/xla2py emit $(EXAMPLE)
	$(BIN)/xla2py run $(EXAMPLE)

# mypy takes one core for a minute: another check stands beside it
test:
	$(MAKE) --jobs=2 lint types contract pytest

quick:
	$(MAKE) --jobs=2 lint types contract quick-pytest

lint: $(VENV)/.ready-to-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# mypy needs to see the checkout under the package's own name
types: $(VENV)/.ready-to-test
	mkdir -p $(VENV)/checkout
	ln -sfn "$(CURDIR)" $(VENV)/checkout/xla2py
	MYPYPATH=$(VENV)/checkout $(BIN)/mypy --strict -p xla2py

contract: $(VENV)/.ready-to-test
	$(BIN)/lint-imports

# Some tests wait for processes of their own: three workers keep two cores busy, and each costs ten seconds of CPU time.
WORKERS ?= 3
pytest: $(VENV)/.ready-to-test
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

quick-pytest: $(VENV)/.ready-to-test
	$(BIN)/python -m pytest -n 2 --dist worksteal $(QUICK)

# A test file's answers are written by the process that runs all its tests. TESTS may be a folder or some files.
TESTS ?= tests
record: $(VENV)/.ready-to-test
	$(BIN)/python -m pytest -n 2 --dist loadfile --answers=record $(TESTS)

# PART=3/10 proves a tenth, MINUTES=5 what begins within these.
PART ?= 1/1
MINUTES ?= inf
prove: $(VENV)/.ready-to-test
	$(BIN)/python -m pytest -n 2 --dist worksteal --answers=live --whole --part $(PART) --minutes $(MINUTES) $(TESTS)

net: $(VENV)/.ready-to-test
	$(BIN)/python tests/emitted_net.py build/net

newest:
	.ci/newest $(NEWEST)

docs: $(VENV)/.ready-to-test
	$(BIN)/python -m xla2py.tests.operations.write_coverage
	$(BIN)/python -m xla2py.documentation.write

# With --quiet, --strict would not stop at broken links.
site: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet 'mkdocs-material>=9,<10'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# PAGE="--release FOLDER" takes Pyodide's wheels from a folder in place of its public CDN; --pyodide VERSION another version.
page: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet 'setuptools>=77'
	$(BIN)/python -m xla2py.documentation.page build/page $(PAGE)

# The wheel comes from the sdist, and is tried where there is nothing else: as a command, in Python, and by a type checker.
dist: $(BIN)/python
	$(BIN)/python -m pip install --quiet build
	$(BIN)/python -m build --outdir dist
	rm -rf build/try && $(PYTHON) -m venv build/try
	build/try/bin/python -m pip install --quiet dist/*.whl mypy
	build/try/bin/python tests/installed.py $(EXAMPLE)
	build/try/bin/mypy --strict tests/installed.py

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.ready: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

# pip would compile modules one after the other, and those that no test imports; workers would each compile the checkout
$(VENV)/.ready-to-test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[test]'
	-$(BIN)/python -m compileall -qq -j 2 -x '/(tests?|mypyc?|pip|setuptools)/' $(VENV)/lib transpile targets templates
	touch $@ $(VENV)/.ready

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
