# Maestro. `make` lists what there is; `make ci` is what has to pass.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO            ?= go
TOOLS         := $(CURDIR)/.tools
GOLANGCI      := v2.15.0
GOFUMPT       := v0.12.0
GOLANGCI_LINT := $(TOOLS)/bin/golangci-lint
GOFUMPT_BIN   := $(TOOLS)/bin/gofumpt

# CLIENT is the TypeScript client of the API. The linter of the API's document is installed with it.
CLIENT := web/api
export REDOCLY_SUPPRESS_UPDATE_NOTICE := true

# TEST_TIMEOUT bounds each package's tests; SEEDS and SOAK_SEEDS are how many histories are simulated.
TEST_TIMEOUT ?= 30m
SEEDS        ?= 300
SOAK_SEEDS   ?= 100000
PURE         := ./events ./projections ./commands ./engine

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z][a-z-]*:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  \1\t\2/' | expand -t 20

.PHONY: build
build: ## build bin/maestro
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=auto -o bin/maestro ./cmd/maestro

.PHONY: demo
demo: build ## show the main job in a temporary home: a fleet of twelve workers, three of them and the server killed
	bin/maestro demo

# UNRACED are packages without goroutines, in which the race detector has nothing to find, except in the CONCURRENT
# tests of projections. They run without it; so do, once more, TWICE, whose tests repeat less under it, and in other
# packages the tests that call race.Without.
UNRACED      := events commands projections internal/oracle internal/plan internal/salvage internal/testing/moments \
	internal/tools/docgen internal/tools/imports internal/tools/speccoverage workers/blank workers/manifest \
	workers/prompt workers/sandbox
CONCURRENT   := TestCommittedValuesMayBeKept TestPastWhileLaterGoesOn
TWICE        := api engine
WITHOUT      = $(filter-out $(UNRACED) $(TWICE),$(sort $(patsubst ./%/,%,$(dir $(shell \
	grep -rl --include='*_test.go' --exclude-dir=node_modules 'race[.]Without' .)))))
