/* test_api_gate.c - what the gate opens and refuses beside the roles: listeners, certificates,
 * passwords, other web pages, other names. */
#include <crypt.h>
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "exporter/access/tokens.h"
#include "exporter/api/files.h"
#include "exporter/api/routes.h"
#include "exporter/exporter.h"
#include "exporter/http/http_tls.h"
#include "tests/unit/test_access.h"
#include "tests/unit/test_api_client.h"
#include "tests/unit/test_api_world.h"

#include "base/log.h"
#include "tests/unit/access_place.h"

/* ---- what is open ---- */

static void off_loopback_only_what_the_configuration_opens_is_answered(void **state)
{
    struct place *p = *state;
    static const struct someone nobody = {"nobody", BY_NOTHING, AWAY_TLS, 0, NULL, ROLE_NONE, ""};
    static const char *const paths[] = {"/metrics", "/healthz", "/readyz"};
    if (!p->is_away)
        skip();
    struct access_config access = place_access(p);
    access.metrics_open = true;
    TEXT_SET(access.metrics_listen, "http://" AWAY ":0");
    place_write_web(p, true);
    place_open(p, &access);
    assert_true(p->ports[4] > 0);
    for (size_t i = 0; i < COUNT(paths); i++) {
        assert_true(place_send_once(p, &nobody, "GET", paths[i]).status != 401);
        char url[128];
        (void)snprintf(url, sizeof url, "http://" AWAY ":%u%s", p->ports[4], paths[i]);
        CURL *curl = place_client(p, &nobody);
        long status = 0;
        char text[4096] = "";
        (void)curl_easy_setopt(curl, CURLOPT_URL, url);
        (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, place_keep_text);
        (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, text);
        assert_int_equal(curl_easy_perform(curl), CURLE_OK);
        (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        assert_true(status == 200 || strcmp(paths[i], "/readyz") == 0);
        (void)snprintf(url, sizeof url, "http://" AWAY ":%u/api/v1/nodes", p->ports[4]);
        (void)curl_easy_setopt(curl, CURLOPT_URL, url);
        (void)curl_easy_setopt(curl, CURLOPT_USERPWD, "anna:all");
        assert_int_equal(curl_easy_perform(curl), CURLE_OK);
        (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        assert_int_equal(status, 404); /* nothing else is served there */
        curl_easy_cleanup(curl);
    }
    assert_int_equal(place_send_once(p, &nobody, "GET", "/version").status, 401);
    assert_int_equal(place_send_once(p, &nobody, "GET", "/nothing").status, 401);
}

static void a_configuration_that_would_let_anybody_in_is_refused(void **state)
{
    struct place *p = *state;
    static const struct {
        const char *listen, *metrics;
        bool open;
        const char *says;
    } rows[] = {
        {"http://0.0.0.0:0", "", true, "not loopback and not https"},
        {"http://" AWAY ":0", "", false, "use https://" AWAY ":0"},
        {"127.0.0.1:0", "http://" AWAY ":0", false, "or write auth: none"},
    };
    place_write_web(p, false);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct access_config access = place_access(p);
        struct err err = {0};
        access.n_listen = 1;
        access.metrics_open = rows[i].open;
        TEXT_SET(access.listen[0], rows[i].listen);
        TEXT_SET(access.metrics_listen, rows[i].metrics);
        const struct exporter_config config = {.access = &access, .version = "0.1.0"};
        const struct exporter_parts parts = {.clock = clock_system()};
        assert_null(exporter_new(&config, &parts, &err));
        assert_int_equal(err.code, ERR_INVALID);
        if (strstr(err.text, rows[i].says) == NULL)
            fail_msg("%s: %s", rows[i].listen, err.text);
    }
}

/* ---- certificates ---- */

static bool trusts(const struct place *p, const char *ca, CURL *running)
{
    CURL *curl = running != NULL ? running : curl_easy_init();
    char url[128], text[4096] = "";
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%u/healthz", p->ports[TLS]);
    (void)curl_easy_setopt(curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(curl, CURLOPT_CAINFO, ca);
    (void)curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
    (void)curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, place_keep_text);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, text);
    bool is_right = curl_easy_perform(curl) == CURLE_OK;
    if (running == NULL)
        curl_easy_cleanup(curl);
    return is_right;
}

