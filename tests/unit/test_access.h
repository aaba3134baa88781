/* test_access.h - a configuration of listeners for tests: one plain loopback address, no socket. */
#ifndef TESTS_UNIT_TEST_ACCESS_H
#define TESTS_UNIT_TEST_ACCESS_H

#include "base/text.h"
#include "exporter/access/access_config.h"

static inline struct access_config test_access(void)
{
    struct access_config access;
    access_config_default(&access);
    access.n_listen = 1;
    TEXT_SET(access.listen[0], "127.0.0.1:0");
    access.socket[0] = '\0';
    return access;
}

#endif
