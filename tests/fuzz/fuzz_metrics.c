/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `sluice metrics` reads: the header Accept of HTTP clients (first line of the input), metrics.listen (second
 * line) and the replies of the daemon (the rest, as the replies to stats, status and queues). The contract: a format
 * that exists, and metrics whose samples are lines with a name and a number.
 */
#include <stdlib.h>
#include <string.h>

#include "control/value.h"
#include "metrics/metrics_priv.h"
#include "sluice/control.h"
#include "sluice/metrics.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_line(struct span line)
{
    const char *space = NULL;

    if (line.length > 0 && line.at[0] == '#')
        return;
    for (size_t i = 0; i < line.length; i++)
        space = line.at[i] == ' ' ? line.at + i : space;
    require(space && line.length > 7 && memcmp(line.at, "sluice_", 7) == 0);
    for (const char *at = space + 1; at < line.at + line.length; at++)
        require(strchr("+-.e0123456789", *at) && *at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span rest = { (const char *)data, size }, accept = { 0 }, listen = { 0 }, line;
    struct metrics_address address;
    struct control_value *value;
    struct text out;
    const char *cause;
    char *copy;

    span_next(&rest, '\n', &accept);
    copy = strndup(accept.at ? accept.at : "", accept.length);
    require(copy && metrics_negotiate(copy) < METRICS_FORMATS);
    free(copy);
    span_next(&rest, '\n', &listen);
    copy = strndup(listen.at ? listen.at : "", listen.length);
    require(copy);
    metrics_parse_address(copy, &address);
    free(copy);
    value = rest.at ? value_parse(rest.at, rest.length, &cause) : NULL;
    for (enum metrics_format format = 0; format < METRICS_FORMATS; format++) {
        const struct metrics_input input = { .stats = value, .status = value, .queues = value };

        text_init(&out);
        metrics_write(&input, format, &out);
        require(!out.failed && out.length > 0 && out.bytes[out.length - 1] == '\n');
        for (struct span lines = { out.bytes, out.length - 1 }; span_next(&lines, '\n', &line);)
            check_line(line);
        text_clear(&out);
    }
    control_value_free(value);
    return 0;
}
