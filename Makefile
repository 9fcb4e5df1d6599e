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
tests = $(call suite,$(1),$(2),$(CARGO) test --release --no-fail-fast --test $(1))

.PHONY: help build test check bench lint
help: ## this text
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile

build: ## the binary, target/release/mongodyno
	$(CARGO) build --release

test: ## all tests; what cannot run here is listed as skipped (with MDYN_NO_SKIP=1 it fails)
	@mkdir -p target; rm -f $(LOG) $(BROKEN) $(MDYN_SKIPS); touch $(LOG) $(BROKEN) $(MDYN_SKIPS)
	$(call suite,build,1800,$(CARGO) test --release --workspace --no-run)
	$(call suite,unit,120,$(CARGO) test --release --workspace --lib --bins)
	$(call suite,docs,60,$(CARGO) test --release --workspace --doc)
	$(call tests,pure,300)
	$(call tests,servers,300)
	$(call tests,instruments,600)
	$(call tests,others,720)
	$(call tests,adapters,1100)
	$(call tests,studies,360)
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
	$(CARGO) bench --bench figures -- $(FIGURES)

lint: ## what the compiler and clippy think
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings
