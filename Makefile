# Every target works from a fresh clone; what needs the environment sets it up first.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
BIN := .venv/bin
RUN := $(BIN)/python
#: What the line in one process needs, what running needs on top, and what developing needs on top of that.
FOR_SERVING := .venv/.installed-serve
FOR_RUNNING := .venv/.installed-run
STAMP := .venv/.installed

# Packages come without compiled files. Each is compiled when it is first imported, and that is kept.
unexport PYTHONDONTWRITEBYTECODE

install = "$(RUN)" -m deploy.setup.packages

# The uv of the machine, or else the one that the set-up has fetched.
uv = PATH="$$PATH:$(CURDIR)/$(BIN)" uv
LOCK_FLAGS := --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  \033[1m%-12s\033[0m %s\n", $$1, $$2 }' Makefile

.PHONY: setup
setup: $(FOR_RUNNING) ## Create .venv with what running needs, find or fetch Java, fetch the jars
	@"$(RUN)" -m deploy.jvm.java
	@"$(RUN)" -m deploy.jvm.jars

.PHONY: setup-dev
setup-dev: setup $(STAMP) ## The same, and what developing needs

define make_venv
@"$(PYTHON)" -c 'import sys; sys.exit("Python 3.11 or newer is needed; this is %d.%d: make PYTHON=python3.12 ..." % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
@test -x "$(RUN)" || { echo "Creating .venv"; "$(PYTHON)" -m venv .venv; }
endef

$(FOR_SERVING): requirements-serve.lock requirements-uv.lock
	$(make_venv)
	@$(install) requirements-serve.lock
	@touch "$@"

$(FOR_RUNNING): requirements-run.lock requirements-java.lock requirements-uv.lock
	$(make_venv)
	@$(install) requirements-run.lock --java
	@touch "$@"

$(STAMP): requirements.lock $(FOR_RUNNING)
	@$(install) requirements.lock
	@touch "$@"

.PHONY: demo
demo: setup ## Run the whole system on the neutrinos of SN1987A and on a harbour of now; Ctrl-C stops it (DETACH=1: leave it running)
	@"$(RUN)" -m deploy.local demo

.PHONY: up
up: setup ## Start the whole system in the background (REBUILD=1: fusion begins anew from the topics)
	@"$(RUN)" -m deploy.local up

.PHONY: rebuild
rebuild: setup ## Have fusion of a running system begin anew from the topics; the other processes stay up
	@"$(RUN)" -m deploy.local rebuild

.PHONY: backup
backup: setup ## Write all that a running system remembers into a new folder (TO=folder)
	@"$(RUN)" -m deploy.local backup

.PHONY: try
try: $(FOR_SERVING) ## The demo on the line in one process, without Kafka, Java and Spark (FOLDER=, PORT=8000); Ctrl-C ends it
	@"$(RUN)" -m coincide serve --demo --folder "$(or $(FOLDER),.local/line)" $(if $(PORT),--port "$(PORT)")

.PHONY: restore
restore: setup ## Put a backup into a system that has nothing yet (FROM=folder)
	@"$(RUN)" -m deploy.local restore

.PHONY: down
down: ## Stop it, in order
	@test ! -e $(FOR_RUNNING) || "$(RUN)" -m deploy.local down

.PHONY: stop
stop: setup ## Stop only these processes of it (NAMES="fusion ..."); make up starts them again
	@"$(RUN)" -m deploy.local stop

.PHONY: status
status: setup ## Say what each process does
	@"$(RUN)" -m deploy.local status

.PHONY: logs
logs: setup ## Follow the logs of every process
	@"$(RUN)" -m deploy.local logs

.PHONY: key
key: $(FOR_RUNNING) ## Make a key and show it once (SCOPE="ingest read", NAME=, KAFKA=host:port, TOPIC_PREFIX=; an admin's by itself)
	@"$(RUN)" -m services.common.access $(if $(KAFKA),--kafka "$(KAFKA)") \
	  $(if $(TOPIC_PREFIX),--prefix "$(TOPIC_PREFIX)") create \
	  $(foreach scope,$(or $(SCOPE),admin),--scope $(scope)) $(if $(NAME),--name "$(NAME)")

.PHONY: monitor
monitor: setup ## Prometheus and Alertmanager beside a running system, where they are installed; Ctrl-C stops them
	@"$(RUN)" -m deploy.local monitor

.PHONY: drill
drill: setup-dev ## Break a system of its own in six ways: which alert rings, and after how long (needs Prometheus; NAMES="kafka ...")
	@"$(RUN)" -m trials.drills $(NAMES)

.PHONY: warm
warm: setup ## Let Kafka and Spark start a third faster from now on; takes a minute, once
	@"$(RUN)" -m deploy.local.warming

.PHONY: setup-check
setup-check: $(STAMP) ## Install what the tests need beyond Python, where root may; else say what is left out
	@"$(RUN)" -m tests.needs

# The set-up makes the Python that runs and times the other stages, so its own time is taken here.
set_up_then = began=$$(date +%s) && $(MAKE) setup-dev && $(MAKE) setup-check && "$(RUN)" -m tests.check $(1) --set-up $$(($$(date +%s) - began))

.PHONY: quick
quick: $(STAMP) ## What a change needs while you work on it: its lint and types, its tests and those of what imports it, in 90 s
	@"$(RUN)" -m tests.check.quick

.PHONY: check
check: ## Lint, types, import rules and every test, those with Kafka and Spark included; before every push
	@$(call set_up_then)

.PHONY: check-all
check-all: ## The check, and all that takes longer: random examples, faults, drills, mutations, benchmarks; at night
	@$(call set_up_then,all)

.PHONY: test
test: $(STAMP) ## One test, or those of a file or folder: make test ONE=path::name
	@test -n "$(ONE)" || { echo "Say which: make test ONE=tests/coincide/joins/test_buffer.py::test_name" >&2; exit 2; }
	"$(RUN)" -m pytest "$(ONE)"

.PHONY: test-fast
test-fast: $(STAMP) ## The tests that need no JVM and no more than a second or two each
	"$(RUN)" -m pytest -m "not jvm and not slow" --numprocesses auto

.PHONY: chaos
chaos: setup-dev warm ## Break a whole system on purpose and count what is lost (SOAK=10m or 8h, SEED=, RATE=, SENSORS=, ONLY=kill)
	"$(RUN)" -m trials.chaos --soak "$(or $(SOAK),10m)" $(if $(SEED),--seed "$(SEED)") $(if $(RATE),--rate "$(RATE)") $(if $(SENSORS),--sensors "$(SENSORS)") $(if $(ONLY),--only "$(ONLY)")

.PHONY: fuzz
fuzz: setup-dev ## Try bytes that nobody would send, wherever some come in (FUZZ=10m or 1h, SEED=, ONLY=frames; needs atheris)
	"$(RUN)" -m trials.fuzz --for "$(or $(FUZZ),10m)" $(if $(SEED),--seed "$(SEED)") $(if $(ONLY),--only "$(ONLY)")

.PHONY: bare-machine
bare-machine: setup ## Make a minimal Debian, and run make demo and make check of what is committed in it (as root; ONLY=demo, SUITE=)
	"$(RUN)" -m trials.bare_machine $(if $(ONLY),--only "$(ONLY)") $(if $(SUITE),--suite "$(SUITE)")

.PHONY: mutations
mutations: $(STAMP) ## Plant each slip of trials/mutations in a copy of the code: its tests must notice it (NAMES="sign-in ...")
	"$(RUN)" -m trials.mutations $(NAMES)

.PHONY: lint
lint: $(STAMP) ## Lint, format, types and import rules
	"$(BIN)/ruff" check
	"$(BIN)/ruff" format --check
	"$(RUN)" -m mypy
	"$(BIN)/lint-imports"
	"$(RUN)" -m tests.check.quarantine

.PHONY: screenshots
screenshots: $(STAMP) ## Have the tests in the browser take pictures of the console for the docs, and more into .local/screenshots
	@mkdir -p .local/screenshots docs/how-to/look-at-it
	COINCIDE_PICTURES=docs/how-to/look-at-it COINCIDE_SCREENSHOTS=.local/screenshots \
	  "$(RUN)" -m pytest -m "not jvm" tests/console

.PHONY: fmt
fmt: $(STAMP) ## Format the code and put imports in order
	"$(BIN)/ruff" check --fix-only --quiet
	"$(BIN)/ruff" format

.PHONY: docs
docs: $(STAMP) ## Write the pages that are made from the code, warn of long ones, and build the site into site/
	"$(RUN)" -m docs.generate
	"$(RUN)" -m docs.prose
	"$(RUN)" -m zensical build --clean --strict

.PHONY: docs-serve
docs-serve: docs ## Show the site on http://127.0.0.1:8080; its search needs a server, the pages do not
	"$(RUN)" -m http.server 8080 --bind 127.0.0.1 --directory site

.PHONY: lock
lock: $(STAMP) ## Pin the newest versions that pyproject.toml allows, with hashes
	$(uv) pip compile -q $(LOCK_FLAGS) --extra cli --extra services --extra jobs --extra tools --extra dev -o requirements.lock pyproject.toml
	$(uv) pip compile -q $(LOCK_FLAGS) --extra cli --extra services --extra jobs --extra tools -c requirements.lock -o requirements-run.lock pyproject.toml
	$(uv) pip compile -q $(LOCK_FLAGS) --extra serve -c requirements.lock -o requirements-serve.lock pyproject.toml
	$(uv) pip compile -q $(LOCK_FLAGS) --extra services -c requirements.lock -o requirements-services.lock pyproject.toml
	$(uv) pip compile -q $(LOCK_FLAGS) --extra jobs -c requirements.lock -o requirements-jobs.lock pyproject.toml
	$(uv) pip compile -q $(LOCK_FLAGS) --extra bench -c requirements.lock -o requirements-bench.lock pyproject.toml
	echo uv | $(uv) pip compile -q $(LOCK_FLAGS) -o requirements-uv.lock -

.PHONY: sbom
sbom: $(STAMP) ## Write the bill of materials (CycloneDX) and the licences into .local/supply
	@"$(RUN)" -m deploy.supply.bill

.PHONY: audit
audit: $(STAMP) ## Look for known faults of all that is shipped (exit status 2 of make: some are known, or nobody could be asked)
	@"$(RUN)" -m deploy.supply.advisories

.PHONY: bench
bench: setup-dev .venv/.installed-bench ## Run every benchmark, peers included (NAMES="timing_join ...", QUICK=1)
	"$(RUN)" -m benchmarks $(NAMES) $(if $(QUICK),--quick)

.PHONY: bench-join
bench-join: setup-dev .venv/.installed-bench ## The joins beside all peers, Spark too; the papers' algorithms in counts and pictures
	"$(RUN)" -m benchmarks timing_join satisfaction_table streaming_join window_join paper_costs
	"$(RUN)" -m benchmarks timing_join --peers spark --rounds 3
	"$(RUN)" -m benchmarks timing_join --threads "$$(nproc)"

.venv/.installed-bench: requirements-bench.lock $(STAMP)
	@$(install) requirements-bench.lock
	@touch "$@"

.PHONY: clean
clean: down ## Stop the system and delete its data (the jars stay)
	rm -rf .local/kafka .local/checkpoint .local/archive .local/runs .local/logs .local/alerting.sqlite3*
