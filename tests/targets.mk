# targets.mk - what `make` can do besides building. Included by the Makefile.

# As many jobs as cores unless the caller said otherwise (make -j1 wins over this).
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc) --no-print-directory
endif

prefix ?= /usr/local
C_FILES = $(sort $(shell find $(LAYERS) tests tools bench -name '*.[ch]' 2>/dev/null))
ASAN = $(MAKE) CC=gcc VARIANT=asan

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' \
		$(MAKEFILE_LIST) | sort -u

.PHONY: deps
deps: ## install the Debian packages that are missing (root only if there are any)
	@tools/deps

.PHONY: deps-bench
deps-bench: ## ... and what make bench-metrics compares Ferry with: prometheus-cpp, client_golang
	@tools/deps bench

# --- tests -----------------------------------------------------------------------------------

.PHONY: test-fast
test-fast: export FERRY_TEST_SIZE ?= fast
test-fast: ## tests without hosts, under ASan and UBSan, and lint: under a minute once built
	+@$(ASAN) tests-build test-libprom
	+@$(MAKE) run-tests-asan test-rules lint

# Golden decisions of the core: tests/decisions/README.md.
DECIDE := $(B)/tests/decisions/decide
$(DECIDE): $(patsubst %.c,$(B)/%.o,$(wildcard tests/decisions/*.c)) $(B)/libferry.a
	@echo "  LINK $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(PKG_LIBS)
.PHONY: decisions decisions-accept
decisions: ## what the core decides, case by case: [CASES="NAME..."]
	@$(ASAN) decide-build
	@$(BUILD)/asan/tests/decisions/decide $(CASES)
decisions-accept: ## write the .out files anew, for a reviewer to read: [CASES="NAME..."]
	@$(ASAN) decide-build
	@$(BUILD)/asan/tests/decisions/decide --accept $(CASES)
.PHONY: decide-build
decide-build: $(DECIDE)

.PHONY: tests-build-asan
tests-build-asan: ## ... build them, run nothing
	+@$(ASAN) tests-build

# promtool keeps one core busy for some twenty seconds; beside the tests it costs no time.
.PHONY: run-tests-asan test-rules
run-tests-asan:
	+@$(ASAN) run-tests
test-rules: $(BUILD)/rules.ok # alerts, dashboards and the hook
	@tests/hook/run
	@tests/rules/dashboards
	@tests/dashboards/check

# Again only when something changed that it reads; promtool alone lives through hours of series.
$(BUILD)/rules.ok: $(wildcard alerts/* tests/rules/* dashboards/* docs/*.md docs/runbooks/*) exporter/metrics/metrics.def cli/rules.c
	@mkdir -p $(@D)
	@tests/rules/run
	@touch $@

.PHONY: run-tests
run-tests: tests-build $(DECIDE)
	@tests/lint/symbols $(B)/libferry.a
	@tests/run $(TEST_BINS) $(DECIDE)
	@$(B)/test-cases test_cases --scores

.PHONY: test
test: ## everything a change must pass, real hosts included: about ten minutes, needs root
	+@MAKE="$(MAKE)" BUILD="$(BUILD)" tests/all

.PHONY: test-page test-page-full
test-page: all ## the page at / in Chromium, over simulated hosts: a slice of fifteen seconds
	@FERRY="$(abspath $(B)/ferry)" BUILD="$(BUILD)" tests/page/run
test-page-full: all ## ... every view, button and size, with pictures in build/page-pictures: three minutes
	@FERRY="$(abspath $(B)/ferry)" BUILD="$(BUILD)" tests/page/run --full

.PHONY: test-full
test-full: ## the same with every lab test; ROOT=debian13|debian-testing: the lab's cases for every root, on that one
	+@MAKE="$(MAKE)" BUILD="$(BUILD)" tests/all --full $(ROOT:%=--root %)
	$(if $(ROOT),,@tools/deps deb && tools/deps roots && $(MAKE) test-packages)

.PHONY: test-debian13
test-debian13: ## make deps, make, make test-fast in a clean Debian 13 (root, mmdebstrap): ten minutes; not part of make test
	@tools/deps roots
	@tests/debian13

# clang reads every file with all warnings and writes no code: what a build with it would say, in a
# tenth of the time.
CHECKED_SRCS = $(SRCS) $(sort $(wildcard tests/*.c $(TEST_DIRS:%=%/*.c) bench/*/*.c)) $(LAB_SRCS)
.PHONY: syntax
syntax: ## every C file through clang, all warnings, no code
	@$(MAKE) CC=clang VARIANT=clang syntax-check
