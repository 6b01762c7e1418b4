/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keyword lua, and the libraries with which its scripts read packets, flows and transactions:
 *
 *   script.c              the keyword
 *   script_packet.c       suricata.packet, flow, flowvar, flowint, bytevar, rule, util
 *   script_transaction.c  suricata.http, dns, tls, ja3, ssh, smtp, file
 *
 * The objects of the libraries (packet.get(), http.get_tx()) have no data of their own: their methods read what the
 * current call inspects, so that an object that a script keeps never refers to freed memory.
 */
#ifndef APP_SCRIPT_PRIV_H
#define APP_SCRIPT_PRIV_H

#include "sluice/app.h"
#include "sluice/script.h"

enum { SCRIPT_VARIABLES_MAX = 30, SCRIPT_VALUES_MAX = 16 };

/* A script as a rule uses it; in the arena of the rule list. */
struct script_use {
    struct script *script;
    const struct rule *rule;
    struct rule_parser *parser; /* while the script is loaded; afterwards NULL */
    bool negated;
    unsigned needs; /* bits 1 << enum script_need */
    uint32_t variable_count, value_count;
    struct script_variable {
        enum rule_name_kind kind; /* RULE_NAME_FLOW_TEXT, RULE_NAME_FLOWINT */
        const char *name;
        uint32_t number;
    } variables[SCRIPT_VARIABLES_MAX];
    struct script_value {
        const char *name;
        int index; /* in inspection.values */
    } values[SCRIPT_VALUES_MAX];
};

/* The data that a call of match() inspects, for script_call(). */
struct script_context {
    const struct match_input *input;
    const struct inspection *inspection; /* NULL: the script is not evaluated in a buffer */
};

#ifdef SLUICE_LUA

#include <lauxlib.h>
#include <lua.h>

/* Returns the context of the call. Raises an error if there is none: the script calls the function while it is
 * loaded. */
const struct script_context *script_context(lua_State *lua);
/* Pushes nil and a message. Returns 2. */
int script_push_error(lua_State *lua, const char *message);
/* Pushes bytes as a text, and counts the work. */
void script_push_bytes(lua_State *lua, const void *bytes, size_t length);
/* The functions of script_library.open. */
int script_open_packet(lua_State *lua);
int script_open_flow(lua_State *lua);
int script_open_flowvar(lua_State *lua);
int script_open_flowint(lua_State *lua);
int script_open_bytevar(lua_State *lua);
int script_open_rule(lua_State *lua);
int script_open_util(lua_State *lua);
int script_open_http(lua_State *lua);
int script_open_dns(lua_State *lua);
int script_open_tls(lua_State *lua);
int script_open_ja3(lua_State *lua);
int script_open_ssh(lua_State *lua);
int script_open_smtp(lua_State *lua);
int script_open_file(lua_State *lua);

#endif

#endif
