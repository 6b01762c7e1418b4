/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Log lines for the terminal or journald. Only the command line, the supervisor and the engine write log lines; modules
 * return errors. Lines are written to stderr: with priority prefixes (<3> ...) when stderr is connected to journald
 * (JOURNAL_STREAM), coloured on a terminal.
 */
#ifndef SLUICE_LOG_H
#define SLUICE_LOG_H

#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_NOTICE, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...) log_write(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* Suppresses lines that are less severe than `level`; the default is LOG_LEVEL_INFO. */
void log_set_level(enum log_level level);

#endif
