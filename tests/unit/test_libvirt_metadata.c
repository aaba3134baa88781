/* test_libvirt_metadata.c - what a guest's definition and a host's capabilities tell; broken
 * or hostile text tells nothing and harms nothing. */
#include "tests/test.h"

#include "base/text.h"
#include "hypervisor/libvirt/internal.h"

#define OPEN "<ferry:guest xmlns:ferry='urn:ferry:domain:1'>"
#define CLOSE "</ferry:guest>"

static const struct story {
    const char *name, *xml, *ns, *labels;
} stories[] = {
    {"no element", NULL, "default", NULL},
    {"as it is written",
     OPEN "<ferry:namespace>prod</ferry:namespace>"
          "<ferry:label key='app' value='db'/><ferry:label key='tier' value='1'/>" CLOSE,
     "prod", "{\"app\":\"db\",\"tier\":\"1\"}"},
    {"as libvirt hands it out",
     "<guest>\n  <namespace>prod</namespace>\n  <label key=\"app\" value=\"db\"/>\n</guest>\n",
     "prod", "{\"app\":\"db\"}"},
    {"space around a name is layout", OPEN "<ferry:namespace>\n  prod\n</ferry:namespace>" CLOSE,
     "prod", NULL},
    {"a label without a value is empty", OPEN "<ferry:label key='spot'/>" CLOSE, "default",
     "{\"spot\":\"\"}"},
    {"a label without a key is no label", OPEN "<ferry:label value='x'/>" CLOSE, "default", NULL},
    {"the last of two equal keys wins",
     OPEN "<ferry:label key='a' value='1'/><ferry:label key='a' value='2'/>" CLOSE, "default",
     "{\"a\":\"2\"}"},
    {"quotes are escaped", OPEN "<ferry:label key='a' value='&quot;,&quot;b&quot;:&quot;'/>" CLOSE,
     "default", "{\"a\":\"\\\",\\\"b\\\":\\\"\"}"},
    {"a name that is no name", OPEN "<ferry:namespace>Not A Name</ferry:namespace>" CLOSE,
     "default", NULL},
    {"an empty name", OPEN "<ferry:namespace/>" CLOSE, "default", NULL},
    {"another program's element",
     "<x:guest xmlns:x='urn:other'><x:namespace>no</x:namespace></x:guest>", "default", NULL},
    {"another program's child", OPEN "<x:namespace xmlns:x='urn:other'>no</x:namespace>" CLOSE,
     "default", NULL},
    {"another root", "<ferry:vm xmlns:ferry='urn:ferry:domain:1'/>", "default", NULL},
    {"cut off", "<guest><namespace>prod</namespace>", "default", NULL},
    {"empty", "", "default", NULL},
    {"not XML", "prod", "default", NULL},
    {"an entity is not fetched",
     "<!DOCTYPE guest [<!ENTITY e SYSTEM 'file:///etc/hostname'>]>"
     "<guest><namespace>&e;</namespace></guest>",
     "default", NULL},
};

static void metadata_is_decoded(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(stories); i++) {
        char ns[HV_HOST_MAX];
        char *labels = NULL;
        char *settings = NULL;
        libvirt_metadata_decode(stories[i].xml, ns, &labels, &settings);
        assert_null(settings);
        if (!text_equal(ns, stories[i].ns) || !text_equal(labels, stories[i].labels))
            fail_msg("%s: namespace '%s' labels %s", stories[i].name, ns,
                     labels != NULL ? labels : "none");
        free(labels);
    }
}

#define REQUIRED "\"requiredDuringSchedulingIgnoredDuringExecution\""
#define HOSTNAME "\"topologyKey\":\"kubernetes.io/hostname\""

