/* core_control.c - what the core hears of the control plane: see core_play.h. */
#include <string.h>

#include "base/text.h"
#include "engine/model/job/launcher.h"
#include "tests/fuzz/core_play.h"

static void happen_facts(struct play *p)
{
    struct input input = {.kind = INPUT_FACTS};
    uint8_t byte = fuzz_byte(&p->in);
    TEXT_SET(input.host, laws_host(byte));
    TEXT_SET(input.of.facts.arch, "x86_64");
    input.of.facts.memory_kib = (byte >> 2 & 3) * 65536U; /* 0: not known */
    input.of.facts.cpus = byte >> 4 & 3;
    play_feed(p, &input);
}

static void happen_capabilities(struct play *p)
{
    struct input input = {.kind = INPUT_CAPABILITIES};
    uint8_t byte = fuzz_byte(&p->in);
    struct hv_capabilities *capabilities = calloc(1, sizeof *capabilities);
    FUZZ_LAW(capabilities != NULL, "no memory");
    capabilities->networks_known = (byte & 4) != 0;
    capabilities->pages_known = (byte & 8) != 0;
    capabilities->n_pages = 1;
    capabilities->pages[0] = (struct hv_pages){2048, 64, byte >> 4};
    hv_capabilities_seal(capabilities);
    TEXT_SET(input.host, laws_host(byte));
    input.of.capabilities = capabilities;
    play_feed(p, &input);
}

static void happen_definition(struct play *p)
{
    struct guest_facts facts;
    uint8_t who = fuzz_byte(&p->in), what = fuzz_byte(&p->in);
    memset(&facts, 0, sizeof facts); /* compared as bytes */
    facts.migratable.known = true;
    facts.migratable.rows = (what & 7) == 7 ? 1U << UNMOVABLE_HOST_DEVICE : 0;
    facts.requirements.cpu_hash = what >> 3 & 3;
    facts.requirements.hugepage_kib = (what & 0x20) != 0 ? 2048 : 0;
    facts.block_jobs = (what & 7) == 5;
    facts.utility_disks = (what & 7) == 6;
    facts.pending_change.is = (enum pending_change_kind)((what >> 6) % 3);
    facts.pending_change.hash = facts.pending_change.is == PENDING_CHANGE_NO ? 0 : what;
    facts.pending_change.cures = facts.pending_change.is != PENDING_CHANGE_NO && (what & 1) != 0;
    struct input input = {.kind = INPUT_DEFINITION, .of.definition = &facts};
    TEXT_SET(input.host, laws_host(who));
    TEXT_SET(input.guest, laws_guest(who >> 4));
    play_feed(p, &input);
}

static const struct {
    enum object_kind kind;
    const char *ns, *name, *spec;
} documents[] = {
    {OBJECT_POLICY, "", "all", "{\"selectors\":{},\"bandwidthPerMigration\":\"64Mi\"}"},
    {OBJECT_POLICY, "", "all", "{\"selectors\":{},\"allowBackupAbort\":true}"},
    {OBJECT_POLICY, "", "bad", "{\"selectors\":7}"},
    {OBJECT_QUOTA, "default", "few", "{\"hard\":{\"pods\":2}}"},
    {OBJECT_QUOTA, "default", "few", "{\"hard\":{\"pods\":3,\"memory\":\"192Mi\"}}"},
    {OBJECT_NAMESPACE, "", "default", "{\"labels\":{\"env\":\"prod\"}}"},
    {OBJECT_NODE, "", "h2", "{\"unschedulable\":true}"},
    {OBJECT_NODE, "", "h2", "{\"labels\":{\"zone\":\"a\"}}"},
    {OBJECT_NODE, "", "h3", "{\"taints\":[{\"key\":\"k\",\"effect\":\"NoSchedule\"}]}"},
    {OBJECT_NODE, "", "h9", "{}"},
    {OBJECT_GUEST, "default", "g1", "{\"nodeSelector\":{\"zone\":\"a\"}}"},
    {OBJECT_GUEST, "default", "g1", "{\"evictionStrategy\":\"LiveMigrate\"}"},
    {OBJECT_GUEST, "default", "g2", "{\"evictionStrategy\":\"LiveMigrateIfPossible\"}"},
    {OBJECT_DRAIN, "", "d1", "{\"node\":\"h1\"}"},
    {OBJECT_DRAIN, "", "d2", "{\"nodeName\":\"h2\"}"},
    {OBJECT_DRAIN, "", "d1", "{\"nodeName\":\"h1\"}"},
};

static void happen_put(struct play *p)
{
    struct input input = {.kind = INPUT_PUT};
    struct object_request *put = &input.of.put;
    uint8_t byte = fuzz_byte(&p->in);
    size_t i = (byte & 0x1f) % COUNT(documents);
    put->kind = documents[i].kind;
    put->spec_json = documents[i].spec;
    TEXT_SET(put->ns, documents[i].ns);
    TEXT_SET(put->name, documents[i].name);
    TEXT_SET(put->requester, "fuzz");
    put->must_be_new = (byte & 0xe0) == 0x20;
    put->must_exist = (byte & 0xe0) == 0x40;
    put->dry_run = (byte & 0xe0) == 0x60;
    play_feed(p, &input);
}

static void happen_remove(struct play *p)
{
    struct input input = {.kind = INPUT_REMOVE};
    size_t i = fuzz_byte(&p->in) % COUNT(documents);
    input.of.remove.kind = documents[i].kind;
    TEXT_SET(input.of.remove.ns, documents[i].ns);
    TEXT_SET(input.of.remove.name, documents[i].name);
    TEXT_SET(input.of.remove.requester, "fuzz");
    play_feed(p, &input);
}

static void happen_evict(struct play *p)
{
    struct input input = {.kind = INPUT_EVICT};
    struct eviction_request *evict = &input.of.evict;
    uint8_t byte = fuzz_byte(&p->in);
    const struct guest *guest = fleet_guest(p->fleet, laws_guest(byte));
    TEXT_SET(evict->ns, "default");
    TEXT_SET(evict->requester, "fuzz");
    evict->cancel = (byte & 2) != 0;
    evict->descheduler = (byte & 4) != 0;
    evict->allow_shutdown = (byte & 8) != 0;
    evict->dry_run = (byte & 16) != 0;
    const struct job *job = fleet_active_job(p->fleet, laws_guest(byte));
    if (evict->cancel)
        TEXT_SET(evict->pod, (byte & 1) != 0 ? "g2" : "g1");
    else if (guest != NULL && guest->owner != NULL && (byte & 32) != 0 && job != NULL)
        launcher_pod(guest->name, guest->uuid, job->target, job->uid, evict->pod);
    else if (guest != NULL && guest->owner != NULL)
        launcher_pod(guest->name, guest->uuid, guest->owner->node->name, guest->stay_job,
                     evict->pod);
    play_feed(p, &input);
}

void play_control(struct play *p)
{
    switch (fuzz_byte(&p->in) % 6) {
    case 0: happen_facts(p); break;
    case 1: happen_capabilities(p); break;
    case 2: happen_definition(p); break;
    case 3: happen_put(p); break;
    case 4: happen_remove(p); break;
    default: happen_evict(p); break;
    }
}
