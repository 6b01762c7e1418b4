/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits, and the transactions that are logged. */
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

#define SMB_SIZE(path, value, text)                                                                                    \
    {                                                                                                                  \
        .name = "app-layer.protocols.smb." path, .type = SETTING_SIZE, .default_value = value, .high = 1 << 30,        \
        .help = text                                                                                                   \
    }
#define SMB_COUNT(path, value, least, most, text)                                                                      \
    {                                                                                                                  \
        .name = "app-layer.protocols.smb." path, .type = SETTING_NUMBER, .default_value = value, .low = least,         \
        .high = most, .help = text                                                                                     \
    }

const struct setting smb_setting_rows[] = {
    SMB_SIZE("max-read-size", "16mb", "Maximum size of one read, in bytes; 0: unlimited"),
    SMB_SIZE("max-write-size", "16mb", "Maximum size of one write, in bytes; 0: unlimited"),
    SMB_SIZE("max-read-queue-size", "64mb",
             "Maximum size of queued out-of-order data of a file being read, in bytes; 0: unlimited"),
    SMB_SIZE("max-write-queue-size", "64mb",
             "Maximum size of queued out-of-order data of a file being written, in bytes; 0: unlimited"),
    SMB_COUNT("max-read-queue-cnt", "64", 0, 65536,
              "Maximum number of queued out-of-order chunks of a file being read; 0: unlimited"),
    SMB_COUNT("max-write-queue-cnt", "64", 0, 65536,
              "Maximum number of queued out-of-order chunks of a file being written; 0: unlimited"),
    SMB_COUNT("max-tx", "1024", 1, 4096,
              "Maximum number of transactions without a response; beyond it the connection is no longer parsed"),
    SMB_COUNT("max-guid-cache-size", "1024", 1, 65536, "Maximum number of names of open files stored per connection"),
    SMB_COUNT("max-rec-offset-cache-size", "128", 1, 65536,
              "Maximum number of reads without a response stored per connection"),
    SMB_COUNT("max-tree-cache-size", "512", 1, 65536, "Maximum number of tree connects stored per connection"),
    SMB_COUNT("max-dcerpc-frag-cache-size", "128", 1, 65536,
              "Maximum number of DCE/RPC fragments per connection that are reassembled at the same time"),
    SMB_COUNT("max-session-cache-size", "512", 1, 65536,
              "Maximum number of create and close requests without a response stored per connection"),
    { .name = "eve.types.smb", .type = SETTING_SECTION, .help = "Event type smb: an SMB command with its response" },
    { .name = "eve.types.smb.types",
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

static void read_log_kinds(struct smb_settings *settings, const struct config *config)
{
    size_t count = config_list_count(config, "eve.types.smb.types");

    for (unsigned kind = 0; kind < SMB_KINDS; kind++) {
        settings->logs[kind] = count == 0;
        for (size_t i = 0; i < count; i++)
            if (strcmp(config_list_get(config, "eve.types.smb.types", i), kinds[kind]) == 0)
                settings->logs[kind] = true;
    }
}

static uint32_t get_number(const struct config *config, const char *name)
{
    return (uint32_t)config_number(config, name);
}

int smb_configure(const struct config *config, struct diag *diag, void **out)
{
    struct smb_settings *settings = calloc(1, sizeof(*settings));

    (void)diag;
    if (!settings)
        return -ENOMEM;
    settings->max_read_size = get_number(config, "app-layer.protocols.smb.max-read-size");
    settings->max_write_size = get_number(config, "app-layer.protocols.smb.max-write-size");
    settings->max_read_queue_size = get_number(config, "app-layer.protocols.smb.max-read-queue-size");
    settings->max_write_queue_size = get_number(config, "app-layer.protocols.smb.max-write-queue-size");
    settings->max_read_queue_count = get_number(config, "app-layer.protocols.smb.max-read-queue-cnt");
    settings->max_write_queue_count = get_number(config, "app-layer.protocols.smb.max-write-queue-cnt");
    settings->max_tx = get_number(config, "app-layer.protocols.smb.max-tx");
    settings->max_names = get_number(config, "app-layer.protocols.smb.max-guid-cache-size");
    settings->max_reads = get_number(config, "app-layer.protocols.smb.max-rec-offset-cache-size");
    settings->max_trees = get_number(config, "app-layer.protocols.smb.max-tree-cache-size");
    settings->max_fragments = get_number(config, "app-layer.protocols.smb.max-dcerpc-frag-cache-size");
    settings->max_pending = get_number(config, "app-layer.protocols.smb.max-session-cache-size");
    read_log_kinds(settings, config);
    *out = settings;
    return 0;
}

void smb_unconfigure(void *settings)
{
    free(settings);
}
