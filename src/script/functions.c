/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions that scripts may call, as in Suricata's sandbox: of the basic functions those that neither load code
 * nor catch errors (a caught error would hide a limit), and the libraries table, string, math and utf8. All others
 * raise an error that is counted as a blocked function.
 *
 * A function of C is one instruction for Lua's count hook, however much work it does. So functions whose work grows
 * with their arguments are called through charged(), which counts instructions for it in advance.
 */
#ifdef SLUICE_LUA

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <string.h>

#include "script_priv.h"
#include "sluice/log.h"

enum { BYTES_PER_INSTRUCTION = 64, SEED = 1 };

/* How many instructions a call of a function counts as. */
enum charge {
    CHARGE_NONE,
    CHARGE_BYTES,  /* depends on the lengths of the texts among the arguments */
    CHARGE_TABLE,  /* depends on the length of the table, the first argument */
    CHARGE_SORT,   /* on the length of the table and its logarithm */
    CHARGE_SECOND, /* on the range from the second to the third argument: move() */
    CHARGE_THIRD,  /* on the range from the third to the fourth argument: concat() */
};

static const struct function {
    const char *name;
    enum charge charge;
} base_functions[] = {
    { "assert", CHARGE_NONE },   { "error", CHARGE_NONE },  { "ipairs", CHARGE_NONE },   { "next", CHARGE_NONE },
    { "pairs", CHARGE_NONE },    { "print", CHARGE_NONE },  { "rawequal", CHARGE_NONE }, { "rawget", CHARGE_NONE },
    { "rawlen", CHARGE_NONE },   { "rawset", CHARGE_NONE }, { "select", CHARGE_NONE },   { "tonumber", CHARGE_BYTES },
    { "tostring", CHARGE_NONE }, { "type", CHARGE_NONE },   { "warn", CHARGE_NONE },     { NULL, CHARGE_NONE },
};
static const struct function table_functions[] = {
    { "concat", CHARGE_THIRD }, { "insert", CHARGE_TABLE }, { "move", CHARGE_SECOND },   { "pack", CHARGE_NONE },
    { "remove", CHARGE_TABLE }, { "sort", CHARGE_SORT },    { "unpack", CHARGE_SECOND }, { NULL, CHARGE_NONE },
};
static const struct function string_functions[] = {
    { "byte", CHARGE_BYTES },    { "char", CHARGE_NONE },  { "find", CHARGE_NONE },      { "format", CHARGE_BYTES },
    { "gmatch", CHARGE_NONE },   { "gsub", CHARGE_NONE },  { "len", CHARGE_NONE },       { "lower", CHARGE_BYTES },
    { "match", CHARGE_NONE },    { "pack", CHARGE_BYTES }, { "packsize", CHARGE_BYTES }, { "rep", CHARGE_NONE },
    { "reverse", CHARGE_BYTES }, { "sub", CHARGE_NONE },   { "unpack", CHARGE_BYTES },   { "upper", CHARGE_BYTES },
    { NULL, CHARGE_NONE },
};
static const struct function utf8_functions[] = {
    { "char", CHARGE_NONE }, { "codepoint", CHARGE_BYTES }, { "codes", CHARGE_NONE },
    { "len", CHARGE_BYTES }, { "offset", CHARGE_BYTES },    { NULL, CHARGE_NONE },
};

static const struct {
    const char *name;
    lua_CFunction open;
    const struct function *functions; /* NULL: all */
} libraries[] = {
    { LUA_GNAME, luaopen_base, base_functions },          { LUA_TABLIBNAME, luaopen_table, table_functions },
    { LUA_STRLIBNAME, luaopen_string, string_functions }, { LUA_MATHLIBNAME, luaopen_math, NULL },
    { LUA_UTF8LIBNAME, luaopen_utf8, utf8_functions },
};
enum { LIBRARIES = sizeof(libraries) / sizeof(libraries[0]) };

/* The function in the place of one that scripts may not call; its name is the upvalue. */
static int blocked(lua_State *lua)
{
    state_of(lua)->reached |= REACHED_FUNCTION;
    return luaL_error(lua, "Blocked Lua function called: %s", lua_tostring(lua, lua_upvalueindex(1)));
}

static uint64_t length_of_table(lua_State *lua)
{
    return lua_istable(lua, 1) ? lua_rawlen(lua, 1) : 0;
}

/* Returns the number of elements from argument `first` to the next one, which are by default 1 and the length of the
 * table. */
static uint64_t range(lua_State *lua, int first)
{
    lua_Integer from = luaL_optinteger(lua, first, 1);
    lua_Integer to =
        lua_isnoneornil(lua, first + 1) ? (lua_Integer)length_of_table(lua) : luaL_checkinteger(lua, first + 1);

    return from <= to ? (lua_Unsigned)to - (lua_Unsigned)from + 1 : 0;
}

