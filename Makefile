# Makefile - one command each; `make help` lists them. No configure step: pkg-config and a compiler.
SHELL := /bin/bash
.DEFAULT_GOAL := all
CC ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif
BUILD ?= build
VERSION := 0.1.0
LAYERS := base store hypervisor collector engine analyzer exporter appliance cli

# One variant per directory, so that gcc, clang and sanitizer objects never mix.
VARIANT ?= $(notdir $(CC))
# LIBPROM=system: an installed libprom writes counters and gauges (exporter/prom/prom_system.h).
LIBPROM ?= own
LIBPROM_LIBS ?= -lprom
B := $(BUILD)/$(VARIANT)$(if $(filter system,$(LIBPROM)),-libprom)

PKGS := libvirt libvirt-qemu libmicrohttpd json-c sqlite3 libpq yaml-0.1 libxml-2.0 libcurl gnutls libhs zlib libcap-ng libcrypt
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null | sed 's/-I/-isystem /g')
# libcrypt by itself: the address sanitizer defines crypt_r too, and calls it in a library that --as-needed leaves out.
PKG_LIBS := $(shell pkg-config --libs $(PKGS) ncursesw 2>/dev/null) -Wl,--push-state,--no-as-needed -lcrypt -Wl,--pop-state -lm

WARN := -Werror -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wcast-qual -Wvla -Wformat=2 -Wundef
# Constants are enumerators, also those that are multiplied with a double: clang 19 warns of that.
WARN += $(if $(findstring clang,$(CC)),-Wno-enum-float-conversion)
# Hidden symbols: a library that calls a function of its own must never reach one of ours.
HARDEN := -fvisibility=hidden -fstack-protector-strong -fstack-clash-protection -fcf-protection -fPIE
OPT := -O2 -g -D_FORTIFY_SOURCE=2
SAN :=
ifeq ($(VARIANT),asan)
OPT := -O1 -g -fno-omit-frame-pointer
SAN := -fsanitize=address,undefined -fno-sanitize-recover=undefined
endif
ifeq ($(VARIANT),tsan)
OPT := -O1 -g -fno-omit-frame-pointer
SAN := -fsanitize=thread
endif
ifeq ($(VARIANT),fuzz) # clang only; make fuzz asks for it
OPT := -O1 -g -fno-omit-frame-pointer -DFUZZ_ENGINE
SAN := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
endif
# Instrumented code hides value ranges from gcc, which then sees cuts that cannot happen.
ifneq ($(SAN),)
SAN_WARN := $(if $(findstring clang,$(CC)),,-Wno-format-truncation -Wno-restrict \
	-Wno-maybe-uninitialized)
endif
CFLAGS := -std=c17 -D_GNU_SOURCE -DFERRY_VERSION='"$(VERSION)"' -I. -include base/banned.h $(WARN) $(SAN_WARN) $(HARDEN) $(OPT) $(SAN) \
	$(PKG_CFLAGS)
LDFLAGS := -pie -Wl,--as-needed,-z,relro,-z,now -pthread $(SAN)

SRCS := $(sort $(shell find $(LAYERS) -name '*.c'))
ifeq ($(LIBPROM),system)
CFLAGS += -DFERRY_LIBPROM_SYSTEM $(LIBPROM_CFLAGS)
PKG_LIBS += $(LIBPROM_LIBS)
else
SRCS := $(filter-out exporter/prom/prom_system%.c,$(SRCS))
endif
MAIN := cli/main.c
LIB_OBJS := $(patsubst %.c,$(B)/%.o,$(filter-out $(MAIN),$(SRCS))) $(B)/rules.o $(B)/files.o
MAIN_OBJ := $(patsubst %.c,$(B)/%.o,$(MAIN))

.PHONY: all
all: $(B)/ferry ## the program, warnings are errors

$(B)/libferry.a: $(LIB_OBJS)
	@rm -f $@
	@ar rcs $@ $^
$(B)/ferry: $(MAIN_OBJ) $(B)/libferry.a
	@echo "  LINK $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(PKG_LIBS)
$(B)/%.o: %.c Makefile
	@mkdir -p $(@D)
	@echo "  CC   $(VARIANT) $<"
	@$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<

