/* test_config.c - ferry.yaml: what it means, and where it says that it is wrong. */
#include "tests/test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "appliance/config.h"
#include "base/text.h"

static struct config *parse(const char *text, struct err *err)
{
    return config_parse(text, strlen(text), "ferry.yaml", err);
}

#define ONE_HOST "hosts:\n- name: h1\n  uri: qemu+ssh://root@h1/system\n"

static const char full[] = "hosts:\n"
                           "- name: h1\n"
                           "  uri: qemu+ssh://root@h1/system\n"
                           "  peerUri: qemu+tcp://10.0.0.1/system\n"
                           "  migrationAddress: 10.1.0.1\n"
                           "  listen: 10.1.0.3\n"
                           "  tls: true\n"
                           "  tlsName: h1.example.org\n"
                           "  keepalive: {intervalSeconds: 2, count: 3}\n"
                           "  labels: {zone: a, rack: 7}\n"
                           "  taints:\n"
                           "  - {key: gpu, value: big, effect: NoSchedule}\n"
                           "  - {key: old, effect: PreferNoSchedule}\n"
                           "- {name: h2, uri: 'qemu:///system', schedulable: false}\n"
                           "- {name: h3, uri: 'qemu:///system', schedulable: true}\n"
                           "state: /srv/ferry\n"
                           "store: postgresql://ferry@db/ferry?sslmode=verify-full\n"
                           "storeQuery: postgres://reader@db/ferry\n"
                           "listen: 127.0.0.1:9999\n"
                           "log: {level: debug, format: json}\n"
                           "migrations:\n"
                           "  bandwidthPerMigration: 64Mi\n"
                           "  parallelMigrationsPerCluster: 7\n"
                           "  parallelOutboundMigrationsPerNode: 3\n"
                           "  allowAutoConverge: true\n"
                           "  allowPostCopy: true\n"
                           "  unsafeMigrationOverride: true\n"
                           "  bandwidthPerNode: 1Gi\n"
                           "  memoryOvercommit: 150\n"
                           "  cpuAllocationRatio: 4\n"
                           "  allowManagedElsewhere: true\n"
                           "  maxDowntimeMs: 300\n"
                           "  experimental:\n"
                           "    compression: zstd\n"
                           "    stallDetector: {ewmaAlpha: 0.25, stallMargin: 7}\n"
                           "evictionStrategy: LiveMigrateIfPossible\n"
                           "sampling: {intervalMs: 200}\n"
                           "storage:\n"
                           "  sharedPaths: [/srv/nfs, /mnt/gluster]\n"
                           "  sharedPools: [san]\n";

