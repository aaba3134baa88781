/* stage.h - one call of the adapter on a connection of the fake, in the test's own thread. */
#ifndef TESTS_LIBVIRT_STAGE_H
#define TESTS_LIBVIRT_STAGE_H

#include "tests/test.h"

#include "base/text.h"
#include "hypervisor/libvirt/internal.h"
#include "tests/libvirt/fake.h"

#define GUEST "11111111-1111-4111-8111-111111111111"
#define SECOND "22222222-2222-4222-8222-222222222222"
#define THIRD "33333333-3333-4333-8333-333333333333"

struct stage {
    struct libvirt *libvirt;
    struct host hosts[2]; /* [0] is asked, [1] is the target */
    virConnectPtr conn;
    struct job job;
    struct hv_reply reply;
};

/* A running, persistent guest "a" on a host that answers. */
static inline int stage_set_up(void **state)
{
    if (virInitialize() != 0) /* typed parameters crash without it */
        return -1;
    struct stage *stage = calloc(1, sizeof *stage);
    stage->libvirt = calloc(1, sizeof *stage->libvirt);
    fake_reset();
    fake.guests[0] = (struct fake_guest){.uuid = GUEST,
                                         .name = "a",
                                         .state = VIR_DOMAIN_RUNNING,
                                         .reason = VIR_DOMAIN_RUNNING_BOOTED,
                                         .persistent = 1,
                                         .xml = "<domain/>",
                                         .stored = "<domain/>"};
    fake.n_guests = 1;
    struct hv_host *config = &stage->hosts[0].config;
    struct hv_host *target = &stage->hosts[1].config;
    TEXT_SET(config->name, "h1");
    TEXT_SET(config->uri, "fake://h1");
    TEXT_SET(target->name, "h2");
    TEXT_SET(target->uri, "fake://h2");
    for (size_t i = 0; i < 2; i++)
        stage->hosts[i].libvirt = stage->libvirt;
    struct err err = {0};
    stage->conn = libvirt_connection_open(config, false, &err);
    fake_log_clear();
    *state = stage;
    return 0;
}

/* Nothing that the adapter got from libvirt is left. */
static inline int stage_tear_down(void **state)
{
    struct stage *stage = *state;
    hv_reply_fini(&stage->reply);
    libvirt_connection_close(stage->conn);
    free(stage->job.text);
    free(stage->libvirt);
    free(stage);
    assert_int_equal(fake_objects(), 0);
    return 0;
}

/* A connection that lives, if the last one broke. */
static inline void stage_reconnect(struct stage *stage)
{
    struct err err = {0};
    libvirt_connection_close(stage->conn);
    fake_heal();
    stage->conn = libvirt_connection_open(&stage->hosts[0].config, false, &err);
    fake_log_clear();
}

static inline struct hv_request *stage_request(struct stage *stage, enum hv_call call)
{
    stage->job.request = (struct hv_request){.call = call};
    TEXT_SET(stage->job.request.guest, GUEST);
    stage->job.host = &stage->hosts[0];
    stage->job.target = &stage->hosts[1].config;
    return &stage->job.request;
}

/* Runs the request that stage_request() made; only the calls since then are in the record. */
static inline const struct hv_reply *stage_run(struct stage *stage)
{
    hv_reply_fini(&stage->reply);
    stage->reply = (struct hv_reply){.call = stage->job.request.call};
    fake_log_clear();
    libvirt_call_run(stage->conn, &stage->job, &stage->reply);
    return &stage->reply;
}

static inline const struct hv_reply *stage_call(struct stage *stage, enum hv_call call)
{
    (void)stage_request(stage, call);
    return stage_run(stage);
}

/* The call fails as it must when that function of libvirt's does: refused on a connection that
 * lives, unreachable on one that broke; nothing else was carried out. */
static inline void stage_fails_with(struct stage *stage, const char *function, int nth)
{
    fake_fail(function, nth, VIR_ERR_OPERATION_FAILED, "it did not work");
    const struct hv_reply *reply = stage_run(stage);
    assert_int_equal(reply->err.code, ERR_HYPERVISOR);
    assert_int_equal(reply->err.hv_code, VIR_ERR_OPERATION_FAILED);
    assert_int_equal(reply->err.hv_domain, VIR_FROM_QEMU);
    assert_string_equal(reply->err.text, "it did not work");
    fake_heal();
    fake_fail_broken(function, nth);
    assert_int_equal(stage_run(stage)->err.code, ERR_UNREACHABLE);
    stage_reconnect(stage);
}

#endif
