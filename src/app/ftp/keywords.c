/* SPDX-License-Identifier: GPL-2.0-or-later */
/* FTP keywords. */
#include <errno.h>
#include <string.h>

#include "ftp_priv.h"
#include "sluice/arena.h"
#include "sluice/number_range.h"

static const char *const applications[] = { "ftp", NULL };
static const char *const data_applications[] = { "ftp-data", NULL };

static const struct ftp_tx *get_ftp_tx(const struct app_tx *tx)
{
    return (const struct ftp_tx *)tx;
}

/* --- Buffers ----------------------------------------------------------------------------------------- */

/* Sets *out to an interpretation of the command line: `index` 0 is the line as sent, 1 the line as servers with Telnet
 * interpret it. Returns false if there is no such interpretation: for index 1 if the two are equal. */
static bool get_command_line(const struct ftp_tx *ftp, unsigned index, struct app_bytes *out, uint32_t *command_length,
                             uint32_t *argument_at)
{
    const struct buffer *line = index == 0 ? &ftp->request : &ftp->telnet;

    if (index > 1 || line->length == 0)
        return false;
    *out = (struct app_bytes){ .bytes = line->bytes, .length = line->length };
    *command_length = index == 0 ? ftp->command_length : ftp->telnet_command_length;
    *argument_at = index == 0 ? ftp->argument_at : ftp->telnet_argument_at;
    return true;
}

static bool get_command(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    uint32_t argument_at;

    return get_command_line(get_ftp_tx(tx), which.index, out, &out->length, &argument_at);
}

static bool get_command_data(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct ftp_tx *ftp = get_ftp_tx(tx);
    uint32_t command_length, argument_at;

    /* The buffers are numbered without gaps: if the line as sent has no argument, the argument in the interpretation of
     * servers with Telnet is number 0. */
    if (which.index == 0 && ftp->argument_at >= ftp->request.length)
        which.index = 1;
    else if (which.index == 1 && ftp->argument_at >= ftp->request.length)
        return false;
    if (!get_command_line(ftp, which.index, out, &command_length, &argument_at) || argument_at >= out->length)
        return false;
    out->bytes += argument_at;
    out->length -= argument_at;
    return true;
}

static bool get_reply(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    static const uint8_t nothing[1];
    const struct ftp_tx *ftp = get_ftp_tx(tx);

    if (which.index >= ftp->reply_count)
        return false;
    *out = (struct app_bytes){ .bytes = ftp->replies.bytes ? ftp->replies.bytes + ftp->reply[which.index].at : nothing,
                               .length = ftp->reply[which.index].length };
    return true;
}

/* The buffer of a line without a code is empty, so that code and text of a line have the same index. */
static bool get_code(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct ftp_tx *ftp = get_ftp_tx(tx);

    if (which.index >= ftp->reply_count)
        return false;
    *out =
        (struct app_bytes){ .bytes = ftp->reply[which.index].code, .length = ftp->reply[which.index].has_code ? 3 : 0 };
    return true;
}

const struct keyword keyword_ftp_command = {
    .name = "ftp.command",
    .help = "command of an FTP client as sent: RETR",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_TO_SERVER },
};

const struct keyword keyword_ftp_command_data = {
    .name = "ftp.command_data",
    .help = "argument of an FTP command",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_TO_SERVER },
};

const struct keyword keyword_ftp_reply = {
    .name = "ftp.reply",
    .help = "line of an FTP reply, without the code",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_TO_CLIENT },
};

const struct keyword keyword_ftp_completion_code = {
    .name = "ftp.completion_code",
    .help = "code of an FTP reply line: 230",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_TO_CLIENT },
};

const struct app_buffer ftp_buffers[FTP_BUFFERS] = {
    { &keyword_ftp_command, APP_TO_SERVER, FTP_COMPLETE, .get = get_command },
    { &keyword_ftp_command_data, APP_TO_SERVER, FTP_COMPLETE, .get = get_command_data },
    { &keyword_ftp_reply, APP_TO_CLIENT, FTP_COMPLETE, .get = get_reply },
    { &keyword_ftp_completion_code, APP_TO_CLIENT, FTP_COMPLETE, .get = get_code },
};

/* --- Conditions -------------------------------------------------------------------------------------- */

static int add_flag_condition(struct rule_parser *parser, bool flag)
{
    bool *copy = arena_alloc(rule_parser_arena(parser), sizeof(*copy));

    if (!copy)
        return -ENOMEM;
    *copy = flag;
    return rule_parser_add_transaction_condition(parser, copy, false);
}

static bool ftp_mode_match(const struct match_input *in, const void *data)
{
    const bool *active = data;

    return get_ftp_tx(in->transaction)->dynamic_port != 0 && get_ftp_tx(in->transaction)->active == *active;
}