static void a_full_file_fills_every_field(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(config) c = parse(full, &err);
    assert_string_equal(err.text, "");
    assert_non_null(c);
    assert_int_equal(c->n_hosts, 3);
    assert_string_equal(c->hosts[0].name, "h1");
    assert_string_equal(c->hosts[0].uri, "qemu+ssh://root@h1/system");
    assert_string_equal(c->hosts[0].peer_uri, "qemu+tcp://10.0.0.1/system");
    assert_string_equal(c->hosts[0].migration_host, "10.1.0.1");
    assert_string_equal(c->hosts[0].listen, "10.1.0.3");
    assert_true(c->hosts[0].tls && !c->hosts[1].tls);
    assert_string_equal(c->hosts[0].tls_name, "h1.example.org");
    assert_string_equal(c->hosts[0].helper, "");
    assert_int_equal(c->hosts[0].keepalive_interval_s, 2);
    assert_int_equal(c->hosts[0].keepalive_count, 3);
    assert_string_equal(c->host_settings[0].labels, "{\"zone\":\"a\",\"rack\":\"7\"}");
    assert_string_equal(c->hosts[1].peer_uri, "qemu:///system"); /* default: uri */
    assert_null(c->host_settings[1].labels);
    assert_string_equal(c->host_settings[0].taints,
                        "[{\"key\":\"gpu\",\"value\":\"big\",\"effect\":\"NoSchedule\"},"
                        "{\"key\":\"old\",\"effect\":\"PreferNoSchedule\"}]");
    assert_null(c->host_settings[1].taints);
    assert_true(!c->host_settings[0].cordoned && c->host_settings[1].cordoned &&
                !c->host_settings[2].cordoned);
    assert_string_equal(c->state_dir, "/srv/ferry");
    assert_string_equal(c->store, "postgresql://ferry@db/ferry?sslmode=verify-full");
    assert_string_equal(c->store_query, "postgres://reader@db/ferry");
    assert_string_equal(c->access.listen[0], "127.0.0.1:9999");
    assert_int_equal(c->log_level, LOG_LEVEL_DEBUG);
    assert_int_equal(c->log_format, LOG_FORMAT_JSON);
    assert_int_equal(c->migration.bandwidth, 64 << 20);
    assert_int_equal(c->parallel_per_fleet, 7);
    assert_int_equal(c->parallel_outbound_per_node, 3);
    assert_true(c->migration.auto_converge && c->migration.post_copy && c->migration.unsafe);
    assert_int_equal(c->bandwidth_per_node, 1 << 30);
    assert_int_equal(c->memory_overcommit_percent, 150);
    assert_int_equal(c->vcpus_per_cpu, 4);
    assert_true(c->allow_managed);
    assert_int_equal(c->migration.max_downtime_ms, 300);
    assert_int_equal(c->migration.compression, COMPRESSION_ZSTD);
    assert_true(c->migration.ewma_alpha > 0.24 && c->migration.ewma_alpha < 0.26);
    assert_int_equal(c->migration.stall_margin, 7);
    assert_int_equal(c->eviction_strategy, STRATEGY_LIVE_MIGRATE_IF_POSSIBLE);
    assert_int_equal(c->sample_ms, 200);
    assert_int_equal(c->n_shared_paths, 2);
    assert_string_equal(c->shared_paths[1], "/mnt/gluster");
    assert_int_equal(c->n_shared_pools, 1);
    assert_string_equal(c->shared_pools[0], "san");
}

/* The usual place is for the usual daemon of this machine only. */
static void log_directories_are_configured_or_default(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(config) c = parse("hosts:\n- {name: a, uri: 'qemu:///system'}\n"
                            "- {name: b, uri: 'qemu:///system?socket=/x'}\n"
                            "- {name: c, uri: 'qemu+tcp://c/system'}\n"
                            "- {name: d, uri: 'qemu+tcp://d/system', qemuLogDir: /logs/d}\n"
                            "analyzer: {rules: /etc/ferry/rules}\n",
                            &err);
    assert_string_equal(err.text, "");
    assert_string_equal(c->host_settings[0].log_dir, "/var/log/libvirt/qemu");
    assert_null(c->host_settings[1].log_dir);
    assert_null(c->host_settings[2].log_dir);
    assert_string_equal(c->host_settings[3].log_dir, "/logs/d");
    assert_string_equal(c->rules_dir, "/etc/ferry/rules");
}

static void missing_settings_have_kubevirts_defaults(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(config) c = parse(ONE_HOST, &err);
    assert_non_null(c);
    assert_string_equal(c->state_dir, "/var/lib/ferry");
    assert_string_equal(c->access.listen[0], "127.0.0.1:9178");
    assert_int_equal(c->log_level, LOG_LEVEL_INFO);
    assert_int_equal(c->parallel_per_fleet, 5);
    assert_int_equal(c->parallel_outbound_per_node, 2);
    assert_int_equal(c->parallel_inbound_per_node, 2);
    assert_int_equal(c->memory_overcommit_percent, 100);
    assert_int_equal(c->vcpus_per_cpu, 10);
    assert_false(c->allow_managed);
    assert_int_equal(c->bandwidth_per_node, 0);
    assert_int_equal(c->eviction_strategy, STRATEGY_UNSET);
    struct migration_config fallback;
    migration_config_default(&fallback);
#define SETTING(id, type, json, value, low, high, policy, help) \
    assert_true(c->migration.id == fallback.id);
#include "engine/model/settings/migration_config.def"
#undef SETTING
    assert_int_equal(c->sample_ms, 0);
}

