/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Libraries of scripts for packets, flows, variables and the rule. Names and results are those of Suricata 8. */
#ifdef SLUICE_LUA

#include "script_priv.h"

#include <netinet/in.h>
#include <string.h>
#include <time.h>

#include "sluice/clock.h"

/* Adds a library with the function `get`, which returns an object with these methods. Returns 1. */
static int open_object(lua_State *lua, const char *get, lua_CFunction function, const luaL_Reg *methods)
{
    lua_createtable(lua, 0, 1);
    lua_createtable(lua, 0, 0);
    luaL_setfuncs(lua, methods, 0);
    lua_pushcclosure(lua, function, 1);
    lua_setfield(lua, -2, get);
    return 1;
}

/* Returns the use of the script. The scripts of luaxform have none. */
static struct script_use *use_of(lua_State *lua)
{
    struct script_use *use = script_owner(lua);

    if (!use)
        luaL_error(lua, "this function is not available in scripts of luaxform");
    return use;
}

enum time_format { TIME_LEGACY, TIME_ISO8601 };

static int push_time_text(lua_State *lua, uint64_t ns, enum time_format format)
{
    static const char *const formats[] = { "%m/%d/%Y-%H:%M:%S", "%Y-%m-%dT%H:%M:%S" };
    time_t seconds = (time_t)(ns / NS_PER_SECOND);
    char text[32];
    struct tm utc;

    gmtime_r(&seconds, &utc);
    strftime(text, sizeof(text), formats[format], &utc);
    lua_pushstring(lua, text);
    /* lua_pushfstring() has no format with leading zeros: add them as a number that begins with 1, and cut it off */
    lua_pushinteger(lua, (lua_Integer)(1000000 + ns % NS_PER_SECOND / 1000));
    lua_tostring(lua, -1);
    lua_pushfstring(lua, "%s.%s%s", lua_tostring(lua, -2), lua_tostring(lua, -1) + 1,
                    format == TIME_ISO8601 ? "+0000" : "");
    return 1;
}

static int push_tuple(lua_State *lua, int ip_version, const struct address *from, const struct address *to)
{
    char text[ADDRESS_TEXT_SIZE];

    lua_pushinteger(lua, ip_version);
    if (ip_version == 0)
        return 1;
    address_format(from, ip_version, false, text);
    lua_pushstring(lua, text);
    address_format(to, ip_version, false, text);
    lua_pushstring(lua, text);
    return 3;
}

/* --- suricata.packet ------------------------------------------------------------------------------ */

static const struct packet *packet_of(lua_State *lua)
{
    return script_context(lua)->input->packet;
}

static int packet_get(lua_State *lua)
{
    script_context(lua);
    lua_pushvalue(lua, lua_upvalueindex(1));
    return 1;
}

static int packet_timestamp(lua_State *lua)
{
    uint64_t ns = packet_of(lua)->time_ns;

    lua_pushinteger(lua, (lua_Integer)(ns / NS_PER_SECOND));
    lua_pushinteger(lua, (lua_Integer)(ns % NS_PER_SECOND / 1000));
    return 2;
}

static int packet_timestring_legacy(lua_State *lua)
{
    return push_time_text(lua, packet_of(lua)->time_ns, TIME_LEGACY);
}

static int packet_timestring_iso8601(lua_State *lua)
{
    return push_time_text(lua, packet_of(lua)->time_ns, TIME_ISO8601);
}

static bool has_ports(const struct packet *pkt)
{
    return pkt->ip_version != 0 && pkt->transport &&
           (pkt->protocol == IPPROTO_TCP || pkt->protocol == IPPROTO_UDP || pkt->protocol == IPPROTO_SCTP);
}

static int packet_tuple(lua_State *lua)
{
    const struct packet *pkt = packet_of(lua);
    bool is_icmp = pkt->transport && (pkt->protocol == IPPROTO_ICMP || pkt->protocol == IPPROTO_ICMPV6);

    if (push_tuple(lua, pkt->ip_version, &pkt->source_address, &pkt->destination_address) == 1)
        return 1;
    lua_pushinteger(lua, pkt->protocol);
    lua_pushinteger(lua, is_icmp ? pkt->icmp.type : pkt->source_port);
    lua_pushinteger(lua, is_icmp ? pkt->icmp.code : pkt->destination_port);
    return 6;
}

static int push_port(lua_State *lua, const struct packet *pkt, uint16_t port)
{
    if (has_ports(pkt))
        lua_pushinteger(lua, port);
    else
        lua_pushnil(lua);
    return 1;
}

static int packet_sp(lua_State *lua)
{
    return push_port(lua, packet_of(lua), packet_of(lua)->source_port);
}

static int packet_dp(lua_State *lua)
{
    return push_port(lua, packet_of(lua), packet_of(lua)->destination_port);
}

