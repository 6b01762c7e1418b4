/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scripts of rules: Lua 5.4 in a sandbox. A rule names a script by `lua:FILE` or `luaxform:FILE`.
 *
 * A script set has the scripts of a rule list, one struct script for each keyword that names one; it is immutable after
 * the list is finished. Each worker has a Lua state for each of them (struct script_states), which is created when the
 * worker gets the ruleset, and is kept from call to call.
 *
 * A state has the functions of Lua that access nothing but their arguments, and the libraries suricata.hashing,
 * suricata.base64 and suricata.log; the caller adds libraries for packets. Its memory is allocated from a heap of the
 * worker and counted (max_bytes). Each call may use max_instructions: one for each instruction of Lua's virtual
 * machine, for each step of a pattern, and for each 64 bytes that are allocated or read by a function of a library. A
 * script that reaches a limit, calls a function that it may not use, or raises an error has no result; the error is
 * counted and reported. Scripts are text: bytecode is refused.
 *
 * Without Lua (SLUICE_LUA is not defined) script_load() fails, and the other functions do nothing.
 *
 * Threads:   script_load() is called by the thread that loads the rules; states belong to one worker. Reports are
 *            written by the worker and read by one other thread.
 */
#ifndef SLUICE_SCRIPT_H
#define SLUICE_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lua_State;
struct script;
struct script_reports;
struct script_set;
struct script_states;

/* A library that scripts load with require(NAME). `open` is a C function of Lua that returns the library's table. */
struct script_library {
    const char *name;
    int (*open)(struct lua_State *lua);
};

struct script_options {
    bool allowed;       /* rules may use scripts: security.lua.allow-rules */
    bool all_functions; /* all functions of Lua's libraries: security.lua.allow-restricted-functions */
    uint64_t max_bytes, max_instructions;   /* of one state; of one call */
    const struct script_library *libraries; /* further libraries, terminated by a row without a name; NULL: none */
};

/* Returns whether the program was built with Lua. */
bool script_is_available(void);

/* Creates an empty set; *options is copied. Returns 0 or -ENOMEM. */
int script_set_new(struct script_set **out, const struct script_options *options);
void script_set_free(struct script_set *set); /* NULL is allowed */

struct script_load {
    const char *path;     /* of the file; copied */
    const char *function; /* global function that the script must have; a constant of the program */
    bool needs_init; /* the script must have the function init(), which returns a table; otherwise it is optional */
    void *owner;     /* result of script_owner() in the functions of libraries; valid as long as the set */
    /* Called for each member of the table that init() returns whose value is true, and for each text in a table that is
     * a member (`value`, otherwise NULL). Returns NULL, or an error message. NULL: the table is ignored. */
    const char *(*need)(void *owner, const char *key, const char *value);
};
/* Reads a script, and runs it in a temporary state: the file, init(), and thread_init(), if the script has them. Adds
 * the script to the set. Returns 0, -ENOMEM, or -EINVAL with a message in `error`. */
int script_load(struct script_set *set, const struct script_load *how, struct script **out, char *error, size_t size);
/* Stores the ids of the rule for reports. */
void script_set_rule(struct script *script, uint32_t gid, uint32_t sid);
/* The rule was not loaded: no state is created for the script. */
void script_release(struct script *script);
/* Returns the path of script number `index` of a rule, counted from 0; NULL: the rule has no such script. NULL is
 * allowed for the set. */
const char *script_set_find(const struct script_set *set, uint32_t gid, uint32_t sid, unsigned index);

/* --- States of a worker --------------------------------------------------------------------------- */

/* Creates the states for all scripts of a set. NULL is allowed for a rule list without scripts, and *out is NULL then.
 * Returns 0 or -ENOMEM. A script that fails in its new state has no result, and is reported with its first call. */
int script_states_new(struct script_states **out, const struct script_set *set);
void script_states_free(struct script_states *states); /* NULL is allowed */
/* Sets where errors and messages of the scripts are reported; called by the worker before the first call. NULL states
 * are allowed. */
void script_states_attach(struct script_states *states, struct script_reports *reports);
/* Bytes in use by all states. */
size_t script_states_memory(const struct script_states *states);

/* A member of the table that the function gets. */
struct script_argument {
    const char *name;
    const uint8_t *bytes;
    size_t length;
};
/* Calls the script's function with a table of the arguments, and the member `offset`, which is 1, if there are any.
 * Sets *out to whether the function returned 1. Returns false if the script failed. `call` is the result of
 * script_call() in the functions of libraries. */
bool script_match(struct script_states *states, const struct script *script, void *call,
                  const struct script_argument *arguments, size_t count, bool *out);

/* Memory for the result of script_transform(); returns NULL if there is none. */
typedef uint8_t *script_memory_function(void *user, uint32_t size);
/* Calls the script's function with the bytes and a table of `count` words. The function returns a string and its
 * length. Returns false if the script or the allocation failed. *out is NULL if the function returned anything else, or
 * the length 0. */
bool script_transform(struct script_states *states, const struct script *script, const uint8_t *bytes, uint32_t length,
                      const char *const *words, size_t count, script_memory_function *memory, void *user,
                      const uint8_t **out, uint32_t *out_length);

/* --- Errors and messages -------------------------------------------------------------------------- */

enum script_error {
    SCRIPT_ERROR_RULE,         /* a mistake in the script, or error() */
    SCRIPT_ERROR_FUNCTION,     /* a function that scripts may not call */
    SCRIPT_ERROR_INSTRUCTIONS, /* max_instructions */
    SCRIPT_ERROR_MEMORY,       /* max_bytes */
    SCRIPT_ERRORS,
};

struct script_counts {
    uint64_t calls, failed; /* calls, and those that failed */
    uint64_t errors[SCRIPT_ERRORS];
    uint64_t lost; /* reports that were discarded because the ring was full */
};

enum { SCRIPT_REPORT_TEXT = 240 };
/* An error, or a message of suricata.log and print(). An error of a script is reported the first time and whenever the
 * number of its errors of that kind has doubled. */
struct script_report {
    uint32_t gid, sid;
    bool is_error;
    enum script_error error;       /* if is_error */
    uint8_t level;                 /* of a message: enum log_level */
    uint64_t count;                /* if is_error: errors of this kind so far */
    char text[SCRIPT_REPORT_TEXT]; /* printable ASCII, with the path of the script and the line */
};

/* Errors are counted in *counts, which must outlive the reports. Returns 0 or -ENOMEM. */
int script_reports_new(struct script_reports **out, struct script_counts *counts);
void script_reports_free(struct script_reports *reports); /* NULL is allowed */
/* Reads the next report; false: there is none. */
bool script_reports_next(struct script_reports *reports, struct script_report *out);

/* --- For libraries -------------------------------------------------------------------------------- */

/* Return struct script_load.owner, and the argument `call` of the current call; the latter is NULL while the script is
 * loaded. */
void *script_owner(struct lua_State *lua);
void *script_call(struct lua_State *lua);
/* Counts instructions of the current call. Raises an error of Lua, and does not return, if the call has none left. */
void script_charge(struct lua_State *lua, uint64_t instructions);
/* Adds a message to the reports. */
void script_log(struct lua_State *lua, uint8_t level, const char *text, size_t length);

#endif
