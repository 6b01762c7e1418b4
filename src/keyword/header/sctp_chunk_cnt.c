/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sctp.h"
#include "sluice/number_range.h"

static bool sctp_chunk_cnt_match(const struct match_input *in, const void *data)
{
    struct cursor chunks = sctp_chunks(in->packet);
    struct sctp_chunk chunk;
    unsigned count = 0;

    while (count < SCTP_MAX_CHUNKS && sctp_next_chunk(&chunks, &chunk))
        count++;
    return header_is(in->packet, IPPROTO_SCTP) && number_range_has(data, count);
}

static int sctp_chunk_cnt_parse(struct rule_parser *parser, struct span value)
{
    return number_range_condition(parser, value, UINT16_MAX, NULL);
}

const struct keyword keyword_sctp_chunk_cnt = {
    .name = "sctp.chunk_cnt",
    .value = NUMBER_RANGE_FORM,
    .help = "number of chunks in an SCTP packet, counted up to 256",
    .kind = KEYWORD_PACKET,
    .parse = sctp_chunk_cnt_parse,
    .packet = { .match = sctp_chunk_cnt_match },
};
