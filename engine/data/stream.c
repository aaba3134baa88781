/* stream.c - see stream.h. */
#include "engine/data/stream.h"

#include "base/text.h"

void stream_sample(struct job *job, const struct sample *sample, struct moment now)
{
    struct job_stream *stream = &job->stream;
    bool grew = sample->stats.data_processed != stream->bytes;
    if (sample->source == SAMPLE_COMPLETED || grew || stream->flow_ms == 0) {
        stream->flow_ms = now.mono_ms;
        stream->query.flow_ms = stream->query.flow_ms != 0 ? now.mono_ms : 0;
    }
    stream->bytes = sample->stats.data_processed;
    stream->sampled_ms = now.mono_ms;
}

void stream_ask(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    struct job_stream_query *query = &job->stream.query;
    int64_t since_ms = now.mono_ms - query->asked_ms;
    bool waits = query->id != 0 && since_ms < STREAM_ANSWER_MS;
    if (waits || (query->asked_ms != 0 && since_ms < STREAM_AGAIN_MS))
        return;
    query->id = ++f->next_call_id;
    query->asked_ms = now.mono_ms;
    struct effect *effect = effects_add(fx, EFFECT_DO_ASK_STREAM, job, now.wall_ms);
    effect->of.act.id = query->id;
    TEXT_SET(effect->of.act.node, job->source);
    TEXT_SET(effect->of.act.guest, job->guest_uuid);
}

/* Bytes count only while there is a stream: QEMU keeps the number of an ended one. */
static void measure(struct job_stream *stream, uint64_t bytes, struct moment now)
{
    struct job_stream_query *query = &stream->query;
    bool first = query->flow_ms == 0;
    if (!first && bytes != query->bytes)
        stream->flow_ms = now.mono_ms;
    if (first || bytes != query->bytes)
        query->flow_ms = now.mono_ms;
    query->bytes = bytes;
}

bool stream_answered(struct job *job, uint64_t id, const struct hv_migration *migration,
                     const struct err *err, struct moment now)
{
    struct job_stream_query *query = &job->stream.query;
    if (query->id == 0 || query->id != id)
        return false;
    query->id = 0;
    if (err->code != ERR_NONE)
        return true;
    query->status = migration->status;
    query->seen_ms = now.mono_ms;
    if (hv_migration_status_stream(migration->status) == HV_STREAM_OPEN)
        measure(&job->stream, migration->transferred, now);
    else
        query->flow_ms = 0;
    bool ends = hv_migration_status_stream(migration->status) == HV_STREAM_ENDING;
    query->ending_ms = !ends ? 0 : query->ending_ms != 0 ? query->ending_ms : now.mono_ms;
    return true;
}

void stream_begin(struct job *job, struct moment now)
{
    job->stream.flow_ms = job->stream.sampled_ms = now.mono_ms;
    job->stream.query = (struct job_stream_query){0};
}

int64_t stream_quiet_ms(const struct job *job)
{
    const struct job_stream *stream = &job->stream;
    int64_t sampled_ms = stream->sampled_ms - stream->flow_ms;
    int64_t queried_ms =
        stream->query.flow_ms != 0 ? stream->query.seen_ms - stream->query.flow_ms : 0;
    return sampled_ms > queried_ms ? sampled_ms : queried_ms;
}

int64_t stream_blind_ms(const struct job *job, struct moment now)
{
    const struct job_stream *stream = &job->stream;
    int64_t seen_ms =
        stream->query.seen_ms > stream->sampled_ms ? stream->query.seen_ms : stream->sampled_ms;
    return now.mono_ms - seen_ms;
}

enum hv_stream stream_state(const struct job *job, struct moment now)
{
    const struct job_stream_query *query = &job->stream.query;
    bool fresh = query->seen_ms != 0 && now.mono_ms - query->seen_ms <= STREAM_FRESH_MS;
    return fresh ? hv_migration_status_stream(query->status) : HV_STREAM_UNKNOWN;
}