static void a_changed_certificate_is_used_at_once_and_running_connections_go_on(void **state)
{
    struct place *p = *state;
    struct access_config access = place_access(p);
    long connects = -1;
    place_write_web(p, false);
    place_open(p, &access);
    CURL *running = curl_easy_init();
    assert_true(trusts(p, p->file[CERT], running));
    assert_false(trusts(p, p->file[CERT2], NULL));
    char old[80];
    (void)snprintf(old, sizeof old, "%s/old.pem", p->dir);
    assert_int_equal(rename(p->file[CERT], old), 0);
    exporter_tick(p->x); /* half of it is there: the old one stays in use */
    assert_true(trusts(p, old, NULL));
    assert_int_equal(rename(p->file[CERT2], p->file[CERT]), 0);
    assert_int_equal(rename(p->file[KEY2], p->file[KEY]), 0);
    exporter_tick(p->x);
    assert_true(trusts(p, p->file[CERT], NULL));
    assert_false(trusts(p, old, NULL));
    assert_true(trusts(p, p->file[CERT], running)); /* over the connection of before */
    (void)curl_easy_getinfo(running, CURLINFO_NUM_CONNECTS, &connects);
    assert_int_equal(connects, 0);
    curl_easy_cleanup(running);
    (void)unlink(old);
}

/* Shows the server's own certificate as a client's. */
static CURLcode ask_as_server(const struct place *p)
{
    CURL *curl = curl_easy_init();
    char url[128], text[4096] = "";
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%u/healthz", p->ports[TLS]);
    (void)curl_easy_setopt(curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(curl, CURLOPT_CAINFO, p->file[CERT]);
    (void)curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
    (void)curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, place_keep_text);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, text);
    (void)curl_easy_setopt(curl, CURLOPT_SSLCERT, p->file[CERT]);
    (void)curl_easy_setopt(curl, CURLOPT_SSLKEY, p->file[KEY]);
    CURLcode result = curl_easy_perform(curl);
    curl_easy_cleanup(curl);
    return result;
}

/* A certificate of another CA ends in the handshake; one is required where the file says so. */
static void a_client_certificate_is_verified(void **state)
{
    struct place *p = *state;
    struct access_config access = place_access(p);
    place_write_web(p, false);
    place_open(p, &access);
    assert_true(ask_as_server(p) != CURLE_OK); /* not signed by the CA */
    FILE *file = fopen(p->file[WEB], "we");
    (void)fprintf(file,
                  "tls_server_config: {cert_file: cert.pem, key_file: key.pem, client_ca_file: "
                  "client.pem, client_auth_type: RequireAndVerifyClientCert}\n");
    (void)fclose(file);
    exporter_tick(p->x);
    assert_false(trusts(p, p->file[CERT], NULL));
    static const struct someone ops = {"ops", BY_CERTIFICATE, TLS, 0, NULL, ROLE_OPERATOR, ""};
    assert_int_equal(place_send_once(p, &ops, "GET", "/healthz").status, 200);
}

/* Hosts and web servers have certificates of the same authority; they are no clients. */
static void a_servers_certificate_is_no_clients(void **state)
{
    struct place *p = *state;
    struct access_config access = place_access(p);
    FILE *file = fopen(p->file[WEB], "we");
    (void)fprintf(file,
                  "tls_server_config: {cert_file: cert.pem, key_file: key.pem, client_ca_file: "
                  "cert.pem, client_auth_type: VerifyClientCertIfGiven}\n");
    (void)fclose(file);
    place_open(p, &access);
    assert_true(trusts(p, p->file[CERT], NULL));
    assert_true(ask_as_server(p) != CURLE_OK);
}

