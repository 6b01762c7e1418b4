/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SSH in EVE events. */
#include "ssh_priv.h"

static void log_side(const struct ssh_side *side, const char *key, struct fields *out)
{
    if (side->proto_length == 0)
        return;
    fields_object_open(out, key);
    fields_bytes(out, "proto_version", side->banner.bytes, side->proto_length);
    if (side->has_software)
        fields_bytes(out, "software_version", side->banner.bytes + side->software_at, side->software_length);
    if (side->hassh_string.length) {
        fields_object_open(out, "hassh");
        fields_bytes(out, "hash", side->hassh, SSH_HASSH);
        fields_bytes(out, "string", side->hassh_string.bytes, side->hassh_string.length);
        fields_object_close(out);
    }
    fields_object_close(out);
}

void ssh_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct ssh_tx *ssh = (const struct ssh_tx *)tx;

    (void)settings;
    log_side(&ssh->side[FLOW_TO_SERVER], "client", out);
    log_side(&ssh->side[FLOW_TO_CLIENT], "server", out);
}

/* With HASSH enabled, the event waits until both directions are finished: both fingerprints are known then. */
bool ssh_wants_log(const struct app_tx *tx, const void *settings)
{
    const struct ssh_tx *ssh = (const struct ssh_tx *)tx;
    const struct ssh_settings *log_settings = settings;
    bool banner = ssh->side[FLOW_TO_SERVER].proto_length || ssh->side[FLOW_TO_CLIENT].proto_length;

    if (!banner || (log_settings && log_settings->hassh == SETTING_NO))
        return banner;
    return tx->progress[FLOW_TO_SERVER] >= SSH_FINISHED && tx->progress[FLOW_TO_CLIENT] >= SSH_FINISHED;
}
