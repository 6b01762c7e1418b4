/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counters of struct detect_counters, by their names in statistics. */
#include <stddef.h>

#include "sluice/detect.h"

static const struct {
    const char *name;
    size_t offset;
} rows[] = {
#define ROW(name, member)                                                                                              \
    {                                                                                                                  \
        name, offsetof(struct detect_counters, member)                                                                 \
    }
    ROW("detect.scans", scans),
    ROW("detect.bytes_scanned", bytes_scanned),
    ROW("detect.candidates", candidates),
    ROW("detect.evaluations", evaluations),
    ROW("detect.waiting", waiting),
    ROW("detect.flow_memcap", flow_memcap_hits),
    ROW("detect.pcre_limits", pcre_limits),
    ROW("detect.step_limits", step_limits),
    ROW("detect.transform_limits", transform_limits),
    ROW("detect.limit_matches", limit_matches),
    ROW("detect.lua.errors", scripts.failed),
    ROW("detect.lua.blocked_function_errors", scripts.errors[SCRIPT_ERROR_FUNCTION]),
    ROW("detect.lua.instruction_limit_errors", scripts.errors[SCRIPT_ERROR_INSTRUCTIONS]),
    ROW("detect.lua.memory_limit_errors", scripts.errors[SCRIPT_ERROR_MEMORY]),
    ROW("detect.lua_calls", scripts.calls),
    ROW("detect.lua_messages_lost", scripts.lost),
#undef ROW
};

const char *detect_counter_get(const struct detect_counters *counters, size_t index, uint64_t *value)
{
    if (index >= sizeof(rows) / sizeof(rows[0]))
        return NULL;
    *value = *(const uint64_t *)((const char *)counters + rows[index].offset);
    return rows[index].name;
}
