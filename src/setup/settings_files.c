/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings of files that protocols transfer: digests, types, and the file store. */
#include "setup_priv.h"

#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"

static const char no_effect[] = "has no effect yet";
static const char *const file_digests[] = { "md5", "sha1", "sha256", NULL };

const struct setting file_settings[] = {
    { .name = "file-store",
      SETTING_FIELD(file_store_settings, store_section),
      .type = SETTING_SECTION,
      .help = "Store files on disk: those that rules with filestore match, or all (file-store.force-filestore)" },
    { .name = "file-store.enabled",
      SETTING_FIELD(file_store_settings, store_enabled),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Store files" },
    { .name = "file-store.dir",
      SETTING_FIELD(file_store_settings, store_dir),
      .type = SETTING_STRING,
      .default_value = "filestore",
      .help = "Folder of the stored files, relative to log-dir or absolute" },
    { .name = "file-store.force-filestore",
      SETTING_FIELD(file_store_settings, store_all),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Store all files, not only those of rules with filestore" },
    { .name = "file-store.force-magic",
      SETTING_FIELD(file_store_settings, store_magic),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Determine the type of every stored file by libmagic" },
    { .name = "file-store.force-hash",
      SETTING_FIELD(file_store_settings, store_digests),
      .type = SETTING_LIST,
      .choices = file_digests,
      .help = "Digests to compute for every file; SHA-256 is always computed for files that may be stored" },
    { .name = "file-store.stream-depth",
      SETTING_FIELD(file_store_settings, stream_depth),
      .type = SETTING_SIZE,
      .low = 0,
      .high = INT64_C(1) << 40,
      .help = "Raise stream.depth to this value, so that larger files are stored whole; a smaller value, or 0, changes "
              "nothing" },
    { .name = "file-store.max-file-size",
      SETTING_FIELD(file_store_settings, store_limit),
      .type = SETTING_SIZE,
      .default_value = "0",
      .low = 0,
      .high = INT64_C(1) << 40,
      .help = "Maximum size of stored files; 0: unlimited" },
    { .name = "file-store.version",
      .type = SETTING_NUMBER,
      .low = 2,
      .high = 2,
      .help = "Version of the folder layout; only 2 is supported" },
    { .name = "file-store.write-fileinfo", .type = SETTING_BOOL, .warning = no_effect, .help = no_effect },
    { .name = "file-store.max-open-files", .type = SETTING_NUMBER, .warning = no_effect, .help = no_effect },
    { .name = "eve.types.files.force-magic",
      SETTING_FIELD(file_store_settings, event_magic),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Determine the type of every file by libmagic, not only for rules that need it; slow" },
    { .name = "eve.types.files.force-hash",
      SETTING_FIELD(file_store_settings, event_digests),
      .type = SETTING_LIST,
      .choices = file_digests,
      .help = "Digests to compute for every file, not only for rules that need them" },
    { .name = NULL },
};
