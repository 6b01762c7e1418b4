/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Patterns of scripts. The first line is the pattern, the rest is the text. The contract: match and captures lie in the
 * text, a match takes at most the given number of steps, and a pattern that needs few steps has the result of Lua's own
 * string.find(). The latter is not called for other patterns, because it may take years.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "script/pattern.h"

#ifdef SLUICE_LUA
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS = 20000, MAX_SIZE = 4096 };

static void require(int holds)
{
    if (!holds)
        abort();
}

/* Finds the first match, as string.find() does. Returns its start, or PATTERN_NO_MATCH. */
static size_t find(struct pattern *pattern, size_t *end)
{
    int anchored = pattern->pattern_length > 0 && pattern->pattern[0] == '^';

    pattern->pattern += anchored;
    pattern->pattern_length -= (size_t)anchored;
    for (size_t at = 0; at <= pattern->length && !pattern->error && pattern->steps > 0; at++) {
        uint64_t before = pattern->steps;

        *end = pattern_match(pattern, at);
        require(pattern->steps <= before);
        if (*end != PATTERN_NO_MATCH)
            return at;
        if (anchored)
            break;
    }
    return PATTERN_NO_MATCH;
}

#ifdef SLUICE_LUA
static void compare_with_lua(const struct pattern *pattern, size_t start, size_t end, const uint8_t *text,
                             size_t length, const uint8_t *source, size_t source_length)
{
    lua_State *lua = luaL_newstate();
    int status;

    require(lua != NULL);
    luaL_requiref(lua, LUA_STRLIBNAME, luaopen_string, 1);
    lua_getfield(lua, -1, "find");
    lua_pushlstring(lua, (const char *)text, length);
    lua_pushlstring(lua, (const char *)source, source_length);
    status = lua_pcall(lua, 2, LUA_MULTRET, 0);
    /* Lua finds a mistake only when it gets to it; so does the other matcher, but not always at the same place. */
    if (status == LUA_OK && !pattern->error) {
        if (lua_isnil(lua, 2)) {
            require(start == PATTERN_NO_MATCH);
        } else {
            require(start != PATTERN_NO_MATCH && (lua_Integer)start + 1 == lua_tointeger(lua, 2) &&
                    (lua_Integer)end == lua_tointeger(lua, 3));
            require(lua_gettop(lua) == 3 + (int)pattern->capture_count);
            for (unsigned i = 0; i < pattern->capture_count; i++) {
                const struct pattern_capture *capture = &pattern->captures[i];
                size_t captured;
                const char *bytes;

                if (capture->kind == PATTERN_CAPTURE_POSITION) {
                    require(lua_tointeger(lua, 4 + (int)i) == (lua_Integer)capture->at + 1);
                    continue;
                }
                bytes = lua_tolstring(lua, 4 + (int)i, &captured);
                require(captured == capture->length && memcmp(bytes, text + capture->at, captured) == 0);
            }
        }
    }
    lua_close(lua);
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *line = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t source_length = line ? (size_t)(line - data) : size, end = 0;
    const uint8_t *text = line ? line + 1 : data + size;
    size_t length = size - source_length - (line ? 1 : 0);
    struct pattern pattern = {
        .text = text, .length = length, .pattern = data, .pattern_length = source_length, .steps = STEPS
    };

    if (size == 0 || size > MAX_SIZE)
        return 0;
    size_t start = find(&pattern, &end);

    if (start != PATTERN_NO_MATCH) {
        require(start <= end && end <= length && !pattern.error);
        require(pattern.capture_count <= PATTERN_CAPTURES);
        for (unsigned i = 0; i < pattern.capture_count; i++) {
            require(pattern.captures[i].kind != PATTERN_CAPTURE_OPEN);
            require(pattern.captures[i].at <= length);
            if (pattern.captures[i].kind == PATTERN_CAPTURE_TEXT)
                require(pattern.captures[i].length <= length - pattern.captures[i].at);
        }
    }
#ifdef SLUICE_LUA
    if (pattern.steps > 0)
        compare_with_lua(&pattern, start, end, text, length, data, source_length);
#endif
    return 0;
}