.PHONY: syntax-check
syntax-check:
	@printf '%s\0' $(CHECKED_SRCS) | xargs -0 -n 16 -P "$$(nproc)" $(CC) $(CFLAGS) -fsyntax-only
	@echo "$(words $(CHECKED_SRCS)) files: no warning"

.PHONY: test-kubectl
test-kubectl: all ## unmodified kubectl 1.20, 1.32, 1.33 and 1.36 against a simulated fleet (downloads them once)
	@FERRY=$(abspath $(B)/ferry) KUBECTLS=$(BUILD)/kubectl tests/kubectl/run --full

.PHONY: test-terminal
test-terminal: $(B)/ferry ## ferry top in a real terminal (tmux), on the simulator: half a minute, part of make test
	@tests/terminal/run $<

.PHONY: test-threads
test-threads: ## the tests without hosts under ThreadSanitizer
	@$(MAKE) CC=gcc VARIANT=tsan run-tests

# A build against an installed libprom, with a library of the same symbols in its place: the
# counting plane and its page are compiled anew, the rest is as it is.
.PHONY: test-libprom
test-libprom: $(B)/libprom/check ## a page written by libprom (LIBPROM=system), against a stand-in
	@$<
$(B)/libprom/libprom.so: tests/libprom/stub.c tests/libprom/prom.h Makefile
	@mkdir -p $(@D)
	@$(CC) $(filter-out -fvisibility=hidden -fPIE,$(CFLAGS)) -fPIC -shared -o $@ $<
