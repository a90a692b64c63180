# The commands a person types. What they do stands in scripts/, in Python's standard library alone.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
# One process of tests more than there are processors, at most five: one of them often waits.
JOBS ?= $(shell n=$$(nproc 2>/dev/null || echo 2); [ $$n -gt 4 ] && n=4; echo $$((n + 1)))

.PHONY: help setup lock run check test test-release lint bench wheel app clean

help:
	@echo "make run     open the window (with no display: do the same headless, pictures in out/)"
	@echo "make check   lint, type checks and the tests that are not marked slow"
	@echo "make test    lint, type checks and all tests"
	@echo "make test-release   what needs the network and minutes: the application, the .deb, a bare Debian"
	@echo "make setup   only prepare .venv"
	@echo "make lock    take the newest versions that pyproject.toml allows into scripts/*.lock"
	@echo "make lint    ruff, mypy and import-linter"
	@echo "make bench   speed figures"
	@echo "make app     build/app/: a folder that needs no Python, and packages of it (PyInstaller)"
	@echo "make wheel   build/dist/tilescope-*.whl, which needs no checkout"
	@echo "make clean   remove .venv and everything generated"

setup:
	@$(if $(PYTHON),,echo "Tilescope needs Python 3.11 or newer and found none: apt-get install python3." >&2; exit 1)
	@$(PYTHON) scripts/setup.py

# Exact versions, the same for every Python; --no-config: a machine's own registry stays out of it.
LOCK = build/uv/bin/uv pip compile --no-config --quiet --universal --python-version 3.11 --upgrade \
	--fork-strategy fewest --custom-compile-command "make lock" pyproject.toml

lock: setup
	@$(BIN)/python -m pip install --quiet --upgrade --target build/uv uv
	@$(LOCK) --extra dev --generate-hashes --output-file scripts/requirements.lock
	@$(LOCK) --extra gpu --extra headers --constraint scripts/requirements.lock \
		--output-file scripts/requirements-gpu.lock

run: setup
	@$(BIN)/python scripts/run.py

# A process that has nothing left to do takes tests from another: a long file keeps nobody waiting.
# Hundreds of processes start in the tests: each would compile the program if modules were not kept.
PYTEST = env -u PYTHONDONTWRITEBYTECODE QT_QPA_PLATFORM=$${QT_QPA_PLATFORM:-offscreen} $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal

# The checks of the text run beside the tests; what they say comes last.
check test: setup
	@$(BIN)/python scripts/qt_libraries.py offscreen xcb
	@mkdir -p build; $(MAKE) --no-print-directory lint >build/lint.log 2>&1 & lint=$$!; status=0; \
	$(PYTEST) -m $(if $(filter check,$@),"not slow and not release","not release") || status=1; \
	wait $$lint || status=1; cat build/lint.log; exit $$status

test-release: setup
	@QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest -q -m release tests/test_app.py tests/test_wheel.py \
		tests/gui/test_lessons_by_hand.py tests/gui/test_damaged_lessons.py \
		tests/core/lessons/test_fuzz.py tests/core/compiler/test_shipped_ptx.py

lint: setup
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python scripts/package_graph.py --sizes

bench: setup
	@QT_QPA_PLATFORM=$${QT_QPA_PLATFORM:-offscreen} $(BIN)/python scripts/bench.py

wheel: setup
	@$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir build/dist .
	@ls build/dist/*.whl

app:
	@$(PYTHON) scripts/wheel/make_app.py

clean:
	rm -rf .venv build out *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
