# Every target is one line in `make help`. Nothing here needs more than Go and make;
# `make wasm` alone, which builds the committed modules again, needs their compilers.

GO     ?= go
BIN    := bin
TOOLS  := $(BIN)/tools
NAMES  := $(notdir $(patsubst %/main.go,%,$(wildcard examples/wasm-tools/*/main.go)))
WASM   := $(NAMES:%=$(TOOLS)/%.wasm)
DEMO   := examples/wasm-tools/demo
PROMPT := Which region sold the most, by how much, and do the notes explain it?
FUZZTIME ?= 10s

.PHONY: help build tools demo test race doors race-doors isolated conformance e2e fuzz wabt bench bench-loop bench-sandbox lint fmt generate wasm check clean

help: ## show this
	@sed -n 's/^\([a-z0-9]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | sort | awk -F'\t' '{printf "  %-11s %s\n", $$1, $$2}'

build: ## build the wagent command into bin/
	$(GO) build -o $(BIN)/wagent ./cmd/wagent

tools: $(WASM) ## build the example tools into bin/tools/

# Reactors are built with c-shared; the one tool without our SDK is a command. A
# module is built again when a file of its folder has changed that may be in it,
# code or embedded, or when one has gone: that changes the folder itself.
SDK_SOURCES := $(filter-out %_test.go,$(wildcard sdk/*.go sdk/abi/*.go))
folder_of = examples/wasm-tools/$(1) $(filter-out %_test.go %/testdata %.md,$(wildcard examples/wasm-tools/$(1)/*))
.SECONDEXPANSION:
$(TOOLS)/%.wasm: $$(call folder_of,$$*) $(SDK_SOURCES) go.mod
	@mkdir -p $(@D)
	GOOS=wasip1 GOARCH=wasm $(GO) build -buildmode=$(if $(wildcard examples/wasm-tools/$*/command.txt),exe,c-shared) -trimpath -ldflags='-s -w' -o $@ ./examples/wasm-tools/$*

demo: build tools ## run an agent with sandboxed tools, without a key or a network
	@$(BIN)/wagent run -f $(DEMO)/demo.yaml "$(PROMPT)"

test: ## run the tests
	$(GO) test ./...

# The two packages of the engine in which nothing is shared, but which take twice
# as long under the detector as all else. No more may be left out: a package that
# is compiled without the detector hides the locks it takes, and its copies of
# generic functions may become those of the whole program.
UNRACED = $(addprefix -gcflags=github.com/tetratelabs/wazero/internal/engine/wazevo/,backend/...=-race=false ssa=-race=false)

# The attacks on the doors of the host, each by several guests of megabytes, which
# take ten minutes under the detector. `make doors` runs them without it.
DOORS = ^Test(NET|FS|SEC|LOG|BUD|Threat(7|8|9|10))
SANDBOX = ./host/internal/sandbox

# What takes long under the detector and shares nothing: texts of megabytes, stories that
# run the command, one guest after the other, and the selftest and the hunt for a canary a second time, with
# guests in processes of their own.
LONG = ^TestLawReading|^TestTXT1|^TestThreat11|^TestEveryAttackIsHeldOff$$/^process$$|^TestACanaryIsFoundNowhere$$/^process$$|^TestWordsOfTheEndpoint|^TestScripts$$|^TestATextThatIsABomb|^TestABombInACheck|^TestOneWrongLetter|^TestExtismPluginsOfEveryKitEnd|^TestCPU3|^TestSystemRefusals|^TestFuelIsTheSame|^TestThreat13AProcessCannotHoard|^TestISO8AMessage|^TestCodeIsKeptForTheShell

# The package that takes longest begins first.
race: ## run the tests under the race detector
	$(GO) test -race $(UNRACED) -timeout 15m -skip '$(DOORS)|$(LONG)' $(SANDBOX) ./cmd/... ./host/...
	$(GO) test -race $(UNRACED) -run '$(DOORS)' ./host ./host/internal/hostfn

doors: ## run the attacks on the doors of the host, and the tests of guests, which are single-threaded
	$(GO) test -count=1 -run '$(DOORS)|$(LONG)' $(SANDBOX) ./cmd/wagent ./host/selftest ./host ./host/internal/planner ./host/internal/schema ./host/manifest ./host/model/openai
	$(GO) test -count=1 ./sdk/... ./examples/...

race-doors: ## the same under the race detector
	$(GO) test -race $(UNRACED) -timeout 30m -run '$(DOORS)' $(SANDBOX)

# The tests by requirement, with every module's guests in a process of its own. The
# selftest, which `make race` runs in both isolations, is what is checked each time.
ISOLATED = ^Test(CPU|MEM|MOD|NET|FS|ISO|SEC|KV|LOG|BUD|TXT|Threat|Trace|ASession|Fuel)
isolated: ## run the tests of the sandbox's requirements with isolated guests (Linux)
	$(GO) test -count=1 -timeout 30m -run '$(ISOLATED)' $(SANDBOX) -isolated

# CASES=/absolute/file: the cases of that file instead.
conformance: ## compare the loop with the executed cases of Haystack and LangChain, and print the counts
	@cd host/internal/conformance && $(GO) test -count=1 -run '^TestConformance$$' -args -cases='$(CASES)'

e2e: build tools ## run the demo, the laws of the loop ten thousand times, the specification's suite in every way, and guests under strace (Linux)
	$(GO) test -count=1 -tags e2e -run TestTheDemo ./cmd/wagent
	$(GO) test -count=1 ./host/internal/agent -rapid.checks=10000
	$(GO) test -count=1 -tags e2e -run TestTheSpecification ./host/internal/sandbox/wasmbin
	$(GO) test -count=1 -tags e2e -run TestFSNothingOutsideIsOpened ./host/internal/sandbox

fuzz: ## run every fuzz target for FUZZTIME
	@for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	    echo "$$p $$f"; $(GO) test -run='^$$' -fuzz="^$$f\$$" -fuzztime=$(FUZZTIME) $$p || exit 1; \
	  done; done

wabt: ## compare the instructions that the loader reads with those that wabt does (needs wabt)
	$(GO) test -count=1 -tags wabt -run TestWabt -v ./host/internal/sandbox/wasmbin

bench-sandbox: ## print what rewriting and images cost and save, as ratios within one run
	$(GO) test -count=1 -tags ratios -run TestRatios -v ./host/internal/sandbox | grep -Ev '^ *(===|---)'
	$(GO) test -run='^$$' -bench='Stopping|Extism' ./host/internal/sandbox

bench-loop: ## print what the loop costs, as multiples of one that is written by hand
	$(GO) test -count=1 -tags ratios -run TestLoopRatios -v ./host | grep -Ev '^ *(===|---)'

bench: ## run the benchmarks
	$(GO) test -run='^$$' -bench=. -benchmem ./...

lint: ## vet and staticcheck
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

fmt: ## fail when a file is not formatted
	@out=$$($(GO) tool gofumpt -l .); [ -z "$$out" ] || { echo "not formatted (go tool gofumpt -w .):"; echo "$$out"; exit 1; }

generate: ## write generated files again
	$(GO) generate ./...

wasm: ## build the committed modules again (each build.sh says with which compilers)
	./testdata/wasm/build.sh
	./cmd/wagent/scaffold/build.sh
	./testdata/bench/build.sh
	./testdata/languages/build.sh

check: fmt generate lint race doors e2e demo ## all that must hold; fails if it changed the tree
	$(GO) mod tidy -diff
	$(GO) mod verify
	@git diff --exit-code && [ -z "$$(git status --porcelain)" ] || { git status --short; echo "make check changed the tree"; exit 1; }

clean: ## remove what was built
	rm -rf $(BIN)
