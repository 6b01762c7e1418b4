/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings of packets in capture files, with the names of pcap-log in suricata.yaml. */
#include "output_priv.h"

#include <stddef.h>
#include <string.h>

#include "sluice/config.h"

static const char *const conditions[] = { "all", "alerts", "tag", NULL };
static const char *const compressions[] = { "none", "zstd", "lz4", NULL };
static const char *const modes[] = { "normal", "multi", NULL };

/* Variables must be separate numbers, because the names of existing files are read with the same template. */
static const char *check_name(const char *value)
{
    for (const char *at = value; (at = strchr(at, '%')); at += 2)
        if (!at[1] || !strchr("nit", at[1]) || at[2] == '%' || (at[2] >= '0' && at[2] <= '9'))
            return "a name in which % is followed by n, i or t, and the variable by no digit or other variable";
    return value[0] && !strchr(value, '/') ? NULL : "a name without /";
}

const struct setting pcap_log_settings[] = {
    { .name = "pcap-log.enabled",
      SETTING_FIELD(pcap_log_options, enabled),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Write packets to capture files; alerts then name the file of their packet (capture_file)" },
    { .name = "pcap-log.dir",
      SETTING_FIELD(pcap_log_options, dir),
      .type = SETTING_STRING,
      .help = "Folder of the capture files, relative to log-dir or absolute. Unset: log-dir" },
    { .name = "pcap-log.filename",
      SETTING_FIELD(pcap_log_options, filename),
      .type = SETTING_STRING,
      .default_value = "log.pcap",
      .check = check_name,
      .help =
          "Name of the capture files. %t is the second since 1970 in which a file begins, %n the number of the "
          "worker from 0 and %i its thread id in mode multi (0 in mode normal). A name without %t gets .%t appended "
          "(log.pcap.1764241234); in mode multi, a name without %n and %i gets .%n before" },
    { .name = "pcap-log.mode",
      SETTING_FIELD(pcap_log_options, mode),
      .type = SETTING_ENUM,
      .default_value = "normal",
      .choices = modes,
      .help = "Write the packets of all workers to one file (normal), or those of each worker to a separate file "
              "(multi); limit and max-files then apply to each worker" },
    { .name = "pcap-log.limit",
      SETTING_FIELD(pcap_log_options, limit),
      .type = SETTING_SIZE,
      .default_value = "1000 MiB",
      .high = INT64_C(1) << 44,
      .help = "Maximum size of a capture file, before compression, in bytes; then the next file begins. 0: no limit" },
    { .name = "pcap-log.max-files",
      SETTING_FIELD(pcap_log_options, max_files),
      .type = SETTING_NUMBER,
      .default_value = "2000",
      .high = 100000,
      .help = "Number of capture files to keep, including those of earlier runs; the oldest are removed; 0: keep all" },
    { .name = "pcap-log.conditional",
      SETTING_FIELD(pcap_log_options, conditional),
      .type = SETTING_ENUM,
      .default_value = "all",
      .choices = conditions,
      .help = "Packets to write: all that are inspected; packets with alerts and the later packets of their flows "
              "(alerts); packets with alerts of rules with the keyword tag, and those that it selects (tag)" },
    { .name = "pcap-log.compression",
      SETTING_FIELD(pcap_log_options, compression),
      .type = SETTING_ENUM,
      .default_value = "none",
      .choices = compressions,
      .help = "Compression of the files; zstd appends .zst to their names, lz4 appends .lz4" },
    { .name = "pcap-log.lz4-level",
      SETTING_FIELD(pcap_log_options, lz4_level),
      .type = SETTING_NUMBER,
      .default_value = "0",
      .high = 16,
      .help = "Level of LZ4: 0 to 2 fast compression, 3 to 16 smaller files for more CPU time" },
    { .name = "pcap-log.lz4-checksum",
      SETTING_FIELD(pcap_log_options, lz4_checksum),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Append a checksum of the packets to LZ4 files" },
    { .name = "pcap-log.buffer-size",
      SETTING_FIELD(pcap_log_options, buffer_size),
      .type = SETTING_SIZE,
      .default_value = "16 MiB",
      .low = 1 << 20,
      .high = INT64_C(1) << 30,
      .help = "Memory per worker for packets that are not written yet; when it is full, packets are not written, and "
              "counted (pcap_log.lost)" },
    { .name = NULL },
};
