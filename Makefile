# `make` alone lists the targets.
GO ?= go
FUZZTIME ?= 15s

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

.PHONY: build
build: ## build bin/usher
	$(GO) build -o bin/usher ./cmd/usher

.PHONY: parts
parts: ## install the servers and clients by others that the tests run
	test/real/install.sh
	test/connect/install.sh

.PHONY: test
test: parts ## run all tests, with the race detector, none from the cache: some build other programs
	$(GO) test -race -count=1 -timeout 14m ./...

SEED ?= 1
N ?= 500

.PHONY: chaos
chaos: ## break servers while calls run: N seeds from SEED on; takes minutes
	$(GO) run -race ./test/chaos/driver -seed $(SEED) -n $(N)

.PHONY: flows
flows: ## an agent that does whatever it reads, on our texts or CORPUS=file.jsonl; prints what left and what was asked
	$(GO) test -count=1 -v -timeout 20m ./test/flows $(if $(CORPUS),-corpus $(abspath $(CORPUS)))

.PHONY: generate
generate: ## write generated code anew
	GO=$(GO) tools/generate.sh

.PHONY: peers
peers: ## call servers by others, many of them, and print a table; takes minutes
	test/peers/install.sh
	$(GO) run ./test/peers

.PHONY: lint
lint: ## go vet, staticcheck, gofmt, generated code
	$(GO) vet ./...
	$(GO) tool -modfile=tools/go.mod staticcheck ./...
	GO=$(GO) tools/generate.sh --check
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'run gofmt -w on these'; exit 1; }

.PHONY: bench
bench: ## print the budgets as ratios against their floors
	$(GO) run ./bench/compare
	$(GO) run ./bench/transports
	$(GO) test -run '^$$' -bench 'Stack|CachedStart' ./internal/upstream ./standard

.PHONY: fuzz
fuzz: ## fuzz every parser of foreign bytes for FUZZTIME each
	FUZZTIME=$(FUZZTIME) GO=$(GO) test/fuzz.sh
