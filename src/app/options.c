/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings common to all protocols: on which transports and ports they are detected. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app_priv.h"

static const char *const enabled_choices[] = { "yes", "no", "detection-only", NULL };

#define PORTS_HELP "Ports on which the protocol is probed, instead of its default ports: 53, \"53, 5353\" or a list"

const struct setting app_setting_rows[] = {
    { .name = "app-layer.protocols.*.enabled",
      .type = SETTING_ENUM,
      .choices = enabled_choices,
      .default_value = "yes",
      .help = "Detect and parse the protocol; detection-only is treated as yes" },
    { .name = "app-layer.protocols.*.tcp.enabled",
      .type = SETTING_ENUM,
      .choices = enabled_choices,
      .help = "Detect and parse the protocol over TCP; overrides `enabled`" },
    { .name = "app-layer.protocols.*.udp.enabled",
      .type = SETTING_ENUM,
      .choices = enabled_choices,
      .help = "Detect and parse the protocol over UDP; overrides `enabled`" },
    { .name = "app-layer.protocols.*.detection-ports.dp", .type = SETTING_VARIABLE, .help = PORTS_HELP },
    { .name = "app-layer.protocols.*.detection-ports.sp",
      .type = SETTING_VARIABLE,
      .help = "More ports on which the protocol is probed" },
    { .name = "app-layer.protocols.*.tcp.detection-ports.dp", .type = SETTING_VARIABLE, .help = PORTS_HELP },
    { .name = "app-layer.protocols.*.tcp.detection-ports.sp",
      .type = SETTING_VARIABLE,
      .help = "More ports on which the protocol is probed" },
    { .name = "app-layer.protocols.*.udp.detection-ports.dp", .type = SETTING_VARIABLE, .help = PORTS_HELP },
    { .name = "app-layer.protocols.*.udp.detection-ports.sp",
      .type = SETTING_VARIABLE,
      .help = "More ports on which the protocol is probed" },
    { .name = NULL },
};

enum { NAME_SIZE = 128 };

static bool is_enabled(const struct config *config, const char *name, const char *part, bool otherwise)
{
    char path[NAME_SIZE];

    snprintf(path, sizeof(path), "app-layer.protocols.%s.%senabled", name, part);
    return strcmp(config_string_or(config, path, otherwise ? "yes" : "no"), "no") != 0;
}

static int read_port_list(struct app_ports *ports, const struct config *config, const char *path, struct diag *diag)
{
    bool any = false;

    if (!config_is_set(config, path))
        return 0;
    int count = config_ports(config, path, ports->port + ports->count, APP_PORTS_MAX - ports->count, &any, diag);

    if (count < 0)
        return count;
    ports->set = true;
    ports->any |= any;
    ports->count += (unsigned)count;
    return 0;
}

/* Reads the ports of the transport, or else those common to both transports. */
static int read_ports(struct app_ports *ports, const struct config *config, const char *name, const char *transport,
                      struct diag *diag)
{
    static const char *const kinds[] = { "dp", "sp" };
    const char *const parts[] = { transport, "" };
    char path[NAME_SIZE];

    for (unsigned part = 0; part < 2 && !ports->set; part++) {
        for (unsigned kind = 0; kind < 2; kind++) {
            snprintf(path, sizeof(path), "app-layer.protocols.%s.%sdetection-ports.%s", name, parts[part], kinds[kind]);
            int err = read_port_list(ports, config, path, diag);

            if (err)
                return err;
        }
    }
    return 0;
}

int app_options_read(struct app_options *options, const struct config *config, struct diag *diag)
{
    for (size_t i = 0; i < app_list_count; i++) {
        const char *name = app_list[i]->name;
        bool enabled = is_enabled(config, name, "", true);
        int err = read_ports(&options->ports[i][0], config, name, "tcp.", diag);

        options->transports[i] = (uint8_t)((is_enabled(config, name, "tcp.", enabled) ? APP_TCP : 0) |
                                           (is_enabled(config, name, "udp.", enabled) ? APP_UDP : 0));
        options->enabled[i] = options->transports[i] & app_list[i]->transports;
        if (!err)
            err = read_ports(&options->ports[i][1], config, name, "udp.", diag);
        if (err)
            return err;
    }
    return 0;
}
