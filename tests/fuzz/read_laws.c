/* read_laws.c - see read_laws.h. */
#include "tests/fuzz/read_laws.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

/* Touches every byte, so that a wrong length is seen. */
static unsigned sum_of(const char *text, size_t n)
{
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (unsigned char)text[i];
    return sum;
}

static void see_message(void *ctx, const struct evidence_message *message)
{
    struct read_laws *laws = ctx;
    FUZZ_LAW(laws->is_open, "a message outside of a document");
    FUZZ_LAW(message->length > 0, "an empty message");
    FUZZ_LAW(message->length <= EVIDENCE_TEXT_MAX, "a message of %zu bytes", message->length);
    FUZZ_LAW(message->side < SIDES, "no such side");
    FUZZ_LAW(strlen(message->origin) < EVIDENCE_ORIGIN_MAX, "a long origin");
    (void)sum_of(message->text, message->length);
    laws->messages++;
}

static void see_fact(void *ctx, const struct evidence_fact *fact)
{
    struct read_laws *laws = ctx;
    FUZZ_LAW(laws->is_open, "a fact outside of a document");
    FUZZ_LAW(fact->key[0] != '\0' && fact->value[0] != '\0', "an empty fact");
    FUZZ_LAW(strlen(fact->key) < EVIDENCE_KEY_MAX, "a long key");
    (void)sum_of(fact->value, strlen(fact->value));
    laws->facts++;
}

static const struct evidence_sink *see_begin(void *ctx, const struct read_case *of)
{
    struct read_laws *laws = ctx;
    FUZZ_LAW(!laws->is_open, "a document within a document");
    FUZZ_LAW(of->id != NULL && of->system != NULL, "a document without a name");
    (void)sum_of(of->id, strlen(of->id));
    laws->is_open = true;
    laws->documents++;
    return &laws->sink;
}

static void see_end(void *ctx)
{
    struct read_laws *laws = ctx;
    FUZZ_LAW(laws->is_open, "the end of no document");
    laws->is_open = false;
}

static void see_problem(void *ctx, const struct err *problem)
{
    struct read_laws *laws = ctx;
    FUZZ_LAW(problem->code != ERR_NONE && problem->text[0] != '\0', "a problem without words");
    laws->problems++;
}

struct read_visitor read_laws_visitor(struct read_laws *laws)
{
    *laws = (struct read_laws){.sink = {.ctx = laws, .message = see_message, .fact = see_fact}};
    return (struct read_visitor){
        .ctx = laws, .begin = see_begin, .end = see_end, .problem = see_problem};
}

void read_laws_check(const struct read_laws *laws, const struct read_report *report, bool is_fine,
                     const struct err *err)
{
    FUZZ_LAW(is_fine == (err->code == ERR_NONE), "failing without a reason, or with both");
    FUZZ_LAW(!is_fine || laws->documents > 0, "fine, and not a document");
    FUZZ_LAW(!laws->is_open, "a document that never ends");
    FUZZ_LAW(laws->documents == report->documents, "documents are miscounted");
    FUZZ_LAW(laws->messages == report->messages, "messages are miscounted");
    FUZZ_LAW(laws->facts == report->facts, "facts are miscounted");
    FUZZ_LAW(laws->problems <= report->problems, "problems are miscounted");
}

int read_laws_fd(const uint8_t *data, size_t n)
{
    int fd = memfd_create("evidence", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    return fd;
}
