# Everything builds in the release profile: measuring in debug builds makes no sense, and so
# dependencies are compiled once.
SHELL := /bin/bash
.DEFAULT_GOAL := help
CARGO := cargo
export MDYN_SKIPS := $(CURDIR)/target/test-skips
LOG := target/test-log
BROKEN := target/test-broken

# $(call suite,NAME,SECONDS,COMMAND): a suite that fails lets the others run.
suite = @echo "== $(1), at most $(2) s"; start=$$SECONDS; \
  timeout --kill-after=20 $(2) $(3) </dev/null 2>&1 | tee -a $(LOG); status=$${PIPESTATUS[0]}; \
  [ $$status = 124 ] && echo "$(1) did not end within $(2) s"; \
  [ $$status = 0 ] || echo "$(1)" >> $(BROKEN); echo "== $(1): $$((SECONDS - start)) s"
# A suite of tests/ is one program: linking one for each file took longer than running them.
tests = $(call suite,$(1),$(2),$(CARGO) test --release --workspace --no-fail-fast --test $(1))

.PHONY: help build test check bench lint lint-core
help: ## this text
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile

build: ## the binary, target/release/mongodyno
	$(CARGO) build --release

test: ## all tests; what cannot run here is listed as skipped (with MDYN_NO_SKIP=1 it fails)
	@mkdir -p target; rm -f $(LOG) $(BROKEN) $(MDYN_SKIPS); touch $(LOG) $(BROKEN) $(MDYN_SKIPS)
	$(call suite,lint,900,$(MAKE) --no-print-directory -k -j2 -O lint)
	$(call suite,build,1800,$(CARGO) test --release --workspace --no-run)
	$(call suite,unit,120,$(CARGO) test --release --workspace --no-fail-fast --lib --bins)
	$(call suite,docs,60,$(CARGO) test --release --workspace --no-fail-fast --doc)
	$(call tests,pure,400)
	$(call tests,servers,300)
	$(call tests,instruments,600)
	$(call tests,others,1000)
	$(call tests,adapters,1600)
	$(call tests,studies,720)
	@sort -u $(MDYN_SKIPS)
	@if [ -s $(BROKEN) ]; then echo "not passed:" $$(cat $(BROKEN)); fi
	@awk -v broken=$$(wc -l < $(BROKEN)) -v skipped=$$(sort -u $(MDYN_SKIPS) | wc -l) '\
	  /^test result:/ { good += $$4; bad += $$6 } END { if (bad < broken) bad = broken; \
	  printf "tests: %d passed, %d failed, %d skipped\n", good, bad, skipped }' $(LOG)
	@[ ! -s $(BROKEN) ]

check: build ## holds every adapter that can run here against the contract
	target/release/mongodyno check

# `make bench -- turns --long`: the words after it are no goals but the figures wanted.
ifeq (bench,$(firstword $(MAKECMDGOALS)))
FIGURES := $(wordlist 2,$(words $(MAKECMDGOALS)),$(MAKECMDGOALS))
$(if $(FIGURES),$(eval $(FIGURES):;@:))
endif
bench: ## figures of the project itself, in minutes; `make bench -- turns --long` for some
	$(CARGO) bench --bench performance -- $(FIGURES)

# Adapters are found, never listed: each says in its own `lint` how its ecosystem checks it.
ADAPTERS := $(patsubst adapters/%/adapter.toml,%,$(wildcard adapters/*/adapter.toml))
lint: lint-core $(ADAPTERS:%=lint-%) ## formatters and linters; `make lint-core`, `make lint-go` for one

# rustfmt does not follow the modules that a macro declares.
lint-core:
	$(CARGO) fmt --all --check
	rustfmt --check crates/workload/src/operations/*.rs crates/server/src/kinds/*.rs crates/server/src/kinds/*/*.rs
	$(CARGO) clippy --workspace --release --all-targets -- -D warnings

# Exit code 77: its toolchain is not on this machine.
lint-%:
	@mkdir -p target; echo "adapters/$*/lint"; \
	adapters/$*/lint $(wildcard benches/loops/$*) tests/clients; status=$$?; \
	[ $$status != 77 ] || [ "$$MDYN_NO_SKIP" = 1 ] || \
	  { echo "skipped: lint: $*" >> $(MDYN_SKIPS); status=0; }; exit $$status
