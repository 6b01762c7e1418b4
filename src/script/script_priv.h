/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private parts of the script module:
 *
 *   set.c        scripts of a rule list: reading the files, init()
 *   state.c      states: memory, limits, calls, errors
 *   functions.c  the functions of Lua's libraries that scripts may call
 *   strings.c    string.find, match, gmatch, gsub and rep with a limit of their work
 *   modules.c    suricata.hashing, suricata.base64, suricata.log
 *   pattern.c    patterns of Lua
 *   reports.c    counters, errors and messages
 */
#ifndef SLUICE_SCRIPT_PRIV_H
#define SLUICE_SCRIPT_PRIV_H

#include "sluice/heap.h"
#include "sluice/script.h"

struct script {
    struct script *next;
    struct script_set *set;
    uint32_t id; /* place of its state in script_states */
    uint32_t gid, sid;
    bool released;
    const char *function;
    void *owner;
    char *path, *chunk; /* chunk: the name for Lua, "@PATH" */
    char *text;
    size_t length;
};

struct script_set {
    struct script_options options;
    struct script *first, *last;
    uint32_t count;
};

/* Bits of script_state.reached. */
enum { REACHED_FUNCTION = 1, REACHED_INSTRUCTIONS = 2, REACHED_MEMORY = 4 };

struct script_state {
    struct lua_State *lua; /* NULL: not created, or failed */
    const struct script *script;
    struct script_states *states;
    void *call;
    uint64_t work, max_work; /* instructions of the current call; 0: unlimited */
    size_t used, limit;      /* bytes */
    uint8_t reached;
    uint64_t errors[SCRIPT_ERRORS];
    bool failed; /* the state could not be set up; `error` is the reason */
    enum script_error error;
    char reason[SCRIPT_REPORT_TEXT];
};

struct script_states {
    struct heap *heap;
    struct script_reports *reports;
    uint32_t count;
    struct script_state state[]; /* by script.id */
};

/* --- state.c -------------------------------------------------------------------------------------- */

/* Creates the heap for states of this number of scripts. Returns 0 or -ENOMEM. */
int states_alloc(struct script_states **out, const struct script_set *set, uint32_t count);
/* Creates a state with the libraries of the set, and runs the script in it. `loading` is not NULL if init() is to be
 * called, too. Returns 0, -ENOMEM, or -EINVAL with state->error and state->reason. */
int state_open(struct script_state *state, struct script_states *states, const struct script *script,
               const struct script_load *loading);
struct script_state *state_of(struct lua_State *lua);

/* --- functions.c, strings.c, modules.c ------------------------------------------------------------ */

/* Open the libraries of a state; may raise errors of Lua. */
void functions_open(struct lua_State *lua, const struct script_options *options);
void strings_open(struct lua_State *lua); /* replaces functions of the table at the top of the stack */
extern const struct script_library script_modules[];
int script_print(struct lua_State *lua); /* print(), warn() */

/* --- reports.c ------------------------------------------------------------------------------------ */

void reports_add_error(struct script_reports *reports, struct script_state *state, enum script_error error,
                       const char *text);
void reports_add_message(struct script_reports *reports, const struct script *script, uint8_t level, const char *text,
                         size_t length);
void reports_count_call(struct script_reports *reports);
/* Copies text, with '?' in place of bytes that are no printable ASCII. */
void report_text(char out[SCRIPT_REPORT_TEXT], const char *text, size_t length);

#endif
