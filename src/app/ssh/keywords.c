/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SSH keywords. ssh.softwareversion and ssh.protoversion support rules for Suricata before version 5, which had no
 * buffers for the banner. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "sluice/arena.h"
#include "ssh_priv.h"

static const char *const applications[] = { "ssh", NULL };

/* --- Buffers ----------------------------------------------------------------------------------------- */

static const struct ssh_side *get_side(const struct app_tx *tx, enum flow_direction direction)
{
    return &((const struct ssh_tx *)tx)->side[direction];
}

static bool get_proto(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct ssh_side *side = get_side(tx, which.direction);

    if (side->proto_length == 0)
        return false;
    *out = (struct app_bytes){ .bytes = side->banner.bytes, .length = side->proto_length };
    return true;
}

static bool get_software(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct ssh_side *side = get_side(tx, which.direction);

    if (!side->has_software)
        return false;
    *out = (struct app_bytes){ .bytes = side->banner.bytes + side->software_at, .length = side->software_length };
    return true;
}

static bool get_hassh(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct ssh_side *side = get_side(tx, which.direction);

    if (side->hassh_string.length == 0)
        return false;
    *out = (struct app_bytes){ .bytes = (const uint8_t *)side->hassh, .length = SSH_HASSH };
    return true;
}

static bool get_hassh_string(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct ssh_side *side = get_side(tx, which.direction);

    if (side->hassh_string.length == 0)
        return false;
    *out = (struct app_bytes){ .bytes = side->hassh_string.bytes, .length = side->hassh_string.length };
    return true;
}

const struct keyword keyword_ssh_proto = {
    .name = "ssh.proto",
    .aliases = { "ssh_proto" },
    .help = "protocol version in an SSH banner: 2.0",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_ssh_software = {
    .name = "ssh.software",
    .aliases = { "ssh_software" },
    .help = "software in an SSH banner, without the comment: OpenSSH_9.6",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_ssh_hassh = {
    .name = "ssh.hassh",
    .aliases = { "ssh-hassh" },
    .help = "HASSH of an SSH client: 32 lower-case hexadecimal digits",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
};

const struct keyword keyword_ssh_hassh_string = {
    .name = "ssh.hassh.string",
    .aliases = { "ssh-hassh-string" },
    .help = "algorithms that the HASSH of an SSH client is computed from",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
};

const struct keyword keyword_ssh_hassh_server = {
    .name = "ssh.hassh.server",
    .aliases = { "ssh-hassh-server" },
    .help = "HASSH of an SSH server: 32 lower-case hexadecimal digits",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_CLIENT },
};

const struct keyword keyword_ssh_hassh_server_string = {
    .name = "ssh.hassh.server.string",
    .aliases = { "ssh-hassh-server-string" },
    .help = "algorithms that the HASSH of an SSH server is computed from",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_CLIENT },
};

const struct app_buffer ssh_buffers[SSH_BUFFERS] = {
    { &keyword_ssh_proto, APP_BOTH, SSH_BANNER_WAIT_EOL, .get = get_proto },
    { &keyword_ssh_software, APP_BOTH, SSH_BANNER_WAIT_EOL, .get = get_software },
    { &keyword_ssh_hassh, APP_TO_SERVER, SSH_KEY_EXCHANGE, .get = get_hassh },
    { &keyword_ssh_hassh_string, APP_TO_SERVER, SSH_KEY_EXCHANGE, .get = get_hassh_string },
    { &keyword_ssh_hassh_server, APP_TO_CLIENT, SSH_KEY_EXCHANGE, .get = get_hassh },
    { &keyword_ssh_hassh_server_string, APP_TO_CLIENT, SSH_KEY_EXCHANGE, .get = get_hassh_string },
};

/* --- Conditions on the banner ------------------------------------------------------------------------ */

static bool contains_nocase(const uint8_t *bytes, uint32_t length, const struct span *text)
{
    for (uint32_t i = 0; i + text->length <= length; i++)
        if (strncasecmp((const char *)bytes + i, text->at, text->length) == 0)
            return true;
    return false;
}

static bool ssh_softwareversion_match(const struct match_input *in, const void *data)
{
    struct app_bytes software;

    return get_software(in->transaction, (struct app_selector){ .direction = in->direction }, &software) &&
           contains_nocase(software.bytes, software.length, data);
}

/* Adds a condition whose text is copied to the rule's memory. */
static int add_condition(struct rule_parser *parser, struct span value)
{
    struct arena *arena = rule_parser_arena(parser);
    struct span *condition = arena_alloc(arena, sizeof(*condition));
    struct span text = span_trim(value);

    if (text.length == 0)
        return rule_parser_error(parser, value, "expected a version");
    if (!condition)
        return -ENOMEM;
    *condition = (struct span){ .at = arena_strndup(arena, text.at, text.length), .length = text.length };
    return condition->at ? rule_parser_add_transaction_condition(parser, condition, false) : -ENOMEM;
}

static int ssh_softwareversion_parse(struct rule_parser *parser, struct span value)
{
    return add_condition(parser, value);
}

const struct keyword keyword_ssh_softwareversion = {
    .name = "ssh.softwareversion",
    .value = "TEXT",
    .help = "text contained in the software of an SSH banner, ignoring case; superseded by ssh.software",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_QUOTED,
    .scope = { applications, APP_BOTH },
    .parse = ssh_softwareversion_parse,
    .transaction = { .match = ssh_softwareversion_match },
};

static bool is_equal(const struct app_bytes *bytes, struct span text)
{
    return bytes->length == text.length && memcmp(bytes->bytes, text.at, text.length) == 0;
}

static bool ssh_protoversion_match(const struct match_input *in, const void *data)
{
    const struct span *text = data;
    struct app_bytes proto;

    if (!get_proto(in->transaction, (struct app_selector){ .direction = in->direction }, &proto))
        return false;
    if (span_equal_nocase(*text, "2_compat"))
        return is_equal(&proto, span_of("2")) || is_equal(&proto, span_of("2.0")) || is_equal(&proto, span_of("1.99"));
    return is_equal(&proto, *text);
}

static int ssh_protoversion_parse(struct rule_parser *parser, struct span value)
{
    return add_condition(parser, value);
}

const struct keyword keyword_ssh_protoversion = {
    .name = "ssh.protoversion",
    .value = "VERSION or 2_compat",
    .help = "protocol version in an SSH banner; 2_compat: 2, 2.0 or 1.99; superseded by ssh.proto",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_QUOTED,
    .scope = { applications, APP_BOTH },
    .parse = ssh_protoversion_parse,
    .transaction = { .match = ssh_protoversion_match },
};

const struct app_condition ssh_conditions[SSH_CONDITIONS] = {
    { &keyword_ssh_softwareversion, APP_BOTH, SSH_BANNER_WAIT_EOL },
    { &keyword_ssh_protoversion, APP_BOTH, SSH_BANNER_WAIT_EOL },
};
