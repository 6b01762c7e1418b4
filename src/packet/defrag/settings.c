/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings of the reassembly of IP fragments. */
#include "sluice/defrag.h"

#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"

const struct setting defrag_settings[] = {
    { .name = "defrag.memcap",
      SETTING_FIELD(defrag_options, memcap),
      .type = SETTING_SIZE,
      .default_value = "32 MiB",
      .low = 65536,
      .high = INT64_C(1) << 40,
      .help = "Fragment memory, divided between the workers; if eviction is not enough, defrag.memcap-policy decides" },
    { .name = "defrag.timeout",
      SETTING_FIELD(defrag_options, timeout_seconds),
      .type = SETTING_NUMBER,
      .default_value = "60",
      .low = 1,
      .high = 86400,
      .help = "Seconds after its last fragment until an incomplete datagram expires" },
    { .name = NULL },
};