static int packet_payload(lua_State *lua)
{
    const struct packet *pkt = packet_of(lua);

    script_push_bytes(lua, pkt->payload_length > 0 ? pkt->payload : (const uint8_t *)"", pkt->payload_length);
    return 1;
}

static int packet_packet(lua_State *lua)
{
    const struct packet *pkt = packet_of(lua);

    script_push_bytes(lua, pkt->length > 0 ? pkt->data : (const uint8_t *)"", pkt->length);
    return 1;
}

static int packet_pcap_cnt(lua_State *lua)
{
    lua_pushinteger(lua, (lua_Integer)packet_of(lua)->number);
    return 1;
}

int script_open_packet(lua_State *lua)
{
    static const luaL_Reg methods[] = {
        { "timestamp", packet_timestamp },
        { "timestring_legacy", packet_timestring_legacy },
        { "timestring_iso8601", packet_timestring_iso8601 },
        { "tuple", packet_tuple },
        { "sp", packet_sp },
        { "dp", packet_dp },
        { "payload", packet_payload },
        { "packet", packet_packet },
        { "pcap_cnt", packet_pcap_cnt },
        { NULL, NULL },
    };

    return open_object(lua, "get", packet_get, methods);
}

/* --- suricata.flow -------------------------------------------------------------------------------- */

static const struct flow *flow_of(lua_State *lua)
{
    const struct flow *flow = packet_of(lua)->flow;

    if (!flow)
        luaL_error(lua, "the packet has no flow");
    return flow;
}

static int flow_get(lua_State *lua)
{
    if (!packet_of(lua)->flow)
        return script_push_error(lua, "the packet has no flow");
    lua_pushvalue(lua, lua_upvalueindex(1));
    return 1;
}

static int flow_id(lua_State *lua)
{
    lua_pushinteger(lua, (lua_Integer)flow_of(lua)->id);
    return 1;
}

static int flow_app_layer_proto(lua_State *lua)
{
    const struct flow *flow = flow_of(lua);
    const unsigned ids[] = { app_flow_protocol(flow), app_direction_protocol(flow, FLOW_TO_SERVER),
                             app_direction_protocol(flow, FLOW_TO_CLIENT), app_original_protocol(flow), 0 };

    for (unsigned i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        const char *name = app_name_by_id(ids[i]);

        lua_pushstring(lua, name ? name : "unknown");
    }
    return sizeof(ids) / sizeof(ids[0]);
}

static int flow_has_alerts(lua_State *lua)
{
    lua_pushboolean(lua, flow_of(lua)->history != NULL);
    return 1;
}

static int flow_stats(lua_State *lua)
{
    const struct flow *flow = flow_of(lua);

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        lua_pushinteger(lua, (lua_Integer)flow->side[direction].packets);
        lua_pushinteger(lua, (lua_Integer)flow->side[direction].bytes);
    }
    return 4;
}

static int flow_timestamps(lua_State *lua)
{
    const struct flow *flow = flow_of(lua);
    const uint64_t times[] = { flow->start_ns, flow->last_ns };

    for (unsigned i = 0; i < 2; i++) {
        lua_pushinteger(lua, (lua_Integer)(times[i] / NS_PER_SECOND));
        lua_pushinteger(lua, (lua_Integer)(times[i] % NS_PER_SECOND / 1000));
    }
    return 4;
}

static int flow_timestring_legacy(lua_State *lua)
{
    return push_time_text(lua, flow_of(lua)->start_ns, TIME_LEGACY);
}

static int flow_timestring_iso8601(lua_State *lua)
{
    return push_time_text(lua, flow_of(lua)->start_ns, TIME_ISO8601);
}

static int flow_tuple(lua_State *lua)
{
    const struct flow *flow = flow_of(lua);

    if (push_tuple(lua, flow->ip_version, &flow->client, &flow->server) == 1)
        return 1;
    lua_pushinteger(lua, flow->protocol);
    lua_pushinteger(lua, flow->client_port);
    lua_pushinteger(lua, flow->server_port);
    return 6;
}

int script_open_flow(lua_State *lua)
{
    static const luaL_Reg methods[] = {
        { "id", flow_id },
        { "app_layer_proto", flow_app_layer_proto },
        { "has_alerts", flow_has_alerts },
        { "stats", flow_stats },
        { "timestamps", flow_timestamps },
        { "timestring_legacy", flow_timestring_legacy },
        { "timestring_iso8601", flow_timestring_iso8601 },
        { "tuple", flow_tuple },
        { NULL, NULL },
    };

    return open_object(lua, "get", flow_get, methods);
}

/* --- Variables of the flow ------------------------------------------------------------------------ */

/* Pushes an object for the variable; the upvalue of its methods is the number of the name. */
static int push_variable(lua_State *lua, uint32_t number, const luaL_Reg *methods)
{
    lua_createtable(lua, 0, 4);
    lua_pushinteger(lua, number);
    luaL_setfuncs(lua, methods, 1);
    return 1;
}

