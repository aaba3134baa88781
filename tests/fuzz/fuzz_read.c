/* fuzz_read.c - any bytes as evidence. The format is told from them, as it is for a user. */
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/read_laws.h"

FUZZ_TARGET(read)
{
    struct read_laws laws;
    struct read_visitor visitor = read_laws_visitor(&laws);
    struct read_report report;
    struct err err = {0};
    int fd = read_laws_fd(data, n);
    bool is_fine = read_evidence(fd, "fuzz", &visitor, &report, &err);
    (void)close(fd);
    read_laws_check(&laws, &report, is_fine, &err);
    FUZZ_LAW(report.bytes == n, "%zu bytes of which %zu were read", n, (size_t)report.bytes);
    return 0;
}
