/* relayed.c - migrations whose memory passes through Ferry; see hypervisor/relay/relay.h. And
 * guests whose second monitor comes to Ferry: hypervisor/oob/oob.h.
 *
 * The target listens on the port that the source is told, so that port must not be one that libvirt
 * may give to another stream at any moment: it takes the lowest free one of its range, relays use
 * the upper half of it. The last one is left to those who try whether there is a path.
 */
#include <stdio.h>

#include "base/log.h"
#include "hypervisor/libvirt/internal.h"
#include "hypervisor/oob/oob.h"
#include "hypervisor/relay/relay.h"

bool libvirt_relay_start(struct libvirt *libvirt, struct err *err)
{
    for (size_t i = 0; i < libvirt->n; i++) {
        const struct hv_host *host = &libvirt->hosts[i].config;
        if (host->relay[0] != '\0' && libvirt->relays == NULL &&
            (libvirt->relays = relays_new(err)) == NULL)
            return false;
        if (host->oob[0] != '\0' && libvirt->oob == NULL &&
            (libvirt->oob = oob_new(host->oob, err)) == NULL)
            return false;
    }
    return true;
}

bool libvirt_oob_ask(const struct job *job, struct hv_reply *reply)
{
    struct oob *oob = job->host->libvirt->oob;
    struct err *err = &reply->err;
    if (oob == NULL)
        return err_set(err, ERR_NOT_FOUND, "no out-of-band monitors are waited for");
    if (oob_yank(oob, job->request.guest, err))
        return true;
    err->hv_code = err->code == ERR_REFUSED ? VIR_ERR_OPERATION_INVALID : 0;
    err->code = err->code == ERR_REFUSED   ? ERR_HYPERVISOR
                : err->code == ERR_TIMEOUT ? ERR_UNREACHABLE
                                           : err->code;
    return false;
}

/* As a reply says it: nothing was asked of the host, and it is no use asking again at once. */
static uint64_t refused(struct err *err)
{
    err->code = ERR_HYPERVISOR;
    return 0;
}

uint64_t libvirt_relay_open(const struct job *job, unsigned *out_port, struct err *err)
{
    const struct hv_host *target = &job->target->config;
    struct relays *relays = job->host->libvirt->relays;
    unsigned min = target->port_min != 0 ? target->port_min : HV_PORT_MIN;
    unsigned max = target->port_max != 0 ? target->port_max : HV_PORT_MAX;
    int more = job->request.with.migrate.parallel_connections;
    char address[HV_TEXT_MAX], here[HV_TEXT_MAX];
    if (relays == NULL || !hv_literal_address(target->relay, here, sizeof here) ||
        !hv_literal_address(target->migration_host, address, sizeof address) || max - min < 2) {
        (void)err_set(err, ERR_HYPERVISOR,
                      "host '%s' has no relay, no address or too few ports for one", target->name);
        return 0;
    }
    struct relay_wish wish = {.guest = job->request.guest,
                              .address = here,
                              .target = address,
                              .port_min = min + (max - min + 1) / 2,
                              .port_max = max - 1,
                              .streams = 1 + (more > 0 ? (unsigned)more : 0)};
    uint64_t id = relays_open(relays, &wish, out_port, err);
    if (id == 0)
        return refused(err);
    char at[HV_TEXT_MAX + 16];
    (void)snprintf(at, sizeof at, "%s port %u", here, *out_port);
    LOG(INFO, "relay_opened", FIELD_TEXT(GUEST, job->request.guest), FIELD_TEXT(TO, target->name),
        FIELD_TEXT(ADDRESS, at));
    return id;
}

/* Where only our own connection broke, the move goes on and its memory must too. */
void libvirt_relay_close(const struct job *job, uint64_t id, const struct err *err)
{
    if (id != 0)
        relays_release(job->host->libvirt->relays, id, err->code != ERR_UNREACHABLE);
}

bool libvirt_relay_ask(const struct job *job, struct hv_reply *reply)
{
    struct relays *relays = job->host->libvirt->relays;
    const char *guest = job->request.guest;
    bool done = job->request.call == HV_CALL_RESET_RELAY
                    ? relays != NULL && relays_reset(relays, guest) > 0
                    : relays != NULL && relays_look(relays, guest, &reply->with.relay);
    if (!done)
        reply->err.hv_code = VIR_ERR_OPERATION_INVALID;
    return done || err_set(&reply->err, ERR_HYPERVISOR, "no stream to break");
}
