// cpp.cc - the same gauge as render.c in prometheus-cpp (Debian: libprometheus-cpp-dev): what it
// costs to collect and to write it. Prints lines as render.c does.
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

static double cpu_s()
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return double(now.tv_sec) + double(now.tv_nsec) / 1e9;
}

static std::string numbered(const char *format, size_t i)
{
    char text[64];
    snprintf(text, sizeof text, format, i);
    return text;
}

static void measure(size_t series, size_t rounds)
{
    prometheus::Registry registry;
    auto &family = prometheus::BuildGauge()
                       .Name("ferry_migration_data_remaining_bytes")
                       .Help("Still to be moved.")
                       .Register(registry);
    for (size_t i = 0; i < series; i++) {
        auto &gauge = family.Add({{"namespace", "production"},
                                  {"name", numbered("guest-%05zu", i % 50000)},
                                  {"source", numbered("node-%03zu", i % 997)},
                                  {"target", numbered("node-%03zu", i * 7 % 997)},
                                  {"migration", numbered("migration-%08zu", i)}});
        gauge.Set(i % 2 == 0 ? double(i * 4096) : double(i % 100000) / 1000);
    }
    std::vector<double> times;
    size_t bytes = 0;
    for (size_t i = 0; i < rounds; i++) {
        double began = cpu_s();
        bytes = prometheus::TextSerializer().Serialize(registry.Collect()).size();
        times.push_back(cpu_s() - began);
    }
    std::sort(times.begin(), times.end());
    printf("prometheus-cpp\t%zu\t%.4f\t%zu\n", series,
           times[times.size() / 2] * 1e6 / double(series), bytes);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        measure(strtoul(argv[i], nullptr, 10), 7);
    return argc > 1 ? 0 : 2;
}
