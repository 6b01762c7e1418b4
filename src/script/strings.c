/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * string.find, match, gmatch, gsub and rep, as described in the reference manual of Lua 5.4 (§6.4), with our own
 * matching of patterns: each of its steps is an instruction of the call.
 */
#ifdef SLUICE_LUA

#include <lauxlib.h>
#include <lua.h>
#include <string.h>

#include "pattern.h"
#include "script_priv.h"

enum { BYTES_PER_INSTRUCTION = 64 };

/* --- Search --------------------------------------------------------------------------------------- */

struct search {
    struct pattern pattern;
    bool anchored;
    size_t start, end; /* of the match */
};

/* Prepares a search in the text at stack index `text` for the pattern behind it. */
static void start_search(lua_State *lua, struct search *search, int text, bool anchors)
{
    struct pattern *pattern = &search->pattern;

    pattern->text = (const uint8_t *)luaL_checklstring(lua, text, &pattern->length);
    pattern->pattern = (const uint8_t *)luaL_checklstring(lua, text + 1, &pattern->pattern_length);
    pattern->error = NULL;
    search->anchored = anchors && pattern->pattern_length > 0 && pattern->pattern[0] == '^';
    pattern->pattern += search->anchored;
    pattern->pattern_length -= search->anchored;
}

/* Finds the first match that starts at offset `from` or, unless the pattern is anchored, behind it. */
static bool find_match(lua_State *lua, struct search *search, size_t from)
{
    struct pattern *pattern = &search->pattern;
    struct script_state *state = state_of(lua);
    uint64_t left = state->max_work == 0            ? UINT32_MAX
                    : state->max_work > state->work ? state->max_work - state->work
                                                    : 0;
    bool found = false;

    pattern->steps = left;
    for (size_t at = from; at <= pattern->length && pattern->steps > 0 && !pattern->error; at++) {
        search->end = pattern_match(pattern, at);
        search->start = at;
        found = search->end != PATTERN_NO_MATCH;
        pattern->steps -= pattern->steps > 0;
        if (found || search->anchored)
            break;
    }
    if (pattern->error)
        luaL_error(lua, "%s", pattern->error);
    script_charge(lua, pattern->steps == 0 ? left + 1 : left - pattern->steps);
    return found;
}

/* Pushes capture `index`; if the pattern has none, capture 0 is the whole match. */
static void push_capture(lua_State *lua, const struct search *search, unsigned index)
{
    const struct pattern *pattern = &search->pattern;
    const struct pattern_capture *capture = &pattern->captures[index];

    if (index >= pattern->capture_count) {
        if (index > 0)
            luaL_error(lua, "invalid capture index %%%d", (int)index + 1);
        lua_pushlstring(lua, (const char *)pattern->text + search->start, search->end - search->start);
    } else if (capture->kind == PATTERN_CAPTURE_POSITION) {
        lua_pushinteger(lua, (lua_Integer)capture->at + 1);
    } else {
        lua_pushlstring(lua, (const char *)pattern->text + capture->at, capture->length);
    }
}

/* Pushes all captures, or the whole match if there are none and `whole` is set. Returns their number. */
static int push_captures(lua_State *lua, const struct search *search, bool whole)
{
    unsigned count = search->pattern.capture_count == 0 && whole ? 1 : search->pattern.capture_count;

    luaL_checkstack(lua, (int)count, "too many captures");
    for (unsigned i = 0; i < count; i++)
        push_capture(lua, search, i);
    return (int)count;
}

/* Returns the offset of a position, which counts from 1 or, if negative, from the end. */
static size_t offset_of(lua_Integer position, size_t length)
{
    if (position > 0)
        return (size_t)position - 1;
    if (position == 0 || position < -(lua_Integer)length)
        return 0;
    return length - (size_t)-position;
}

static int find(lua_State *lua, bool positions)
{
    struct search search;
    size_t from;

    start_search(lua, &search, 1, true);
    from = offset_of(luaL_optinteger(lua, 3, 1), search.pattern.length);
    if (from > search.pattern.length) {
        luaL_pushfail(lua);
        return 1;
    }
    if (positions && lua_toboolean(lua, 4)) {
        const uint8_t *text = search.pattern.text + from, *found;
        size_t length = search.pattern.pattern_length + search.anchored;

        script_charge(lua, (search.pattern.length - from) / BYTES_PER_INSTRUCTION);
        found = memmem(text, search.pattern.length - from, search.pattern.pattern - search.anchored, length);
        if (!found) {
            luaL_pushfail(lua);
            return 1;
        }
        lua_pushinteger(lua, (lua_Integer)(found - search.pattern.text) + 1);
        lua_pushinteger(lua, (lua_Integer)(found - search.pattern.text) + (lua_Integer)length);
        return 2;
    }
    if (!find_match(lua, &search, from)) {
        luaL_pushfail(lua);
        return 1;
    }
    if (!positions)
        return push_captures(lua, &search, true);
    lua_pushinteger(lua, (lua_Integer)search.start + 1);
    lua_pushinteger(lua, (lua_Integer)search.end);
    return 2 + push_captures(lua, &search, false);
}

static int string_find(lua_State *lua)
{
    return find(lua, true);
}

static int string_match(lua_State *lua)
{
    return find(lua, false);
}

/* --- gmatch --------------------------------------------------------------------------------------- */