/* Finds the variable that the first argument names. While the script is loaded, an unknown one is added. */
static uint32_t find_variable(lua_State *lua, enum rule_name_kind kind)
{
    size_t length;
    const char *name = luaL_checklstring(lua, 1, &length);
    struct script_use *use = use_of(lua);
    struct script_variable *added = &use->variables[use->variable_count];

    for (uint32_t i = 0; i < use->variable_count; i++) {
        if (use->variables[i].kind == kind && strcmp(use->variables[i].name, name) == 0)
            return use->variables[i].number;
    }
    if (!use->parser)
        luaL_error(lua, "the variable '%s' is not registered: call register() in init(), or get() in thread_init()",
                   name);
    if (use->variable_count == SCRIPT_VARIABLES_MAX)
        luaL_error(lua, "a script has at most %d variables", SCRIPT_VARIABLES_MAX);
    added->kind = kind;
    added->name = arena_strndup(rule_parser_arena(use->parser), name, length);
    added->number =
        rule_parser_state(use->parser, kind, (struct span){ name, length }, RULE_STATE_READS | RULE_STATE_WRITES);
    if (!added->name || added->number == 0)
        luaL_error(lua, "no memory for the variable");
    use->variable_count++;
    return added->number;
}

static uint32_t number_of(lua_State *lua)
{
    return (uint32_t)lua_tointeger(lua, lua_upvalueindex(1));
}

static struct flow *changed_flow(lua_State *lua)
{
    flow_of(lua);
    return packet_of(lua)->flow;
}

static int flowvar_value(lua_State *lua)
{
    uint32_t length = 0;
    const uint8_t *text = flow_text_get(flow_of(lua), number_of(lua), &length);

    if (text)
        script_push_bytes(lua, text, length);
    else
        lua_pushnil(lua);
    return 1;
}

/* set(value, length) */
static int flowvar_set(lua_State *lua)
{
    size_t length;
    const char *text = luaL_checklstring(lua, 2, &length);
    lua_Integer wanted = luaL_optinteger(lua, 3, (lua_Integer)length);

    luaL_argcheck(lua, wanted >= 0 && (lua_Unsigned)wanted <= length, 3, "the length does not fit the value");
    flow_text_set(script_context(lua)->input->flows, changed_flow(lua), number_of(lua), (const uint8_t *)text,
                  (uint32_t)wanted);
    return 0;
}

static const luaL_Reg flowvar_methods[] = { { "value", flowvar_value }, { "set", flowvar_set }, { NULL, NULL } };

static int flowvar_get(lua_State *lua)
{
    return push_variable(lua, find_variable(lua, RULE_NAME_FLOW_TEXT), flowvar_methods);
}

int script_open_flowvar(lua_State *lua)
{
    static const luaL_Reg functions[] = { { "register", flowvar_get }, { "get", flowvar_get }, { NULL, NULL } };

    luaL_newlib(lua, functions);
    return 1;
}

static int flowint_value(lua_State *lua)
{
    uint32_t value;

    if (flow_integer_get(flow_of(lua), number_of(lua), &value))
        lua_pushinteger(lua, value);
    else
        lua_pushnil(lua);
    return 1;
}

static int flowint_set(lua_State *lua)
{
    lua_Integer value = luaL_checkinteger(lua, 2);

    luaL_argcheck(lua, value >= 0 && value <= UINT32_MAX, 2, "the value has more than 32 bits");
    flow_integer_set(script_context(lua)->input->flows, changed_flow(lua), number_of(lua), (uint32_t)value);
    return 0;
}

static int change_flowint(lua_State *lua, bool increment)
{
    struct flow *flow = changed_flow(lua);
    uint32_t value = 0;

    flow_integer_get(flow, number_of(lua), &value);
    if (increment)
        value += value < UINT32_MAX;
    else
        value -= value > 0;
    flow_integer_set(script_context(lua)->input->flows, flow, number_of(lua), value);
    lua_pushinteger(lua, value);
    return 1;
}

static int flowint_incr(lua_State *lua)
{
    return change_flowint(lua, true);
}

static int flowint_decr(lua_State *lua)
{
    return change_flowint(lua, false);
}

static const luaL_Reg flowint_methods[] = {
    { "value", flowint_value }, { "set", flowint_set }, { "incr", flowint_incr },
    { "decr", flowint_decr },   { NULL, NULL },
};

static int flowint_get(lua_State *lua)
{
    return push_variable(lua, find_variable(lua, RULE_NAME_FLOWINT), flowint_methods);
}

int script_open_flowint(lua_State *lua)
{
    static const luaL_Reg functions[] = { { "register", flowint_get }, { "get", flowint_get }, { NULL, NULL } };

    luaL_newlib(lua, functions);
    return 1;
}

