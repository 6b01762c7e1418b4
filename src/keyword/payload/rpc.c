/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rpc:PROGRAM,[VERSION|*],[PROCEDURE|*]; a call of ONC RPC (RFC 5531 §9) at the start of the packet's payload; in TCP
 * after the record mark (§11).
 */
#include <errno.h>
#include <netinet/in.h>

#include "keyword/meta/option.h"
#include "sluice/bytes.h"

enum { RPC_CALL = 0, RPC_VERSION = 2, RECORD_MARK = 4, CALL_HEADER = 24 };

struct rpc {
    uint32_t program, version, procedure;
    bool any_version, any_procedure;
};

static bool rpc_match(const struct match_input *in, const void *data)
{
    const struct packet *pkt = in->packet;
    const struct rpc *want = data;
    struct cursor cur = cursor_of(pkt->payload, pkt->payload_length);
    const uint8_t *call;

    if (!pkt->payload || (pkt->protocol != IPPROTO_TCP && pkt->protocol != IPPROTO_UDP))
        return false;
    if (pkt->protocol == IPPROTO_TCP && !cursor_read(&cur, RECORD_MARK))
        return false;
    call = cursor_read(&cur, CALL_HEADER);
    return call && load_be32(call + 4) == RPC_CALL && load_be32(call + 8) == RPC_VERSION &&
           load_be32(call + 12) == want->program && (want->any_version || load_be32(call + 16) == want->version) &&
           (want->any_procedure || load_be32(call + 20) == want->procedure);
}

/* Parses a number or `*`, which is any number; an absent part is any number, too. */
static int parse_part(struct rule_parser *parser, struct span *rest, const char *what, bool *any, uint32_t *out)
{
    struct span part = { NULL, 0 };
    int64_t number = 0;

    if (rest->at)
        span_next(rest, ',', &part);
    part = part.at ? span_trim(part) : part;
    *any = part.length == 0 || span_equal(part, "*");
    int err = *any ? 0 : option_number(parser, part, what, 0, UINT32_MAX, &number);

    *out = (uint32_t)number;
    return err;
}

static int rpc_parse(struct rule_parser *parser, struct span value)
{
    struct rpc *want = arena_alloc(rule_parser_arena(parser), sizeof(*want));
    struct span rest = value;
    bool any_program;

    if (!want)
        return -ENOMEM;
    int err = parse_part(parser, &rest, "the number of the program", &any_program, &want->program);

    if (!err && any_program)
        err = rule_parser_error(parser, value, "rpc needs the number of a program");
    if (!err)
        err = parse_part(parser, &rest, "the version", &want->any_version, &want->version);
    if (!err)
        err = parse_part(parser, &rest, "the number of the procedure", &want->any_procedure, &want->procedure);
    if (!err && rest.at)
        err = rule_parser_error(parser, rest, "rpc has at most three parts");
    return err ? err : rule_parser_add_packet_condition(parser, want, false);
}

const struct keyword keyword_rpc = {
    .name = "rpc",
    .value = "PROGRAM[,VERSION|*[,PROCEDURE|*]]",
    .help = "a call of ONC RPC at the start of the payload: rpc:100000,2,4",
    .manual = "The packet must begin with the call; in TCP the record mark comes first. * is any number.",
    .kind = KEYWORD_PACKET,
    .parse = rpc_parse,
    .packet = { .cost = 1, .match = rpc_match },
};
