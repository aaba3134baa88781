/* test_api_credentials.c - credentials that are almost right, and what names of users and
 * certificates are worth. */
#include <sys/stat.h>

#include "tests/unit/access_place.h"
#include "tests/unit/test_api_client.h"

static int status_of(int fd, const char *path, const char *headers)
{
    struct answer a = ask_fd(fd, "GET", path, headers, NULL);
    int status = a.status;
    answer_fini(&a);
    return status;
}

/* A scheme that Ferry does not know is a credential that is wrong, not nobody's request. */
static void an_unknown_scheme_of_authorization_is_refused(void **state)
{
    struct place *p = *state;
    static const char *const headers[] = {
        "Authorization: Digest username=\"anna\"\r\n", "Authorization: Negotiate abc\r\n",
        "Authorization: Bearer\r\n", "Authorization: Bearerx ferry_abc\r\n", "Authorization: \r\n"};
    struct access_config access = place_access(p);
    place_write_web(p, false);
    place_open(p, &access);
    assert_int_equal(status_of(dial(p->ports[PLAIN]), "/version", ""), 200);
    for (size_t i = 0; i < COUNT(headers); i++) {
        assert_int_equal(status_of(dial(p->ports[PLAIN]), "/version", headers[i]), 401);
        assert_int_equal(status_of(dial_socket(p->file[SOCK]), "/version", headers[i]), 401);
    }
}

static void a_basic_credential_is_a_name_a_colon_and_a_password(void **state)
{
    struct place *p = *state;
    static const struct {
        const char *header;
        int status;
    } rows[] = {
        {"Authorization: Basic YW5uYTphbGw=\r\n", 200},         /* anna:all */
        {"Authorization: basic  YW5uYTphbGw=\r\n", 200},        /* the scheme has no case */
        {"Authorization: Basic YW5uYTphbGwAanVuaw==\r\n", 401}, /* anna:all NUL junk */
        {"Authorization: Basic YW5uYQA6YWxs\r\n", 401},         /* anna NUL :all */
        {"Authorization: Basic YW5uYQ==\r\n", 401},             /* anna */
        {"Authorization: Basic ????\r\n", 401},
        {"Authorization: Basic \r\n", 401},
    };
    struct access_config access = place_access(p);
    place_write_web(p, true);
    place_open(p, &access);
    for (size_t i = 0; i < COUNT(rows); i++) {
        int status = status_of(dial(p->ports[PLAIN]), "/version", rows[i].header);
        if (status != rows[i].status)
            fail_msg("%s: %d", rows[i].header, status);
    }
}

/* Open to Prometheus, not to a web page whose name was made to resolve to this machine. */
static void open_metrics_on_loopback_are_for_allowed_names_only(void **state)
{
    struct place *p = *state;
    static const char evil[] = "Host: evil.example\r\n";
    struct access_config access = place_access(p);
    access.metrics_open = true;
    TEXT_SET(access.metrics_listen, "http://127.0.0.1:0");
    place_write_web(p, true);
    place_open(p, &access);
    unsigned only_metrics = p->ports[access.n_listen + 1];
    assert_int_equal(status_of(dial(p->ports[PLAIN]), "/metrics", ""), 200);
    assert_int_equal(status_of(dial(p->ports[PLAIN]), "/metrics", evil), 421);
    assert_int_equal(status_of(dial(p->ports[PLAIN]), "/healthz", evil), 421);
    assert_int_equal(status_of(dial(only_metrics), "/metrics", evil), 200); /* any name of it */
}

static void only_certificates_with_an_allowed_name_are_accepted(void **state)
{
    struct place *p = *state;
    static const struct {
        const char *sans;
        long ops, anna;
    } rows[] = {
        {"", 200, 200},
        {"  client_allowed_sans: [ops.example]\n", 200, 401},
        {"  client_allowed_sans: [other.example, anna]\n", 401, 200},
        {"  client_allowed_sans: [OPS.example, nn]\n", 401, 401},
    };
    static const struct someone ops = {"ops", BY_CERTIFICATE, TLS, 0, NULL, ROLE_OPERATOR, ""},
                                anna = {"anna", BY_CERTIFICATE, TLS, 1, NULL, ROLE_VIEWER, ""};
    struct access_config access = place_access(p);
    for (size_t i = 0; i < COUNT(rows); i++) {
        place_write_tls(p, false, rows[i].sans);
        place_open(p, &access);
        assert_int_equal(place_send_once(p, &ops, "GET", "/version").status, rows[i].ops);
        assert_int_equal(place_send_once(p, &anna, "GET", "/version").status, rows[i].anna);
        (void)place_close(state);
    }
}

/* Browsers send a certificate to whatever a name resolves to. */
static void a_certificate_is_not_accepted_under_a_foreign_name(void **state)
{
    struct place *p = *state;
    static const struct {
        const char *name;
        long status;
    } rows[] = {{"evil.example", 421}, {AWAY, 200}, {"10.1.1.1", 200}};
    static const struct someone ops = {"o", BY_CERTIFICATE, AWAY_TLS, 0, NULL, ROLE_OPERATOR, ""};
    struct access_config access = place_access(p);
    if (!p->is_away)
        skip();
    place_write_web(p, false);
    place_open(p, &access);
    for (size_t i = 0; i < COUNT(rows); i++) {
        CURL *curl = place_client(p, &ops);
        char to[128], url[128], text[4096] = "";
        long status = 0;
        (void)snprintf(to, sizeof to, "::" AWAY ":%u", p->ports[AWAY_TLS]);
        (void)snprintf(url, sizeof url, "https://%s:%u/healthz", rows[i].name, p->ports[AWAY_TLS]);
        struct curl_slist *way = curl_slist_append(NULL, to);
        (void)curl_easy_setopt(curl, CURLOPT_CONNECT_TO, way);
        (void)curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
        (void)curl_easy_setopt(curl, CURLOPT_URL, url);
        (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, place_keep_text);
        (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, text);
        assert_int_equal(curl_easy_perform(curl), CURLE_OK);
        (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        assert_int_equal(status, rows[i].status);
        curl_easy_cleanup(curl);
        curl_slist_free_all(way);
    }
}

/* anna is a user with a grant; the certificate has that name too, after its common name. */
static void a_certificate_is_named_by_grants_of_certificates_only(void **state)
{
    struct place *p = *state;
    static const struct someone anna = {"anna", BY_CERTIFICATE, TLS, 1, NULL, ROLE_VIEWER, ""};
    struct access_config access = place_access(p);
    place_write_web(p, false);
    place_open(p, &access);
    struct reply me =
        place_send_once(p, &anna, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews");
    if (me.status != 201 || strstr(me.text, "\"certificate:ferry\"") == NULL)
        fail_msg("%ld %s", me.status, me.text);
}

TEST_FILE(test_api_credentials)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(an_unknown_scheme_of_authorization_is_refused, place_close),
        cmocka_unit_test_teardown(a_basic_credential_is_a_name_a_colon_and_a_password, place_close),
        cmocka_unit_test_teardown(open_metrics_on_loopback_are_for_allowed_names_only, place_close),
        cmocka_unit_test_teardown(a_certificate_is_not_accepted_under_a_foreign_name, place_close),
        cmocka_unit_test_teardown(a_certificate_is_named_by_grants_of_certificates_only,
                                  place_close),
        cmocka_unit_test_teardown(only_certificates_with_an_allowed_name_are_accepted, place_close),
    };
    return cmocka_run_group_tests(tests, place_up, place_down);
}
