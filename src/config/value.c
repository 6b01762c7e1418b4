/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values: one function per type of setting takes what the file has and makes the canonical node of it, or reports.
 *
 * YAML says little about types here: `no` is a boolean or the text "no" as the row wants it, and a single value is a
 * list of one where the row wants a list.
 */
#include "config_priv.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct take {
    struct walk *walk;
    const struct setting *setting;
    const char *path;
    const struct node *in;
    struct node *out;
};

bool value_to_bool(const char *value, bool *out)
{
    static const struct {
        const char *name;
        bool value;
    } names[] = { { "yes", true },    { "no", false }, { "true", true },
                  { "false", false }, { "on", true },  { "off", false } };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcasecmp(value, names[i].name) == 0) {
            *out = names[i].value;
            return true;
        }
    }
    return false;
}

/* The shift that a unit stands for, or -1: k, kb, KiB; all powers of 1024, as the field has it. */
static int unit_shift(const char *unit, size_t length)
{
    static const char letters[] = "kmg";
    const char *letter = length > 0 ? strchr(letters, tolower((unsigned char)unit[0])) : NULL;

    if (length == 0 || (length == 1 && tolower((unsigned char)unit[0]) == 'b'))
        return 0;
    if (!letter || !*letter)
        return -1;
    if (length == 1 || (length == 2 && strncasecmp(unit + 1, "b", 1) == 0) ||
        (length == 3 && strncasecmp(unit + 1, "ib", 2) == 0))
        return 10 * ((int)(letter - letters) + 1);
    return -1;
}

bool value_to_size(const char *value, int64_t *out)
{
    size_t digits = strspn(value, "0123456789"), gap = strspn(value + digits, " \t");
    uint64_t number;

    if (value[0] == '0' && (value[1] == 'x' || value[1] == 'X'))
        return text_to_int(value, strlen(value), 0, INT64_MAX, out);
    if (digits == 0 || !text_to_uint(value, digits, 0, INT64_MAX, &number))
        return false;

    const char *unit = value + digits + gap;
    int shift = unit_shift(unit, strlen(unit));

    if (shift < 0 || number > (uint64_t)(INT64_MAX >> shift))
        return false;
    *out = (int64_t)(number << shift);
    return true;
}

/* --- Reports -------------------------------------------------------------------------------------- */

static const char *got(const struct node *in)
{
    switch (in->kind) {
    case NODE_LIST:
        return "a list";
    case NODE_MAP:
        return "a mapping";
    case NODE_NULL:
        return "nothing";
    default:
        return NULL;
    }
}

/* "'queue.length' needs a number, got 'abc'" */
static bool refuse(const struct take *take, const struct node *in, const char *wanted)
{
    if (got(in))
        diag_error(take->walk->diag, in->at, "'%s' needs %s, got %s", take->path, wanted, got(in));
    else
        diag_error(take->walk->diag, in->at, "'%s' needs %s, got '%s'", take->path, wanted, in->value);
    return false;
}

static bool out_of_memory(const struct take *take)
{
    if (take->walk->config->nodes >= CONFIG_MAX_NODES)
        diag_error(take->walk->diag, take->in->at, "more than %d values in the configuration", CONFIG_MAX_NODES);
    else
        take->walk->out_of_memory = true;
    return false;
}

static bool check_form(const struct take *take, const struct node *in, const char *value)
{
    const char *wanted = take->setting->check ? take->setting->check(value) : NULL;

    return wanted ? refuse(take, in, wanted) : true;
}

static bool set_scalar(const struct take *take, struct node *out, const char *value)
{
    out->kind = NODE_SCALAR;
    out->value = value;
    return value ? true : out_of_memory(take);
}

/* --- Scalars -------------------------------------------------------------------------------------- */

