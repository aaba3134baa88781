/* fuzz_libvirt.c - what comes from a libvirtd: typed parameters, XML. The first byte chooses. */
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "hypervisor/definition.h"
#include "hypervisor/libvirt/internal.h"
#include "tests/fuzz/fuzz.h"

enum { PARAMS_MAX = 32 };

static const char *const known[] = {VIR_DOMAIN_JOB_OPERATION, VIR_DOMAIN_JOB_DATA_TOTAL,
                                    VIR_DOMAIN_JOB_MEMORY_BPS, VIR_DOMAIN_JOB_DOWNTIME, "success"};

/* A parameter: which name (or letters of it), type, value. */
static void read_param(struct fuzz_bytes *in, virTypedParameter *out)
{
    uint8_t name = fuzz_byte(in);
    if (name < COUNT(known)) {
        TEXT_SET(out->field, known[name]);
    } else {
        for (unsigned i = 0; i < name && i + 1 < sizeof out->field; i++)
            out->field[i] = (char)fuzz_byte(in);
    }
    out->type = (int8_t)fuzz_byte(in);
    uint64_t value = fuzz_u64(in);
    memcpy(&out->value, &value, sizeof value);
}

/* The last whole number that is not negative under that name, else 0. */
static uint64_t expected(const virTypedParameter *params, int n, const char *name)
{
    uint64_t value = 0;
    for (int i = 0; i < n; i++) {
        const virTypedParameter *p = &params[i];
        if (strcmp(p->field, name) != 0)
            continue;
        if (p->type == VIR_TYPED_PARAM_INT)
            value = p->value.i > 0 ? (uint64_t)p->value.i : 0;
        else if (p->type == VIR_TYPED_PARAM_UINT)
            value = p->value.ui;
        else if (p->type == VIR_TYPED_PARAM_LLONG)
            value = p->value.l > 0 ? (uint64_t)p->value.l : 0;
        else if (p->type == VIR_TYPED_PARAM_ULLONG)
            value = p->value.ul;
    }
    return value;
}

static void feed_params(struct fuzz_bytes *in)
{
    virTypedParameter params[PARAMS_MAX] = {0};
    int n = 0;
    while (n < PARAMS_MAX && in->at < in->end)
        read_param(in, &params[n++]);
    struct hv_job_stats stats;
    libvirt_stats_decode(params, n, &stats);
    FUZZ_LAW(stats.type == 0 && stats.operation >= 0, "type %d operation %d", stats.type,
             stats.operation);
    FUZZ_LAW(stats.data_total == expected(params, n, VIR_DOMAIN_JOB_DATA_TOTAL), "data_total");
    FUZZ_LAW(stats.memory_bps == expected(params, n, VIR_DOMAIN_JOB_MEMORY_BPS), "memory_bps");
    FUZZ_LAW(stats.downtime_ms == expected(params, n, VIR_DOMAIN_JOB_DOWNTIME), "downtime");
}

static void feed_metadata(const char *xml)
{
    char ns[HV_HOST_MAX];
    OWNED_TEXT labels = NULL;
    OWNED_TEXT settings = NULL;
    struct err err = {0};
    libvirt_metadata_decode(xml, ns, &labels, &settings);
    FUZZ_LAW(text_is_dns_label(ns), "a namespace called '%s'", ns);
    if (settings != NULL) {
        OWNED(json_object) requests = json_parse(settings, strlen(settings), "settings", &err);
        FUZZ_LAW(json_object_is_type(requests, json_type_object) &&
                     json_object_object_length(requests) > 0,
                 "settings are no object: %s", settings);
    }
    if (labels == NULL)
        return;
    OWNED(json_object) object = json_parse(labels, strlen(labels), "labels", &err);
    FUZZ_LAW(json_object_is_type(object, json_type_object), "labels are no object: %s", labels);
    FUZZ_LAW(json_object_object_length(object) <= 64, "%d labels",
             json_object_object_length(object));
    json_object_object_foreach(object, key, value)
        FUZZ_LAW(json_object_is_type(value, json_type_string), "label '%s' is no text", key);
}

static void feed_capabilities(const char *xml)
{
    struct hv_facts facts = {0};
    libvirt_metadata_host(xml, &facts);
    FUZZ_LAW(memchr(facts.uuid, '\0', sizeof facts.uuid) != NULL &&
                 memchr(facts.cpu_model, '\0', sizeof facts.cpu_model) != NULL &&
                 memchr(facts.arch, '\0', sizeof facts.arch) != NULL,
             "text without an end");
    struct hv_capabilities *capabilities = calloc(1, sizeof *capabilities);
    if (capabilities == NULL)
        return;
    libvirt_capabilities_decode(xml, capabilities);
    hv_capabilities_seal(capabilities);
    FUZZ_LAW(capabilities->n_machines <= HV_MACHINES_MAX && capabilities->n_pages <= HV_PAGES_MAX,
             "%zu machines, %zu sizes of pages", capabilities->n_machines, capabilities->n_pages);
    FUZZ_LAW(capabilities->machines_known || capabilities->n_machines == 0, "unknown machines");
    hv_capabilities_free(capabilities);
    struct hv_bridge link;
    char path[256];
    (void)libvirt_capabilities_link(xml, &link);
    (void)libvirt_capabilities_pool_path(xml, path, sizeof path);
}

static void feed_definition(const char *xml)
{
    struct definition definition = {0};
    bool is_domain = libvirt_definition_decode(xml, &definition);
    FUZZ_LAW(is_domain || (definition.cpu == NULL && definition.machine == NULL),
             "parts of what is no domain");
    libvirt_definition_fini(&definition);
}

/* Whatever definition it is, the named disk lies at the new place in what is made of it. */
static void feed_destination(const char *xml)
{
    static const struct hv_volume volume = {
        .disk = "vda", .to = {.name = "/b/<&'.img"}, .slice = 7};
    for (int live = 0; live < 2; live++) {
        struct err err = {0};
        OWNED_TEXT moved = libvirt_destination(xml, &volume, 1, live == 1, &err);
        struct hv_definition *is = moved != NULL ? calloc(1, sizeof *is) : NULL;
        FUZZ_LAW(moved != NULL || err.code != ERR_NONE, "neither a definition nor an error");
        if (is == NULL)
            continue;
        FUZZ_LAW(hv_definition_parse(moved, is, &err), "made no definition: %s", err.text);
        bool found = false;
        for (size_t i = 0; i < is->n_disks && !found; i++)
            if (strcmp(is->disks[i].target, "vda") == 0) {
                found = true;
                FUZZ_LAW(strcmp(is->disks[i].source, volume.to.name) == 0, "it lies at '%s'",
                         is->disks[i].source);
            }
        FUZZ_LAW(found || live == 0 || is->cut > 0, "the disk is gone");
        free(is);
    }
}

FUZZ_TARGET(libvirt)
{
    struct fuzz_bytes in = {data, data + n};
    uint8_t kind = fuzz_byte(&in);
    OWNED_TEXT xml = fuzz_text(in.at, (size_t)(in.end - in.at));
    switch (kind) {
    case 'p': feed_params(&in); break;
    case 'm': feed_metadata(xml); break;
    case 'c': feed_capabilities(xml); break;
    case 'd': feed_definition(xml); break;
    case 'v': feed_destination(xml); break;
    default: break;
    }
    return 0;
}
