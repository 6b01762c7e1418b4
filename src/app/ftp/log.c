/* SPDX-License-Identifier: GPL-2.0-or-later */
/* FTP in EVE events. */
#include "ftp_priv.h"

static void log_completion_codes(const struct ftp_tx *tx, struct fields *out)
{
    bool open = false;

    for (uint16_t i = 0; i < tx->reply_count; i++) {
        if (!tx->reply[i].has_code)
            continue;
        if (!open)
            fields_array_open(out, "completion_code");
        open = true;
        fields_bytes(out, NULL, tx->reply[i].code, 3);
    }
    if (open)
        fields_array_close(out);
}

static void log_replies(const struct ftp_tx *tx, struct fields *out)
{
    if (tx->reply_count == 0)
        return;
    fields_array_open(out, "reply");
    for (uint16_t i = 0; i < tx->reply_count; i++)
        fields_bytes(out, NULL, tx->reply[i].length ? (const char *)tx->replies.bytes + tx->reply[i].at : "",
                     tx->reply[i].length);
    fields_array_close(out);
}

/* Logs the command in upper case. */
static void log_command(const struct ftp_tx *tx, struct fields *out)
{
    char name[16];
    uint32_t length = tx->command_length < sizeof(name) ? tx->command_length : (uint32_t)sizeof(name);

    if (tx->command == FTP_AUTH_TLS) {
        fields_string(out, "command", "AUTH TLS");
        return;
    }
    for (uint32_t i = 0; i < length; i++) {
        uint8_t c = tx->request.bytes[i];

        name[i] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    }
    fields_bytes(out, "command", name, length);
    if (tx->argument_at < tx->request.length) {
        fields_bytes(out, "command_data", tx->request.bytes + tx->argument_at, tx->request.length - tx->argument_at);
        fields_bool(out, "command_truncated", tx->request_truncated);
    }
}

void ftp_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct ftp_tx *ftp = (const struct ftp_tx *)tx;

    (void)settings;
    if (ftp->request.length)
        log_command(ftp, out);
    log_completion_codes(ftp, out);
    log_replies(ftp, out);
    if (ftp->dynamic_port)
        fields_uint(out, "dynamic_port", ftp->dynamic_port);
    if (ftp->dynamic_port || ftp->command == FTP_PORT || ftp->command == FTP_EPRT)
        fields_string(out, "mode", ftp->active ? "active" : "passive");
    fields_string(out, "reply_received", ftp->done ? "yes" : "no");
    fields_bool(out, "reply_truncated", ftp->reply_truncated);
}

void ftp_data_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct ftp_data_tx *data = (const struct ftp_data_tx *)tx;

    (void)settings;
    if (data->name.length)
        fields_bytes(out, "filename", data->name.bytes, data->name.length);
    fields_string(out, "command", ftp_command_name(data->command));
}