/* Upvalues: the text, the pattern, the offset from which to search, and the end of the previous match or -1. */
static int gmatch_next(lua_State *lua)
{
    lua_Integer at = lua_tointeger(lua, lua_upvalueindex(3)), last = lua_tointeger(lua, lua_upvalueindex(4));
    struct search search;

    lua_settop(lua, 0);
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_pushvalue(lua, lua_upvalueindex(2));
    start_search(lua, &search, 1, false);
    while (at <= (lua_Integer)search.pattern.length && find_match(lua, &search, (size_t)at)) {
        if ((lua_Integer)search.end == last) { /* empty, at the end of the previous match */
            at = (lua_Integer)search.start + 1;
            continue;
        }
        lua_pushinteger(lua, (lua_Integer)search.end);
        lua_copy(lua, -1, lua_upvalueindex(3));
        lua_replace(lua, lua_upvalueindex(4));
        return push_captures(lua, &search, true);
    }
    return 0;
}

static int string_gmatch(lua_State *lua)
{
    size_t length;

    luaL_checklstring(lua, 1, &length);
    luaL_checkstring(lua, 2);

    size_t from = offset_of(luaL_optinteger(lua, 3, 1), length);

    lua_settop(lua, 2);
    lua_pushinteger(lua, (lua_Integer)(from > length ? length + 1 : from));
    lua_pushinteger(lua, -1);
    lua_pushcclosure(lua, gmatch_next, 4);
    return 1;
}

/* --- gsub ----------------------------------------------------------------------------------------- */

/* Adds the replacement, a text with references to captures. */
static void add_text(lua_State *lua, luaL_Buffer *out, const struct search *search)
{
    size_t length;
    const char *text = lua_tolstring(lua, 3, &length);

    script_charge(lua, length / BYTES_PER_INSTRUCTION);
    for (size_t i = 0; i < length; i++) {
        char c = text[i];

        if (c != '%') {
            luaL_addchar(out, c);
            continue;
        }
        c = ++i < length ? text[i] : 0;
        if (c == '%') {
            luaL_addchar(out, c);
        } else if (c == '0') {
            luaL_addlstring(out, (const char *)search->pattern.text + search->start, search->end - search->start);
        } else if (c >= '1' && c <= '9') {
            push_capture(lua, search, (unsigned)(c - '1'));
            luaL_tolstring(lua, -1, NULL);
            lua_remove(lua, -2);
            luaL_addvalue(out);
        } else {
            luaL_error(lua, "invalid use of '%%' in replacement string");
        }
    }
}

/* Adds the replacement of a match; false and nil keep the match itself. */
static void add_replacement(lua_State *lua, luaL_Buffer *out, const struct search *search)
{
    switch (lua_type(lua, 3)) {
    case LUA_TFUNCTION:
        lua_pushvalue(lua, 3);
        lua_call(lua, push_captures(lua, search, true), 1);
        break;
    case LUA_TTABLE:
        push_capture(lua, search, 0);
        lua_gettable(lua, 3);
        break;
    default:
        add_text(lua, out, search);
        return;
    }
    if (!lua_toboolean(lua, -1)) {
        lua_pop(lua, 1);
        luaL_addlstring(out, (const char *)search->pattern.text + search->start, search->end - search->start);
        return;
    }
    if (!lua_isstring(lua, -1))
        luaL_error(lua, "invalid replacement value (a %s)", luaL_typename(lua, -1));
    luaL_addvalue(out);
}

static int string_gsub(lua_State *lua)
{
    struct search search;
    luaL_Buffer out;
    size_t at = 0, last = SIZE_MAX;
    lua_Integer count = 0, most;
    int type = lua_type(lua, 3);

    start_search(lua, &search, 1, true);
    luaL_argexpected(lua, type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION || type == LUA_TTABLE, 3,
                     "string/function/table");
    most = luaL_optinteger(lua, 4, (lua_Integer)search.pattern.length + 1);
    luaL_buffinit(lua, &out);
    while (count < most && at <= search.pattern.length && find_match(lua, &search, at)) {
        luaL_addlstring(&out, (const char *)search.pattern.text + at, search.start - at);
        at = search.start;
        if (search.end != last) {
            add_replacement(lua, &out, &search);
            count++;
            at = last = search.end;
        } else if (at < search.pattern.length) { /* empty, at the end of the previous match */
            luaL_addchar(&out, (char)search.pattern.text[at++]);
        } else {
            break;
        }
        if (search.anchored)
            break;
    }
    if (at < search.pattern.length)
        luaL_addlstring(&out, (const char *)search.pattern.text + at, search.pattern.length - at);
    luaL_pushresult(&out);
    lua_pushinteger(lua, count);
    return 2;
}

/* --- rep ------------------------------------------------------------------------------------------ */

static int string_rep(lua_State *lua)
{
    size_t length, between, total;
    const char *text = luaL_checklstring(lua, 1, &length);
    lua_Integer count = luaL_checkinteger(lua, 2);
    const char *separator = luaL_optlstring(lua, 3, "", &between);
    luaL_Buffer out;
    char *at;

    if (count <= 0 || length + between == 0) {
        lua_pushliteral(lua, "");
        return 1;
    }
    if ((lua_Unsigned)count > UINT32_MAX / (length + between))
        return luaL_error(lua, "resulting string too large");
    script_charge(lua, (uint64_t)count);
    total = (size_t)count * length + (size_t)(count - 1) * between;
    at = luaL_buffinitsize(lua, &out, total);
    for (; count > 0; count--) {
        memcpy(at, text, length);
        at += length;
        if (count > 1) {
            memcpy(at, separator, between);
            at += between;
        }
    }
    luaL_pushresultsize(&out, total);
    return 1;
}

void strings_open(lua_State *lua)
{
    static const luaL_Reg functions[] = {
        { "find", string_find }, { "match", string_match }, { "gmatch", string_gmatch },
        { "gsub", string_gsub }, { "rep", string_rep },     { NULL, NULL },
    };

    luaL_setfuncs(lua, functions, 0);
}

#endif