static int ftp_mode_parse(struct rule_parser *parser, struct span value)
{
    if (!span_equal(value, "active") && !span_equal(value, "passive"))
        return rule_parser_error(parser, value, "expected active or passive, got '" SPAN_FORMAT "'", SPAN_ARGS(value));
    return add_flag_condition(parser, span_equal(value, "active"));
}

const struct keyword keyword_ftp_mode = {
    .name = "ftp.mode",
    .value = "active or passive",
    .help = "whether the negotiated data port is at the client (active) or at the server (passive)",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = ftp_mode_parse,
    .transaction = { .match = ftp_mode_match },
};

static bool ftp_dynamic_port_match(const struct match_input *in, const void *data)
{
    return get_ftp_tx(in->transaction)->dynamic_port != 0 &&
           number_range_has(data, get_ftp_tx(in->transaction)->dynamic_port);
}

static int ftp_dynamic_port_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT16_MAX, NULL);
}

const struct keyword keyword_ftp_dynamic_port = {
    .name = "ftp.dynamic_port",
    .value = NUMBER_RANGE_FORM,
    .help = "negotiated port of an FTP data connection",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = ftp_dynamic_port_parse,
    .transaction = { .match = ftp_dynamic_port_match },
};

static bool ftp_reply_received_match(const struct match_input *in, const void *data)
{
    const bool *received = data;

    return get_ftp_tx(in->transaction)->request.length > 0 && get_ftp_tx(in->transaction)->done == *received;
}

static int ftp_reply_received_parse(struct rule_parser *parser, struct span value)
{
    static const char *const yes[] = { "yes", "on", "true", "1" }, *const no[] = { "no", "off", "false", "0" };

    for (unsigned i = 0; i < 4; i++) {
        if (span_equal_nocase(value, yes[i]))
            return add_flag_condition(parser, true);
        if (span_equal_nocase(value, no[i]))
            return add_flag_condition(parser, false);
    }
    return rule_parser_error(parser, value, "expected yes or no, got '" SPAN_FORMAT "'", SPAN_ARGS(value));
}

const struct keyword keyword_ftp_reply_received = {
    .name = "ftp.reply_received",
    .value = "yes or no",
    .help = "whether an FTP command was answered; evaluated at the reply or at the end of the connection",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_TO_CLIENT },
    .parse = ftp_reply_received_parse,
    .transaction = { .match = ftp_reply_received_match },
};

static bool ftpbounce_match(const struct match_input *in, const void *data)
{
    (void)data;
    return get_ftp_tx(in->transaction)->is_bounce;
}

static int ftpbounce_parse(struct rule_parser *parser, struct span value)
{
    (void)value;
    return rule_parser_add_transaction_condition(parser, NULL, false);
}

const struct keyword keyword_ftpbounce = {
    .name = "ftpbounce",
    .help = "PORT or EPRT command with an address other than the client's",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_NO_VALUE,
    .scope = { applications, APP_TO_SERVER },
    .parse = ftpbounce_parse,
    .transaction = { .match = ftpbounce_match },
};

const struct app_condition ftp_conditions[FTP_CONDITIONS] = {
    { &keyword_ftpbounce, APP_TO_SERVER, FTP_COMPLETE },
    { &keyword_ftp_mode, APP_BOTH, FTP_COMPLETE },
    { &keyword_ftp_dynamic_port, APP_BOTH, FTP_COMPLETE },
    { &keyword_ftp_reply_received, APP_TO_CLIENT, FTP_COMPLETE },
};

/* --- Data connections -------------------------------------------------------------------------------- */

static bool ftpdata_command_match(const struct match_input *in, const void *data)
{
    const enum ftp_command *command = data;

    return ((const struct ftp_data_tx *)in->transaction)->command == *command;
}

static int ftpdata_command_parse(struct rule_parser *parser, struct span value)
{
    enum ftp_command *copy = arena_alloc(rule_parser_arena(parser), sizeof(*copy));

    if (!copy)
        return -ENOMEM;
    *copy = ftp_command_find((const uint8_t *)value.at, (uint32_t)value.length);
    if (!ftp_transfers_data(*copy))
        return rule_parser_error(parser, value,
                                 "expected retr, stor, appe, stou, list, nlst or mlsd, got '" SPAN_FORMAT "'",
                                 SPAN_ARGS(value));
    return rule_parser_add_transaction_condition(parser, copy, false);
}

const struct keyword keyword_ftpdata_command = {
    .name = "ftpdata_command",
    .aliases = { "ftpdata.command" },
    .value = "retr, stor, appe, stou, list, nlst or mlsd",
    .help = "FTP command that opened the data connection",
    .kind = KEYWORD_TRANSACTION,
    .scope = { data_applications, APP_BOTH },
    .parse = ftpdata_command_parse,
    .transaction = { .match = ftpdata_command_match },
};

const struct app_condition ftp_data_conditions[FTP_DATA_CONDITIONS] = {
    { &keyword_ftpdata_command, APP_BOTH, 0 },
};
