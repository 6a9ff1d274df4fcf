# ahprelay. `make help` lists what can be made.

GO       ?= go
BIN      := bin
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT   := $(shell git rev-parse --short=12 HEAD 2>/dev/null)
LDFLAGS  := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
FUZZTIME ?= 30s
SEED     ?= 0
DURATION ?= 10m
# The codec scans with AVX2 where the processor has it; the same answers come from plain Go elsewhere.
export GOEXPERIMENT ?= simd

.DEFAULT_GOAL := help
.PHONY: help build demo test race browser-test check fuzz sim chaos soak bench bench-peers screenshots release clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/ahprelay and bin/git-sidecar
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/...

demo: build ## run the relay, a sidecar on this repository and a client that reads through it
	@BIN=$(BIN) sh .ci/demo

test: ## run every test
	$(GO) test ./...

race: ## run every test under the race detector
	$(GO) test -race ./...

browser-test: ## look at the status page with headless Chromium, where there is one
	$(GO) test -v -count 1 -tags browser -run TestPage ./cmd/ahprelay/admin

check: ## formatting, vet, static analysis, cross compilation, sizes
	@sh .ci/check

fuzz: ## run each fuzz target for FUZZTIME, then judge MUTANTS damaged bodies in every way
	@FUZZTIME=$(FUZZTIME) MUTANTS=$(MUTANTS) sh .ci/fuzz

sim: ## replay one seed of the simulation: make sim SEED=7
	$(GO) test ./fuzz -run TestSim -count 1 -seed $(SEED) -v

chaos: ## faults on the real program: kills, resets, stalls, floods, limits
	$(GO) test -tags chaos -timeout 0 -count 1 -run TestChaos -v ./fuzz

soak: ## mixed traffic with churn for DURATION
	$(GO) test -tags soak -timeout 0 -count 1 -run TestSoak -v ./fuzz -duration $(DURATION)

bench: build ## measure this relay
	$(BIN)/ahprelay bench --pin --reps 3 --duration 500ms

bench-peers: build ## measure this relay and its peers in one run
	cd bench/peers && $(GO) run . --pin --duration 700ms --relay-binary ../../$(BIN)/ahprelay --results ../results

screenshots: ## make the pictures of the status page anew
	$(GO) test -count 1 -tags browser -run TestScreenshots ./cmd/ahprelay/admin -screenshots $(CURDIR)/docs

release: ## archives for Linux and macOS in dist/
	cmd/ahprelay/dist/release.sh dist

clean: ## remove what was built
	rm -rf $(BIN) dist