/* Each wrong file, and the beginning and a part of what it is told. */
static const struct story {
    const char *name, *text, *where, *what;
} stories[] = {
    {"a misspelt key", "hots: []\n", "ferry.yaml:1: ", "did you mean \"hosts\"?"},
    {"a misspelt key inside a host", "hosts:\n- name: h1\n  ur: qemu:///system\n",
     "ferry.yaml:3: ", "did you mean"},
    {"a misspelt limit", ONE_HOST "migrations:\n  allowPostcopy: true\n",
     "ferry.yaml:5: ", "allowPostCopy"},
    {"no hosts at all", "listen: 127.0.0.1:1\n", "ferry.yaml:1: ", "'hosts' is missing"},
    {"a store that is no URL", "state: /x\nstore: mysql://u:p@h/d\n",
     "ferry.yaml:2: ", "'store' is not a URL like postgresql://"},
    {"an empty list", "state: /x\nhosts: []\n", "ferry.yaml:2: ", "empty"},
    {"hosts that are no list", "hosts: h1\n", "ferry.yaml:1: ", "list"},
    {"a host without a name", "hosts:\n- uri: qemu:///system\n", "ferry.yaml:2: ", "'name'"},
    {"a host without a uri", "hosts:\n- name: h1\n", "ferry.yaml:2: ", "'uri'"},
    {"a name with capitals", "hosts:\n- name: H1\n  uri: qemu:///system\n",
     "ferry.yaml:2: ", "DNS label"},
    {"a uri without a scheme", "hosts:\n- name: h1\n  uri: host1/system\n",
     "ferry.yaml:3: ", "scheme"},
    {"a peer uri without a scheme",
     "hosts:\n- {name: h1, uri: 'qemu:///system', peerUri: '10.0.0.1'}\n",
     "ferry.yaml:2: ", "peerUri"},
    {"one name twice",
     ONE_HOST "- name: h2\n  uri: qemu:///system\n- name: h1\n"
              "  uri: qemu:///system\n",
     "ferry.yaml:6: ", "is a duplicate of line 2"},
    {"a port that is none", ONE_HOST "listen: localhost\n", "ferry.yaml:4: ", "ADDRESS:PORT"},
    {"a port too high", ONE_HOST "listen: 127.0.0.1:70000\n", "ferry.yaml:4: ", "ADDRESS:PORT"},
    {"an unknown level", ONE_HOST "log: {level: loud}\n", "ferry.yaml:4: ", "debug, info"},
    {"an unknown format", ONE_HOST "log: {format: xml}\n", "ferry.yaml:4: ", "text, json"},
    {"a bandwidth that is a word", ONE_HOST "migrations:\n  bandwidthPerMigration: fast\n",
     "ferry.yaml:5: ", "64Mi"},
    {"a bandwidth below libvirt's unit", ONE_HOST "migrations:\n  bandwidthPerMigration: 100Ki\n",
     "ferry.yaml:5: ", "1 MiB/s"},
    {"a negative count", ONE_HOST "migrations:\n  parallelMigrationsPerCluster: -1\n",
     "ferry.yaml:5: ", ""},
    {"a switch that is a word", ONE_HOST "migrations:\n  allowPostCopy: maybe\n",
     "ferry.yaml:5: ", ""},
    {"a budget that is a word", ONE_HOST "migrations:\n  bandwidthPerNode: wide\n",
     "ferry.yaml:5: ", "bandwidthPerNode 'wide'"},
    {"a post-copy bandwidth that is a word", ONE_HOST "migrations: {bandwidthPostCopy: x}\n",
     "ferry.yaml:4: ", "bandwidthPostCopy 'x'"},
    {"no memory at all", ONE_HOST "migrations: {memoryOvercommit: 0}\n", "ferry.yaml:4: ", "1"},
    {"a ratio that is a word", ONE_HOST "migrations: {cpuAllocationRatio: x}\n",
     "ferry.yaml:4: ", ""},
    {"a misspelt ratio", ONE_HOST "migrations: {cpuAllocationRatios: 3}\n",
     "ferry.yaml:4: ", "did you mean \"cpuAllocationRatio\"?"},
    {"a misspelt setting", ONE_HOST "migrations:\n  maxDowntimeM: 3\n",
     "ferry.yaml:5: ", "did you mean \"maxDowntimeMs\"?"},
    {"a misspelt nested setting",
     ONE_HOST "migrations:\n  experimental:\n    stallDetector:\n      stallMargins: 3\n",
     "ferry.yaml:7: ", "did you mean \"stallMargin\"?"},
    {"a map where a value belongs", ONE_HOST "migrations:\n  maxDowntimeMs: {a: 1}\n",
     "ferry.yaml:5: ", "one value"},
    {"a value where a map belongs", ONE_HOST "migrations:\n  experimental: yes\n",
     "ferry.yaml:5: ", "map"},
    {"two ways to find the moment",
     ONE_HOST "migrations:\n  experimental:\n    stallDetector: {stallMargin: 3}\n"
              "    downtimeTuning: {steps: 3}\n",
     "ferry.yaml:", "downtimeTuning"},
    {"a strategy that is none", ONE_HOST "evictionStrategy: Live\n",
     "ferry.yaml:4: ", "None LiveMigrate LiveMigrateIfPossible External"},
    {"an empty strategy", ONE_HOST "evictionStrategy: ''\n", "ferry.yaml:4: ", "none of"},
    {"a session daemon", "hosts:\n- {name: h1, uri: 'qemu:///session'}\n",
     "ferry.yaml:2: ", "'qemu:///session' is a user's session daemon"},
    {"a session daemon far away", "hosts:\n- {name: h1, uri: 'qemu+ssh://u@h1/session?no_tty=1'}\n",
     "ferry.yaml:2: ", ".../system"},
    {"a session daemon for peers",
     "hosts:\n- {name: h1, uri: 'qemu:///system', peerUri: 'qemu+ssh://h1/session'}\n",
     "ferry.yaml:2: ", "peerUri 'qemu+ssh://h1/session' is a user's session daemon"},
    {"a driver inside Ferry", "hosts:\n- {name: h1, uri: 'qemu:///embed?root=/x'}\n",
     "ferry.yaml:2: ", "an embedded driver"},
    {"a taint without an effect", "hosts:\n- name: h1\n  uri: qemu:///s\n  taints:\n  - key: a\n",
     "ferry.yaml:5: ", "'effect'"},
    {"a taint without a key",
     "hosts:\n- name: h1\n  uri: qemu:///s\n  taints:\n  - effect: NoSchedule\n",
     "ferry.yaml:5: ", "'key'"},
    {"a taint with an unknown effect",
     "hosts:\n- {name: h1, uri: 'qemu:///s', taints: [{key: a, effect: Never}]}\n",
     "ferry.yaml:2: ", "NoExecute"},
    {"a misspelt part of a taint",
     "hosts:\n- {name: h1, uri: 'qemu:///s', taints: [{key: a, efect: NoSchedule}]}\n",
     "ferry.yaml:2: ", "did you mean \"effect\"?"},
    {"taints that are no list", "hosts:\n- {name: h1, uri: 'qemu:///s', taints: a}\n",
     "ferry.yaml:2: ", "list"},
    {"schedulable that is a word", "hosts:\n- {name: h1, uri: 'qemu:///s', schedulable: often}\n",
     "ferry.yaml:2: ", ""},
    {"a label nobody could select", "hosts:\n- {name: h1, uri: 'qemu:///s', labels: {a b: c}}\n",
     "ferry.yaml:2: ", "label 'a b"},
    {"sampling too fast", ONE_HOST "sampling: {intervalMs: 1}\n", "ferry.yaml:4: ", "50"},
    {"an address with a slash",
     "hosts:\n- {name: h1, uri: 'qemu:///system', migrationAddress: 10.0.0.0/8}\n",
     "ferry.yaml:2: ", "migrationAddress"},
    {"a place to listen with a slash",
     "hosts:\n- {name: h1, uri: 'qemu:///s', listen: 10.0.0.0/8}\n",
     "ferry.yaml:2: ", "listen '10.0.0.0/8'"},
    {"tls that is a word", "hosts:\n- {name: h1, uri: 'qemu:///s', tls: maybe}\n",
     "ferry.yaml:2: ", ""},
    {"a misspelt tls", "hosts:\n- {name: h1, uri: 'qemu:///s', tlsname: h1}\n",
     "ferry.yaml:2: ", "did you mean \"tlsName\"?"},
    {"a certificate's name with a space", "hosts:\n- {name: h1, uri: 'qemu:///s', tlsName: a b}\n",
     "ferry.yaml:2: ", "tlsName 'a b'"},
    {"ports that are none", "hosts:\n- {name: h1, uri: 'qemu:///s', migrationPorts: '49215'}\n",
     "ferry.yaml:2: ", "MIN-MAX"},
    {"ports the wrong way round",
     "hosts:\n- {name: h1, uri: 'qemu:///s', migrationPorts: 49215-49152}\n",
     "ferry.yaml:2: ", "MIN-MAX"},
    {"logs by half a path", "hosts:\n- {name: h1, uri: 'qemu:///s', qemuLogDir: logs}\n",
     "ferry.yaml:2: ", "not an absolute path"},
    {"rules by half a path", "hosts:\n- {name: h1, uri: 'qemu:///s'}\nanalyzer: {rules: r}\n",
     "ferry.yaml:3: ", "not an absolute path"},
    {"a helper by name", "hosts:\n- {name: h1, uri: 'qemu:///s', helper: 'h1:7011'}\n",
     "ferry.yaml:2: ", "'h1' is not an IP address"},
    {"a helper without a port", "hosts:\n- {name: h1, uri: 'qemu:///s', helper: 10.0.0.1}\n",
     "ferry.yaml:2: ", "ADDRESS:PORT"},
    {"a helper without a secret",
     "hosts:\n- {name: h1, uri: 'qemu:///s', helper: '10.0.0.1:7011'}\n",
     "ferry.yaml:2: ", "'helperSecretFile'"},
    {"a secret that is not there", ONE_HOST "helperSecretFile: /nonexistent/secret\n",
     "ferry.yaml:4: ", "/nonexistent/secret: No such file"},
    {"a secret from nowhere", ONE_HOST "  helperSecretFile: secret\n",
     "ferry.yaml:4: ", "'secret' is not an absolute path"},
    {"a secret that is no file", ONE_HOST "helperSecretFile: /dev/null\n",
     "ferry.yaml:4: ", "/dev/null: cannot be read as a file"},
    {"a label that is a map", "hosts:\n- {name: h1, uri: 'qemu:///s', labels: {a: {b: c}}}\n",
     "ferry.yaml:2: ", "label 'a'"},
    {"a shared path from nowhere", ONE_HOST "storage:\n  sharedPaths:\n  - /a\n  - nfs\n",
     "ferry.yaml:7: ", "'nfs' is not an absolute path"},
    {"a shared path that climbs", ONE_HOST "storage: {sharedPaths: [/a/../b]}\n",
     "ferry.yaml:4: ", "without '..'"},
    {"a shared path without a list", ONE_HOST "storage: {sharedPaths: /a}\n",
     "ferry.yaml:4: ", "list"},
    {"an empty pool", ONE_HOST "storage: {sharedPools: ['']}\n", "ferry.yaml:4: ", "empty"},
    {"a misspelt storage key", ONE_HOST "storage: {sharedPath: []}\n",
     "ferry.yaml:4: ", "sharedPaths"},
    {"an empty path", ONE_HOST "state: ''\n", "ferry.yaml:4: ", "empty"},
    {"a zero keepalive",
     "hosts:\n- {name: h1, uri: 'qemu:///s', keepalive: {intervalSeconds: 0}}\n",
     "ferry.yaml:2: ", ""},
};

