/* read_out.c - see read_out.h. */
#include "analyzer/read/read_out.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/own.h"

static const char note[] = " [... cut ...] ";

bool read_out_init(struct read_out *out, const struct read_visitor *visitor, struct err *err)
{
    *out = (struct read_out){.visitor = visitor, .scratch = malloc(EVIDENCE_TEXT_MAX)};
    return out->scratch != NULL || err_set(err, ERR_NOMEM, "no memory to read evidence");
}

void read_out_fini(struct read_out *out)
{
    if (out->in_document)
        read_out_end(out);
    free(out->scratch);
    out->scratch = NULL;
}

void read_out_begin(struct read_out *out, const char *id, const char *system)
{
    assert(!out->in_document);
    struct read_case of = {.id = id == NULL ? "" : id, .system = system == NULL ? "" : system};
    out->sink = out->visitor->begin(out->visitor->ctx, &of);
    out->in_document = true;
    out->report.documents++;
    struct evidence_fact system_fact = {
        .key = "system", .value = of.system, .origin = "the document's system"};
    read_out_fact(out, &system_fact);
}

void read_out_end(struct read_out *out)
{
    assert(out->in_document);
    if (out->sink != NULL)
        out->visitor->end(out->visitor->ctx);
    out->sink = NULL;
    out->in_document = false;
}

static bool is_middle(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

size_t read_cut(const char *text, size_t length, char *out_text, size_t limit)
{
    assert(limit >= 64);
    if (length <= limit) {
        memmove(out_text, text, length);
        return length;
    }
    size_t room = limit - (sizeof note - 1), head = room / 4 * 3, tail = room - head;
    for (int i = 0; i < 3 && is_middle(text[head]); i++)
        head--;
    for (int i = 0; i < 3 && is_middle(text[length - tail]); i++)
        tail--;
    memmove(out_text, text, head);
    memcpy(out_text + head, note, sizeof note - 1);
    memmove(out_text + head + sizeof note - 1, text + length - tail, tail);
    return head + sizeof note - 1 + tail;
}

static bool is_blank(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memchr(" \t\r\n", text[i], 4) == NULL)
            return false;
    return true;
}

void read_out_message(struct read_out *out, const struct evidence_message *message)
{
    if (!out->in_document || is_blank(message->text, message->length))
        return;
    struct evidence_message cut = *message;
    if (cut.length > EVIDENCE_TEXT_MAX) {
        cut.length = read_cut(message->text, message->length, out->scratch, EVIDENCE_TEXT_MAX);
        cut.text = out->scratch;
        out->report.cut++;
    }
    out->report.messages++;
    if (out->sink != NULL)
        out->sink->message(out->sink->ctx, &cut);
}

/* "PreCopy", "post-copy": one of ours, or NULL. */
static const char *plain_mode(const char *mode)
{
    static const char *const modes[] = {"precopy", "postcopy", "paused"};
    char plain[16];
    size_t n = 0;
    for (; *mode != '\0' && n + 1 < sizeof plain; mode++)
        if (*mode != '-' && *mode != ' ' && *mode != '_')
            plain[n++] = *mode;
    plain[n] = '\0';
    for (size_t i = 0; i < COUNT(modes); i++)
        if (strcasecmp(plain, modes[i]) == 0)
            return modes[i];
    return NULL;
}

void read_out_fact(struct read_out *out, const struct evidence_fact *fact)
{
    if (!out->in_document || fact->key[0] == '\0' || fact->value == NULL || fact->value[0] == '\0')
        return;
    struct evidence_fact plain = *fact;
    const char *mode = strcmp(fact->key, "mode") == 0 ? plain_mode(fact->value) : NULL;
    if (mode != NULL)
        plain.value = mode;
    out->report.facts++;
    if (out->sink != NULL)
        out->sink->fact(out->sink->ctx, &plain);
}

void read_out_problem(struct read_out *out, const struct err *problem)
{
    if (out->report.problems++ == 0)
        out->first_problem = *problem;
    if (out->visitor->problem != NULL && out->report.problems <= READ_PROBLEMS_MAX)
        out->visitor->problem(out->visitor->ctx, problem);
}
