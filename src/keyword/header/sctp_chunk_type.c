/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sctp.h"
#include "sluice/number_range.h"

static const struct number_name names[] = {
    { "data", 0 },          { "init", 1 },        { "init_ack", 2 }, { "sack", 3 },         { "heartbeat", 4 },
    { "hb_ack", 5 },        { "abort", 6 },       { "shutdown", 7 }, { "shutdown_ack", 8 }, { "error", 9 },
    { "cookie_echo", 10 },  { "cookie_ack", 11 }, { "ecne", 12 },    { "cwr", 13 },         { "shutdown_complete", 14 },
    { "forward_tsn", 192 }, { NULL, 0 },
};

static bool sctp_chunk_type_match(const struct match_input *in, const void *data)
{
    struct cursor chunks = sctp_chunks(in->packet);
    struct sctp_chunk chunk;

    for (unsigned i = 0; i < SCTP_MAX_CHUNKS && sctp_next_chunk(&chunks, &chunk); i++)
        if (number_range_has(data, chunk.type))
            return true;
    return false;
}

static int sctp_chunk_type_parse(struct rule_parser *parser, struct span value)
{
    return number_range_condition(parser, value, UINT8_MAX, names);
}

const struct keyword keyword_sctp_chunk_type = {
    .name = "sctp.chunk_type",
    .value = NUMBER_RANGE_FORM ", or [!]NAME",
    .help = "type of any chunk in an SCTP packet, as a number or a name",
    .manual = "The names are data, init, init_ack, sack, heartbeat, hb_ack, abort, shutdown, shutdown_ack, error, "
              "cookie_echo, cookie_ack, ecne, cwr, shutdown_complete and forward_tsn.",
    .kind = KEYWORD_PACKET,
    .parse = sctp_chunk_type_parse,
    .packet = { .match = sctp_chunk_type_match },
};
