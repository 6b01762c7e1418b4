/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "alert_line.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* --- Filter --------------------------------------------------------------------------------------- */

int alert_network_parse(const char *text, struct alert_network *out)
{
    const char *slash = strchr(text, '/');
    size_t length = slash ? (size_t)(slash - text) : strlen(text);
    struct alert_network network = { 0 };
    uint64_t prefix;

    network.version = address_parse(text, length, &network.address);
    if (network.version < 0)
        return -EINVAL;
    prefix = network.version == 4 ? 32 : 128;
    if (slash && !text_to_uint(slash + 1, strlen(slash + 1), 0, prefix, &prefix))
        return -EINVAL;
    network.prefix = (unsigned)prefix;
    address_mask(&network.address, network.prefix);
    *out = network;
    return 0;
}

int alert_sid_parse(const char *text, struct alert_filter *filter)
{
    struct span rest = span_of(text), first;
    uint64_t gid = 1, sid;

    if (!span_next(&rest, ':', &first) || (rest.at && !span_to_uint(first, 0, UINT32_MAX, &gid)) ||
        !span_to_uint(rest.at ? rest : first, 0, UINT32_MAX, &sid))
        return -EINVAL;
    filter->has_sid = true;
    filter->gid = gid;
    filter->sid = sid;
    return 0;
}

static const char *string_of(const struct control_value *value, const char *name)
{
    const char *string = control_value_string(control_value_member(value, name));

    return string ? string : "";
}

static int64_t number_of(const struct control_value *value, const char *name)
{
    int64_t number = 0;

    control_value_number(control_value_member(value, name), &number);
    return number;
}

static bool in_network(const struct control_value *event, const char *name, const struct alert_network *network)
{
    const char *text = string_of(event, name);
    struct address address;

    if (address_parse(text, strlen(text), &address) != network->version)
        return false;
    address_mask(&address, network->prefix);
    return address_equal(&address, &network->address);
}

bool alert_selected(const struct control_value *event, const struct alert_filter *filter)
{
    const struct control_value *alert = control_value_member(event, "alert");

    if (!control_value_is_object(alert) || strcmp(string_of(event, "event_type"), "alert") != 0)
        return false;
    if (filter->has_sid &&
        ((uint64_t)number_of(alert, "gid") != filter->gid || (uint64_t)number_of(alert, "signature_id") != filter->sid))
        return false;
    if (filter->severity && (uint64_t)number_of(alert, "severity") > filter->severity)
        return false;
    if (filter->source.version && !in_network(event, "src_ip", &filter->source))
        return false;
    if (filter->destination.version && !in_network(event, "dest_ip", &filter->destination))
        return false;
    return !filter->host.version || in_network(event, "src_ip", &filter->host) ||
           in_network(event, "dest_ip", &filter->host);
}

/* --- Line ----------------------------------------------------------------------------------------- */

static void put_string(struct text *out, const char *string)
{
    text_printable(out, string, strlen(string));
}

static void put_end(struct text *out, const struct control_value *event, const char *address, const char *port)
{
    const char *text = string_of(event, address);
    bool has_port = control_value_member(event, port) != NULL, brackets = has_port && strchr(text, ':');

    text_puts(out, brackets ? "[" : "");
    put_string(out, text);
    text_puts(out, brackets ? "]" : "");
    if (has_port)
        text_printf(out, ":%" PRId64, number_of(event, port));
}

void alert_format(const struct control_value *event, struct text *out)
{
    const struct control_value *alert = control_value_member(event, "alert");
    const struct control_value *own = control_value_member(event, "sluice"); /* members that Suricata does not have */
    const struct control_value *queue = control_value_member(own, "queue");
    const char *category = string_of(alert, "category"), *protocol = string_of(event, "app_proto");
    bool blocked = strcmp(string_of(alert, "action"), "blocked") == 0;
    bool would_drop = control_value_bool(control_value_member(own, "would_drop"));

    put_string(out, string_of(event, "timestamp"));
    text_printf(out, " %s [%" PRId64 ":%" PRId64 ":%" PRId64 "] ",
                blocked      ? "DROP"
                : would_drop ? "WOULD_DROP"
                             : "ALERT",
                number_of(alert, "gid"), number_of(alert, "signature_id"), number_of(alert, "rev"));
    put_string(out, string_of(alert, "signature"));
    text_puts(out, " [");
    put_string(out, category);
    text_printf(out, "%spriority %" PRId64 "]", *category ? ", " : "", number_of(alert, "severity"));
    if (*string_of(event, "proto")) {
        text_puts(out, " {");
        put_string(out, string_of(event, "proto"));
        text_puts(out, "}");
    }
    if (*string_of(event, "src_ip")) {
        text_puts(out, " ");
        put_end(out, event, "src_ip", "src_port");
        text_puts(out, " -> ");
        put_end(out, event, "dest_ip", "dest_port");
    }
    if (!*protocol && !queue)
        return;
    text_puts(out, " (");
    put_string(out, protocol);
    if (queue)
        text_printf(out, "%squeue %" PRId64, *protocol ? ", " : "", number_of(queue, "number"));
    text_puts(out, ")");
}

int alert_line_read(const char *line, size_t length, const struct alert_filter *filter, bool json, struct text *out)
{
    static const char mark[] = "\"alert\"";
    struct control_value *event;
    const char *cause;
    int selected;

    if (!memmem(line, length, mark, sizeof(mark) - 1))
        return 0; /* most events are no alerts: they are not parsed */
    event = control_value_parse(line, length, &cause);
    if (!event)
        return -EBADMSG;
    selected = alert_selected(event, filter);
    if (selected && json)
        text_append(out, line, length);
    else if (selected)
        alert_format(event, out);
    control_value_free(event);
    return selected;
}
