# programs.mk - the test programs, one for each subject, and the test files linked into each.
#
# A name X stands for test_X.c in any folder of TEST_DIRS. A new file joins the program of its
# subject here, unless a pattern takes it already. More than 25 programs fail the lint: each is
# linked with all of Ferry, which takes longer than most of its tests. For tests/run a program is
# only a container: every file runs in a process of its own.
# cases, laws and replay are small because they are also built alone: make scores, laws, fuzz.

TESTS_base := clock err fault hash heap json log quantity queue text yaml
TESTS_store := store* query* retention
TESTS_hypervisor := hv* libvirt* hostd* definition
TESTS_libvirt := adapter_*
TESTS_simulator := sim sim_* contract_sim
TESTS_collector := collector* qemu_log recorder
TESTS_model := job_fields labels ledger migratable migration_config host_requirements object_kind paths persist phase \
	policy publish* pending_change settings
TESTS_control := admission advise backoff configure control definition_wait objects observed orphans effects limits marks pause pending prepare* queue_order quota \
	reconcile stranded transitions wakes observed_lists
TESTS_placement := check placement*
# Admission is a fake in drain (test_drain_jobs.c): nothing there may need the real one.
TESTS_drain := drain* evacuation eviction
TESTS_data := carry dispatch final flags gone orders outcome ownership restart userpause volumes
TESTS_monitor := eta forecast remedy* monitor*
TESTS_recovery := recovery*
TESTS_analyzer := cause incident judge misleading postmortem read read_* recorded recorded_* ruleset typed verdict_*
TESTS_metrics := metrics* prom
# Snapshots are made by hand in api (test_api_world_parts.h): nothing there may need engine/publish.c.
TESTS_api := api* feed http_guard http_reply list_keep web_config cli_explain cli_override
TESTS_cli := cli_control cli_doctor cli_documents cli_explain_file cli_habits cli_hook cli_human cli_move cli_pages cli_past cli_terminal \
	cli_serve cli_token config config_dir fold follow notify progress reload top top_session
TESTS_fleet := bench chaos clock_jumps configure_sim day analysis feed_sim forecast_sim internal_error judged lawbook missed observed_sim replay_sim split_sim \
	volumes_sim
TESTS_cases := cases likeness
TESTS_control += lease
TESTS_laws := fleet_laws shared_laws
TESTS_replay := replay

TEST_DIRS := tests tests/unit tests/libvirt tests/golden tests/sim tests/fault tests/contract tests/fuzz tests/cases bench
TEST_PROGRAMS := $(patsubst TESTS_%,%,$(filter TESTS_%,$(.VARIABLES)))
TEST_SRCS := $(sort $(wildcard $(TEST_DIRS:%=%/test_*.c)))
test_srcs = $(sort $(wildcard $(foreach name,$(TESTS_$(1)),$(TEST_DIRS:%=%/test_$(name).c))))
