/* ledger_check.c - recounts everything and compares it with the sums that ledger.c keeps; see
 * ledger.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/model/fleet/ledger.h"

struct report {
    char *text;
    size_t bytes;
};

static bool same(const struct report *r, const char *what, const char *name, const char *of,
                 uint64_t book, uint64_t counted)
{
    if (book != counted)
        (void)snprintf(r->text, r->bytes, "%s %s: %s is %" PRIu64 ", counted %" PRIu64, what, name,
                       of, book, counted);
    return book == counted;
}

static bool same_resources(const struct report *r, const char *what, const char *name,
                           const struct resources *book, const struct resources *counted)
{
    return same(r, what, name, "launchers", book->launchers, counted->launchers) &&
           same(r, what, name, "memory", book->memory_kib, counted->memory_kib) &&
           same(r, what, name, "vcpus", book->vcpus, counted->vcpus);
}

static void more(struct resources *sum, uint64_t memory_kib, uint64_t vcpus)
{
    sum->launchers++;
    sum->memory_kib += memory_kib;
    sum->vcpus += vcpus;
}

static bool check_domain(const struct report *r, const struct fleet *f, const struct domain *domain)
{
    const struct job *job = NULL;
    const char *uuid = domain->guest->uuid;
    HASH_FIND(links.hh_guest, f->active, uuid, strlen(uuid), job);
    bool under =
        job != NULL && job->placement.reserved && strcmp(job->target, domain->node->name) == 0;
    bool counts = domain_is_up(domain) && !under;
    struct resources own = {0};
    if (counts)
        more(&own, domain->guest->memory_kib, domain->guest->vcpus);
    return same(r, "guest", domain->guest->name, "counted", domain->counted, counts) &&
           same_resources(r, "domain of", domain->guest->name, &domain->resources, &own);
}

static bool check_node(const struct report *r, const struct fleet *f, const struct node *node)
{
    struct resources running = {0}, reserved = {0};
    uint64_t huge_kib = 0, in = 0, out = 0;
    for (const struct domain *domain = node->domains; domain != NULL; domain = domain->next_here) {
        if (!check_domain(r, f, domain))
            return false;
        if (domain->counted)
            more(&running, domain->guest->memory_kib, domain->guest->vcpus);
    }
    for (const struct job *job = f->jobs; job != NULL; job = job->hh.next) {
        if (job->placement.reserved && strcmp(job->target, node->name) == 0) {
            more(&reserved, job->placement.reserved_memory_kib, job->placement.reserved_vcpus);
            huge_kib += job->placement.reserved_huge_kib;
            in += job->placement.reserved_bandwidth;
        }
        if (job->placement.reserved && strcmp(job->source, node->name) == 0)
            out += job->placement.reserved_bandwidth;
    }
    return same_resources(r, "running on", node->name, &node->running, &running) &&
           same_resources(r, "reserved on", node->name, &node->reserved, &reserved) &&
           same(r, "reserved on", node->name, "huge pages", node->reserved_huge_kib, huge_kib) &&
           same(r, "node", node->name, "inbound bandwidth", node->in_bandwidth, in) &&
           same(r, "node", node->name, "outbound bandwidth", node->out_bandwidth, out);
}

/* A guest is charged once, on however many nodes it is up. */
static bool guest_counts(const struct guest *guest)
{
    for (const struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of)
        if (domain->counted)
            return true;
    return false;
}

static bool check_namespace(const struct report *r, const struct fleet *f,
                            const struct namespace *namespace)
{
    struct resources used = {0};
    for (const struct guest *guest = f->guests; guest != NULL; guest = guest->hh.next) {
        struct resources own = {0};
        if (guest->namespace != namespace)
            continue;
        if (guest_counts(guest))
            more(&own, guest->memory_kib, guest->vcpus);
        if (!same_resources(r, "charge of", guest->name, &guest->charged, &own))
            return false;
        if (own.launchers != 0)
            more(&used, own.memory_kib, own.vcpus);
    }
    for (const struct job *job = f->jobs; job != NULL; job = job->hh.next)
        if (job->placement.reserved && strcmp(job->ns, namespace->name) == 0)
            more(&used, job->placement.reserved_memory_kib, job->placement.reserved_vcpus);
    return same_resources(r, "used by", namespace->name, &namespace->used, &used);
}

bool ledger_check(const struct fleet *f, char *out_text, size_t bytes)
{
    const struct report r = {.text = out_text, .bytes = bytes};
    for (const struct job *job = f->jobs; job != NULL; job = job->hh.next)
        if (!same(&r, "finished job", job->name, "reserved",
                  job->placement.reserved && phase_is_final(job->phase), 0))
            return false;
    for (const struct node *node = f->nodes; node != NULL; node = node->hh.next)
        if (!check_node(&r, f, node))
            return false;
    for (const struct namespace *namespace = f->namespaces; namespace != NULL;
         namespace = namespace->hh.next)
        if (!check_namespace(&r, f, namespace))
            return false;
    return true;
}