/* --- suricata.bytevar ----------------------------------------------------------------------------- */

/* map(sig, name), in init() */
static int bytevar_map(lua_State *lua)
{
    size_t length;
    const char *name = luaL_checklstring(lua, 2, &length);
    struct script_use *use = use_of(lua);
    struct script_value *value = &use->values[use->value_count];

    if (!use->parser)
        return luaL_error(lua, "map() can be called in init() only");
    if (use->value_count == SCRIPT_VALUES_MAX)
        return luaL_error(lua, "too many byte variables mapped");
    value->index = rule_parser_find_value(use->parser, (struct span){ name, length });
    if (value->index < 0)
        return luaL_error(lua, "unknown byte_extract or byte_math variable: %s", name);
    value->name = arena_strndup(rule_parser_arena(use->parser), name, length);
    if (!value->name)
        return luaL_error(lua, "no memory for the variable");
    use->value_count++;
    return 0;
}

static int bytevar_value(lua_State *lua)
{
    const struct script_context *context = script_context(lua);

    if (!context->inspection)
        return luaL_error(lua, "the script is not evaluated in a buffer");
    lua_pushinteger(lua, (lua_Integer)context->inspection->values[number_of(lua)]);
    return 1;
}

static int bytevar_get(lua_State *lua)
{
    static const luaL_Reg methods[] = { { "value", bytevar_value }, { NULL, NULL } };
    const char *name = luaL_checkstring(lua, 1);
    const struct script_use *use = use_of(lua);

    for (uint32_t i = 0; i < use->value_count; i++) {
        if (strcmp(use->values[i].name, name) == 0)
            return push_variable(lua, (uint32_t)use->values[i].index, methods);
    }
    return luaL_error(lua, "unknown bytevar: %s", name);
}

int script_open_bytevar(lua_State *lua)
{
    static const luaL_Reg functions[] = { { "map", bytevar_map }, { "get", bytevar_get }, { NULL, NULL } };

    luaL_newlib(lua, functions);
    return 1;
}

/* --- suricata.rule -------------------------------------------------------------------------------- */

static const struct rule *rule_of(lua_State *lua)
{
    script_context(lua);
    return use_of(lua)->rule;
}

static int rule_get(lua_State *lua)
{
    script_context(lua);
    lua_pushvalue(lua, lua_upvalueindex(1));
    return 1;
}

static int push_text(lua_State *lua, const char *text)
{
    lua_pushstring(lua, text ? text : "");
    return 1;
}

static int rule_sid(lua_State *lua)
{
    lua_pushinteger(lua, rule_of(lua)->sid);
    return 1;
}

static int rule_gid(lua_State *lua)
{
    lua_pushinteger(lua, rule_of(lua)->gid);
    return 1;
}

static int rule_rev(lua_State *lua)
{
    lua_pushinteger(lua, rule_of(lua)->revision);
    return 1;
}

static int rule_action(lua_State *lua)
{
    return push_text(lua, rule_action_name(rule_of(lua)->action));
}

static int rule_msg(lua_State *lua)
{
    return push_text(lua, rule_of(lua)->message);
}

static int rule_class_description(lua_State *lua)
{
    return push_text(lua, rule_of(lua)->class_description);
}

static int rule_priority(lua_State *lua)
{
    lua_pushinteger(lua, rule_of(lua)->priority);
    return 1;
}

static int rule_class(lua_State *lua)
{
    return push_text(lua, rule_of(lua)->class_description) + rule_priority(lua);
}

int script_open_rule(lua_State *lua)
{
    static const luaL_Reg methods[] = {
        { "sid", rule_sid },
        { "gid", rule_gid },
        { "rev", rule_rev },
        { "action", rule_action },
        { "msg", rule_msg },
        { "class", rule_class },
        { "class_description", rule_class_description },
        { "priority", rule_priority },
        { NULL, NULL },
    };

    return open_object(lua, "get_rule", rule_get, methods);
}

/* --- suricata.util -------------------------------------------------------------------------------- */

/* A worker has no id that a rule could use: packets of one queue are always inspected by the same thread. */
static int util_thread_info(lua_State *lua)
{
    const struct packet *pkt = packet_of(lua);

    lua_createtable(lua, 0, 2);
    lua_pushinteger(lua, pkt->root ? pkt->root->meta.queue : 0);
    lua_setfield(lua, -2, "id");
    lua_pushfstring(lua, "W#%d", (int)(pkt->root ? pkt->root->meta.queue : 0));
    lua_setfield(lua, -2, "name");
    return 1;
}

int script_open_util(lua_State *lua)
{
    static const luaL_Reg functions[] = { { "thread_info", util_thread_info }, { NULL, NULL } };

    luaL_newlib(lua, functions);
    return 1;
}

#endif