WITHOUT_RUN  = $(shell awk -F '[^A-Za-z0-9_]+' '/^func / { name = $$2 } /^\trace[.]Without/ { print name }' \
	$(WITHOUT:%=%/*_test.go))
empty        :=
space        := $(empty) $(empty)

# ON_DISK are the packages whose agents are confined: they get a /dev/shm of their own, which hides files in memory.
ON_DISK      := cmd/maestro workers/confine

.PHONY: test
test: ## run all tests, under the race detector where goroutines share something
	.ci/in-memory $(GO) test -race -p 3 -timeout $(TEST_TIMEOUT) \
		$(filter-out $(UNRACED:%=maestro/%) $(ON_DISK:%=maestro/%),$(shell $(GO) list ./...))
	$(GO) test -race -timeout $(TEST_TIMEOUT) -run '^($(subst $(space),|,$(CONCURRENT)))$$' ./projections
	$(GO) test -race -parallel 4 -timeout $(TEST_TIMEOUT) ./cmd/maestro
	{ $(GO) test -timeout $(TEST_TIMEOUT) ./workers/confine && \
	.ci/in-memory $(GO) test -timeout $(TEST_TIMEOUT) -run '^($(subst $(space),|,$(WITHOUT_RUN)))$$' \
		$(WITHOUT:%=./%); } & beside=$$!; \
	.ci/in-memory $(GO) test -timeout $(TEST_TIMEOUT) $(TWICE:%=./%) $(UNRACED:%=./%) && wait $$beside

.PHONY: test-agents
test-agents: build ## run the real agent CLIs from npm against a scripted model; says so where there is no npm
	.ci/test-agents

.PHONY: test-client
test-client: build $(CLIENT)/node_modules/.package-lock.json ## lint the API's document, check the TypeScript client, and run it against the built server; needs Node and npm
	cd $(CLIENT) && npm run --silent lint && npm run --silent check && npm run --silent build
	cd $(CLIENT) && MAESTRO_BINARY=$(CURDIR)/bin/maestro npm test --silent

.PHONY: ci
ci: fmt-check vet lint check-generated test test-client test-agents sim demo ## everything that has to pass, as .ci/run does
	@echo "ci: all passed"

.PHONY: fmt
fmt: $(GOFUMPT_BIN)-$(GOFUMPT) ## format the Go files
	$(GOFUMPT_BIN) -w .

.PHONY: fmt-check
fmt-check: $(GOFUMPT_BIN)-$(GOFUMPT) ## fail when a Go file is not formatted
	@unformatted=$$($(GOFUMPT_BIN) -l .); \
	if [ -n "$$unformatted" ]; then echo "not formatted, run 'make fmt':"; echo "$$unformatted"; exit 1; fi

.PHONY: vet
vet: ## go vet
	$(GO) vet ./...

.PHONY: lint
lint: $(GOLANGCI_LINT)-$(GOLANGCI) ## the linters of .golangci.yml
	$(GOLANGCI_LINT) run ./...

.PHONY: generate
generate: ## write api/openapi, docs/doctor.md, docs/events.md, docs/limits.md, docs/metrics.md, docs/permissions.md, docs/routes.md, docs/guide/reference.md, web/api/schema.d.ts and workers/prompt/syntax_gen.go
	$(GO) run ./internal/tools/docgen
	$(GO) test ./cmd/maestro -count 1 -run '^TestReferenceIsCurrent$$' -update-reference
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory generate-client; else \
	echo "npm is not installed: $(CLIENT)/schema.d.ts is not written; 'make test-client' checks it"; fi

.PHONY: generate-client
generate-client: $(CLIENT)/node_modules/.package-lock.json ## write the types of the TypeScript client, web/api/schema.d.ts
	cd $(CLIENT) && npm run --silent generate

.PHONY: check-generated
check-generated: ## fail when a generated file is not what the code says
	$(GO) run ./internal/tools/docgen -check
	$(GO) test ./cmd/maestro -count 1 -run '^TestReferenceIsCurrent$$'

.PHONY: golden
golden: ## write the golden files anew; look at the difference before you commit it
	$(GO) test ./events ./commands ./projections ./workers/manifest ./workers/prompt -update

.PHONY: fuzz
fuzz: ## fuzz the decoders, a minute each, and the sandbox, ten
	$(GO) test ./events -run '^$$' -fuzz '^FuzzDecode$$' -fuzztime 1m
	$(GO) test ./events -run '^$$' -fuzz '^FuzzAppendString$$' -fuzztime 1m
	$(GO) test ./projections -run '^$$' -fuzz '^FuzzDecode$$' -fuzztime 1m
	$(GO) test ./workers/manifest -run '^$$' -fuzz '^FuzzParse$$' -fuzztime 1m
	$(GO) test ./workers/manifest -run '^$$' -fuzz '^FuzzSchema$$' -fuzztime 1m
	$(GO) test ./workers/manifest -run '^$$' -fuzz '^FuzzSyntax$$' -fuzztime 1m
	$(GO) test ./workers/prompt -run '^$$' -fuzz '^FuzzOutline$$' -fuzztime 1m
	$(GO) test ./workers/outbox -run '^$$' -fuzz '^FuzzNames$$' -fuzztime 1m
	$(GO) test ./workers/agent -run '^$$' -fuzz '^FuzzReaders$$' -fuzztime 1m
	$(GO) test ./workers/agent -run '^$$' -fuzz '^FuzzParseHook$$' -fuzztime 1m
	$(GO) test ./workers/sandbox -run '^$$' -fuzz '^FuzzJudge$$' -fuzztime 10m

.PHONY: sim
sim: ## a short simulation: the real Handler on a log that fails in every way; SEEDS=300
	$(GO) test ./internal/testing/simulation -count 1 -run '^TestSimulation$$|^TestSameSeedSameRun$$' -timeout 10m -seeds $(SEEDS)

.PHONY: soak
soak: ## a long simulation from a seed that nobody has run, moments of a million events, then the real binary: kill -9, a fleet, a server away, hostile sessions, 30 minutes of reports; SOAK_SEEDS=100000
	$(GO) test ./internal/testing/simulation -count 1 -run '^TestSimulation$$' -timeout 0 -from $$(date +%s)00000 -seeds $(SOAK_SEEDS)
	$(GO) test ./projections -count 1 -run '^TestQueueLine$$' -timeout 1h -stories 1000
	$(GO) test ./internal/testing/moments -count 1 -timeout 0 -v -events 1000000 -seed $$(date +%s)
	$(GO) test ./internal/testing/damage -count 1 -timeout 0 -from $$(date +%s) -faults 250
	$(GO) test ./bus -count 1 -run 'SurvivesDiskFault' -timeout 0 -disk-faults 0
	$(GO) test ./cmd/maestro -count 1 -run '^TestKilledServerLosesNothing$$' -v -kill-rounds 20
	$(GO) test ./cmd/maestro -count 1 -run '^TestFleetFinishesItsQueue$$' -timeout 1h -v -queue-rounds 10 -queue-items 1000
	$(GO) test ./cmd/maestro -count 1 -run '^TestServerAwayLosesNoReport$$' -v -away 30s
	$(GO) test ./cmd/maestro -count 1 -run '^TestHostileSessionsStopNobody$$' -timeout 1h -v -load 5m -load-ratio 2 -load-memory 1024
	$(GO) test ./cmd/maestro -count 1 -run '^TestSteadyLoadStaysFlat$$' -timeout 2h -v -steady 30m -steady-rate 2000 -steady-ratio 2

.PHONY: planted
planted: ## build the product with each planted bug, and see the simulation catch it
	$(GO) test ./internal/testing/simulation ./workers/outbox -count 1 -run '^TestPlanted$$' -timeout 0 -v -planted

.PHONY: bench
bench: build ## measure: the pure packages by themselves, then the product against what it stands on
	$(GO) test -run '^$$' -bench . -benchmem $(PURE)
	bin/maestro bench

# A tool is built by the Go command from its source, through the module proxy and its checksums, once a version.
$(GOLANGCI_LINT)-$(GOLANGCI):
	GOBIN=$(TOOLS)/bin $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI)
	touch $@

$(GOFUMPT_BIN)-$(GOFUMPT):
	GOBIN=$(TOOLS)/bin $(GO) install mvdan.cc/gofumpt@$(GOFUMPT)
	touch $@

# The client's packages are those of its lockfile, with their checksums.
$(CLIENT)/node_modules/.package-lock.json: $(CLIENT)/package-lock.json
	@command -v npm >/dev/null || { echo "This needs Node 20 or later and npm; 'make test' needs Go only."; exit 1; }
	cd $(CLIENT) && npm ci --no-audit --no-fund
	touch $@
