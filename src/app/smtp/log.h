/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of SMTP, and values for scripts. */
#ifndef SMTP_LOG_H
#define SMTP_LOG_H

#include "mime.h"
#include "sluice/app.h"

struct app_script_value;
struct smtp_settings;

void smtp_log(const struct app_tx *tx, const void *settings, struct fields *out);
void smtp_log_email(const struct app_tx *tx, const void *settings, struct fields *out);
bool smtp_script_value(const struct app_tx *tx, const char *name, enum flow_direction direction, unsigned index,
                       struct app_script_value *out); /* script.c */
/* Logs the object `email`. `mime` NULL: nothing. */
void smtp_log_message(const struct mime *mime, const struct file_list *files, const struct smtp_settings *settings,
                      struct fields *out);
/* Returns the bit in smtp_settings.log_fields of a name in eve.types.smtp.custom, or 0 if it is unknown. */
uint32_t smtp_log_field(const char *name);

#endif
