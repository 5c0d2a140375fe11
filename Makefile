# Everything a newcomer, CI or a release needs. `make help` lists the targets.
#
# The environments are made here and nowhere else: .venv for development (a strict
# editable install, reinstalled whenever the list of modules changes) and .venv-demo
# for the demo and the benchmarks (the built wheel, with compiled bytecode, as users run it).

PYTHON ?= python3
VENV := .venv
WHEEL_VENV := .venv-demo
BIN := $(VENV)/bin
SOURCES := $(shell find ctxrank indexer ranking cli extensions -name __pycache__ -prune -o -type f ! -name "*.so" -print)
# The stamp's name carries the list of module files: a new, renamed or deleted module reinstalls.
MODULES := $(shell (find ctxrank indexer ranking cli extensions -name __pycache__ -prune -o -type f ! -name "*.so" -print | sort; cat pyproject.toml setup.py) | cksum | cut -d' ' -f1)
STAMP := $(VENV)/installed-$(MODULES)
DEV_STAMP := $(VENV)/installed-dev-$(MODULES)
WHEEL_STAMP := $(WHEEL_VENV)/installed

.DEFAULT_GOAL := help
.PHONY: help demo test slow test-team test-runners test-wide test-wide-nodes test-web test-web-smoke web-pictures browser-ready coverage mutants random-mutants core-alone check static format format-check lint types contract budget bench public figures torture fuzz wheel docs proof release clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

demo: $(WHEEL_STAMP) ## the road of a finding on the shipped fixtures: search, block, why, known error, redaction, files that change, fallback
	@PATH="$(CURDIR)/$(WHEEL_VENV)/bin:$$PATH" sh fixtures/demo.sh

# Two workers, whatever the machine: some tests are crowds of processes themselves.
WORKERS := 2
# Some 300 processes are started: what they and the workers compile is kept, beside the sources' own, also where the
# environment says that nothing is.
PYTEST = PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX="$(CURDIR)/$(VENV)/bytecode" $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

# A third one here works while others wait for a process or a moment.
test: WORKERS := 3
test: $(STAMP) ## run the tests, but for those that take long; WORKERS=4
	$(PYTEST) -m "not slow"

slow: $(STAMP) ## run the tests that take long, and each property on all its examples
	PROPERTY_EXAMPLES=all $(PYTEST) -m "(slow or hypothesis) and not browser and not team and not runners and not wide and not wide_nodes"

# Where there is no PostgreSQL and none can be installed, these are skipped, and say so.
test-team: $(STAMP) ## run a team's log: real PostgreSQL nodes, two of them for a lost primary, eight machines for a minute
	@sh tests/extensions/team/postgres.sh >/dev/null
	$(BIN)/python -m pytest -q -rs -p no:randomly -n $(WORKERS) --dist worksteal -m team tests/extensions/team

# Without npm, or where its registry has them not, these are skipped, and say so. They leave this machine for nothing else.
test-runners: $(STAMP) ## have the real runners, five of them, talk with a stand-in for the model; CTXRANK_HOOK=true shows that the hook does it
	@sh tests/runners/programs.sh $(VENV)/runners
	$(BIN)/python -m pytest -q -rs -p no:randomly -n $(WORKERS) --dist worksteal -m runners tests/runners

# A browser test that finds no Chromium is skipped, and says so.
test-web: browser-ready ## run the page in a real browser: every page, both themes, keyboard, accessibility
	$(BIN)/python -m pytest -q -rs -m browser tests/extensions/web/browser

test-web-smoke: browser-ready ## the same, two minutes at most: what CI runs
	$(BIN)/python -m pytest -q -rs -m "browser and smoke" tests/extensions/web/browser

# A machine without a JDK 21 or Maven skips it, and says so. The jars are fetched once.
test-wide: $(STAMP) ## run the wide index against a real OpenSearch node on loopback
	$(BIN)/python -m pytest -q -rs -m wide tests/extensions/opensearch/cluster tests/ranking/retrieval/test_engines.py

test-wide-nodes: $(STAMP) ## kill one of three OpenSearch nodes while 100,000 documents are sent and searched; minutes
	$(BIN)/python -m pytest -q -rs -s -m wide_nodes tests/extensions/opensearch/cluster

web-pictures: browser-ready ## make the pictures of docs/web anew
	$(BIN)/python tests/extensions/web/browser/pictures.py docs/web

browser-ready: $(STAMP)
	@"$(BIN)/python" -m pip -q install --group browser
	@sh tests/extensions/web/browser/chromium.sh >/dev/null

coverage: $(STAMP) ## run all tests and say which lines none of them runs (takes twice as long)
	$(PYTEST) -m "not browser and not team and not runners and not wide and not wide_nodes" --cov --cov-report=term

mutants: $(STAMP) ## make small mistakes in a copy, one at a time, and see that the tests notice; AREA=errors for one area
	$(BIN)/python tests/mutants.py $(if $(AREA),--area $(AREA))

random-mutants: $(STAMP) ## the same with 200 that are drawn by chance over the core; SEED=1 COUNT=200
	$(BIN)/python tests/random_mutants.py --seed $(or $(SEED),1) --count $(or $(COUNT),200)

