/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lua states: memory, limits, calls.
 *
 * Everything that may raise an error of Lua runs below lua_pcall(): an error without it would abort the program. So a
 * call passes one pointer to a C function, which pushes the arguments.
 *
 * The allocator counts bytes against the limit of the state, and instructions for them, so that the work of building
 * long strings is limited, too. It refuses memory when the call has no instructions left; Lua then raises a memory
 * error, and `reached` tells the two apart.
 */
#ifdef SLUICE_LUA

#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script_priv.h"

enum {
    HOOK_INSTRUCTIONS = 100,      /* interval of the count hook */
    BYTES_PER_INSTRUCTION = 64,   /* of allocated memory */
    HEAP_FIXED = 4 * 1024 * 1024, /* address space for one slab of each size class, and for the largest object */
    LOAD_INSTRUCTIONS = 1 << 26,  /* for the start of a script, which is no work on the path of a packet */
};

struct script_state *state_of(lua_State *lua)
{
    void *state;

    lua_getallocf(lua, &state);
    return state;
}

void *script_owner(lua_State *lua)
{
    return state_of(lua)->script->owner;
}

void *script_call(lua_State *lua)
{
    return state_of(lua)->call;
}

/* --- Limits --------------------------------------------------------------------------------------- */

static bool spend(struct script_state *state, uint64_t instructions)
{
    state->work += instructions;
    if (state->max_work == 0 || state->work <= state->max_work)
        return true;
    state->reached |= REACHED_INSTRUCTIONS;
    return false;
}

void script_charge(lua_State *lua, uint64_t instructions)
{
    if (!spend(state_of(lua), instructions))
        luaL_error(lua, "instruction limit exceeded");
}

static void count_instructions(lua_State *lua, lua_Debug *debug)
{
    (void)debug;
    script_charge(lua, HOOK_INSTRUCTIONS);
}

static void *allocate(void *user, void *block, size_t old, size_t size)
{
    struct script_state *state = user;
    size_t before = block ? old : 0;
    struct heap *heap = state->states->heap;
    void *grown;

    if (size <= before) {
        state->used -= before - size;
        grown = size > 0 && size < before / 2 ? heap_alloc_uncleared(heap, size) : NULL;
        if (size > 0 && !grown)
            return block; /* Lua does not expect that making a block smaller fails, so it keeps its memory */
        if (grown)
            memcpy(grown, block, size);
        heap_release(heap, block);
        return grown;
    }
    if (size - before > state->limit || state->used > state->limit - (size - before)) {
        state->reached |= REACHED_MEMORY;
        return NULL;
    }
    if (!spend(state, (size - before) / BYTES_PER_INSTRUCTION))
        return NULL;
    grown = block ? heap_grow(heap, block, before, size) : heap_alloc_uncleared(heap, size);
    if (grown)
        state->used += size - before;
    else
        state->reached |= REACHED_MEMORY;
    return grown;
}

/* --- Calls ---------------------------------------------------------------------------------------- */

static enum script_error error_of(const struct script_state *state, int status)
{
    if (state->reached & REACHED_FUNCTION)
        return SCRIPT_ERROR_FUNCTION;
    if (state->reached & REACHED_INSTRUCTIONS)
        return SCRIPT_ERROR_INSTRUCTIONS;
    return status == LUA_ERRMEM ? SCRIPT_ERROR_MEMORY : SCRIPT_ERROR_RULE;
}

/* Calls a C function with a pointer. Returns false if it raised an error; *error and `reason`, if they are not NULL,
 * are then set. Otherwise the error is reported. */
static bool run(struct script_state *state, lua_CFunction function, void *argument, uint64_t max_work,
                size_t more_bytes, enum script_error *error, char *reason)
{
    const struct script_options *options = &state->script->set->options;
    lua_State *lua = state->lua;
    int status;

    state->work = 0;
    state->reached = 0;
    state->max_work = max_work;
    /* The bytes of the arguments are the caller's, not the script's. */
    state->limit = options->max_bytes + more_bytes;
    lua_settop(lua, 0);
    lua_sethook(lua, count_instructions, LUA_MASKCOUNT, HOOK_INSTRUCTIONS);
    lua_pushcfunction(lua, function);
    lua_pushlightuserdata(lua, argument);
    status = lua_pcall(lua, 1, 0, 0);
    state->max_work = 0;
    if (status != LUA_OK) {
        enum script_error kind = error_of(state, status);
        const char *text = kind == SCRIPT_ERROR_MEMORY         ? "memory limit exceeded"
                           : kind == SCRIPT_ERROR_INSTRUCTIONS ? "instruction limit exceeded"
                                                               : "an error that is no text";

        if (status != LUA_ERRMEM && lua_type(lua, -1) == LUA_TSTRING)
            text = lua_tostring(lua, -1);
        if (error) {
            *error = kind;
            report_text(reason, text, strlen(text));
        } else {
            reports_add_error(state->states->reports, state, kind, text);
        }
    }
    lua_settop(lua, 0);
    if (status == LUA_ERRMEM)
        lua_gc(lua, LUA_GCCOLLECT);
    return status == LUA_OK;
}

