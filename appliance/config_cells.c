/* config_cells.c - `appliance:` of ferry.yaml and the cells of hosts. */
#include <string.h>

#include "appliance/config_read.h"
#include "base/text.h"

enum { LEASE_S = 10, LEASE_MIN_S = 2, CALL_LIMIT_S = 10, SECONDS_MAX = 300 };

static bool read_label(struct reading *r, const struct yaml_node *node, char *out, size_t bytes,
                       struct err *err)
{
    return config_read_text(r, node, out, bytes, err) &&
           (text_is_dns_label(out) ||
            yaml_fail(r->yaml, node, err,
                      "%s '%s' is not a DNS label: lower-case letters, digits and '-', at most 63",
                      node->key, out));
}

static bool read_name(struct reading *r, const struct yaml_node *node, struct err *err)
{
    struct config_appliance *appliance = &r->config->appliance;
    return read_label(r, node, appliance->name, sizeof appliance->name, err);
}

static bool read_address(struct reading *r, const struct yaml_node *node, struct err *err)
{
    struct config_appliance *appliance = &r->config->appliance;
    return config_read_text(r, node, appliance->address, sizeof appliance->address, err) &&
           (text_has_prefix(appliance->address, "https://") ||
            yaml_fail(r->yaml, node, err, "address '%s' is not https://HOST:PORT",
                      appliance->address));
}

static bool read_lease(struct reading *r, const struct yaml_node *node, struct err *err)
{
    int64_t seconds;
    if (!yaml_i64(r->yaml, node, LEASE_MIN_S, SECONDS_MAX, &seconds, err))
        return false;
    r->config->appliance.times.ttl_ms = seconds * 1000;
    return true;
}

static bool read_call_limit(struct reading *r, const struct yaml_node *node, struct err *err)
{
    int64_t seconds;
    if (!yaml_i64(r->yaml, node, 1, SECONDS_MAX, &seconds, err))
        return false;
    r->config->appliance.times.call_limit_ms = seconds * 1000;
    return true;
}

bool config_read_appliance(struct reading *r, const struct yaml_node *node, struct err *err)
{
    static const struct yaml_key keys[] = {
        {"name", read_name},
        {"address", read_address},
        {"leaseSeconds", read_lease},
        {"callLimitSeconds", read_call_limit},
    };
    r->config->appliance.times =
        (struct lease_times){.ttl_ms = LEASE_S * 1000, .call_limit_ms = CALL_LIMIT_S * 1000};
    return config_read_map(r, node, keys, COUNT(keys), err) &&
           (r->config->appliance.name[0] != '\0' ||
            yaml_fail(r->yaml, node, err, "an appliance requires a 'name'"));
}

/* Inside Ferry the default cell has no name. */
bool config_read_cell(struct reading *r, const struct yaml_node *node, struct err *err)
{
    char *cell = r->config->hosts[r->host].cell;
    if (!read_label(r, node, cell, sizeof r->config->hosts[r->host].cell, err))
        return false;
    if (text_equal(cell, CONFIG_CELL_DEFAULT))
        cell[0] = '\0';
    return true;
}

static bool add_cell(struct fleet_cells *cells, const char *cell, struct err *err)
{
    for (size_t i = 0; i < cells->n; i++)
        if (strcmp(cells->list[i], cell) == 0)
            return true;
    if (cells->n == COUNT(cells->list))
        return err_set(err, ERR_INVALID, "hosts are in more than %zu cells", COUNT(cells->list));
    TEXT_SET(cells->list[cells->n], cell);
    cells->n++;
    return true;
}

bool config_settle_cells(struct reading *r, const struct yaml_node *appliance, struct err *err)
{
    struct config *config = r->config;
    for (size_t i = 0; i < config->n_hosts; i++)
        if (!add_cell(&config->cells, config->hosts[i].cell, err))
            return false;
    return appliance == NULL || config->store[0] != '\0' ||
           yaml_fail(r->yaml, appliance, err,
                     "'appliance' requires 'store': several appliances share a database");
}

void config_keep_cells(struct config *config, const struct fleet_cells *held)
{
    size_t n = 0;
    for (size_t i = 0; i < config->n_hosts; i++) {
        bool is_held = false;
        for (size_t c = 0; c < held->n; c++)
            is_held = is_held || strcmp(held->list[c], config->hosts[i].cell) == 0;
        if (is_held) { /* the others stay behind it, to be freed with the rest */
            struct hv_host host = config->hosts[n];
            struct host_settings settings = config->host_settings[n];
            config->hosts[n] = config->hosts[i];
            config->host_settings[n] = config->host_settings[i];
            config->hosts[i] = host;
            config->host_settings[i] = settings;
            n++;
        }
    }
    for (size_t i = n; i < config->n_hosts; i++)
        config_free_texts(&config->host_settings[i]);
    config->n_hosts = n;
}

bool config_appliance_differs(const struct config *a, const struct config *b)
{
    return !text_equal(a->appliance.name, b->appliance.name) ||
           !text_equal(a->appliance.address, b->appliance.address) ||
           a->appliance.times.ttl_ms != b->appliance.times.ttl_ms ||
           a->appliance.times.call_limit_ms != b->appliance.times.call_limit_ms;
}