static void a_wrong_file_is_refused_with_line_and_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct err err = {0};
        OWNED(config) c = parse(stories[i].text, &err);
        if (c != NULL || err.code != ERR_INVALID || !text_has_prefix(err.text, stories[i].where) ||
            strstr(err.text, stories[i].what) == NULL)
            fail_msg("%s: got '%s'", stories[i].name, err.text);
    }
}

static void keys_that_are_no_longer_used_are_accepted_and_warned_of(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum config_retired key;
        const char *name;
    } rows[] = {
        {"hosts:\n- {name: h1, uri: 'qemu:///s', relay: 10.0.0.9}\n", CONFIG_RETIRED_RELAY,
         "`relay`"},
        {"hosts:\n- {name: h1, uri: 'qemu:///s', relay: any}\n"
         "- {name: h2, uri: 'qemu:///s', relay: any}\n",
         CONFIG_RETIRED_RELAY, "`relay`"},
        {ONE_HOST "outOfBand: {listen: '10.0.0.9:4555', trustNetwork: true}\n",
         CONFIG_RETIRED_OUT_OF_BAND, "`outOfBand`"},
        {ONE_HOST "migrations: {relayed: true, allowPostCopy: true}\n", CONFIG_RETIRED_RELAYED,
         "`migrations.relayed`"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        OWNED(config) c = parse(rows[i].text, &err);
        assert_string_equal(err.text, "");
        assert_int_equal(c->retired, 1U << rows[i].key);
        const char *text = config_retired_text(rows[i].key);
        assert_true(text_has_prefix(text, rows[i].name));
        assert_non_null(strstr(text, "no longer used"));
        assert_non_null(strstr(text, "ferry hostd"));
    }
    struct err err = {0};
    OWNED(config) plain = parse(ONE_HOST, &err);
    assert_int_equal(plain->retired, 0);
}