core-alone: ## run the core's tests in a clone whose extensions are deleted
	@sh tests/core_alone.sh

check: static test slow ## everything: format, lint, types, import contract, all tests

static: format-check lint types contract budget ## all of `check` but the tests

format: $(DEV_STAMP) ## rewrite the sources in the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

format-check: $(DEV_STAMP)
	$(BIN)/ruff format --check .

lint: $(DEV_STAMP) ## lint the sources
	$(BIN)/ruff check .

types: $(DEV_STAMP) ## check the types with mypy and pyright
	$(BIN)/mypy
	$(BIN)/pyright

contract: $(DEV_STAMP) ## check that the arrows between the folders point one way
	cd $(VENV) && bin/lint-imports --config ../pyproject.toml

budget: $(STAMP) ## print how large each room is, and fail above a figure of tests/code_budget.toml
	$(BIN)/python tests/code_budget.py

bench: $(WHEEL_STAMP) ## measure, on the built wheel; DATA=folder adds the runs that need real data
	$(WHEEL_VENV)/bin/python benchmarks/run.py $(if $(DATA),--data "$(DATA)")

PEERS := .venv-peers/installed
public: $(WHEEL_STAMP) $(PEERS) ## public sets of DATA=folder, ours beside four peers; ONLY="semble locomo", OUT=folder
	$(WHEEL_VENV)/bin/python benchmarks/public/run.py --data "$(DATA)" --peers .venv-peers/bin/python --out "$(or $(OUT),build/public)" --only $(ONLY)

$(PEERS): benchmarks/public/peers.txt
	$(call make-venv,.venv-peers)
	@.venv-peers/bin/python -m pip -q install -r $<
	@touch $@

# `compiled` are the compiled modules under sanitizers, the others targets of atheris: each has a folder of seeds.
fuzz: $(STAMP) ## look for inputs that break something; TARGETS="compiled query path" SECONDS=600
	$(BIN)/python -m pip -q install --group fuzz
	@for target in $(or $(TARGETS),compiled $(notdir $(wildcard tests/fuzz/corpus/*))); do \
	  echo "fuzz: $$target"; \
	  test $$target != compiled || { SECONDS=$(or $(SECONDS),60) sh tests/fuzz/sanitized.sh || exit 1; continue; }; \
	  PYTHONPATH=tests/fuzz $(BIN)/python tests/fuzz/atheris_run.py $$target --seconds $(or $(SECONDS),60) || exit 1; \
	done

torture: $(STAMP) ## kill, cut off, starve, crowd and damage the store for long; PARTS="kills crowd" SEED=7 LENGTH=10
	PYTHONPATH=tests:fixtures:benchmarks:tests/torture $(BIN)/python tests/torture/torture.py $(PARTS) --length $(or $(LENGTH),10) $(if $(SEED),--seed $(SEED))

figures: $(WHEEL_STAMP) ## every table and picture of the benchmarks, from DATA=folder; QUICK=1 only shows that it runs
	@PYTHON="$(WHEEL_VENV)/bin/python" sh benchmarks/figures.sh "$(DATA)" $(if $(QUICK),--quick)

wheel: $(WHEEL_STAMP) ## build the wheel and install it into its own environment

docs: $(STAMP) ## build the documentation as a site, in build/site
	$(BIN)/python -m pip -q install --group docs
	$(BIN)/mkdocs build --strict

proof: ## make docs/proof.md, the page of all harnesses and their last runs; RUN="test slow" runs these first
	$(BIN)/python tests/proof.py $(RUN)

release: $(STAMP) ## build wheel and source distribution, check them, and use each on each Python that is here
	$(BIN)/python -m pip -q install --group release
	$(BIN)/python tests/release.py

clean: ## remove the environments and everything built
	rm -rf $(VENV) $(WHEEL_VENV) .venv-peers build dist *.egg-info .coverage .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

define make-venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "ctxrank needs Python 3.11 or newer; $(PYTHON) is `$(PYTHON) -V 2>&1`. Try: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "$(PYTHON) cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@test -x "$(1)/bin/python" || $(PYTHON) -m venv "$(1)"
	@"$(1)/bin/python" -m pip -q install --upgrade 'pip>=25.1'
endef

$(STAMP): pyproject.toml setup.py $(filter %.c,$(SOURCES))
	$(call make-venv,$(VENV))
	@rm -f $(VENV)/installed-*
	"$(BIN)/python" -m pip -q install --group test --editable . --config-settings editable_mode=strict
	@touch $@

$(DEV_STAMP): $(STAMP)
	"$(BIN)/python" -m pip -q install --group dev
	@touch $@

$(WHEEL_STAMP): pyproject.toml setup.py MANIFEST.in $(SOURCES)
	$(call make-venv,$(WHEEL_VENV))
	@rm -rf dist/wheel build/lib* build/temp.* build/bdist.* && "$(WHEEL_VENV)/bin/python" -m pip -q wheel --no-deps --wheel-dir dist/wheel .
	@"$(WHEEL_VENV)/bin/python" -m pip -q install --compile dist/wheel/*.whl
	@"$(WHEEL_VENV)/bin/python" -m pip -q install --compile --force-reinstall --no-deps dist/wheel/*.whl
	@touch $@