static uint64_t work_of(lua_State *lua, enum charge charge)
{
    uint64_t work = 0;

    switch (charge) {
    case CHARGE_BYTES:
        for (int i = 1, count = lua_gettop(lua); i <= count; i++) {
            if (lua_type(lua, i) == LUA_TSTRING)
                work += lua_rawlen(lua, i) / BYTES_PER_INSTRUCTION;
        }
        return work;
    case CHARGE_TABLE:
        return lua_gettop(lua) > 1 ? length_of_table(lua) : 0;
    case CHARGE_SORT:
        work = length_of_table(lua);
        return work > 1 ? work * (uint64_t)(64 - __builtin_clzll(work)) : work;
    case CHARGE_SECOND:
        return range(lua, 2);
    case CHARGE_THIRD:
        return range(lua, 3);
    case CHARGE_NONE:
        break;
    }
    return work;
}

/* Calls the function that is the first upvalue in its own place, with the same arguments; it has no upvalues. The
 * second one is an enum charge. */
static int charged(lua_State *lua)
{
    script_charge(lua, work_of(lua, (enum charge)lua_tointeger(lua, lua_upvalueindex(2))));
    return lua_tocfunction(lua, lua_upvalueindex(1))(lua);
}

/* Replaces functions of the table at the top of the stack. */
static void restrict_library(lua_State *lua, const struct function *functions)
{
    for (lua_pushnil(lua); lua_next(lua, -2);) {
        const char *name = lua_type(lua, -2) == LUA_TSTRING ? lua_tostring(lua, -2) : NULL;
        const struct function *function = functions;

        if (!name || lua_type(lua, -1) != LUA_TFUNCTION) {
            lua_pop(lua, 1);
            continue;
        }
        while (function->name && strcmp(function->name, name) != 0)
            function++;
        if (!function->name) {
            lua_pop(lua, 1);
            lua_pushstring(lua, name);
            lua_pushcclosure(lua, blocked, 1);
        } else if (function->charge != CHARGE_NONE) {
            lua_pushinteger(lua, function->charge);
            lua_pushcclosure(lua, charged, 2);
        }
        lua_pushvalue(lua, -2); /* key, function, key */
        lua_insert(lua, -2);
        lua_rawset(lua, -4); /* assigning to an existing key is allowed during the traversal */
    }
}

/* require(NAME): the libraries of this program only. The first upvalue is the table of loaded libraries, the second one
 * a list of libraries. */
static int require(lua_State *lua)
{
    const char *name = luaL_checkstring(lua, 1);
    const struct script_library *further = lua_touserdata(lua, lua_upvalueindex(2)), *found = NULL;

    if (lua_getfield(lua, lua_upvalueindex(1), name) == LUA_TTABLE)
        return 1;
    for (const struct script_library *library = script_modules; library->name && !found; library++)
        found = strcmp(library->name, name) == 0 ? library : NULL;
    for (const struct script_library *library = further; library && library->name && !found; library++)
        found = strcmp(library->name, name) == 0 ? library : NULL;
    if (!found)
        return luaL_error(lua, "Module not found: %s", name);
    lua_pushcfunction(lua, found->open);
    lua_call(lua, 0, 1);
    lua_pushvalue(lua, -1);
    lua_setfield(lua, lua_upvalueindex(1), name);
    return 1;
}

int script_print(lua_State *lua)
{
    luaL_Buffer text;
    int count = lua_gettop(lua);

    luaL_buffinit(lua, &text);
    for (int i = 1; i <= count; i++) {
        if (i > 1)
            luaL_addchar(&text, ' ');
        luaL_tolstring(lua, i, NULL);
        luaL_addvalue(&text);
    }
    luaL_pushresult(&text);
    script_log(lua, LOG_LEVEL_INFO, lua_tostring(lua, -1), lua_rawlen(lua, -1));
    return 0;
}

void functions_open(lua_State *lua, const struct script_options *options)
{
    if (options->all_functions)
        luaL_openlibs(lua);
    for (unsigned i = 0; i < LIBRARIES && !options->all_functions; i++) {
        luaL_requiref(lua, libraries[i].name, libraries[i].open, 1);
        if (libraries[i].functions)
            restrict_library(lua, libraries[i].functions);
        if (strcmp(libraries[i].name, LUA_STRLIBNAME) == 0)
            strings_open(lua);
        lua_pop(lua, 1);
    }
    lua_pushcfunction(lua, script_print);
    lua_setglobal(lua, "print");
    lua_pushcfunction(lua, script_print);
    lua_setglobal(lua, "warn");
    /* A fixed seed: the same packets have the same result, as in a replay. */
    lua_getglobal(lua, LUA_MATHLIBNAME);
    lua_getfield(lua, -1, "randomseed");
    lua_pushinteger(lua, SEED);
    lua_call(lua, 1, 0);
    lua_pop(lua, 1);

    luaL_getsubtable(lua, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    if (options->all_functions) { /* require() is Lua's own, which looks into this table first */
        for (const struct script_library *library = script_modules; library->name; library++)
            luaL_requiref(lua, library->name, library->open, 0), lua_pop(lua, 1);
        for (const struct script_library *library = options->libraries; library && library->name; library++)
            luaL_requiref(lua, library->name, library->open, 0), lua_pop(lua, 1);
    } else {
        lua_pushvalue(lua, -1);
        lua_pushlightuserdata(lua, (void *)options->libraries);
        lua_pushcclosure(lua, require, 2);
        lua_setglobal(lua, "require");
    }
    lua_pop(lua, 1);
}

#endif