/* ---- passwords ---- */

static void wrong_passwords_do_not_keep_workers_busy(void **state)
{
    struct place *p = *state;
    static const struct someone wrong = {"w", BY_WRONG_PASSWORD, TLS, 0, "anna:no", ROLE_NONE, ""},
                                nobody = {"n", BY_WRONG_PASSWORD, TLS, 0, "zoe:no", ROLE_NONE, ""},
                                right = {"r", BY_PASSWORD, TLS, 0, "anna:all", ROLE_ADMIN, ""};
    struct access_config access = place_access(p);
    unsigned limited = 0, refused = 0;
    place_write_web(p, true);
    place_open(p, &access);
    assert_int_equal(place_send_once(p, &right, "GET", "/healthz").status, 200);
    CURL *clients[] = {place_client(p, &wrong), place_client(p, &nobody)};
    for (int i = 0; i < 20; i++) {
        long status = place_send(p, &wrong, clients[i % 2], "GET", "/healthz").status;
        limited += status == 429;
        refused += status == 401;
    }
    curl_easy_cleanup(clients[0]);
    curl_easy_cleanup(clients[1]);
    assert_int_equal(limited + refused, 20);
    assert_true(limited >= 10 && refused >= 4);
    assert_int_equal(place_send_once(p, &right, "GET", "/healthz").status, 200); /* remembered */
    struct reply reply = place_send_once(p, &wrong, "GET", "/healthz");
    assert_true(reply.status == 429 || strstr(reply.head, "WWW-Authenticate: Bearer") != NULL);
}

/* ---- other pages, other names, proxies ---- */

static void nothing_that_costs_or_changes_is_done_for_another_page(void **state)
{
    struct place *p = *state;
    static const struct {
        const char *method, *path, *headers;
        int status;
    } rows[] = {
        {"DELETE", VMIM_PATH "/moving", "Sec-Fetch-Site: cross-site\r\n", 403},
        {"DELETE", VMIM_PATH "/moving", "Sec-Fetch-Site: same-site\r\n", 403},
        {"DELETE", VMIM_PATH "/moving", "Origin: http://evil.example\r\n", 403},
        {"DELETE", VMIM_PATH "/moving", "Origin: null\r\n", 403},
        {"DELETE", VMIM_PATH "/moving", "Origin: https://ferry.example.org.evil\r\n", 403},
        {"DELETE", VMIM_PATH "/moving", "Origin: https://ferry\r\n", 403},
        {"POST", VMIM_PATH,
         "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n",
         403}, /* a form of the other page */
        {"GET", "/postmortem/default/x",
         "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n",
         403},
        {"GET", "/postmortem/default/x",
         "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: document\r\n",
         403},
        {"DELETE", VMIM_PATH "/moving", "Sec-Fetch-Site: same-origin\r\n", 409},
        {"DELETE", VMIM_PATH "/moving", "Origin: https://ferry.example.org\r\n", 409},
        {"GET", "/query?sql=SELECT%201", "Sec-Fetch-Site: cross-site\r\n", 403},
        {"GET", "/query?sql=SELECT%201",
         "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n",
         403},
        {"GET", "/api/v1/events", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n", 403},
        {"GET", "/postmortem/default/x",
         "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n",
         503}, /* a pager's link; no store here */
        {"GET", "/healthz", "Sec-Fetch-Site: cross-site\r\n", 200},
    };
    struct access_config access = place_access(p);
    TEXT_SET(access.external_url, "https://ferry.example.org/ferry");
    place_write_web(p, false);
    place_open(p, &access);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer a =
            ask_fd(dial_socket(p->file[SOCK]), rows[i].method, rows[i].path, rows[i].headers, NULL);
        if (a.status != rows[i].status)
            fail_msg("%s %s %s: %d %s", rows[i].method, rows[i].path, rows[i].headers, a.status,
                     a.body);
        answer_fini(&a);
    }
}

