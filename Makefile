# make book: the pages · make test: everything that must hold · make lab: the notebooks, live
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(firstword $(foreach p,python3 python3.14 python3.13 python3.12 python3.11,$(shell \
  $(p) -c 'import sys, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null && echo $(p))))
TORCH := $(shell sed -n 's/^torch==\([0-9.]*\).*/\1/p' requirements.lock)
VERSION := $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' uaftc_lib/__init__.py)
PIP := $(BIN)/python -m pip --disable-pip-version-check
INSTALL := $(PIP) install --quiet --no-compile --constraint requirements.lock --editable
PYTEST := TQDM_DISABLE=1 $(BIN)/python -m pytest --durations 30
STRICT ?=
# One thread for each process: small models are faster so, and sums come out the same everywhere.
export OMP_NUM_THREADS := 1
export PYTHONUNBUFFERED := 1
# What is imported is compiled once and kept: where this is forbidden, each of the hundred processes below would
# compile torch and Sphinx again, for eight seconds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: here book rerun compare test lint loops test-unit test-long links dist lab bench lock clean

# An environment that was copied or moved with its checkout still runs the library of the place where it was made.
here:
	@test ! -e $(VENV)/book.installed || $(BIN)/python -P -c "import sys; from importlib.util import find_spec; \
	  sys.exit(not str(getattr(find_spec('uaftc_lib'), 'origin', '')).startswith(sys.argv[1]))" "$(CURDIR)/" \
	  || { echo "This checkout was copied or moved, and $(VENV) belongs to where it was: run make clean first."; exit 1; }

book: $(VENV)/book.installed
	@$(BIN)/uaftc book $(if $(STRICT),--strict)

rerun: $(VENV)/book.installed
	@$(BIN)/uaftc book --forget $(if $(STRICT),--strict)

# After make rerun: what notebooks put out now, beside what is committed.
compare: $(VENV)/test.installed
	@$(BIN)/python .ci/compare.py

# Notebooks are replayed without progress bars: whether one shows depends on the machine. Their texts are linted when
# `book` has touched them: jupytext stops at a file that changes meanwhile.
test: $(VENV)/test.installed
	@$(MAKE) --no-print-directory -j 2 book loops
	@$(MAKE) --no-print-directory lint
	$(PYTEST) -n 2 --nbval tests book

lint: $(VENV)/test.installed
	$(BIN)/ruff check .
	$(BIN)/jupytext --quiet --pipe-fmt py:percent --check "$(BIN)/ruff check --quiet --ignore E501 {}" notebooks/*.md
	$(BIN)/actionlint
	$(BIN)/zizmor --quiet --offline --persona=auditor .github/workflows
	$(BIN)/check-jsonschema --builtin-schema custom.github-workflows-require-timeout .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.gitlab-ci --data-transform gitlab-ci .gitlab-ci.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

# Each loop is compiled once, and kept, before the processes of a test run would compile it each for itself.
loops: $(VENV)/test.installed
	@$(BIN)/python tests/loops.py

# What needs no browser, corpus, built book or new environment.
test-unit: loops
	$(PYTEST) -n 2 -m "not long and not whole" tests

test-long: $(VENV)/test.installed
	$(PYTEST) -n 2 --timeout 0 -m long tests

# Every link that leads out of the book, followed.
links: $(VENV)/book.installed
	$(BIN)/jupyter-book build book --config "$(CURDIR)/_config.yml" --toc "$(CURDIR)/_toc.yml" --path-output _build/links --builder linkcheck --quiet

# What a release holds: the library as a wheel, the book as a zip of its pages, a PDF and an ePub (by a Chromium browser).
dist: $(VENV)/paper.installed book
	@rm -rf dist
	@$(PIP) wheel --quiet --no-deps --wheel-dir dist .
	@$(BIN)/python -c "import shutil; shutil.make_archive('dist/uaftc-book-$(VERSION)', 'zip', '_build/book/_build', 'html')"
	@$(BIN)/python -m uaftc_book.publish.paper dist >/dev/null
	@ls dist

# Both copies of a chapter are below the folder that is served, so that jupytext keeps them alike. What is trusted shows
# its live figures before anything is run; jupyterlab-myst shows the text as pages do.
lab: $(VENV)/lab.installed
	@$(BIN)/python -c "import sys; from uaftc_book.publish.execution import touch, unedited; \
	  sys.tracebacklimit = 0; touch(unedited())"
	-@$(BIN)/jupyter trust book/*.ipynb >/dev/null
	$(BIN)/jupyter lab --LabApp.default_url=/lab/tree/book $(if $(filter 0,$(shell id -u)),--allow-root)

bench: $(VENV)/bench.installed
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/page.py

# torch comes first, as its CPU build where one is offered: from wherever pip looks, else from PyTorch's own
# index. The index is not for the other packages: pip would ask it for every one of them.
$(VENV)/book.installed: requirements.lock pyproject.toml | here
	@test -n "$(PYTHON)" || { echo "Python 3.11 to 3.14 with its venv module is needed (on Debian: apt install python3-venv)."; exit 1; }
	@echo "Installing into $(VENV) with $$($(PYTHON) --version)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install --quiet --no-compile torch==$(TORCH)+cpu 2>/dev/null \
	  || $(PIP) install --quiet --no-compile --no-deps --retries 1 --index-url https://download.pytorch.org/whl/cpu torch==$(TORCH)+cpu 2>/dev/null \
	  || $(PIP) install --quiet --no-compile torch==$(TORCH)
	@$(INSTALL) '.[book]'
	@touch $@

$(VENV)/%.installed: $(VENV)/book.installed
	@echo "Installing what 'make $*' needs"
	@$(INSTALL) '.[$*]'
	@touch $@

# The lock serves Python 3.11 to 3.14 on every platform and all extras. UPGRADE=1 takes the newest releases that
# pyproject.toml and requirements.in admit. What torch brings of CUDA is left out: it follows from the build of torch.
lock: $(VENV)/book.installed
	@$(PIP) install --quiet uv
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-annotate --no-header --all-extras --constraint requirements.in \
	  $(if $(UPGRADE),--upgrade) --output-file requirements.lock pyproject.toml
	@{ echo "# Made by 'make lock' from pyproject.toml and requirements.in; serves as constraints (see Makefile)."; grep -vE '^(#|nvidia-|cuda-|triton)' requirements.lock; } > requirements.lock.new
	@mv requirements.lock.new requirements.lock

clean:
	rm -rf $(VENV) _build dist .pytest_cache .ruff_cache .hypothesis
