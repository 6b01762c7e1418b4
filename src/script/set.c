/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scripts of a rule list. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script_priv.h"

enum { SCRIPT_FILE_MAX = 1024 * 1024 };

int script_set_new(struct script_set **out, const struct script_options *options)
{
    struct script_set *set = calloc(1, sizeof(*set));

    if (!set)
        return -ENOMEM;
    set->options = *options;
    *out = set;
    return 0;
}

static void script_free(struct script *script)
{
    if (!script)
        return;
    free(script->path);
    free(script->chunk);
    free(script->text);
    free(script);
}

void script_set_free(struct script_set *set)
{
    if (!set)
        return;
    for (struct script *script = set->first, *next; script; script = next) {
        next = script->next;
        script_free(script);
    }
    free(set);
}

void script_set_rule(struct script *script, uint32_t gid, uint32_t sid)
{
    script->gid = gid;
    script->sid = sid;
}

void script_release(struct script *script)
{
    script->released = true;
}

const char *script_set_find(const struct script_set *set, uint32_t gid, uint32_t sid, unsigned index)
{
    for (const struct script *script = set ? set->first : NULL; script; script = script->next) {
        if (!script->released && script->gid == gid && script->sid == sid && index-- == 0)
            return script->path;
    }
    return NULL;
}

#ifdef SLUICE_LUA

/* Reads the file into script->text. Returns 0, -ENOMEM, or -EINVAL with a message. */
static int read_file(struct script *script, char *error, size_t size)
{
    FILE *file = fopen(script->path, "rbe");
    int err = 0;

    if (!file) {
        snprintf(error, size, "cannot open the script '%s': %s", script->path, strerror(errno));
        return -EINVAL;
    }
    script->text = malloc(SCRIPT_FILE_MAX + 1);
    if (script->text)
        script->length = fread(script->text, 1, SCRIPT_FILE_MAX + 1, file);
    if (!script->text) {
        err = -ENOMEM;
    } else if (ferror(file)) {
        snprintf(error, size, "cannot read the script '%s': %s", script->path, strerror(errno));
        err = -EINVAL;
    } else if (script->length > SCRIPT_FILE_MAX) {
        snprintf(error, size, "the script '%s' has more than %d bytes", script->path, SCRIPT_FILE_MAX);
        err = -EINVAL;
    } else {
        char *text = realloc(script->text, script->length + 1);

        script->text = text ? text : script->text;
    }
    fclose(file);
    return err;
}

static int try_script(struct script_set *set, const struct script *script, const struct script_load *how, char *error,
                      size_t size)
{
    struct script_states *states = NULL;
    int err = states_alloc(&states, set, 1);

    if (!err)
        err = state_open(&states->state[0], states, script, how);
    if (err == -EINVAL)
        snprintf(error, size, "%s", states->state[0].reason);
    script_states_free(states);
    return err;
}

int script_load(struct script_set *set, const struct script_load *how, struct script **out, char *error, size_t size)
{
    struct script *script = calloc(1, sizeof(*script));
    int err = script ? 0 : -ENOMEM;

    if (!err) {
        script->set = set;
        script->function = how->function;
        script->owner = how->owner;
        script->path = strdup(how->path);
        if (!script->path || asprintf(&script->chunk, "@%s", how->path) < 0) {
            script->chunk = NULL;
            err = -ENOMEM;
        }
    }
    if (!err)
        err = read_file(script, error, size);
    if (!err)
        err = try_script(set, script, how, error, size);
    if (err) {
        script_free(script);
        return err;
    }
    script->id = set->count++;
    if (set->last)
        set->last->next = script;
    else
        set->first = script;
    set->last = script;
    *out = script;
    return 0;
}

bool script_is_available(void)
{
    return true;
}

#else

int script_load(struct script_set *set, const struct script_load *how, struct script **out, char *error, size_t size)
{
    (void)set;
    (void)how;
    (void)out;
    snprintf(error, size, "this program was built without Lua");
    return -EINVAL;
}

bool script_is_available(void)
{
    return false;
}

int script_states_new(struct script_states **out, const struct script_set *set)
{
    (void)set;
    *out = NULL;
    return 0;
}

void script_states_free(struct script_states *states)
{
    (void)states;
}

void script_states_attach(struct script_states *states, struct script_reports *reports)
{
    (void)states;
    (void)reports;
}

size_t script_states_memory(const struct script_states *states)
{
    (void)states;
    return 0;
}

bool script_match(struct script_states *states, const struct script *script, void *call,
                  const struct script_argument *arguments, size_t count, bool *out)
{
    (void)states;
    (void)script;
    (void)call;
    (void)arguments;
    (void)count;
    (void)out;
    return false;
}

bool script_transform(struct script_states *states, const struct script *script, const uint8_t *bytes, uint32_t length,
                      const char *const *words, size_t count, script_memory_function *memory, void *user,
                      const uint8_t **out, uint32_t *out_length)
{
    (void)states;
    (void)script;
    (void)bytes;
    (void)length;
    (void)words;
    (void)count;
    (void)memory;
    (void)user;
    (void)out;
    (void)out_length;
    return false;
}

#endif