# The analyser's rules are part of the program, texts and packed patterns; packing takes seconds
# and is done once for all variants. The folder counts too: a file may have gone.
RULE_FILES := $(sort $(wildcard analyzer/rules/*.yaml))
RULEC_SRCS := tools/rulec.c $(addprefix base/,err.c json.c text.c yaml.c yaml_read.c clock.c) \
	$(addprefix analyzer/judge/,cause.c match.c rule_condition.c rule_read.c ruleset.c)
$(BUILD)/rulec: $(RULEC_SRCS) $(wildcard base/*.h analyzer/judge/*.h analyzer/judge/*.def analyzer/read/evidence.h) tools/embed \
		$(RULE_FILES) $(wildcard analyzer/rules)
	@mkdir -p $(@D)
	@echo "  RULES"
	@tools/embed - $(RULE_FILES) >$@.c
	@$(CC) $(filter-out $(SAN),$(CFLAGS)) $(filter-out $(SAN),$(LDFLAGS)) -o $@.new $(RULEC_SRCS) \
		$@.c $(PKG_LIBS) && mv $@.new $@
$(BUILD)/rules.packed: $(BUILD)/rulec
	@$< $@.new && mv $@.new $@
$(B)/rules.c: $(BUILD)/rules.packed
	@mkdir -p $(@D)
	@tools/embed $< $(RULE_FILES) >$@.new && mv $@.new $@
$(B)/rules.o: $(B)/rules.c Makefile
	@$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<

# Documents, alerts, dashboards and the page at / are part of the program too: it serves them. What the
# page takes from npm is made once for all variants; made anew when npm comes or goes. The folder is "docs/.":
# "docs" is a target that is always made (make docs), and every program would be linked again each time.
SERVED_FILES := $(sort $(filter-out docs/STATUS.md,$(wildcard docs/*.md docs/runbooks/*.md alerts/*.yml \
	dashboards/*.json exporter/page/*.html exporter/page/*.css exporter/page/*.js exporter/page/*.svg)))
PAGE := $(BUILD)/page/with-$(if $(shell command -v npm),npm,nothing)
$(PAGE): $(addprefix exporter/page/,packages package.json package-lock.json)
	@mkdir -p $(@D)
	@exporter/page/packages $(@D) >$@.new && mv $@.new $@
.PHONY: page
page: ## what the page at / takes from npm, once more: after a build that could not reach it
	@rm -f $(PAGE)
	+@$(MAKE) all
$(B)/files.c: tools/embed_files $(PAGE) $(SERVED_FILES) $(wildcard docs/. docs/runbooks alerts dashboards exporter/page)
	@mkdir -p $(@D)
	@tools/embed_files $(SERVED_FILES) $$(cat $(PAGE)) >$@.new && mv $@.new $@
$(B)/files.o: $(B)/files.c Makefile
	@$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<

# Tests: the files test_*.c of a subject are one cmocka program (tests/programs.mk), $(B)/test-SUBJECT.
# The other files of their folders are a library, so that a program links only what it uses.
include tests/programs.mk
TEST_BINS := $(TEST_PROGRAMS:%=$(B)/test-%)
TEST_COMMON := $(patsubst %.c,$(B)/%.o,$(filter-out tests/program.c $(TEST_SRCS),$(sort $(wildcard $(TEST_DIRS:%=%/*.c)))))
$(B)/libtest.a: $(TEST_COMMON)
	@mkdir -p $(@D)
	@rm -f $@
	@ar rcs $@ $^
$(foreach program,$(TEST_PROGRAMS),$(eval $(B)/test-$(program): $(patsubst %.c,$(B)/%.o,$(call test_srcs,$(program)))))
$(TEST_BINS): $(B)/tests/program.o $(B)/libtest.a $(B)/libferry.a
	@echo "  LINK $@"
	@$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(PKG_LIBS) -lcmocka
.PHONY: tests-build
tests-build: $(TEST_BINS)
.PRECIOUS: $(B)/%.o # not .SECONDARY: with that a missing object would not be made again

include tests/targets.mk

-include $(shell find $(B) -name '*.d' 2>/dev/null)