static void only_allowed_names_are_answered_and_421_says_them(void **state)
{
    struct place *p = *state;
    static const struct {
        const char *host;
        int status;
    } rows[] = {{"Host: evil.example\r\n", 421},
                {"Host: FERRY.example.org\r\n", 200},
                {"Host: ferry.example.org:8443\r\n", 200},
                {"Host: other.example\r\n", 200},
                {"Host: 10.1.1.1\r\n", 421}};
    struct access_config access = place_access(p);
    TEXT_SET(access.external_url, "https://ferry.example.org");
    TEXT_SET(access.hosts[0], "other.example");
    access.n_hosts = 1;
    place_write_web(p, false);
    place_open(p, &access);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer a = ask_port(p->ports[PLAIN], "GET", "/healthz", rows[i].host, NULL);
        assert_int_equal(a.status, rows[i].status);
        if (a.status == 421) {
            assert_refused(&a, 421, "MisdirectedRequest");
            assert_non_null(strstr(at(&a, "message"), "other.example"));
            assert_non_null(strstr(at(&a, "message"), "https://ferry.example.org"));
        }
        answer_fini(&a);
    }
    char proven[256]; /* no page of another name has a credential */
    (void)snprintf(proven, sizeof proven, "Host: evil.example\r\nAuthorization: Bearer %s\r\n",
                   p->secrets[0]);
    struct answer a = ask_port(p->ports[PLAIN], "GET", "/healthz", proven, NULL);
    assert_int_equal(a.status, 200);
    answer_fini(&a);
}

static void links_of_alerts_are_the_external_ones(void **state)
{
    struct place *p = *state;
    static const char *const urls[] = {"", "https://ferry.example.org/x"};
    for (size_t i = 0; i < COUNT(urls); i++) {
        struct access_config access = place_access(p);
        TEXT_SET(access.external_url, urls[i]);
        place_write_web(p, false);
        place_open(p, &access);
        struct answer a =
            ask_fd(dial_socket(p->file[SOCK]), "GET", "/alerts/ferry.rules.yml", "", NULL);
        assert_int_equal(a.status, 200);
        assert_int_equal(strstr(a.body, "'https://ferry.example.org/x/runbooks/Ferry") != NULL,
                         i == 1);
        assert_int_equal(strstr(a.body, "$labels.instance \"127.0.0.1:9178\" }}/runbooks") != NULL,
                         i == 0);
        answer_fini(&a);
        a = ask_fd(dial_socket(p->file[SOCK]), "GET", "/dashboards/fleet", "", NULL);
        assert_int_equal(a.status, 200);
        assert_int_equal(strstr(a.body, "\"https://ferry.example.org/x/migration/${__") != NULL,
                         i == 1);
        assert_int_equal(strstr(a.body, "instance}/migration/") != NULL, i == 0);
        answer_fini(&a);
        (void)place_close(state);
    }
}

/* Every link to the appliance: runbooks, migrations, exemplars of Grafana's data source. */
static void no_file_keeps_a_link_to_the_scraped_address(void **state)
{
    (void)state;
    unsigned links = 0;
    for (const struct served_file *file = served_files; file->path != NULL; file++) {
        struct buf text;
        if (strncmp(file->path, "docs/", 5) == 0 || strstr(file->path, ".test.") != NULL ||
            strncmp(file->path, "exporter/page/", 14) == 0)
            continue;
        buf_init(&text, 4 << 20);
        served_file_add(file, "https://ferry.example.org/x", &text);
        for (const char *at = text.data; (at = strstr(at, "/migration/")) != NULL; at++, links++)
            assert_int_equal(strncmp(at - 27, "https://ferry.example.org/x", 27), 0);
        for (const char *at = text.data; (at = strstr(at, "/runbooks/")) != NULL; at++, links++)
            if (at[-1] != 's') /* docs/runbooks/ */
                assert_int_equal(strncmp(at - 27, "https://ferry.example.org/x", 27), 0);
        buf_fini(&text);
    }
    assert_true(links >=
                34 + 4 + 14 +
                    1); /* runbooks of alerts, dashboards, migrations of alerts, exemplars */
}

