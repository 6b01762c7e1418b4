/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lua:[!]FILE; matches if the function match() of a Lua script returns 1.
 *
 * As in Suricata, the place of the keyword decides what the script inspects: a buffer, if one is selected before it;
 * the transaction, if the rule has a hook of an application protocol; otherwise the packet. A script that reads
 * variables of byte_extract or needs the stream is evaluated in the payload. The keyword has three forms for these,
 * with conditions of different kinds.
 */
#include "script_priv.h"

#include <errno.h>
#include <string.h>

enum script_need { NEED_PACKET, NEED_PAYLOAD, NEED_BUFFER, NEED_STREAM, NEED_JA3, NEED_JA3S, NEEDS };
static const char *const need_names[NEEDS] = { "packet", "payload", "buffer", "stream", "ja3", "ja3s" };

enum { ARGUMENTS_MAX = 3, STEPS_PER_RETRY = 100 };

static bool needs(const struct script_use *use, enum script_need need)
{
    return use->needs >> need & 1;
}

/* --- Evaluation ----------------------------------------------------------------------------------- */

/* Returns whether the script matches. A script that fails does not match, not even if the keyword is negated. */
static bool call(const struct script_use *use, struct script_context *context, struct script_argument *arguments,
                 size_t count)
{
    const struct packet *pkt = context->input->packet;
    bool result = false;

    if (needs(use, NEED_PACKET))
        arguments[count++] = (struct script_argument){ "packet", pkt->data, pkt->length };
    return script_match(context->input->scripts, use->script, context, arguments, count, &result) &&
           result != use->negated;
}

static enum inspect_result inspect_buffer(struct inspection *in, const struct condition *condition,
                                          struct inspect_retry *retry)
{
    const struct script_use *use = condition->data;
    struct script_context context = { .input = in->input, .inspection = in };
    struct script_argument arguments[ARGUMENTS_MAX] = {
        { needs(use, NEED_STREAM) ? need_names[NEED_STREAM] : need_names[NEED_BUFFER], in->data, in->length },
    };
    size_t count = 1;

    (void)retry;
    if (needs(use, NEED_PAYLOAD))
        arguments[count++] = (struct script_argument){ need_names[NEED_PAYLOAD], in->data, in->length };
    if (in->length > 0 && call(use, &context, arguments, count))
        return INSPECT_YES;
    if (use->value_count == 0)
        return INSPECT_NEVER;
    /* Another match of an earlier condition may set other values; a call costs more than a step. */
    in->steps_left -= in->steps_left < STEPS_PER_RETRY ? in->steps_left : STEPS_PER_RETRY;
    return INSPECT_NO;
}

static bool match_packet(const struct match_input *in, const void *data)
{
    const struct script_use *use = data;
    struct script_context context = { .input = in };
    struct script_argument arguments[ARGUMENTS_MAX];
    size_t count = 0;

    if ((needs(use, NEED_PAYLOAD) && in->packet->payload_length == 0) ||
        (needs(use, NEED_PACKET) && in->packet->length == 0))
        return false;
    if (needs(use, NEED_PAYLOAD))
        arguments[count++] =
            (struct script_argument){ need_names[NEED_PAYLOAD], in->packet->payload, in->packet->payload_length };
    return call(use, &context, arguments, count);
}

static bool match_transaction(const struct match_input *in, const void *data)
{
    struct script_context context = { .input = in };
    struct script_argument arguments[ARGUMENTS_MAX];

    return call(data, &context, arguments, 0);
}

/* --- Parsing -------------------------------------------------------------------------------------- */

static const char *add_need(void *owner, const char *key, const char *value)
{
    static const char *const former[] = { "http", "dns", "tls", "ssh", "smtp", "dnp3" };
    struct script_use *use = owner;

    if (value) /* the former way to declare variables */
        return strcmp(key, "flowvar") == 0 || strcmp(key, "flowint") == 0 ? NULL : "an unknown table of needs";
    for (unsigned i = 0; i < NEEDS; i++) {
        if (strcmp(key, need_names[i]) != 0)
            continue;
        use->needs |= 1u << i;
        return NULL;
    }
    for (unsigned i = 0; i < sizeof(former) / sizeof(former[0]); i++) {
        if (strncmp(key, former[i], strlen(former[i])) == 0)
            return "data of protocols can no longer be requested: name a hook in the rule, such as http1:request_line";
    }
    return "unknown data: a script may need packet, payload, buffer, stream, ja3 and ja3s";
}

static int lua_finish(struct rule_parser *parser, const struct condition *condition)
{
    const struct script_use *use = condition->data;
    const struct rule *rule = rule_parser_rule(parser);

    script_set_rule(use->script, rule->gid, rule->sid);
    return 0;
}

static void lua_release(const struct condition *condition)
{
    script_release(((const struct script_use *)condition->data)->script);
}

