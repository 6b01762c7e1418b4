/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings common to all protocols: on which transports and ports they are detected. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "app_priv.h"

/* Scope of a setting: both transports, or a single one, whose value overrides the value for both. */
enum { COMMON, TCP, UDP, SCOPES };
enum { DESTINATION, SOURCE, PORT_LISTS };
enum detection { DETECTION_YES, DETECTION_NO, DETECTION_ONLY, DETECTION_UNSET };

/* Settings of one protocol. */
struct detection_settings {
    enum detection enabled[SCOPES];
    const char *ports[SCOPES][PORT_LISTS]; /* NULL: unset */
};

static const char *const enabled_choices[] = {
    [DETECTION_YES] = "yes", [DETECTION_NO] = "no", [DETECTION_ONLY] = "detection-only", NULL
};
static const char destination_help[] =
    "Ports on which the protocol is probed, instead of its default ports: 53, \"53, 5353\" or a list";
static const char source_help[] = "More ports on which the protocol is probed";

const struct setting app_setting_rows[] = {
    { .name = "app-layer.protocols.*.enabled",
      SETTING_FIELD(detection_settings, enabled[COMMON]),
      .type = SETTING_ENUM,
      .choices = enabled_choices,
      .default_value = "yes",
      .help = "Detect and parse the protocol; detection-only is treated as yes" },
    { .name = "app-layer.protocols.*.tcp.enabled",
      SETTING_FIELD(detection_settings, enabled[TCP]),
      .type = SETTING_ENUM,
      .choices = enabled_choices,
      .help = "Detect and parse the protocol over TCP; overrides `enabled`" },
    { .name = "app-layer.protocols.*.udp.enabled",
      SETTING_FIELD(detection_settings, enabled[UDP]),
      .type = SETTING_ENUM,
      .choices = enabled_choices,
      .help = "Detect and parse the protocol over UDP; overrides `enabled`" },
    { .name = "app-layer.protocols.*.detection-ports.dp",
      SETTING_FIELD(detection_settings, ports[COMMON][DESTINATION]),
      .type = SETTING_VARIABLE,
      .help = destination_help },
    { .name = "app-layer.protocols.*.detection-ports.sp",
      SETTING_FIELD(detection_settings, ports[COMMON][SOURCE]),
      .type = SETTING_VARIABLE,
      .help = source_help },
    { .name = "app-layer.protocols.*.tcp.detection-ports.dp",
      SETTING_FIELD(detection_settings, ports[TCP][DESTINATION]),
      .type = SETTING_VARIABLE,
      .help = destination_help },
    { .name = "app-layer.protocols.*.tcp.detection-ports.sp",
      SETTING_FIELD(detection_settings, ports[TCP][SOURCE]),
      .type = SETTING_VARIABLE,
      .help = source_help },
    { .name = "app-layer.protocols.*.udp.detection-ports.dp",
      SETTING_FIELD(detection_settings, ports[UDP][DESTINATION]),
      .type = SETTING_VARIABLE,
      .help = destination_help },
    { .name = "app-layer.protocols.*.udp.detection-ports.sp",
      SETTING_FIELD(detection_settings, ports[UDP][SOURCE]),
      .type = SETTING_VARIABLE,
      .help = source_help },
    { .name = NULL },
};

/* Reads the ports that are set for the transport. If none are set for it, reads the ports that are set for both
 * transports. Returns 0 or a negative errno. */
static int read_ports(struct app_ports *ports, const struct config *config, const struct detection_settings *settings,
                      unsigned transport, const char *protocol, struct diag *diag)
{
    static const char *const scopes[] = { "", "tcp.", "udp." }, *const lists[] = { "dp", "sp" };
    const bool own = settings->ports[transport][DESTINATION] || settings->ports[transport][SOURCE];
    const unsigned scope = own ? transport : COMMON;

    for (unsigned list = 0; list < PORT_LISTS; list++) {
        const char *value = settings->ports[scope][list];
        char name[128];
        bool any = false;

        if (!value)
            continue;
        snprintf(name, sizeof(name), "app-layer.protocols.%s.%sdetection-ports.%s", protocol, scopes[scope],
                 lists[list]);
        int count =
            config_ports(config, name, value, ports->port + ports->count, APP_PORTS_MAX - ports->count, &any, diag);

        if (count < 0)
            return count;
        ports->set = true;
        ports->any |= any;
        ports->count += (unsigned)count;
    }
    return 0;
}

int app_options_read(struct app_options *options, const struct config *config, struct diag *diag)
{
    for (size_t i = 0; i < app_list_count; i++) {
        const char *name = app_list[i]->name;
        struct detection_settings settings = { .enabled = { [TCP] = DETECTION_UNSET, [UDP] = DETECTION_UNSET } };

        config_fill(config, app_setting_rows, name, &settings);
        options->transports[i] = 0;
        for (unsigned transport = TCP; transport <= UDP; transport++) {
            enum detection enabled = settings.enabled[transport];
            int err = read_ports(&options->ports[i][transport - TCP], config, &settings, transport, name, diag);

            if (err)
                return err;
            if (enabled == DETECTION_UNSET)
                enabled = settings.enabled[COMMON];
            if (enabled != DETECTION_NO)
                options->transports[i] |= transport == TCP ? APP_TCP : APP_UDP;
        }
        options->enabled[i] = options->transports[i] & app_list[i]->transports;
    }
    return 0;
}
