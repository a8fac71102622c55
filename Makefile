# `make demo` and `make test` need python3.11 (or newer) and make, nothing else.
# Everything is installed into .venv, from the pins and hashes in requirements/.

PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.memstream

# Nothing is resolved and nothing unpinned is built with: pip checks every hash, the build tools
# come from requirements/build.txt, and the project itself is installed without its dependencies.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-build-isolation --use-pep517
PIP_PROJECT := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .

LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-annotate --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
	$(if $(UPGRADE),--upgrade)

SAY_IF_LEXICAL := if [ -f $(READY)-lexical ]; then cat $(READY)-lexical; fi

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev demo test check format format-check lint types bench bench-kafka wheel lock clean \
	kafka-up kafka-down postgres-up postgres-down

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(READY)-run ## make .venv with memstream and, where it installs, the local embedder
	@$(SAY_IF_LEXICAL)
	@echo "ready: $(BIN)/memstream --help"

setup-dev: $(READY)-dev ## the same, with what tests and checks need

demo: $(READY)-run ## see memstream at work, in a minute
	@$(SAY_IF_LEXICAL)
	@$(BIN)/python -m memstream.service.demo

test: $(READY)-dev ## run all tests (TESTS="-k name" narrows, HYPOTHESIS_PROFILE=thorough widens)
	$(if $(TESTS),$(BIN)/python -m pytest $(TESTS),$(BIN)/python tests/in_parts.py)

check: format-check lint types test ## all that CI runs; the tests build and try the wheel and the docs
	@echo "check: formatting, lint, types and tests passed"

format: $(READY)-dev ## format the code and mend what ruff can
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

format-check: $(READY)-dev
	$(BIN)/ruff format --check .

lint: $(READY)-dev ## ruff
	$(BIN)/ruff check .

types: $(READY)-dev ## mypy and pyright
	@status=0; \
	$(BIN)/mypy || status=1; \
	$(BIN)/pyright || status=1; \
	exit $$status

bench: $(READY)-dev ## measure; figures go to bench/results.json
	PYTHONPATH="src:." $(BIN)/python -m bench $(BENCH)

bench-kafka: $(READY)-dev ## the same for the distributed run (needs Java 17 and Maven)
	PYTHONPATH="src:." $(BIN)/python -m bench kafka

kafka-up: $(READY)-venv ## start an Apache Kafka on loopback, without containers (BROKERS=3; needs Java 17 and Maven)
	@$(BIN)/python infra/kafka_node.py up --brokers $(or $(BROKERS),1)

kafka-down: $(READY)-venv ## stop it; its log stays in infra/.run/kafka
	@$(BIN)/python infra/kafka_node.py down

postgres-up: $(READY)-venv ## start a PostgreSQL on loopback for the key ring (needs its programs)
	@$(BIN)/python infra/postgres_node.py up

postgres-down: $(READY)-venv ## stop it; its data stay until the next start
	@$(BIN)/python infra/postgres_node.py down

wheel: $(READY)-dev ## build dist/*.whl
	rm -rf build
	$(BIN)/python -m build --wheel --no-isolation
	rm -rf build

lock: $(READY)-dev ## write requirements/*.txt anew (UPGRADE=1 takes newer versions)
	$(LOCK) requirements/build.in -o requirements/build.txt
	$(LOCK) pyproject.toml --extra kafka --extra qdrant -o requirements/kafka.txt
	$(LOCK) pyproject.toml -c requirements/kafka.txt -o requirements/base.txt
	$(LOCK) pyproject.toml --extra local -c requirements/kafka.txt -o requirements/local.txt
	$(LOCK) pyproject.toml --extra dev --extra fastembed --extra kafka --extra qdrant -c requirements/kafka.txt -c requirements/build.txt -o requirements/dev.txt

clean: ## remove what was built and cached, and .venv
	rm -rf build dist *.egg-info $(VENV) .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# What follows makes .venv. Each stamp is newer than the files it was made from, so a second
# `make` does nothing here.

$(READY)-venv:
	@set -e; found=""; \
	for each in $(if $(PYTHON),"$(PYTHON)",python3.11 python3.12 python3.13 python3); do \
		if "$$each" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
		then found="$$each"; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
		echo "memstream needs Python 3.11 or newer, and found none (looked for $(or $(PYTHON),python3.11 to python3.13 and python3)). Install python3.11, or name one: make PYTHON=/path/to/python3" >&2; \
		exit 1; \
	fi; \
	if ! "$$found" -c 'import ensurepip, venv' >/dev/null 2>&1; then \
		echo "$$found has no venv module. Install it (on Debian and Ubuntu the package python3.11-venv), or name another Python: make PYTHON=/path/to/python3" >&2; \
		exit 1; \
	fi; \
	if [ ! -x $(BIN)/python ]; then echo "making $(VENV) with $$found"; "$$found" -m venv $(VENV); fi
	@touch $@

$(READY)-run: $(READY)-venv pyproject.toml requirements/build.txt requirements/base.txt requirements/local.txt
	@echo "installing what memstream runs with: pinned, hashes checked, a minute or two the first time"
	@$(PIP_INSTALL) -r requirements/build.txt
	@$(PIP_INSTALL) -r requirements/base.txt
	@rm -f $(READY)-lexical
	@if ! $(PIP_INSTALL) -r requirements/local.txt 2>$(READY)-local.log; then \
		if grep -q "DO NOT MATCH THE HASHES" $(READY)-local.log; then cat $(READY)-local.log >&2; exit 1; fi; \
		echo "The local embedder does not install here (why: $(READY)-local.log), so search is lexical: by words, not by meaning. To try again: make clean setup" >$(READY)-lexical; \
	fi
	@$(PIP_PROJECT)
	@touch $@

$(READY)-dev: $(READY)-run requirements/dev.txt
	@echo "installing what the tests and checks run with"
	@$(PIP_INSTALL) -r requirements/dev.txt
	@touch $@
