/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings: limits, and the kinds of transactions that are logged. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "smb_priv.h"

static const char *const kinds[] = {
    [SMB_GENERIC] = "generic",
    [SMB_NEGOTIATE] = "negotiate",
    [SMB_SESSION_SETUP] = "session_setup",
    [SMB_TREE_CONNECT] = "tree_connect",
    [SMB_CREATE] = "create",
    [SMB_FILE] = "file",
    [SMB_DCERPC] = "dcerpc",
    [SMB_IOCTL] = "ioctl",
    [SMB_RENAME] = "rename",
    [SMB_SET_INFO] = "set_file_path_info",
    [SMB_KINDS] = NULL,
};

const struct setting smb_setting_rows[] = {
    { .name = "app-layer.protocols.smb.max-read-size",
      SETTING_FIELD(smb_settings, max_read_size),
      .type = SETTING_SIZE,
      .default_value = "16mb",
      .high = 1 << 30,
      .help = "Maximum size of one read, in bytes; 0: unlimited" },
    { .name = "app-layer.protocols.smb.max-write-size",
      SETTING_FIELD(smb_settings, max_write_size),
      .type = SETTING_SIZE,
      .default_value = "16mb",
      .high = 1 << 30,
      .help = "Maximum size of one write, in bytes; 0: unlimited" },
    { .name = "app-layer.protocols.smb.max-read-queue-size",
      SETTING_FIELD(smb_settings, max_read_queue_size),
      .type = SETTING_SIZE,
      .default_value = "64mb",
      .high = 1 << 30,
      .help = "Maximum size of queued out-of-order data of a file being read, in bytes; 0: unlimited" },
    { .name = "app-layer.protocols.smb.max-write-queue-size",
      SETTING_FIELD(smb_settings, max_write_queue_size),
      .type = SETTING_SIZE,
      .default_value = "64mb",
      .high = 1 << 30,
      .help = "Maximum size of queued out-of-order data of a file being written, in bytes; 0: unlimited" },
    { .name = "app-layer.protocols.smb.max-read-queue-cnt",
      SETTING_FIELD(smb_settings, max_read_queue_count),
      .type = SETTING_NUMBER,
      .default_value = "64",
      .high = 65536,
      .help = "Maximum number of queued out-of-order chunks of a file being read; 0: unlimited" },
    { .name = "app-layer.protocols.smb.max-write-queue-cnt",
      SETTING_FIELD(smb_settings, max_write_queue_count),
      .type = SETTING_NUMBER,
      .default_value = "64",
      .high = 65536,
      .help = "Maximum number of queued out-of-order chunks of a file being written; 0: unlimited" },
    { .name = "app-layer.protocols.smb.max-tx",
      SETTING_FIELD(smb_settings, max_tx),
      .type = SETTING_NUMBER,
      .default_value = "1024",
      .low = 1,
      .high = 4096,
      .help = "Maximum number of transactions without a response; beyond it the connection is no longer parsed" },
    { .name = "app-layer.protocols.smb.max-guid-cache-size",
      SETTING_FIELD(smb_settings, max_names),
      .type = SETTING_NUMBER,
      .default_value = "1024",
      .low = 1,
      .high = 65536,
      .help = "Maximum number of names of open files stored per connection" },
    { .name = "app-layer.protocols.smb.max-rec-offset-cache-size",
      SETTING_FIELD(smb_settings, max_reads),
      .type = SETTING_NUMBER,
      .default_value = "128",
      .low = 1,
      .high = 65536,
      .help = "Maximum number of reads without a response stored per connection" },
    { .name = "app-layer.protocols.smb.max-tree-cache-size",
      SETTING_FIELD(smb_settings, max_trees),
      .type = SETTING_NUMBER,
      .default_value = "512",
      .low = 1,
      .high = 65536,
      .help = "Maximum number of tree connects stored per connection" },
    { .name = "app-layer.protocols.smb.max-dcerpc-frag-cache-size",
      SETTING_FIELD(smb_settings, max_fragments),
      .type = SETTING_NUMBER,
      .default_value = "128",
      .low = 1,
      .high = 65536,
      .help = "Maximum number of DCE/RPC fragments per connection that are reassembled at the same time" },
    { .name = "app-layer.protocols.smb.max-session-cache-size",
      SETTING_FIELD(smb_settings, max_pending),
      .type = SETTING_NUMBER,
      .default_value = "512",
      .low = 1,
      .high = 65536,
      .help = "Maximum number of create and close requests without a response stored per connection" },
    { .name = "eve.types.smb", .type = SETTING_SECTION, .help = "Event type smb: an SMB command with its response" },
    { .name = "eve.types.smb.types",
      SETTING_FIELD(smb_settings, types),
      .type = SETTING_LIST,
      .choices = kinds,
      .help = "Log only these kinds of transactions; unset: all" },
    { .name = NULL },
};

int smb_configure(const struct config *config, void *data)
{
    struct smb_settings *settings = data;

    (void)config;
    for (unsigned kind = 0; kind < SMB_KINDS; kind++) {
        settings->logs[kind] = !*settings->types;
        for (const char *const *type = settings->types; *type; type++)
            if (strcmp(*type, kinds[kind]) == 0)
                settings->logs[kind] = true;
    }
    return 0;
}