static const struct {
    const char *name, *inside, *settings;
} requests[] = {
    {"a strategy", "<ferry:evictionStrategy> LiveMigrate </ferry:evictionStrategy>",
     "{\"evictionStrategy\":\"LiveMigrate\"}"},
    {"an empty strategy is none", "<ferry:evictionStrategy/>", NULL},
    {"a selector",
     "<ferry:nodeSelector key='zone' value='a'/><ferry:nodeSelector key='gpu' value=''/>",
     "{\"nodeSelector\":{\"zone\":\"a\",\"gpu\":\"\"}}"},
    {"a toleration says only what is said", "<ferry:toleration key='k' operator='Exists'/>",
     "{\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\"}]}"},
    {"a whole toleration",
     "<ferry:toleration key='k' operator='Equal' value='v' effect='NoSchedule'/>",
     "{\"tolerations\":[{\"key\":\"k\",\"operator\":\"Equal\",\"value\":\"v\","
     "\"effect\":\"NoSchedule\"}]}"},
    {"a toleration of everything", "<ferry:toleration operator='Exists'/>",
     "{\"tolerations\":[{\"operator\":\"Exists\"}]}"},
    {"together",
     "<ferry:affinity topologyKey='zone'><ferry:label key='app' value='web'/></ferry:affinity>",
     "{\"affinity\":{\"podAffinity\":{" REQUIRED ":[{\"labelSelector\":{\"matchLabels\":"
     "{\"app\":\"web\"}},\"topologyKey\":\"zone\"}]}}}"},
    {"apart, on other hosts when nothing else is said",
     "<ferry:antiAffinity><ferry:label key='app' value='db'/></ferry:antiAffinity>",
     "{\"affinity\":{\"podAntiAffinity\":{" REQUIRED ":[{\"labelSelector\":{\"matchLabels\":"
     "{\"app\":\"db\"}}," HOSTNAME "}]}}}"},
    {"apart from nobody", "<ferry:antiAffinity topologyKey='zone'/>", NULL},
    {"another program's words", "<x:evictionStrategy xmlns:x='urn:other'>None</x:evictionStrategy>",
     NULL},
};

static void settings_are_decoded(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(requests); i++) {
        char xml[1024], ns[HV_HOST_MAX];
        OWNED_TEXT labels = NULL;
        OWNED_TEXT settings = NULL;
        (void)snprintf(xml, sizeof xml, OPEN "%s" CLOSE, requests[i].inside);
        libvirt_metadata_decode(xml, ns, &labels, &settings);
        if (!text_equal(settings, requests[i].settings))
            fail_msg("%s: %s", requests[i].name, settings != NULL ? settings : "none");
        assert_null(labels); /* those of other guests are not its own */
    }
}

static void settings_are_bounded(void **state)
{
    (void)state;
    struct buf xml;
    buf_init(&xml, 64 * 1024);
    buf_add(&xml, "<guest>");
    for (int i = 0; i < 40; i++)
        buf_addf(&xml,
                 "<toleration key='t%02d'/><affinity><label key='a%02d'/></affinity>"
                 "<nodeSelector key='s%02d'/><nodeSelector key='x%02d'/>",
                 i, i, i, i);
    buf_add(&xml, "</guest>");
    OWNED_TEXT text = buf_take(&xml);
    char ns[HV_HOST_MAX];
    OWNED_TEXT labels = NULL;
    OWNED_TEXT settings = NULL;
    libvirt_metadata_decode(text, ns, &labels, &settings);
    assert_non_null(settings);
    static const char *const there[] = {"t00", "t15", "a07", "s31", "x31"};
    static const char *const cut[] = {"t16", "a08", "s32", "x32"};
    for (size_t i = 0; i < COUNT(there); i++)
        assert_non_null(strstr(settings, there[i]));
    for (size_t i = 0; i < COUNT(cut); i++)
        assert_null(strstr(settings, cut[i]));
}

static void labels_are_bounded_in_number_and_size(void **state)
{
    (void)state;
    struct buf xml;
    buf_init(&xml, 64 * 1024);
    buf_add(&xml, "<guest>");
    for (int i = 0; i < 100; i++)
        buf_addf(&xml, "<label key='k%d' value='v'/>", i);
    buf_addf(&xml, "<label key='k0' value='%0100d'/></guest>", 0);
    OWNED_TEXT text = buf_take(&xml);
    char ns[HV_HOST_MAX];
    OWNED_TEXT labels = NULL;
    OWNED_TEXT settings = NULL;
    libvirt_metadata_decode(text, ns, &labels, &settings);
    assert_non_null(labels);
    assert_non_null(strstr(labels, "\"k0\":\"v\""));
    assert_non_null(strstr(labels, "\"k63\""));
    assert_null(strstr(labels, "\"k64\""));
}