/* What stands before the last hop that is no proxy of ours, anybody may have written. */
static void the_address_of_a_client_is_believed_from_trusted_proxies_only(void **state)
{
    struct place *p = *state;
    static const struct {
        const char *proxies, *headers, *address;
    } rows[] = {
        {"", "X-Forwarded-For: 192.0.2.7\r\n", "127.0.0.1"},
        {"10.0.0.0/8", "X-Forwarded-For: 192.0.2.7\r\n", "127.0.0.1"},
        {"127.0.0.0/8", "X-Forwarded-For: 198.51.100.1, 192.0.2.7\r\n", "192.0.2.7"},
        {"127.0.0.0/8", "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 192.0.2.7, 127.0.0.9\r\n",
         "192.0.2.7"},
        {"127.0.0.0/8", "X-Forwarded-For: 192.0.2.7, <script>\r\n", "127.0.0.1"},
        {"126.0.0.0/7", "X-Forwarded-For: 192.0.2.7\r\n", "192.0.2.7"}, /* 127 is in it */
        {"127.128.0.0/9", "X-Forwarded-For: 192.0.2.7\r\n", "127.0.0.1"},
        {"127.0.0.1/33", "X-Forwarded-For: 192.0.2.7\r\n", "192.0.2.7"},
        {"::ffff:127.0.0.1", "X-Forwarded-For: 2001:db8::1\r\n", "2001:db8::1"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct access_config access = place_access(p);
        FILE *log = tmpfile();
        char line[1024] = "", want[80];
        TEXT_SET(access.proxies[0], rows[i].proxies);
        access.n_proxies = rows[i].proxies[0] != '\0';
        place_write_web(p, false);
        place_open(p, &access);
        log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT, fileno(log));
        struct answer a =
            ask_port(p->ports[PLAIN], "DELETE", VMIM_PATH "/x", rows[i].headers, NULL);
        (void)place_close(state);
        log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO);
        assert_int_equal(a.status, 403);
        answer_fini(&a);
        rewind(log);
        while (fgets(line, sizeof line, log) != NULL && strstr(line, "http_request") == NULL)
            ;
        (void)snprintf(want, sizeof want, "address=%s", rows[i].address);
        if (strstr(line, want) == NULL)
            fail_msg("%s behind %s: %s", rows[i].headers, rows[i].proxies, line);
        (void)fclose(log);
    }
}

TEST_FILE(test_api_gate)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(off_loopback_only_what_the_configuration_opens_is_answered,
                                  place_close),
        cmocka_unit_test_teardown(a_configuration_that_would_let_anybody_in_is_refused,
                                  place_close),
        cmocka_unit_test_teardown(a_client_certificate_is_verified, place_close),
        cmocka_unit_test_teardown(a_servers_certificate_is_no_clients, place_close),
        cmocka_unit_test_teardown(links_of_alerts_are_the_external_ones, place_close),
        cmocka_unit_test(no_file_keeps_a_link_to_the_scraped_address),
        cmocka_unit_test_teardown(the_address_of_a_client_is_believed_from_trusted_proxies_only,
                                  place_close),
        cmocka_unit_test_teardown(wrong_passwords_do_not_keep_workers_busy, place_close),
        cmocka_unit_test_teardown(nothing_that_costs_or_changes_is_done_for_another_page,
                                  place_close),
        cmocka_unit_test_teardown(only_allowed_names_are_answered_and_421_says_them, place_close),
        cmocka_unit_test_teardown(
            a_changed_certificate_is_used_at_once_and_running_connections_go_on, place_close),
    };
    return cmocka_run_group_tests(tests, place_up, place_down);
}