/* A file that only its owner can read; the caller removes it. */
static void write_secret(char *path, const char *text)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
}

#define HELPED                                                                                  \
    "hosts:\n- {name: h1, uri: 'qemu:///s', helper: '10.0.0.1:7011', helperSecretFile: %2$s}\n" \
    "- {name: h2, uri: 'qemu:///s', helper: '[fd00::2]:7011'}\n"                                \
    "- {name: h3, uri: 'qemu:///s'}\n"                                                          \
    "helperSecretFile: %1$s\n"

static void a_helper_has_its_hosts_secret_or_the_files(void **state)
{
    (void)state;
    char common[] = "/tmp/ferry-test-XXXXXX", own[] = "/tmp/ferry-test-XXXXXX", text[1024];
    struct err err = {0};
    write_secret(common, "common-common-common\n");
    write_secret(own, "own-own-own-own-own");
    (void)snprintf(text, sizeof text, HELPED, common, own);
    OWNED(config) c = parse(text, &err);
    assert_string_equal(err.text, "");
    assert_string_equal(c->hosts[0].helper, "10.0.0.1:7011");
    assert_string_equal(c->hosts[0].helper_secret, "own-own-own-own-own");
    assert_string_equal(c->hosts[1].helper, "[fd00::2]:7011");
    assert_string_equal(c->hosts[1].helper_secret, "common-common-common");
    assert_string_equal(c->hosts[2].helper_secret, "");
    (void)unlink(own);
    write_secret(memcpy(own, "/tmp/ferry-test-XXXXXX", sizeof own), "another-another-one");
    (void)snprintf(text, sizeof text, HELPED, common, own);
    OWNED(config) next = parse(text, &err);
    assert_int_equal(config_compare(c, next), 1U << CONFIG_PART_HOSTS);
    assert_int_equal(chmod(common, 0604), 0);
    assert_null(parse(text, &err));
    assert_non_null(strstr(err.text, "readable or writable by others"));
    (void)unlink(common);
    (void)unlink(own);
}

