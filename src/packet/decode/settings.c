/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings of the decoder: the tunnels that it decodes, and on which ports. */
#include "sluice/decode.h"

#include <stddef.h>

#include "sluice/config.h"

/* The lists of ports are strings, because they may contain rule variables. */
struct decode_settings {
    struct decode_options options;
    const char *teredo_ports, *vxlan_ports, *geneve_ports, *gtp_ports;
};

static const char *const strictness[] = { "strict", "permissive", NULL };

const struct setting decode_settings[] = {
    { .name = "decoder.max-layers",
      SETTING_FIELD(decode_settings, options.max_layers),
      .type = SETTING_NUMBER,
      .default_value = "16",
      .low = 1,
      .high = 16,
      .help = "Maximum number of headers decoded in one packet, with all its tunnels" },
    { .name = "decoder.teredo.enabled",
      SETTING_FIELD(decode_settings, options.teredo_enabled),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Decode Teredo" },
    { .name = "decoder.teredo.ports",
      SETTING_FIELD(decode_settings, teredo_ports),
      .type = SETTING_VARIABLE,
      .default_value = "$TEREDO_PORTS",
      .help = "UDP ports of Teredo: numbers, a port variable or any" },
    { .name = "decoder.vxlan.enabled",
      SETTING_FIELD(decode_settings, options.vxlan_enabled),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Decode VXLAN" },
    { .name = "decoder.vxlan.ports",
      SETTING_FIELD(decode_settings, vxlan_ports),
      .type = SETTING_VARIABLE,
      .default_value = "$VXLAN_PORTS",
      .help = "UDP ports of VXLAN: numbers, a port variable or any" },
    { .name = "decoder.vxlan.reserved-bits-check",
      SETTING_FIELD(decode_settings, options.vxlan_permissive),
      .type = SETTING_ENUM,
      .default_value = "permissive",
      .choices = strictness,
      .help =
          "Treatment of VXLAN with reserved bits set: permissive (decoded, as receivers ignore these bits) or strict "
          "(inspected as plain UDP)" },
    { .name = "decoder.geneve.enabled",
      SETTING_FIELD(decode_settings, options.geneve_enabled),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Decode GENEVE" },
    { .name = "decoder.geneve.ports",
      SETTING_FIELD(decode_settings, geneve_ports),
      .type = SETTING_VARIABLE,
      .default_value = "$GENEVE_PORTS",
      .help = "UDP ports of GENEVE: numbers, a port variable or any" },
    { .name = "decoder.gtp.enabled",
      SETTING_FIELD(decode_settings, options.gtp_enabled),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Decode GTP-U, the tunnel of mobile networks" },
    { .name = "decoder.gtp.ports",
      SETTING_FIELD(decode_settings, gtp_ports),
      .type = SETTING_VARIABLE,
      .default_value = "$GTP_PORTS",
      .help = "UDP ports of GTP-U: numbers, a port variable or any" },
    { .name = "decoder.erspan-type1",
      SETTING_FIELD(decode_settings, options.erspan_type1),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Decode ERSPAN type I, which has no ERSPAN header" },
    { .name = NULL },
};

static int read_ports(const struct config *config, const char *name, const char *value, struct decode_ports *out,
                      struct diag *diag)
{
    *out = (struct decode_ports){ .any = false };
    int count = config_ports(config, name, value, out->port, DECODE_MAX_PORTS, &out->any, diag);

    if (count < 0)
        return count;
    out->count = (uint8_t)count;
    return 0;
}

int decode_options_read(const struct config *config, struct decode_options *out, struct diag *diag)
{
    struct decode_settings settings = { .teredo_ports = NULL };
    int errors[4];

    config_fill(config, decode_settings, NULL, &settings);
    *out = settings.options;
    errors[0] = read_ports(config, "decoder.teredo.ports", settings.teredo_ports, &out->teredo, diag);
    errors[1] = read_ports(config, "decoder.vxlan.ports", settings.vxlan_ports, &out->vxlan, diag);
    errors[2] = read_ports(config, "decoder.geneve.ports", settings.geneve_ports, &out->geneve, diag);
    errors[3] = read_ports(config, "decoder.gtp.ports", settings.gtp_ports, &out->gtp, diag);
    return errors[0] ? errors[0] : errors[1] ? errors[1] : errors[2] ? errors[2] : errors[3];
}
