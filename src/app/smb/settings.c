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

#define SMB_SIZE(path, member, value, text)                                                                            \
    {                                                                                                                  \
        .name = "app-layer.protocols.smb." path, SETTING_FIELD(smb_settings, member), .type = SETTING_SIZE,            \
        .default_value = value, .high = 1 << 30, .help = text                                                          \
    }
#define SMB_COUNT(path, member, value, least, most, text)                                                              \
    {                                                                                                                  \
        .name = "app-layer.protocols.smb." path, SETTING_FIELD(smb_settings, member), .type = SETTING_NUMBER,          \
        .default_value = value, .low = least, .high = most, .help = text                                               \
    }

const struct setting smb_setting_rows[] = {
    SMB_SIZE("max-read-size", max_read_size, "16mb", "Maximum size of one read, in bytes; 0: unlimited"),
    SMB_SIZE("max-write-size", max_write_size, "16mb", "Maximum size of one write, in bytes; 0: unlimited"),
    SMB_SIZE("max-read-queue-size", max_read_queue_size, "64mb",
             "Maximum size of queued out-of-order data of a file being read, in bytes; 0: unlimited"),
    SMB_SIZE("max-write-queue-size", max_write_queue_size, "64mb",
             "Maximum size of queued out-of-order data of a file being written, in bytes; 0: unlimited"),
    SMB_COUNT("max-read-queue-cnt", max_read_queue_count, "64", 0, 65536,
              "Maximum number of queued out-of-order chunks of a file being read; 0: unlimited"),
    SMB_COUNT("max-write-queue-cnt", max_write_queue_count, "64", 0, 65536,
              "Maximum number of queued out-of-order chunks of a file being written; 0: unlimited"),
    SMB_COUNT("max-tx", max_tx, "1024", 1, 4096,
              "Maximum number of transactions without a response; beyond it the connection is no longer parsed"),
    SMB_COUNT("max-guid-cache-size", max_names, "1024", 1, 65536,
              "Maximum number of names of open files stored per connection"),
    SMB_COUNT("max-rec-offset-cache-size", max_reads, "128", 1, 65536,
              "Maximum number of reads without a response stored per connection"),
    SMB_COUNT("max-tree-cache-size", max_trees, "512", 1, 65536,
              "Maximum number of tree connects stored per connection"),
    SMB_COUNT("max-dcerpc-frag-cache-size", max_fragments, "128", 1, 65536,
              "Maximum number of DCE/RPC fragments per connection that are reassembled at the same time"),
    SMB_COUNT("max-session-cache-size", max_pending, "512", 1, 65536,
              "Maximum number of create and close requests without a response stored per connection"),
    { .name = "eve.types.smb", .type = SETTING_SECTION, .help = "Event type smb: an SMB command with its response" },
    { .name = "eve.types.smb.types",
      SETTING_FIELD(smb_settings, types),
      .type = SETTING_LIST,
      .choices = kinds,
      .help = "Log only these kinds of transactions; unset: all" },
    { .name = NULL },
};

static const struct smb_settings defaults = {
    .max_read_size = 16 << 20,
    .max_write_size = 16 << 20,
    .max_read_queue_size = 64 << 20,
    .max_write_queue_size = 64 << 20,
    .max_read_queue_count = 64,
    .max_write_queue_count = 64,
    .max_tx = 1024,
    .max_names = 1024,
    .max_reads = 128,
    .max_trees = 512,
    .max_fragments = 128,
    .max_pending = 512,
};

const struct smb_settings *smb_get_settings(const struct app_context *context)
{
    const struct smb_settings *settings = app_get_settings(context);

    return settings ? settings : &defaults;
}

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