/* A law over migration_config.def: every setting can be made in the file under its name, and one
 * that is made of nonsense is refused at its line with that name. */
static const struct {
    const char *path, *good, *bad;
} settings[] = {
#define VALUE_BOOL "true", "maybe"
#define VALUE_COUNT "42", "many"
#define VALUE_BYTES "64Mi", "much"
#define VALUE_REAL "1", "real"
#define VALUE_WORD "-", "nonsense"
#define SETTING(id, type, json, value, low, high, policy, help) {json, VALUE_##type},
#include "engine/model/settings/migration_config.def"
#undef SETTING
};

/* Each part of the path on a line of its own, deeper each time; returns the last line. */
static int write_nested(const char *path, const char *value, char *out, size_t n)
{
    int line = 4, depth = 1;
    size_t length = (size_t)snprintf(out, n, ONE_HOST "migrations:\n");
    for (;;) {
        size_t part = strcspn(path, ".");
        bool last = path[part] == '\0';
        length += (size_t)snprintf(out + length, n - length, "%*s%.*s: %s\n", depth * 2, "",
                                   (int)part, path, last ? value : "");
        line++;
        depth++;
        if (last)
            return line;
        path += part + 1;
    }
}

static void every_setting_is_read_and_checked_at_its_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(settings); i++) {
        char text[1024], where[64];
        const char *name = strrchr(settings[i].path, '.');
        bool is_word = text_equal(settings[i].good, "-");
        struct err good_err = {0}, bad_err = {0};
        const char *good = !is_word ? settings[i].good
                           : text_equal(settings[i].path, "monitor") ||
                                   text_equal(settings[i].path, "shadowMonitor")
                               ? "legacy"
                               : "xbzrle";
        (void)write_nested(settings[i].path, good, text, sizeof text);
        OWNED(config) c = parse(text, &good_err);
        if (c == NULL)
            fail_msg("%s: %s", settings[i].path, good_err.text);
        int line = write_nested(settings[i].path, settings[i].bad, text, sizeof text);
        (void)snprintf(where, sizeof where, "ferry.yaml:%d: ", line);
        OWNED(config) none = parse(text, &bad_err);
        if (none != NULL || !text_has_prefix(bad_err.text, where) ||
            strstr(bad_err.text, name != NULL ? name + 1 : settings[i].path) == NULL)
            fail_msg("%s: got '%s'", settings[i].path, bad_err.text);
    }
}

