/* test_top_stage.h - a fleet at work, as `ferry top` hears of it: for the tests of its rows and
 * frames. */
#ifndef TESTS_UNIT_TEST_TOP_STAGE_H
#define TESTS_UNIT_TEST_TOP_STAGE_H

#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/own.h"
#include "cli/top/top.h"

enum { STAGE_TEXT = 4096 };
/* 2026-11-18T20:00:00Z */
static const int64_t stage_wall_ms = INT64_C(1795032000000);

/* printf's arguments; the object is the caller's. */
__attribute__((format(printf, 1, 2))) static inline struct json_object *stage_object(
    const char *fmt, ...)
{
    char text[STAGE_TEXT];
    struct err err = {0};
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    struct json_object *object = json_parse(text, strlen(text), "stage", &err);
    assert_non_null(object);
    return object;
}

static inline void stage_tell(struct top *top, enum now_kind kind, enum follow_event event,
                              struct json_object *take_object)
{
    now_take(&top->now, kind, event, take_object);
    json_object_free(take_object);
}

struct stage_move {
    const char *ns, *guest, *from, *to, *mode;
    long long total_mib, left_mib, rate_mib, dirty_mib;
    int iteration;
    long long eta_ms;
};

static inline struct json_object *stage_moving(const struct stage_move *m)
{
    return stage_object(
        "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"migration-%s\",\"resourceVersion\":\"7\","
        "\"creationTimestamp\":\"2026-11-18T19:58:00Z\"},\"spec\":{\"vmiName\":\"%s\"},"
        "\"status\":{\"phase\":\"Running\",\"migrationState\":{\"sourceNode\":\"%s\","
        "\"targetNode\":\"%s\",\"mode\":\"%s\",\"migrationConfiguration\":{\"maxDowntimeMs\":900}},"
        "\"ferry\":{\"monitor\":{\"text\":\"goes on; remaining %lld MiB\"},"
        "\"etaMs\":%lld,\"etaLowMs\":%lld,\"etaHighMs\":%lld,\"sample\":{\"iteration\":%d,"
        "\"remainingBytes\":%lld,\"totalBytes\":%lld,\"transferRateBytesPerSecond\":%lld,"
        "\"dirtyRateBytesPerSecond\":%lld,\"expectedDowntimeMs\":300}}}}",
        m->ns, m->guest, m->guest, m->from, m->to, m->mode, m->left_mib, m->eta_ms, m->eta_ms / 2,
        m->eta_ms * 2, m->iteration, m->left_mib << 20, m->total_mib << 20, m->rate_mib << 20,
        m->dirty_mib << 20);
}

static inline struct json_object *stage_waiting(const char *guest, const char *reason,
                                                const char *message, const char *deadline)
{
    return stage_object(
        "{\"metadata\":{\"namespace\":\"default\",\"name\":\"migration-%s\","
        "\"creationTimestamp\":\"2026-11-18T19:59:00Z\"},\"spec\":{\"vmiName\":\"%s\"},"
        "\"status\":{\"phase\":\"Pending\",\"ferry\":{\"pending\":{\"reason\":\"%s\","
        "\"message\":\"%s\",\"since\":\"2026-11-18T19:59:30Z\",\"deadline\":\"%s\"}}}}",
        guest, guest, reason, message, deadline);
}

static inline struct json_object *stage_incident(const char *guest, const char *state)
{
    return stage_object("{\"metadata\":{\"namespace\":\"default\",\"name\":\"migration-%s\"},"
                        "\"spec\":{\"vmiName\":\"%s\",\"migrationName\":\"migration-%s\"},"
                        "\"status\":{\"state\":\"%s\",\"kind\":\"ordinary\",\"plane\":\"data\","
                        "\"cause\":\"network-interrupted\",\"nodeName\":\"n3\","
                        "\"since\":\"2026-11-18T19:57:00Z\"}}",
                        guest, guest, guest, state);
}

static inline struct json_object *stage_drain(void)
{
    return stage_object(
        "{\"metadata\":{\"name\":\"n1\"},\"spec\":{\"nodeName\":\"n1\"},\"status\":{"
        "\"state\":\"Draining\",\"moved\":3,\"total\":8,\"blocked\":2,"
        "\"etaSeconds\":125,\"deadline\":\"2026-11-18T22:00:00Z\"}}");
}

static inline void stage_verdict(struct top *top)
{
    const struct now_row *row = now_next_unasked(&top->now);
    OWNED(json_object) migration = stage_object(
        "{\"status\":{\"migrationState\":{\"failureReason\":\"Unable to write to socket\"},"
        "\"ferry\":{\"guestAt\":\"running-on-source\",\"verdict\":{\"action\":\"Check the path "
        "between the two hosts, then migrate again.\"}}}}");
    assert_non_null(row);
    now_take_verdict(&top->now, row->key, migration);
}

static inline void stage_link(struct top *top, bool is_connected)
{
    top->link = (struct top_link){.is_connected = is_connected,
                                  .was_connected = true,
                                  .since_ms = stage_wall_ms - 31000,
                                  .retry_in_ms = 1500};
    if (!is_connected)
        TEXT_SET(top->link.why, "no appliance at unix:/run/ferry/ferry.sock");
}

static inline void stage_list(struct top *top, enum follow_event event)
{
    for (enum now_kind kind = 0; kind < NOW_KINDS; kind++)
        now_take(&top->now, kind, event, NULL);
}

/* Three moves, two waits, an incident with its verdict, a drain. */
static inline void stage_fleet(struct top *top)
{
    static const struct stage_move moves[] = {
        {"default", "web", "n1", "n3", "PreCopy", 16384, 4096, 110, 32, 3, 62000},
        {"default", "db", "n1", "n2", "PreCopy", 24576, 23000, 110, 180, 2, 415000},
        {"shop", "till", "n3", "n2", "PostCopy", 4096, 310, 96, 0, 1, 3100}};
    top_init(top);
    top->server = "unix:/run/ferry/ferry.sock";
    top->wall_ms = stage_wall_ms;
    stage_link(top, true);
    stage_list(top, FOLLOW_BEGIN);
    for (size_t i = 0; i < COUNT(moves); i++)
        stage_tell(top, NOW_MIGRATIONS, FOLLOW_ADDED, stage_moving(&moves[i]));
    stage_tell(top, NOW_MIGRATIONS, FOLLOW_ADDED,
               stage_waiting("ci", "slot-source", "2 migrations leave n1, its limit",
                             "2026-11-19T19:59:30Z"));
    stage_tell(top, NOW_MIGRATIONS, FOLLOW_ADDED,
               stage_waiting("mail", "unschedulable",
                             "no node can take it: 2 lack memory, 1 is cordoned",
                             "2026-11-18T20:00:42Z"));
    stage_tell(top, NOW_INCIDENTS, FOLLOW_ADDED, stage_incident("doomed", "open"));
    stage_tell(top, NOW_DRAINS, FOLLOW_ADDED, stage_drain());
    stage_list(top, FOLLOW_SYNCED);
    stage_verdict(top);
    top_settle(top);
}

#endif