static bool take_bool(const struct take *take)
{
    bool value;

    if (take->in->kind != NODE_SCALAR || !value_to_bool(take->in->value, &value))
        return refuse(take, take->in, "yes or no");
    return set_scalar(take, take->out, value ? "yes" : "no");
}

static bool take_number(const struct take *take)
{
    const struct setting *setting = take->setting;
    bool size = setting->type == SETTING_SIZE, bounded = setting->low != 0 || setting->high != 0;
    char wanted[160];
    int64_t value = 0;
    bool known = take->in->kind == NODE_SCALAR &&
                 (size ? value_to_size(take->in->value, &value)
                       : text_to_int(take->in->value, strlen(take->in->value), INT64_MIN, INT64_MAX, &value));

    if (known && (!bounded || (value >= setting->low && value <= setting->high)))
        return set_scalar(take, take->out, arena_printf(take->walk->config->arena, "%" PRId64, value));
    if (bounded)
        snprintf(wanted, sizeof(wanted), "a %s from %" PRId64 " to %" PRId64 "%s", size ? "size" : "number",
                 setting->low, setting->high, size ? " bytes" : "");
    else
        snprintf(wanted, sizeof(wanted), "a %s", size ? "size such as 65536 or 16 MiB" : "number");
    return refuse(take, take->in, wanted);
}

static bool take_string(const struct take *take)
{
    if (take->in->kind != NODE_SCALAR)
        return refuse(take, take->in, "a single value");
    if (!check_form(take, take->in, take->in->value))
        return false;
    return set_scalar(take, take->out, take->in->value);
}

/* The choice as the table spells it; booleans are `yes` and `no` where the table has them. NULL when it is none. */
static const char *find_choice(const char *const *choices, const char *value, bool quoted)
{
    bool flag;
    const char *word = !quoted && value_to_bool(value, &flag) ? (flag ? "yes" : "no") : value;

    for (const char *const *choice = choices; *choice; choice++)
        if (strcasecmp(*choice, value) == 0)
            return *choice;
    for (const char *const *choice = choices; *choice; choice++)
        if (strcmp(*choice, word) == 0)
            return *choice;
    return NULL;
}

static bool refuse_choice(const struct take *take, const struct node *in)
{
    struct text wanted;

    text_init(&wanted);
    for (const char *const *choice = take->setting->choices; *choice; choice++)
        text_printf(&wanted, "%s%s", choice == take->setting->choices ? "" : choice[1] ? ", " : " or ", *choice);
    refuse(take, in, wanted.failed || !wanted.bytes ? "one of its choices" : wanted.bytes);
    text_clear(&wanted);
    return false;
}

static bool take_enum(const struct take *take)
{
    const char *choice = NULL;

    if (take->in->kind == NODE_SCALAR)
        choice = find_choice(take->setting->choices, take->in->value, take->in->quoted);
    return choice ? set_scalar(take, take->out, choice) : refuse_choice(take, take->in);
}

static const char *resolve_path(const struct walk *walk, const char *path)
{
    if (path[0] == '/' || walk->folder[0] == '\0')
        return path;
    return arena_printf(walk->config->arena, "%s/%s", walk->folder, path);
}

static bool take_path(const struct take *take)
{
    if (take->in->kind != NODE_SCALAR || take->in->value[0] == '\0')
        return refuse(take, take->in, "a path");
    return set_scalar(take, take->out, resolve_path(take->walk, take->in->value));
}

/* --- Lists ---------------------------------------------------------------------------------------- */

static bool add_item(const struct take *take, const struct node *in, const char *value)
{
    struct node *item = node_new(take->walk->config, NODE_SCALAR);

    if (!item || !value)
        return out_of_memory(take);
    item->value = value;
    item->at = in->at;
    node_add(take->out, item);
    return true;
}

