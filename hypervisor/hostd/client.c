/* client.c - see client.h. */
#include "hypervisor/hostd/client.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"
#include "hypervisor/hostd/inspect.h"
#include "hypervisor/hostd/protocol.h"

static const char *const path_names[] = {
    [HOSTD_PATH_OPEN] = "open", [HOSTD_PATH_REFUSED] = "refused", [HOSTD_PATH_DEAD] = "dead"};

const char *hostd_path_name(enum hostd_path path)
{
    return path < COUNT(path_names) ? path_names[path] : "unknown";
}

static bool exchange(int fd, const char *secret, const char *text, int64_t until_ms,
                     char *out_answer, struct err *err)
{
    char helper_nonce[HOSTD_HEX_MAX], our_nonce[HOSTD_HEX_MAX];
    char line[HOSTD_ANSWER_MAX];
    return hostd_receive_line(fd, line, HOSTD_REQUEST_MAX, until_ms, err) &&
           hostd_read_greeting(line, helper_nonce, err) && hostd_nonce(our_nonce, err) &&
           hostd_write_request(secret, helper_nonce, our_nonce, text, line, err) &&
           hostd_send_line(fd, line, until_ms, err) &&
           hostd_receive_line(fd, line, sizeof line, until_ms, err) &&
           hostd_read_answer(secret, helper_nonce, our_nonce, line, out_answer, err);
}

/* Turns "failed CODE TEXT" into err; leaves what follows "ok ". */
static bool open_answer(char *answer, struct err *err)
{
    char *rest = answer;
    const char *word = strsep(&rest, " ");
    if (text_equal(word, "ok") && rest != NULL) {
        memmove(answer, rest, strlen(rest) + 1);
        return true;
    }
    const char *name = rest != NULL ? strsep(&rest, " ") : NULL;
    enum err_code code = name != NULL ? err_from_name(name) : ERR_COUNT;
    if (!text_equal(word, "failed") || code == ERR_COUNT || code == ERR_NONE)
        return err_set(err, ERR_CORRUPT, "malformed answer");
    return err_set(err, code, "%s", rest != NULL ? rest : "no reason given");
}

/* One request, and what follows "ok " into out_answer (HOSTD_ANSWER_MAX). */
static bool request(const char *address, const char *secret, const char *text, char *out_answer,
                    struct err *err)
{
    int64_t until = clock_mono_ms(clock_system()) + HOSTD_CLIENT_MS;
    struct hostd_address to;
    int fd;
    if (!hostd_address_parse(address, &to, err))
        return err_wrap(err, "helper");
    if (!hostd_connect(&to, until, &fd, err)) {
        if (err->code == ERR_REFUSED || err->code == ERR_TIMEOUT)
            err->code = ERR_UNREACHABLE; /* no connection: no request was sent */
        return err_wrap(err, "helper %s", address);
    }
    bool done = exchange(fd, secret, text, until, out_answer, err) && open_answer(out_answer, err);
    (void)close(fd);
    return done ? true : err_wrap(err, "helper %s", address);
}

bool hostd_kill_report(const char *address, const char *secret, const char *guest_uuid,
                       unsigned *out_killed, char *out_report, struct err *err)
{
    char text[HOSTD_REQUEST_MAX], answer[HOSTD_ANSWER_MAX], *rest = answer;
    int64_t n;
    (void)snprintf(text, sizeof text, "%s %.64s", hostd_verb_name(HOSTD_KILL_STREAM), guest_uuid);
    if (!request(address, secret, text, answer, err))
        return false;
    if (!text_to_i64(strsep(&rest, " "), 0, INT16_MAX, &n))
        return err_set(err, ERR_CORRUPT, "helper %s: malformed answer", address);
    *out_killed = (unsigned)n;
    (void)text_copy(out_report, HOSTD_REPORT_MAX, rest);
    for (char *space = strchr(out_report, ' '); space != NULL; space = strchr(space, ' '))
        *space = '\n';
    return true;
}

bool hostd_kill(const char *address, const char *secret, const char *guest_uuid,
                unsigned *out_killed, struct err *err)
{
    char report[HOSTD_REPORT_MAX];
    return hostd_kill_report(address, secret, guest_uuid, out_killed, report, err);
}

bool hostd_probe(const char *address, const char *secret, const char *to_address, unsigned to_port,
                 enum hostd_path *out_path, struct err *err)
{
    char text[HOSTD_REQUEST_MAX], answer[HOSTD_ANSWER_MAX];
    (void)snprintf(text, sizeof text, "%s %.64s %u", hostd_verb_name(HOSTD_PATH_PROBE), to_address,
                   to_port);
    if (!request(address, secret, text, answer, err))
        return false;
    for (size_t i = 0; i < COUNT(path_names); i++)
        if (text_equal(path_names[i], answer)) {
            *out_path = (enum hostd_path)i;
            return true;
        }
    return err_set(err, ERR_CORRUPT, "helper %s: malformed answer", address);
}

bool hostd_ping(const char *address, const char *secret, char *out_version, struct err *err)
{
    char answer[HOSTD_ANSWER_MAX];
    if (!request(address, secret, hostd_verb_name(HOSTD_PING), answer, err))
        return false;
    (void)text_copy(out_version, HV_TEXT_MAX, answer);
    return true;
}

/* A request with one word; the answer is short. */
static bool ask_word(const char *address, const char *secret, enum hostd_verb verb,
                     const char *word, char *out_answer, struct err *err)
{
    char text[HOSTD_REQUEST_MAX], answer[HOSTD_ANSWER_MAX];
    int n = snprintf(text, sizeof text, "%s %s", hostd_verb_name(verb), word);
    if (n < 0 || (size_t)n >= sizeof text || strpbrk(word, " \n") != NULL)
        return err_set(err, ERR_INVALID, "no word of a request: '%.64s'", word);
    if (!request(address, secret, text, answer, err))
        return false;
    (void)text_copy(out_answer, HV_TEXT_MAX, answer);
    return true;
}

bool hostd_resolve(const char *address, const char *secret, const char *name, char *out_ip,
                   struct err *err)
{
    return ask_word(address, secret, HOSTD_RESOLVE, name, out_ip, err);
}

bool hostd_directory(const char *address, const char *secret, const char *path, char *out_identity,
                     struct err *err)
{
    return ask_word(address, secret, HOSTD_DIRECTORY, path, out_identity, err);
}

bool hostd_ask_facts(const char *address, const char *secret, struct hostd_facts *out_facts,
                     struct err *err)
{
    char answer[HOSTD_ANSWER_MAX];
    if (!request(address, secret, hostd_verb_name(HOSTD_ASK_FACTS), answer, err))
        return false;
    inspect_read_facts(answer, out_facts);
    return true;
}
