/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One write per line, so that lines of several threads do not mix. The level is the only process-wide setting of
 * Sluice: it belongs to stderr, which is process-wide, too.
 */
#include "sluice/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_int highest_level = LOG_LEVEL_INFO;

static const struct {
    const char *journal; /* sd-daemon(3) prefix */
    const char *word;
    const char *colour;
} levels[] = {
    [LOG_LEVEL_ERROR] = { "<3>", "error: ", "\033[1;31m" }, [LOG_LEVEL_WARNING] = { "<4>", "warning: ", "\033[1;33m" },
    [LOG_LEVEL_NOTICE] = { "<5>", "", "\033[1m" },          [LOG_LEVEL_INFO] = { "<6>", "", "" },
    [LOG_LEVEL_DEBUG] = { "<7>", "debug: ", "\033[2m" },
};

void log_set_level(enum log_level level)
{
    atomic_store(&highest_level, (int)level);
}

void log_write(enum log_level level, const char *format, ...)
{
    char line[2048];
    bool journal = getenv("JOURNAL_STREAM") != NULL;
    bool colour = !journal && isatty(STDERR_FILENO) && !getenv("NO_COLOR");
    va_list args;

    if ((int)level > atomic_load(&highest_level))
        return;

    int used =
        snprintf(line, sizeof(line), "%s%s%s",
                 journal ? levels[level].journal : "sluice: ", colour ? levels[level].colour : "", levels[level].word);

    va_start(args, format);
    int more = vsnprintf(line + used, sizeof(line) - (size_t)used - 8, format, args);
    va_end(args);
    if (more < 0)
        return;
    used += more < (int)sizeof(line) - used - 8 ? more : (int)sizeof(line) - used - 9;
    used += snprintf(line + used, sizeof(line) - (size_t)used, "%s\n", colour ? "\033[0m" : "");
    if (write(STDERR_FILENO, line, (size_t)used) < 0)
        return; /* stderr failed: there is no other place to report it */
}