static bool take_item(const struct take *take, const struct node *in, const char *value)
{
    if (take->setting->type == SETTING_PATHS)
        return add_item(take, in, resolve_path(take->walk, value));
    if (take->setting->choices) {
        const char *choice = find_choice(take->setting->choices, value, in->quoted);

        return choice ? add_item(take, in, choice) : refuse_choice(take, in);
    }
    return check_form(take, in, value) && add_item(take, in, value);
}

/* "forward, input" where names of a table are wanted. */
static bool take_words(const struct take *take)
{
    struct span rest = span_of(take->in->value);

    for (struct span word; span_next(&rest, ',', &word);) {
        char *name = arena_strndup(take->walk->config->arena, word.at, word.length);

        if (!name)
            return out_of_memory(take);
        if (!take_item(take, take->in, name))
            return false;
    }
    return true;
}

static bool take_list(const struct take *take)
{
    const char **strings;
    bool good = true;
    size_t count = 0;

    take->out->kind = NODE_LIST;
    if (take->in->kind == NODE_MAP)
        return refuse(take, take->in, "a list");
    if (take->in->kind == NODE_SCALAR)
        good = take->setting->choices ? take_words(take) : take_item(take, take->in, take->in->value);
    for (const struct node *item = take->in->first; take->in->kind == NODE_LIST && item; item = item->next) {
        if (item->kind != NODE_SCALAR)
            good = refuse(take, item, "single values in its list");
        else
            good = take_item(take, item, item->value) && good;
    }
    if (!good)
        return false;
    strings = arena_alloc(take->walk->config->arena, (take->out->count + 1) * sizeof(*strings));
    if (!strings)
        return out_of_memory(take);
    for (const struct node *item = take->out->first; item; item = item->next)
        strings[count++] = item->value;
    strings[count] = NULL;
    take->out->strings = strings;
    return true;
}

/* --- The rule language's own form: a list in YAML is a group there -------------------------------- */

static bool join_group(const struct take *take, const struct node *list, struct text *text)
{
    text_puts(text, "[");
    for (const struct node *item = list->first; item; item = item->next) {
        if (item != list->first)
            text_puts(text, ",");
        if (item->kind == NODE_SCALAR)
            text_puts(text, item->value);
        else if (item->kind != NODE_LIST)
            return refuse(take, item, "single values in its list");
        else if (!join_group(take, item, text))
            return false;
    }
    text_puts(text, "]");
    return true;
}

static bool take_variable(const struct take *take)
{
    struct text text;
    bool good;

    if (take->in->kind != NODE_LIST)
        return take_string(take);
    text_init(&text);
    good = join_group(take, take->in, &text);
    if (good)
        good = text.failed ? out_of_memory(take)
                           : set_scalar(take, take->out, arena_strdup(take->walk->config->arena, text.bytes));
    text_clear(&text);
    return good;
}

static bool take_any(const struct take *take)
{
    struct node *out = take->out;

    *out = *take->in;
    out->next = NULL;
    return true;
}

static bool (*const takers[])(const struct take *take) = {
    [SETTING_BOOL] = take_bool,     [SETTING_NUMBER] = take_number, [SETTING_SIZE] = take_number,
    [SETTING_STRING] = take_string, [SETTING_ENUM] = take_enum,     [SETTING_PATH] = take_path,
    [SETTING_LIST] = take_list,     [SETTING_PATHS] = take_list,    [SETTING_VARIABLE] = take_variable,
    [SETTING_SECTION] = take_any,   [SETTING_ANY] = take_any,
};

struct node *value_take(struct walk *walk, const struct setting *setting, const char *path, const struct node *in)
{
    struct take take = { .walk = walk, .setting = setting, .path = path, .in = in };

    take.out = node_new(walk->config, NODE_NULL);
    if (!take.out) {
        out_of_memory(&take);
        return NULL;
    }
    take.out->at = in->at;
    if (in->kind == NODE_NULL && setting->type != SETTING_ANY)
        return take.out; /* a name without a value: as if it was not written */
    return takers[setting->type](&take) ? take.out : NULL;
}