/* The forms of the keyword for buffers and for packets. The keyword itself is the form for transactions. */
static const struct keyword lua_in_buffer = {
    .name = "lua",
    .kind = KEYWORD_CONTENT,
    .finish = lua_finish,
    .release = lua_release,
    .content = { .inspect = inspect_buffer },
};
static const struct keyword lua_in_packet = {
    .name = "lua",
    .kind = KEYWORD_PACKET,
    .finish = lua_finish,
    .release = lua_release,
    .packet = { .cost = 100, .match = match_packet },
};

/* Adds the condition to the buffer of a fingerprint. */
static int add_for_fingerprint(struct rule_parser *parser, const char *buffer, const struct script_use *use)
{
    const struct keyword *keyword = rule_parser_find_keyword(parser, buffer);

    if (!keyword)
        return rule_parser_error(parser, rule_parser_rule_span(parser), "the script needs the keyword %s", buffer);
    rule_parser_set_keyword(parser, &lua_in_buffer);
    return rule_parser_add_content_condition_in(parser, keyword, use, false);
}

static int add_condition(struct rule_parser *parser, const struct script_use *use)
{
    bool is_of_buffer = rule_parser_current_buffer(parser) || needs(use, NEED_STREAM) || needs(use, NEED_BUFFER) ||
                        use->value_count > 0;

    if (!is_of_buffer && use->rule->hook.kind == RULE_HOOK_APP)
        return rule_parser_add_transaction_condition(parser, use, false);
    if (!is_of_buffer && (needs(use, NEED_JA3) || needs(use, NEED_JA3S)))
        return add_for_fingerprint(parser, needs(use, NEED_JA3) ? "ja3.hash" : "ja3s.hash", use);
    if (is_of_buffer) {
        rule_parser_set_keyword(parser, &lua_in_buffer);
        return rule_parser_add_content_condition(parser, use, false);
    }
    rule_parser_set_keyword(parser, &lua_in_packet);
    return rule_parser_add_packet_condition(parser, use, false);
}

static int lua_parse(struct rule_parser *parser, struct span value)
{
    const struct keyword *keyword = rule_parser_keyword(parser);
    struct script_use *use = arena_alloc(rule_parser_arena(parser), sizeof(*use));
    const struct script_load load = { .function = "match", .needs_init = true, .owner = use, .need = add_need };
    int err;

    if (!use)
        return -ENOMEM;
    use->rule = rule_parser_rule(parser);
    use->parser = parser;
    use->negated = rule_parser_is_negated(parser);
    err = rule_parser_load_script(parser, value, &load, &use->script);
    use->parser = NULL;
    if (err)
        return err;
    err = add_condition(parser, use);
    rule_parser_set_keyword(parser, keyword);
    if (err)
        script_release(use->script);
    return err;
}

const struct keyword keyword_lua = {
    .name = "lua",
    .aliases = { "luajit" },
    .value = "[!]FILE",
    .help = "matches if the function match() of a Lua script returns 1; needs security.lua.allow-rules",
    .manual = "The script has the functions init(), which returns a table of the data that it needs (packet, payload, "
              "buffer, stream, ja3, ja3s), and match(). It is evaluated in the buffer that is selected before the "
              "keyword; without one, on the transaction that has reached the hook of the rule; without a hook, on the "
              "packet. A script that fails or reaches a limit (security.lua.max-bytes, security.lua.max-instructions) "
              "does not match. FILE is relative to the folder of the rule file or to default-rule-path.",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_NEGATABLE | KEYWORD_QUOTED | KEYWORD_AT_HOOK,
    .parse = lua_parse,
    .finish = lua_finish,
    .release = lua_release,
    .transaction = { .match = match_transaction },
};

/* --- Libraries ------------------------------------------------------------------------------------ */

#ifdef SLUICE_LUA

const struct script_context *script_context(lua_State *lua)
{
    const struct script_context *context = script_call(lua);

    if (!context)
        luaL_error(lua, "this function can be called in match() only");
    return context;
}

int script_push_error(lua_State *lua, const char *message)
{
    lua_pushnil(lua);
    lua_pushstring(lua, message);
    return 2;
}

void script_push_bytes(lua_State *lua, const void *bytes, size_t length)
{
    enum { CALL = 10, BYTES_PER_INSTRUCTION = 16 };

    script_charge(lua, CALL + length / BYTES_PER_INSTRUCTION);
    lua_pushlstring(lua, bytes, length);
}

const struct script_library app_script_libraries[] = {
    { "suricata.packet", script_open_packet },
    { "suricata.flow", script_open_flow },
    { "suricata.flowvar", script_open_flowvar },
    { "suricata.flowint", script_open_flowint },
    { "suricata.bytevar", script_open_bytevar },
    { "suricata.rule", script_open_rule },
    { "suricata.util", script_open_util },
    { "suricata.http", script_open_http },
    { "suricata.dns", script_open_dns },
    { "suricata.tls", script_open_tls },
    { "suricata.ja3", script_open_ja3 },
    { "suricata.ssh", script_open_ssh },
    { "suricata.smtp", script_open_smtp },
    { "suricata.file", script_open_file },
    { NULL, NULL },
};

#else

const struct script_library app_script_libraries[] = { { NULL, NULL } };

#endif