/* Kubernetes' lengths: the longest is kept, one more is not. */
static void the_longest_words_are_kept_and_no_longer_ones(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after; /* of one word of that length */
        int length;
        bool is_label;
    } rows[] = {
        {"<label value='v' key='", "'/>", 317, true},
        {"<label key='k' value='", "'/>", 63, true},
        {"<toleration key='", "'/>", 317, false},
        {"<toleration operator='", "'/>", 63, false},
        {"<toleration value='", "'/>", 63, false},
        {"<toleration effect='", "'/>", 63, false},
        {"<affinity topologyKey='", "'><label key='a'/></affinity>", 317, false},
        {"<evictionStrategy>", "</evictionStrategy>", 62, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        for (int more = 0; more < 2; more++) {
            char xml[1024], word[512], ns[HV_HOST_MAX];
            (void)snprintf(word, sizeof word, "%0*d", rows[i].length + more, 0);
            (void)snprintf(xml, sizeof xml, "<guest>%s%s%s</guest>", rows[i].before, word,
                           rows[i].after);
            OWNED_TEXT labels = NULL;
            OWNED_TEXT settings = NULL;
            libvirt_metadata_decode(xml, ns, &labels, &settings);
            const char *text = rows[i].is_label ? labels : settings;
            if ((text != NULL && strstr(text, word) != NULL) != (more == 0))
                fail_msg("%s: %d characters", rows[i].before, rows[i].length + more);
        }
}

static void huge_metadata_is_not_read_at_all(void **state)
{
    (void)state;
    struct buf xml;
    buf_init(&xml, 1024 * 1024);
    buf_add(&xml, "<guest><namespace>prod</namespace>");
    for (int i = 0; i < 4000; i++)
        buf_add(&xml, "<label key='k' value='v'/>");
    buf_add(&xml, "</guest>");
    OWNED_TEXT text = buf_take(&xml);
    char ns[HV_HOST_MAX];
    OWNED_TEXT labels = NULL;
    OWNED_TEXT settings = NULL;
    libvirt_metadata_decode(text, ns, &labels, &settings);
    assert_string_equal(ns, "default");
    assert_null(labels);
}

static void capabilities_name_the_host_and_its_cpu(void **state)
{
    (void)state;
    struct hv_facts facts = {.arch = "before"};
    libvirt_metadata_host(
        "<capabilities><host><uuid>00000001-1ab0-4000-8000-000000000001</uuid>"
        "<cpu><arch>x86_64</arch><model>kvm64</model><vendor>AMD</vendor></cpu></host>"
        "<guest><arch name='i686'/></guest></capabilities>",
        &facts);
    assert_string_equal(facts.uuid, "00000001-1ab0-4000-8000-000000000001");
    assert_string_equal(facts.arch, "x86_64");
    assert_string_equal(facts.cpu_model, "kvm64");

    struct hv_facts unknown = {.arch = "aarch64"};
    libvirt_metadata_host("<capabilities><host><cpu/></host></capabilities>", &unknown);
    libvirt_metadata_host("<capabilities/>", &unknown);
    libvirt_metadata_host("nonsense", &unknown);
    assert_string_equal(unknown.arch, "aarch64");
    assert_string_equal(unknown.cpu_model, "");
}

TEST_FILE(test_libvirt_metadata)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metadata_is_decoded),
        cmocka_unit_test(settings_are_decoded),
        cmocka_unit_test(settings_are_bounded),
        cmocka_unit_test(labels_are_bounded_in_number_and_size),
        cmocka_unit_test(the_longest_words_are_kept_and_no_longer_ones),
        cmocka_unit_test(huge_metadata_is_not_read_at_all),
        cmocka_unit_test(capabilities_name_the_host_and_its_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
