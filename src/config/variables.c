/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rule variables of the configuration. Variables that Suricata's rulesets expect, such as HOME_NET, have a default here
 * if the configuration does not define them.
 */
#include "config_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct config_variable address_defaults[] = {
    { "HOME_NET", "[192.168.0.0/16,10.0.0.0/8,172.16.0.0/12]" },
    { "EXTERNAL_NET", "!$HOME_NET" },
    { "HTTP_SERVERS", "$HOME_NET" },
    { "SMTP_SERVERS", "$HOME_NET" },
    { "SQL_SERVERS", "$HOME_NET" },
    { "DNS_SERVERS", "$HOME_NET" },
    { "TELNET_SERVERS", "$HOME_NET" },
    { "AIM_SERVERS", "$EXTERNAL_NET" },
    { "DC_SERVERS", "$HOME_NET" },
    { "DNP3_SERVER", "$HOME_NET" },
    { "DNP3_CLIENT", "$HOME_NET" },
    { "MODBUS_CLIENT", "$HOME_NET" },
    { "MODBUS_SERVER", "$HOME_NET" },
    { "ENIP_CLIENT", "$HOME_NET" },
    { "ENIP_SERVER", "$HOME_NET" },
    { NULL, NULL },
};

static const struct config_variable port_defaults[] = {
    { "HTTP_PORTS", "80" },         { "SHELLCODE_PORTS", "!80" },
    { "ORACLE_PORTS", "1521" },     { "SSH_PORTS", "22" },
    { "DNP3_PORTS", "20000" },      { "MODBUS_PORTS", "502" },
    { "FTP_PORTS", "21" },          { "FILE_DATA_PORTS", "[$HTTP_PORTS,110,143]" },
    { "GENEVE_PORTS", "6081" },     { "GTP_PORTS", "2152" },
    { "VXLAN_PORTS", "4789" },      { "TEREDO_PORTS", "3544" },
    { "SIP_PORTS", "[5060,5061]" }, { NULL, NULL },
};

static const struct {
    const char *section;
    const struct config_variable *defaults;
} kinds[] = {
    [CONFIG_ADDRESS_VARIABLE] = { "vars.address-groups", address_defaults },
    [CONFIG_PORT_VARIABLE] = { "vars.port-groups", port_defaults },
};

bool default_variable(enum config_variable_kind kind, size_t index, struct config_variable *out)
{
    for (const struct config_variable *row = kinds[kind].defaults; row->name; row++) {
        if (index-- == 0) {
            *out = *row;
            return true;
        }
    }
    return false;
}

bool config_variable(const struct config *config, enum config_variable_kind kind, size_t index,
                     struct config_variable *out)
{
    const struct node *section = node_find(config->root, kinds[kind].section);
    struct config_variable row;

    for (const struct node *node = section ? section->first : NULL; node; node = node->next) {
        if (node->kind != NODE_SCALAR || index-- > 0)
            continue;
        *out = (struct config_variable){ node->key, node->value };
        return true;
    }
    for (size_t i = 0; default_variable(kind, i, &row); i++) {
        const struct node *node = section ? node_member(section, row.name, strlen(row.name)) : NULL;

        if ((node && node->kind == NODE_SCALAR) || index-- > 0)
            continue;
        *out = row;
        return true;
    }
    return false;
}

/* --- Ports of a setting --------------------------------------------------------------------------- */

enum { MAX_NESTED = 8 };

struct ports {
    const struct config *config;
    const char *name;
    struct diag *diag;
    uint16_t *out;
    size_t max, count;
    bool any;
};

static int refuse_ports(struct ports *ports, struct span part, const char *why)
{
    diag_error(ports->diag, config_position(ports->config, ports->name), "'%s': '" SPAN_FORMAT "' %s", ports->name,
               SPAN_ARGS(part), why);
    return -EINVAL;
}

static int add_ports(struct ports *ports, struct span part)
{
    struct span low = part, high;
    uint64_t first, last;

    if (!span_next(&low, ':', &high) || !span_to_uint(high, 0, UINT16_MAX, &first))
        return refuse_ports(ports, part, "is not a port, a range (LOW:HIGH), $NAME or any");
    last = first;
    if (low.at && !span_to_uint(span_trim(low), first, UINT16_MAX, &last))
        return refuse_ports(ports, part, "is not a range of ports");
    for (uint64_t port = first; port <= last; port++) {
        if (ports->count >= ports->max)
            return refuse_ports(ports, part, "exceeds the maximum number of ports");
        ports->out[ports->count++] = (uint16_t)port;
    }
    return 0;
}

static int read_ports(struct ports *ports, struct span text, unsigned depth);

static int read_variable(struct ports *ports, struct span part, unsigned depth)
{
    struct config_variable row;

    for (size_t i = 0; config_variable(ports->config, CONFIG_PORT_VARIABLE, i, &row); i++)
        if (span_equal((struct span){ part.at + 1, part.length - 1 }, row.name))
            return depth < MAX_NESTED ? read_ports(ports, span_of(row.value), depth + 1)
                                      : refuse_ports(ports, part, "refers to itself");
    return refuse_ports(ports, part, "is not a port variable (vars.port-groups)");
}

static int read_ports(struct ports *ports, struct span text, unsigned depth)
{
    struct span rest = span_trim(text);
    int err = 0;

    if (rest.length >= 2 && rest.at[0] == '[' && rest.at[rest.length - 1] == ']')
        rest = span_trim((struct span){ rest.at + 1, rest.length - 2 });
    for (struct span part; !err && span_next(&rest, ',', &part);) {
        if (span_equal_nocase(part, "any"))
            ports->any = true;
        else if (part.length > 1 && part.at[0] == '$')
            err = read_variable(ports, part, depth);
        else
            err = add_ports(ports, part);
    }
    return err;
}

int config_ports(const struct config *config, const char *name, const char *value, uint16_t *out, size_t max, bool *any,
                 struct diag *diag)
{
    struct ports ports = { .config = config, .name = name, .diag = diag, .out = out, .max = max };
    int err = read_ports(&ports, span_of(value), 0);

    if (err)
        return err;
    *any = ports.any;
    return ports.any ? 0 : (int)ports.count;
}
