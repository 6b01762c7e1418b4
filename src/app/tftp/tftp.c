/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TFTP read and write requests (RFC 1350). Each request is a transaction. The server answers from another port, so the
 * file is transferred in another flow, which is not identified as TFTP. Other datagrams of the flow are ignored.
 */
#include <string.h>
#include <strings.h>

#include "sluice/app.h"
#include "sluice/bytes.h"

enum { TFTP_READ = 1, TFTP_WRITE = 2 };
enum { TFTP_COMPLETE = 1 };
enum { NAME_MAX_LENGTH = 512 };

struct tftp_tx {
    struct app_tx tx;
    uint8_t packet;     /* the opcode: TFTP_READ or TFTP_WRITE */
    struct buffer name; /* file name */
    const char *mode;   /* static string in lower case */
};

struct request {
    uint8_t packet; /* the opcode: TFTP_READ or TFTP_WRITE */
    struct cursor name;
    const char *mode;
};

/* Consumes a string up to and including its terminating zero; *out excludes the zero. */
static bool read_string(struct cursor *cur, struct cursor *out)
{
    size_t left = cursor_remaining(cur);
    const uint8_t *text = cursor_peek(cur, left), *end = left > 0 ? memchr(text, 0, left) : NULL;

    if (!end)
        return false;
    *out = cursor_of(text, (size_t)(end - text));
    return cursor_skip(cur, (size_t)(end - text) + 1);
}

static const char *find_mode(struct cursor text)
{
    static const char *const modes[] = { "netascii", "octet", "mail" };
    size_t length = cursor_remaining(&text);
    const uint8_t *bytes = cursor_read(&text, length);

    for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strlen(modes[i]) == length && strncasecmp(modes[i], (const char *)bytes, length) == 0)
            return modes[i];
    return NULL;
}

/* Parses a request without the options after the mode (RFC 2347). Returns false if it is malformed. */
static bool read_request(const uint8_t *bytes, size_t length, struct request *out)
{
    struct cursor cur = cursor_of(bytes, length), mode;
    uint16_t packet;

    if (!cursor_be16(&cur, &packet) || (packet != TFTP_READ && packet != TFTP_WRITE) ||
        !read_string(&cur, &out->name) || !read_string(&cur, &mode))
        return false;
    out->packet = (uint8_t)packet;
    out->mode = find_mode(mode);
    return out->mode != NULL;
}

static bool add_request(struct app_context *context, const struct request *request)
{
    struct cursor name = request->name;
    size_t left = cursor_remaining(&name), length = left < NAME_MAX_LENGTH ? left : NAME_MAX_LENGTH;
    struct tftp_tx *tx = (struct tftp_tx *)app_tx_new(context);

    if (!tx)
        return false;
    tx->tx.directions = APP_TO_SERVER;
    tx->packet = request->packet;
    tx->mode = request->mode;
    app_tx_advance(&tx->tx, FLOW_TO_SERVER, TFTP_COMPLETE);
    return buffer_append(app_heap(context), &tx->name, cursor_peek(&name, length), (uint32_t)length, NAME_MAX_LENGTH) ==
           length;
}

static struct app_result tftp_feed(struct app_context *context, void *state, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK, .consumed = in->length };
    struct request request;

    (void)state;
    if (!read_request(in->bytes, in->length, &request))
        return result;
    if (in->direction == FLOW_TO_CLIENT)
        app_report_ambiguous_direction(context);
    if (!add_request(context, &request))
        result.status = APP_ERROR;
    return result;
}

static void tftp_tx_free(struct app_context *context, struct app_tx *tx)
{
    buffer_clear(app_heap(context), &((struct tftp_tx *)tx)->name);
}

static enum app_probe_result tftp_probe(const struct app_probe *in)
{
    struct request request;

    if (!read_request(in->bytes, in->length, &request))
        return APP_NO;
    return in->direction == FLOW_TO_SERVER ? APP_YES : APP_REVERSED;
}

static void tftp_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct tftp_tx *tftp = (const struct tftp_tx *)tx;

    (void)settings;
    fields_string(out, "packet", tftp->packet == TFTP_READ ? "read" : "write");
    fields_bytes(out, "file", tftp->name.length > 0 ? tftp->name.bytes : (const uint8_t *)"", tftp->name.length);
    fields_string(out, "mode", tftp->mode);
}

static const struct setting setting_rows[] = {
    { .name = "eve.types.tftp", .type = SETTING_SECTION, .help = "Event type tftp: a TFTP request" },
    { .name = NULL },
};

const struct app_proto app_tftp = {
    .name = "tftp",
    .help = "TFTP requests",
    .transports = APP_UDP,
    .udp_ports = "69",
    .probe = tftp_probe,
    .feed = tftp_feed,
    .tx_size = sizeof(struct tftp_tx),
    .tx_free = tftp_tx_free,
    .complete = { TFTP_COMPLETE, TFTP_COMPLETE },
    .log_type = "tftp",
    .log_key = "tftp",
    .log = tftp_log,
    .settings = setting_rows,
};
