# One word each. The venv is made on first use; nothing outside the checkout is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help demo test interop check fmt gen bench soak docs clean

help:
	@echo "make demo    install, then watch wren work on a copy of an example workspace"
	@echo "make test    install, then pass the tests"
	@echo "make interop try every agent we know of, or AGENTS=gemini,agentao, and write docs/agents.md"
	@echo "make check   lint, types, layers, generated code"
	@echo "make fmt     format the code"
	@echo "make gen     write everything generated from schema/"
	@echo "make bench   measure, side by side with peers"
	@echo "make soak    N=20000 random schedules nobody has seen, a minute of chaos, KILLS=50 journals killed at random"
	@echo "make docs    write the API reference to build/docs"

$(STAMP): pyproject.toml
	$(PYTHON) tools/bootstrap.py $(VENV)
	@touch $@

demo: $(STAMP)
	@$(BIN)/python examples/demo.py

test: $(STAMP)
	$(PYTHON) tools/debian.py
	$(BIN)/python -m tools.interop.install default
	$(BIN)/pytest $(PYTEST_ARGS)

AGENTS ?= all
interop: export ROOST_INTEROP = $(AGENTS)
interop: export ROOST_INTEROP_RECORD = tools/interop/results.json
interop: $(STAMP)
	$(PYTHON) tools/debian.py
	$(BIN)/python -m tools.interop.install $(AGENTS)
	$(BIN)/pytest tests/interop/test_agents.py tests/interop/test_installed_by_roost.py tests/interop/test_clients_acpx.py \
		tests/interop/test_mcp_servers.py; status=$$?; $(BIN)/python -m tools.interop.page; exit $$status

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.gen_acp --check
	$(BIN)/python -m tools.gen_bare --check
	$(BIN)/python -m tools.gen_limits --check
	$(BIN)/python -m tools.gen_quirks --check
	$(BIN)/python -m tools.check_tree
	$(BIN)/python -m tools.check_requirements
	$(BIN)/python -m tools.gen_supported --check
	$(BIN)/python -m tools.interop.page --check

fmt: $(STAMP)
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format --quiet .

gen: $(STAMP)
	$(BIN)/python -m tools.gen_acp
	$(BIN)/python -m tools.gen_bare
	$(BIN)/python -m tools.gen_limits
	$(BIN)/python -m tools.gen_quirks
	$(BIN)/python -m tools.gen_supported
	$(BIN)/python -m tools.interop.page

bench: $(STAMP)
	$(BIN)/python -m bench

N ?= 20000
KILLS ?= 50
soak: $(STAMP)
	$(BIN)/python -m tests.simulation.planted
	$(BIN)/python -m tests.simulation.run --count $(N)
	ROOST_CHAOS_SECONDS=60 $(BIN)/pytest --timeout 300 tests/chaos
	ROOST_KILLS=$(KILLS) $(BIN)/pytest tests/store/test_sqlite_killed.py tests/durability/test_random_kills.py

docs: $(STAMP)
	$(BIN)/python -m tools.make_docs

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .hypothesis