struct loading {
    const struct script *script;
    const struct script_load *how; /* NULL: init() is not called */
};

/* Passes the members of the table at the top of the stack to need(). */
static void read_needs(lua_State *lua, const struct script_load *how)
{
    for (lua_pushnil(lua); lua_next(lua, -2); lua_pop(lua, 1)) {
        const char *error = NULL;

        if (lua_type(lua, -2) != LUA_TSTRING)
            continue;
        if (lua_type(lua, -1) != LUA_TTABLE) {
            error = lua_toboolean(lua, -1) ? how->need(how->owner, lua_tostring(lua, -2), NULL) : NULL;
        } else {
            for (lua_pushnil(lua); lua_next(lua, -2); lua_pop(lua, 1)) {
                if (lua_type(lua, -1) == LUA_TSTRING && !error)
                    error = how->need(how->owner, lua_tostring(lua, -4), lua_tostring(lua, -1));
            }
        }
        if (error)
            luaL_error(lua, "init: %s", error);
    }
}

static int load_script(lua_State *lua)
{
    const struct loading *loading = lua_touserdata(lua, 1);
    const struct script *script = loading->script;
    const struct script_load *how = loading->how;

    luaL_checkstack(lua, 20, NULL);
    functions_open(lua, &script->set->options);
    if (luaL_loadbufferx(lua, script->text, script->length, script->chunk, "t") != LUA_OK)
        return lua_error(lua);
    lua_call(lua, 0, 0);
    if (lua_getglobal(lua, script->function) != LUA_TFUNCTION)
        return luaL_error(lua, "%s: the script has no function '%s'", script->path, script->function);
    lua_pop(lua, 1);
    if (how) {
        bool has_init = lua_getglobal(lua, "init") == LUA_TFUNCTION;

        if (!has_init && how->needs_init)
            return luaL_error(lua, "%s: the script has no function 'init'", script->path);
        if (has_init) {
            if (how->needs_init) {
                lua_pushlightuserdata(lua, how->owner);
            } else {
                lua_createtable(lua, 0, 1);
                lua_pushinteger(lua, 1);
                lua_setfield(lua, -2, "script_api_ver");
            }
            lua_call(lua, 1, 1);
            if (how->needs_init && !lua_istable(lua, -1))
                return luaL_error(lua, "%s: the function 'init' must return a table", script->path);
            if (how->need && lua_istable(lua, -1))
                read_needs(lua, how);
        }
    }
    if (lua_getglobal(lua, "thread_init") == LUA_TFUNCTION)
        lua_call(lua, 0, 0);
    return 0;
}

int state_open(struct script_state *state, struct script_states *states, const struct script *script,
               const struct script_load *loading)
{
    struct loading argument = { script, loading };

    *state = (struct script_state){ .script = script, .states = states, .limit = script->set->options.max_bytes };
    state->lua = lua_newstate(allocate, state);
    if (!state->lua)
        return -ENOMEM;
    if (run(state, load_script, &argument, LOAD_INSTRUCTIONS, 0, &state->error, state->reason))
        return 0;
    lua_close(state->lua);
    state->lua = NULL;
    state->failed = true;
    return -EINVAL;
}

int states_alloc(struct script_states **out, const struct script_set *set, uint32_t count)
{
    struct script_states *states = calloc(1, sizeof(*states) + count * sizeof(states->state[0]));

    if (!states)
        return -ENOMEM;
    states->count = count;
    /* Rounding up to a size class takes a quarter, and each script may get a buffer in addition to its own memory. */
    if (heap_new(&states->heap, HEAP_FIXED + (size_t)count * (set->options.max_bytes + set->options.max_bytes / 2))) {
        free(states);
        return -ENOMEM;
    }
    *out = states;
    return 0;
}

int script_states_new(struct script_states **out, const struct script_set *set)
{
    struct script_states *states = NULL;
    int err = 0;

    *out = NULL;
    if (!set || set->count == 0)
        return 0;
    err = states_alloc(&states, set, set->count);
    for (const struct script *script = err ? NULL : set->first; script && err != -ENOMEM; script = script->next)
        err = script->released ? 0 : state_open(&states->state[script->id], states, script, NULL);
    if (err == -ENOMEM)
        script_states_free(states);
    else
        *out = states;
    return err == -ENOMEM ? err : 0;
}

void script_states_free(struct script_states *states)
{
    if (!states)
        return;
    for (uint32_t i = 0; i < states->count; i++) {
        struct script_state *state = &states->state[i];

        state->work = 0;
        state->max_work = LOAD_INSTRUCTIONS; /* for finalizers, which only scripts with all functions can have */
        if (state->lua)
            lua_close(state->lua);
    }
    heap_free(states->heap);
    free(states);
}