$(B)/libprom/check: tests/libprom/check.c tests/page_check.c $(wildcard exporter/prom/*.[ch]) $(B)/libprom/libprom.so $(B)/libferry.a
	@$(CC) $(CFLAGS) -DFERRY_LIBPROM_SYSTEM -isystem tests/libprom $(LDFLAGS) -o $@ $(filter %.c,$^) \
		-L$(@D) -Wl,-rpath,$(abspath $(@D)) -lprom $(B)/libferry.a $(PKG_LIBS) -lcmocka -lm

# The fake libvirt of test-libvirt takes the place of every function that it defines (tests/libvirt/fake.h).
FAKED := $(shell sed -nE 's/^(FAKE.[^,]*, |[A-Z_]+.)(vir[A-Za-z0-9]*|pthread_create)\>.*/\2/p' tests/libvirt/fake*.c)
$(B)/test-libvirt: $(patsubst %.c,$(B)/%.o,$(wildcard tests/libvirt/fake*.c))
$(B)/test-libvirt: LDFLAGS += $(FAKED:%=-Wl,--wrap=%)

# Planted bugs that no test notices: tests/mutants/README.md.
.PHONY: mutants
mutants: ## plant bugs and count those that a test notices: [SEED="1 2"] [FOLDER="x y"] [N=5]; seconds each
	@tests/mutants/run $(addprefix --seed ,$(or $(SEED),1)) -n "$(or $(N),5)" $(addprefix --folder ,$(FOLDER))

# Random fleets against the laws of tests/sim/lawbook.h.
.PHONY: laws
laws: ## live through random fleets and check every law: [SEEDS=10000] [JOBS=2], SEED=n replays one
	@$(MAKE) CC=gcc VARIANT=gcc $(BUILD)/gcc/test-laws
	@SEED="$(SEED)" SEEDS="$(SEEDS)" JOBS="$(JOBS)" tests/sim/laws $(BUILD)/gcc/test-laws test_fleet_laws

.PHONY: laws-shared
laws-shared: ## the same for several appliances on one store: [SEEDS=10000] [JOBS=2], SEED=n replays one
	@$(MAKE) CC=gcc VARIANT=gcc $(BUILD)/gcc/test-laws
	@SEED="$(SEED)" SEEDS="$(SEEDS)" JOBS="$(JOBS)" tests/sim/laws $(BUILD)/gcc/test-laws test_shared_laws

# Fuzzing: one libFuzzer program per target. What it finds goes to build/fuzz/; an input worth
# keeping is copied to tests/fuzz/corpus/T/, and the fast tests replay it from then on.
FUZZ_WRAP := -Wl,--wrap=http_query -Wl,--wrap=http_header # see tests/fuzz/api.h
FUZZ_BINS := $(patsubst %.c,$(B)/%,$(wildcard tests/fuzz/fuzz_*.c))
$(FUZZ_BINS): $(B)/%: $(B)/%.o $(B)/libtest.a $(B)/libferry.a
	@echo "  LINK $@"
	@$(CC) $(LDFLAGS) -fsanitize=fuzzer $(FUZZ_WRAP) -o $@ $^ $(PKG_LIBS) -lcmocka
$(B)/test-replay: LDFLAGS += $(FUZZ_WRAP)
SECONDS ?= 30
.PHONY: fuzz
fuzz: ## look for inputs that break a law: T=NAME of tests/fuzz/targets.def [SECONDS=30] [FUZZ=-option]
	@[ -f "tests/fuzz/fuzz_$(T).c" ] || { echo "T=NAME, one of tests/fuzz/targets.def"; exit 2; }
	@$(MAKE) CC=clang VARIANT=fuzz $(BUILD)/fuzz/tests/fuzz/fuzz_$(T)
	@mkdir -p $(BUILD)/fuzz/corpus/$(T)
	@$(BUILD)/fuzz/tests/fuzz/fuzz_$(T) -max_total_time=$(SECONDS) -timeout=5 -print_final_stats=1 \
		-artifact_prefix=$(BUILD)/fuzz/$(T)- $(FUZZ) \
		$(BUILD)/fuzz/corpus/$(T) tests/fuzz/corpus/$(T)

# Programs that the lab tests run: the hypervisor contract against real hosts.
LAB_SRCS := $(sort $(wildcard tests/lab/contract_*.c))
LAB_BINS := $(patsubst %.c,$(B)/%,$(LAB_SRCS))
LAB_COMMON := $(patsubst %.c,$(B)/%.o,$(filter-out $(TEST_SRCS),$(wildcard tests/contract/*.c)))
$(LAB_BINS): $(B)/%: $(B)/%.o $(LAB_COMMON) $(B)/libferry.a
	@echo "  LINK $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(PKG_LIBS) -lcmocka
.PHONY: lab-programs
lab-programs: $(LAB_BINS)

.PHONY: lab-up
lab-up: ## start libvirt hosts on this machine (root); LAB="--hosts 3 --name x --root h2=debian13" for more
	@tests/lab/up $(LAB)

.PHONY: lab-down
lab-down: ## stop them and clean up
	@tests/lab/down $(LAB)

.PHONY: lab-roots
lab-roots: ## other Debian releases for the lab's hosts (root): [ROOT=debian13|debian-testing]; 300 MB each, once
	@tools/deps roots
	@tests/lab/roots $(ROOT)

.PHONY: campaign
campaign: ## compound scenarios on real hosts, then a soak (root): [CASES="hands/and_back ..."] [ROOT=debian13] [MINUTES=30] [SEED=n]
	@$(MAKE) CC=gcc VARIANT=gcc all
	@FERRY="$(abspath $(BUILD)/gcc/ferry)" tests/lab/run --tests tests/campaign $(if $(ROOT),--root $(ROOT)) $(CASES)
	@$(if $(CASES)$(ROOT),:,FERRY="$(abspath $(BUILD)/gcc/ferry)" tests/campaign/soak $(or $(MINUTES),30) $(SEED))

.PHONY: demo
demo: ## packages, build, hosts, guests, appliance, one migration to watch; simulated without root
	@tools/deps || tools/deps --check build
	@$(MAKE) CC=gcc VARIANT=gcc all
	@FERRY="$(abspath $(BUILD)/gcc/ferry)" tests/lab/demo

.PHONY: observability
observability: ## Prometheus and Alertmanager beside the demo, pages printed as they come; until Ctrl-C
	@$(MAKE) CC=gcc VARIANT=gcc all
	@FERRY="$(abspath $(BUILD)/gcc/ferry)" tests/lab/observability

.PHONY: bench
bench: ## ferry migrate against virsh migrate, paired runs on real hosts (root)
	@$(MAKE) CC=gcc VARIANT=gcc all
	@FERRY="$(abspath $(BUILD)/gcc/ferry)" bench/run $(BENCH)

$(B)/bench/reconcile: $(patsubst %.c,$(B)/%.o,$(wildcard bench/*.c)) $(B)/libferry.a
	@echo "  LINK $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(PKG_LIBS) -lm
$(B)/tests/abuse/abuse: $(B)/tests/abuse/abuse.o
	@echo "  LINK $@"
	@$(CC) $(LDFLAGS) -o $@ $^
.PHONY: abuse
abuse: ## slow headers, 5,000 connections, stopped readers, query bombs, long lists, document and hostd floods: two minutes
	@$(MAKE) CC=gcc VARIANT=gcc $(BUILD)/gcc/ferry $(BUILD)/gcc/tests/abuse/abuse
	@FERRY="$(abspath $(BUILD)/gcc/ferry)" ABUSE="$(abspath $(BUILD)/gcc/tests/abuse/abuse)" tests/abuse/run $(ATTACKS)

.PHONY: bench-many
bench-many: ## 20 guests at once against 20 virsh on real hosts (root); 200 at once on the simulator
	@$(MAKE) CC=gcc VARIANT=gcc $(BUILD)/gcc/ferry
	@FERRY="$(abspath $(BUILD)/gcc/ferry)" bench/many $(BENCH)
	@FERRY="$(abspath $(BUILD)/gcc/ferry)" bench/crowd

.PHONY: bench-core
bench-core: ## how fast the core decides: 10,000 hosts, 200,000 guests, 50,000 that wait; a minute or two
	@$(MAKE) CC=gcc VARIANT=gcc $(BUILD)/gcc/bench/reconcile
	@mkdir -p bench/results
	@set -o pipefail && $(BUILD)/gcc/bench/reconcile $(BENCH) | tee bench/results/reconcile.txt

$(B)/bench/explain/matcher: $(B)/bench/explain/matcher.o $(B)/libferry.a
	@echo "  LINK $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(PKG_LIBS)
.PHONY: bench-explain
bench-explain: ## log text a second through the analyser against grep -E, and verdicts a second
	@$(MAKE) CC=gcc VARIANT=gcc $(BUILD)/gcc/bench/explain/matcher
	@MATCHER="$(abspath $(BUILD)/gcc/bench/explain/matcher)" bench/explain/run

$(B)/bench/queries/ask: $(B)/bench/queries/ask.o $(B)/bench/history.o $(B)/libferry.a
	@echo "  LINK $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(PKG_LIBS)
QUERIES_STATE ?= $(BUILD)/queries
.PHONY: bench-queries
bench-queries: ## the ten questions of docs/queries.md on a million migrations; fills $(BUILD)/queries once (some GiB, minutes)
	@$(MAKE) CC=gcc VARIANT=gcc $(BUILD)/gcc/bench/queries/ask
	@mkdir -p bench/results $(QUERIES_STATE)
	@set -o pipefail && $(BUILD)/gcc/bench/queries/ask $(QUERIES_STATE) $(BENCH) | tee bench/results/queries.txt

$(B)/bench/metrics/render: $(B)/bench/metrics/render.o $(B)/libferry.a
	@echo "  LINK $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(PKG_LIBS) -lm
.PHONY: bench-metrics
bench-metrics: ## what a page of metrics costs, beside prometheus-cpp and client_golang where installed
	@$(MAKE) CC=gcc VARIANT=gcc $(BUILD)/gcc/bench/metrics/render
	@RENDER="$(abspath $(BUILD)/gcc/bench/metrics/render)" bench/metrics/run

$(B)/bench/watch/watch: $(B)/bench/watch/watch.o $(B)/libferry.a
	@echo "  LINK $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(PKG_LIBS) -lm
.PHONY: bench-watch
bench-watch: ## a list of 50,000 guests against writing it once, 200 watches of 1,000 changes a second against one
	@$(MAKE) CC=gcc VARIANT=gcc $(BUILD)/gcc/bench/watch/watch
	@WATCH="$(abspath $(BUILD)/gcc/bench/watch/watch)" bench/watch/run $(BENCH)

# --- documents and form ----------------------------------------------------------------------

$(B)/tools/docs: $(B)/tools/docs.o $(B)/tools/docs_architecture.o $(B)/tools/docs_causes.o
	@echo "  LINK $@"
	@$(CC) $(LDFLAGS) -o $@ $^

DOCS = docs/vocabulary.md docs/metrics.md docs/architecture.md
.PHONY: docs
docs: $(B)/tools/docs ## write the tables in docs/ again from the .def files
	@$< $(DOCS)

# npm's packages are put below $(BUILD), by the exact versions of the lock file, without their scripts.
NPM = tests/dashboards/npm "$(BUILD)/npm"
.PHONY: dashboards-schema
dashboards-schema: ## write tests/dashboards/schema.json again from Grafana's published types (npm)
	@$(NPM) schema node make.mjs $(abspath tests/dashboards/schema.json) $(abspath $(wildcard dashboards/*.json))

.PHONY: dashboards-render
dashboards-render: ## pictures of the dashboards with Grafana's own components: PROMETHEUS=URL [SPAN=300] (npm, chromium)
	@BUILD="$(BUILD)" PROMETHEUS="$(PROMETHEUS)" SPAN="$(SPAN)" tests/dashboards/draw

.PHONY: scores
scores: ## how often the analyser is right: docs/analyser-scores.md; MESSAGES=file: also how many of those a rule recognises
	@$(MAKE) CC=gcc VARIANT=gcc $(BUILD)/gcc/test-cases
	@$(BUILD)/gcc/test-cases test_cases --scores docs/analyser-scores.md
	$(if $(MESSAGES),@$(BUILD)/gcc/test-cases test_cases --coverage $(MESSAGES))

.PHONY: likeness
likeness: ## learn the words of known failures again: analyzer/judge/likeness.def from tests/cases/
	@$(MAKE) CC=gcc VARIANT=gcc $(BUILD)/gcc/test-cases
	@$(BUILD)/gcc/test-cases test_likeness --learn >$(BUILD)/likeness.def
	@cp $(BUILD)/likeness.def analyzer/judge/likeness.def

.PHONY: lint
lint: lint-selftest lint-programs lint-layers lint-sizes lint-shapes lint-format lint-headers lint-paths lint-metrics lint-readmes lint-links lint-words lint-docs ## layers, doors, sizes, parameters, members, test programs, formatting, headers, metric names, READMEs, links, retired words, documents
	@echo "lint: clean"
.PHONY: lint-selftest lint-programs lint-layers lint-sizes lint-shapes lint-format lint-headers lint-paths lint-metrics lint-readmes lint-links lint-words lint-docs
lint-selftest: $(BUILD)/selftest.ok
$(BUILD)/selftest.ok: $(wildcard tests/lint/*) .clang-format # again only when a lint changed
	@mkdir -p $(@D)
	@tests/lint/selftest
	@touch $@
lint-programs:
	@tests/lint/programs $(foreach program,$(TEST_PROGRAMS),$(addprefix $(program):,$(call test_srcs,$(program))))
lint-layers:
	@tests/lint/layers
lint-sizes:
	@tests/lint/sizes
lint-shapes:
	@tests/lint/shapes
lint-format:
	@tests/lint/format
# Each header compiles alone, so that the order of includes never matters; without banned.h, which would bring the
# includes that a header forgot. A header is compiled again when it or one that it includes changed.
HEADERS_OK = $(patsubst %,$(B)/headers/%.ok,$(filter %.h,$(C_FILES)))
lint-headers:
	+@$(MAKE) headers-ok
.PHONY: headers-ok
headers-ok: $(HEADERS_OK)
$(B)/headers/%.ok: % Makefile
	@mkdir -p $(@D)
	@tests/lint/headers --one $< $(CC) $(filter-out -include base/banned.h,$(CFLAGS)) -MMD -MP -MF $(@:.ok=.d) -MT $@
	@touch $@
lint-paths:
	@tests/lint/paths
lint-metrics:
	@tests/lint/metrics
lint-readmes:
	@tests/lint/readmes
lint-links:
	@tests/lint/links
lint-words:
	@tests/lint/words
lint-docs: $(B)/tools/docs
	@$< --check $(DOCS)

.PHONY: format
format: ## write all C files in the house form
	@command=$$(tests/lint/formatter) && $$command -i $(C_FILES)

# --- installing ------------------------------------------------------------------------------

prefix ?= /usr/local
# What a package has, split by packaging/debian/*.install; configuration goes to /etc below DESTDIR.
.PHONY: install
install: all ## program, units, man pages, completion, examples: to $(DESTDIR)$(prefix) and $(DESTDIR)/etc
	@UNITDIR="$(UNITDIR)" packaging/install $(B)/ferry $(VERSION) "$(DESTDIR)" "$(prefix)"
	@echo "installed $(DESTDIR)$(prefix)/bin/ferry"

.PHONY: test-packages
test-packages: deb ## root: clean roots of Debian 12 and 13: install, start, reload, upgrade, purge; docs/deploy.md followed to a TLS migration
	@tests/packages/run debian12 debian13
	@tests/packages/deploy debian12 debian13
	@tests/packages/build debian13
	@tests/packages/run --deb $(BUILD)/deb-debian13 debian13

.PHONY: deb
deb: ## Debian packages ferry and ferry-hostd, in $(BUILD)/deb (tools/deps deb)
	@packaging/deb $(BUILD)/deb $(VERSION)

.PHONY: clean
clean: ## remove what was built
	@rm -rf $(BUILD)