static const struct {
    const char *text;
    uint64_t mibs;
} bandwidths[] = {
    {"0", 0},   {"100", 100},    {"64Mi", 64},         {"1Gi", 1024},
    {"0Mi", 0}, {"1.5Gi", 1536}, {"67108864k", 64000}, {"\"32\"", 32},
};

static void bandwidth_is_mib_or_a_quantity_of_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bandwidths); i++) {
        char text[256];
        struct err err = {0};
        (void)snprintf(text, sizeof text, ONE_HOST "migrations:\n  bandwidthPerMigration: %s\n",
                       bandwidths[i].text);
        OWNED(config) c = parse(text, &err);
        assert_string_equal(err.text, "");
        assert_int_equal(c->migration.bandwidth, (int64_t)(bandwidths[i].mibs << 20));
    }
}

static void a_host_is_in_its_own_mode_or_the_fleets(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(config) c = parse("mode: observe\n"
                            "hosts:\n- {name: a, uri: 'qemu:///a'}\n"
                            "- {name: b, uri: 'qemu:///b', mode: manage}\n",
                            &err);
    assert_string_equal(err.text, "");
    assert_true(c->hosts[0].observe && !c->hosts[1].observe);
    OWNED(config) d = parse("hosts:\n- {name: a, uri: 'qemu:///a'}\n"
                            "- {name: b, uri: 'qemu:///b', mode: observe}\n",
                            &err);
    assert_true(!d->hosts[0].observe && d->hosts[1].observe);
    assert_null(parse(ONE_HOST "mode: watch\n", &err));
    assert_string_equal(err.text, "ferry.yaml:4: mode 'watch' is neither observe nor manage");
}

/* Every part that can change, one at a time. */
static const struct {
    const char *text, *word;
} changes[] = {
    {ONE_HOST, NULL},
    {"hosts:\n- name: h2\n  uri: qemu+ssh://root@h1/system\n", "hosts"},
    {"hosts:\n- name: h1\n  uri: qemu+ssh://root@h9/system\n", "hosts"},
    {"hosts:\n- name: h1\n  uri: qemu+ssh://root@h1/system\n  labels: {a: b}\n", "hosts"},
    {ONE_HOST "- name: h2\n  uri: qemu:///system\n", "hosts"},
    {ONE_HOST "  listen: 10.0.0.1\n", "hosts"},
    {ONE_HOST "  tls: true\n", "hosts"},
    {ONE_HOST "  mode: observe\n", "hosts"},
    {ONE_HOST "mode: observe\n", "hosts"},
    {ONE_HOST "mode: manage\n", NULL},
    {ONE_HOST "migrations: {allowManagedElsewhere: true}\n", "migrations.allowManagedElsewhere"},
    {ONE_HOST "  tlsName: h1.example\n", "hosts"},
    {ONE_HOST "state: /x\n", "state"},
    {ONE_HOST "store: postgresql://h/d\n", "store"},
    {ONE_HOST "listen: 127.0.0.1:1\n", "listen"},
    {ONE_HOST "log: {level: debug}\n", "log.level"},
    {ONE_HOST "log: {format: json}\n", "log.format"},
    {ONE_HOST "migrations: {unsafeMigrationOverride: true}\n",
     "migrations.unsafeMigrationOverride"},
    {ONE_HOST "migrations: {allowPostCopy: true}\n", "migrations"},
    {ONE_HOST "migrations: {bandwidthPerMigration: 5}\n", "migrations"},
    {ONE_HOST "migrations: {bandwidthPerNode: 5}\n", "migrations"},
    {ONE_HOST "migrations: {memoryOvercommit: 120}\n", "migrations"},
    {ONE_HOST "migrations: {cpuAllocationRatio: 2}\n", "migrations"},
    {ONE_HOST "migrations: {experimental: {compression: mt}}\n", "migrations"},
    {ONE_HOST "evictionStrategy: External\n", "evictionStrategy"},
    {"hosts:\n- name: h1\n  uri: qemu+ssh://root@h1/system\n  schedulable: false\n", "hosts"},
    {ONE_HOST "sampling: {intervalMs: 100}\n", "sampling"},
    {ONE_HOST "storage: {sharedPaths: [/a]}\n", "storage"},
    {ONE_HOST "storage: {sharedPools: [a]}\n", "storage"},
    {ONE_HOST "sampling: {intervalMs: 100}\nstate: /x\n", "state, sampling"},
};