void script_states_attach(struct script_states *states, struct script_reports *reports)
{
    if (states)
        states->reports = reports;
}

size_t script_states_memory(const struct script_states *states)
{
    return states ? heap_memory(states->heap) : 0;
}

/* Returns the state of a script for a call; NULL if the script failed when its state was set up, which counts as an
 * error of the call. */
static struct script_state *find_state(struct script_states *states, const struct script *script)
{
    struct script_state *state = states && script->id < states->count ? &states->state[script->id] : NULL;

    if (!state)
        return NULL;
    reports_count_call(states->reports);
    if (state->lua)
        return state;
    if (state->failed)
        reports_add_error(states->reports, state, state->error, state->reason);
    return NULL;
}

struct match {
    const char *function;
    const struct script_argument *arguments;
    size_t count;
    bool matched;
};

static int call_match(lua_State *lua)
{
    struct match *match = lua_touserdata(lua, 1);

    lua_getglobal(lua, match->function);
    lua_createtable(lua, 0, (int)match->count + 1);
    for (size_t i = 0; i < match->count; i++) {
        lua_pushlstring(lua, (const char *)match->arguments[i].bytes, match->arguments[i].length);
        lua_setfield(lua, -2, match->arguments[i].name);
    }
    if (match->count > 0) {
        lua_pushinteger(lua, 1);
        lua_setfield(lua, -2, "offset");
    }
    lua_call(lua, 1, 1);
    match->matched = lua_type(lua, -1) == LUA_TNUMBER && lua_tointeger(lua, -1) == 1;
    return 0;
}

bool script_match(struct script_states *states, const struct script *script, void *call,
                  const struct script_argument *arguments, size_t count, bool *out)
{
    struct script_state *state = find_state(states, script);
    struct match match = { script->function, arguments, count, false };
    size_t bytes = 0;
    bool done;

    if (!state)
        return false;
    for (size_t i = 0; i < count; i++)
        bytes += arguments[i].length;
    state->call = call;
    done = run(state, call_match, &match, script->set->options.max_instructions + bytes / BYTES_PER_INSTRUCTION, bytes,
               NULL, NULL);
    state->call = NULL;
    *out = match.matched;
    return done;
}

struct transform {
    const char *function;
    const uint8_t *bytes;
    uint32_t length;
    const char *const *words;
    size_t count;
    script_memory_function *memory;
    void *user;
    uint8_t *out;
    uint32_t out_length;
    bool no_memory;
};

static int call_transform(lua_State *lua)
{
    struct transform *transform = lua_touserdata(lua, 1);
    lua_Integer wanted;
    size_t length;

    lua_getglobal(lua, transform->function);
    lua_pushlstring(lua, (const char *)transform->bytes, transform->length);
    lua_createtable(lua, (int)transform->count, 0);
    for (size_t i = 0; i < transform->count; i++) {
        lua_pushstring(lua, transform->words[i]);
        lua_rawseti(lua, -2, (lua_Integer)i + 1);
    }
    lua_call(lua, 2, 2);
    if (lua_type(lua, -2) != LUA_TSTRING || lua_type(lua, -1) != LUA_TNUMBER)
        return 0;

    const char *text = lua_tolstring(lua, -2, &length);

    wanted = lua_tointeger(lua, -1);
    if (wanted <= 0)
        return 0;
    if ((lua_Unsigned)wanted < length)
        length = (size_t)wanted;
    if (length == 0)
        return 0;
    transform->out = length <= UINT32_MAX ? transform->memory(transform->user, (uint32_t)length) : NULL;
    transform->no_memory = !transform->out;
    if (transform->out)
        memcpy(transform->out, text, length);
    transform->out_length = (uint32_t)length;
    return 0;
}

bool script_transform(struct script_states *states, const struct script *script, const uint8_t *bytes, uint32_t length,
                      const char *const *words, size_t count, script_memory_function *memory, void *user,
                      const uint8_t **out, uint32_t *out_length)
{
    struct script_state *state = find_state(states, script);
    struct transform transform = { .function = script->function,
                                   .bytes = bytes,
                                   .length = length,
                                   .words = words,
                                   .count = count,
                                   .memory = memory,
                                   .user = user };

    if (!state ||
        !run(state, call_transform, &transform, script->set->options.max_instructions + length / BYTES_PER_INSTRUCTION,
             length, NULL, NULL) ||
        transform.no_memory)
        return false;
    *out = transform.out;
    *out_length = transform.out_length;
    return true;
}

void script_log(lua_State *lua, uint8_t level, const char *text, size_t length)
{
    const struct script_state *state = state_of(lua);

    reports_add_message(state->states->reports, state->script, level, text, length);
}

#endif
