# Everything a developer or the gate runs. Needs Go, Node (for the CDK module
# under infra/) and a C compiler (for the race detector); the rest is fetched
# at pinned versions.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GOLANGCI_LINT := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# Arguments of `make run`, for example ARGS='--addr :8081 --data :memory:'.
ARGS ?=
# What `make bench` runs, by a pattern of names: Go benchmarks, and those of whole
# servers, ServeLoad and ServeChecks (BENCH=Serve is both). How often the Go
# benchmarks run, whose fastest run counts: compare two outputs with benchstat.
# BENCH_STRICT=1 fails when a goal is missed.
BENCH        ?= .
BENCH_COUNT  ?= 3
BENCH_STRICT ?= 0
# How long `make fuzz` spends on each target.
FUZZTIME ?= 20s

# jsii prints a banner on each run under a Node that is past its end of life,
# and can only be told to be quiet about a named major version.
export JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION := \
	$(shell node -p 'process.versions.node.split(".")[0]' 2>/dev/null)

.PHONY: help
help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/warden, the local server.
	GOWORK=off CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/warden ./functions/warden

.PHONY: run
run: build ## Build and start the local server; ARGS are its flags.
	exec bin/warden serve $(ARGS)

# The two modules are tested apart: the race detector would compile the CDK
# anew, and nothing in infra/ is concurrent. Nor is a schedule of the protocol's
# test: without the detector it runs 20,000 of them, and its mutations.
.PHONY: test
test: ## Test both modules, the root one under the race detector.
	go test -race -shuffle=on ./...
	go test ./shared/protocoltest
	cd infra && go test -shuffle=on ./...

.PHONY: lint lint-modules lint-code
lint: lint-modules lint-code ## Check that the modules are tidy, and the code by .golangci.yml.

lint-modules:
	GOWORK=off go mod tidy -diff
	cd infra && GOWORK=off go mod tidy -diff

lint-code:
	$(GOLANGCI_LINT) run --allow-parallel-runners ./...
	cd infra && $(GOLANGCI_LINT) run --allow-parallel-runners ./...

.PHONY: format
format: ## Rewrite the sources as lint wants them formatted.
	$(GOLANGCI_LINT) fmt ./...
	cd infra && $(GOLANGCI_LINT) fmt ./...

.PHONY: bench
bench: build ## Measure against the goals, in under 12 minutes.
	go run ./functions/warden/bench -warden bin/warden -bench '$(BENCH)' -count $(BENCH_COUNT) -strict=$(BENCH_STRICT)

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME.
	targets=$$(go test -list '^Fuzz' ./... | awk ' \
		/^Fuzz/ { name[n++] = $$1 } \
		/^ok/   { for (i = 0; i < n; i++) print $$2, name[i]; n = 0 }'); \
	while read -r package target; do \
		[ -n "$$target" ] || continue; \
		echo "--- $$package $$target"; \
		go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$package"; \
	done <<<"$$targets"

.PHONY: synth
synth: infra/node_modules/.package-lock.json ## Write the CloudFormation templates to infra/cdk.out.
	cd infra && npx --no-install cdk synth --quiet

infra/node_modules/.package-lock.json: infra/package-lock.json
	cd infra && npm ci --no-audit --no-fund
	touch $@

.PHONY: clean
clean: ## Remove what build, synth and the local server leave behind; not the server's data.
	rm -rf bin build infra/cdk.out infra/node_modules