static void name_parts(unsigned parts, char *out_text)
{
    size_t length = 0;
    out_text[0] = '\0';
    for (enum config_part part = 0; part < CONFIG_PART_COUNT; part++)
        if ((parts & 1U << part) != 0)
            length += (size_t)snprintf(out_text + length, HV_TEXT_MAX - length, "%s%s",
                                       length > 0 ? ", " : "", config_part_name(part));
}

static void a_change_names_its_part(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(config) now = parse(ONE_HOST, &err);
    for (size_t i = 0; i < COUNT(changes); i++) {
        char text[HV_TEXT_MAX];
        OWNED(config) next = parse(changes[i].text, &err);
        assert_non_null(next);
        name_parts(config_compare(now, next), text);
        assert_string_equal(text, changes[i].word != NULL ? changes[i].word : "");
    }
}

static void ten_thousand_hosts_fit_and_one_more_does_not(void **state)
{
    (void)state;
    for (unsigned extra = 0; extra < 2; extra++) {
        struct buf text;
        struct err err = {0};
        buf_init(&text, 4 << 20);
        buf_add(&text, "hosts:\n");
        for (unsigned i = 0; i < CONFIG_HOSTS_MAX + extra; i++)
            buf_addf(&text, "- {name: h%u, uri: 'qemu:///system'}\n", i);
        OWNED(config) c = config_parse(text.data, text.length, "f", &err);
        buf_fini(&text);
        assert_int_equal(c != NULL, extra == 0);
    }
}

static void a_missing_file_is_named(void **state)
{
    (void)state;
    struct err err = {0};
    assert_null(config_read("/nonexistent/ferry.yaml", &err));
    assert_non_null(strstr(err.text, "/nonexistent/ferry.yaml"));
}

static void the_example_in_the_docs_is_valid(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(config) c = config_read("docs/ferry.yaml", &err);
    assert_string_equal(err.text, "");
    assert_non_null(c);
}

TEST_FILE(test_config)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_file_fills_every_field),
        cmocka_unit_test(log_directories_are_configured_or_default),
        cmocka_unit_test(missing_settings_have_kubevirts_defaults),
        cmocka_unit_test(a_wrong_file_is_refused_with_line_and_reason),
        cmocka_unit_test(keys_that_are_no_longer_used_are_accepted_and_warned_of),
        cmocka_unit_test(a_helper_has_its_hosts_secret_or_the_files),
        cmocka_unit_test(every_setting_is_read_and_checked_at_its_line),
        cmocka_unit_test(bandwidth_is_mib_or_a_quantity_of_bytes),
        cmocka_unit_test(a_host_is_in_its_own_mode_or_the_fleets),
        cmocka_unit_test(a_change_names_its_part),
        cmocka_unit_test(ten_thousand_hosts_fit_and_one_more_does_not),
        cmocka_unit_test(a_missing_file_is_named),
        cmocka_unit_test(the_example_in_the_docs_is_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
