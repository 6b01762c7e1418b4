/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values: one function for each type of setting parses a value of a file into a node in canonical form, or reports why
 * it is invalid.
 *
 * The row (struct setting), not YAML, determines the type: `no` may be a boolean or the string "no", and a single value
 * becomes a list with one item if the setting is a list.
 */
#include "config_priv.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct parse {
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

/* Returns the exponent of two for a unit, 10 for k, kb and KiB (powers of 1024, as in Suricata), or -1 if it is
 * unknown. */
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

static const char *kind_name(const struct node *in)
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

/* Reports an error such as "'queue.length' needs a number, got 'abc'". Returns false. */
static bool report_invalid(const struct parse *parse, const struct node *in, const char *wanted)
{
    if (kind_name(in))
        diag_error(parse->walk->diag, in->at, "'%s' needs %s, got %s", parse->path, wanted, kind_name(in));
    else
        diag_error(parse->walk->diag, in->at, "'%s' needs %s, got '%s'", parse->path, wanted, in->value);
    return false;
}

static bool out_of_memory(const struct parse *parse)
{
    if (parse->walk->config->nodes >= CONFIG_MAX_NODES)
        diag_error(parse->walk->diag, parse->in->at, "more than %d values in the configuration", CONFIG_MAX_NODES);
    else
        parse->walk->out_of_memory = true;
    return false;
}

static bool check_form(const struct parse *parse, const struct node *in, const char *value)
{
    const char *wanted = parse->setting->check ? parse->setting->check(value) : NULL;

    return wanted ? report_invalid(parse, in, wanted) : true;
}

static bool set_scalar(const struct parse *parse, struct node *out, const char *value)
{
    out->kind = NODE_SCALAR;
    out->value = value;
    return value ? true : out_of_memory(parse);
}

/* --- Scalars -------------------------------------------------------------------------------------- */

static bool parse_bool(const struct parse *parse)
{
    bool value;

    if (parse->in->kind != NODE_SCALAR || !value_to_bool(parse->in->value, &value))
        return report_invalid(parse, parse->in, "yes or no");
    return set_scalar(parse, parse->out, value ? "yes" : "no");
}

static bool parse_number(const struct parse *parse)
{
    const struct setting *setting = parse->setting;
    bool size = setting->type == SETTING_SIZE, bounded = setting->low != 0 || setting->high != 0;
    char wanted[160];
    int64_t value = 0;
    bool known = parse->in->kind == NODE_SCALAR &&
                 (size ? value_to_size(parse->in->value, &value)
                       : text_to_int(parse->in->value, strlen(parse->in->value), INT64_MIN, INT64_MAX, &value));

    if (known && (!bounded || (value >= setting->low && value <= setting->high)))
        return set_scalar(parse, parse->out, arena_printf(parse->walk->config->arena, "%" PRId64, value));
    if (bounded)
        snprintf(wanted, sizeof(wanted), "a %s from %" PRId64 " to %" PRId64 "%s", size ? "size" : "number",
                 setting->low, setting->high, size ? " bytes" : "");
    else
        snprintf(wanted, sizeof(wanted), "a %s", size ? "size such as 65536 or 16 MiB" : "number");
    return report_invalid(parse, parse->in, wanted);
}

static bool parse_string(const struct parse *parse)
{
    if (parse->in->kind != NODE_SCALAR)
        return report_invalid(parse, parse->in, "a single value");
    if (!check_form(parse, parse->in, parse->in->value))
        return false;
    return set_scalar(parse, parse->out, parse->in->value);
}

/* Returns the choice that the value names, in the spelling of the table, or NULL. An unquoted boolean in another
 * spelling (`true`, `off`) matches the choice `yes` or `no`. */
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

static bool report_choices(const struct parse *parse, const struct node *in)
{
    struct text wanted;

    text_init(&wanted);
    for (const char *const *choice = parse->setting->choices; *choice; choice++)
        text_printf(&wanted, "%s%s", choice == parse->setting->choices ? "" : choice[1] ? ", " : " or ", *choice);
    report_invalid(parse, in, wanted.failed || !wanted.bytes ? "one of its choices" : wanted.bytes);
    text_clear(&wanted);
    return false;
}

static bool parse_enum(const struct parse *parse)
{
    const char *choice = NULL;

    if (parse->in->kind == NODE_SCALAR)
        choice = find_choice(parse->setting->choices, parse->in->value, parse->in->quoted);
    return choice ? set_scalar(parse, parse->out, choice) : report_choices(parse, parse->in);
}

static const char *resolve_path(const struct parse *parse, const char *path)
{
    const struct walk *walk = parse->walk;
    const struct node *set = parse->setting->folder ? node_find(walk->config->root, parse->setting->folder) : NULL;
    const char *folder = set && set->kind == NODE_SCALAR ? set->value : walk->folder;

    if (path[0] == '/' || folder[0] == '\0')
        return path;
    return arena_printf(walk->config->arena, "%s/%s", folder, path);
}

static bool parse_path(const struct parse *parse)
{
    if (parse->in->kind != NODE_SCALAR || parse->in->value[0] == '\0')
        return report_invalid(parse, parse->in, "a path");
    return set_scalar(parse, parse->out, resolve_path(parse, parse->in->value));
}

/* --- Lists ---------------------------------------------------------------------------------------- */

static bool add_item(const struct parse *parse, const struct node *in, const char *value)
{
    struct node *item = node_new(parse->walk->config, NODE_SCALAR);

    if (!item || !value)
        return out_of_memory(parse);
    item->value = value;
    item->at = in->at;
    node_add(parse->out, item);
    return true;
}

static bool parse_item(const struct parse *parse, const struct node *in, const char *value)
{
    if (parse->setting->type == SETTING_PATHS)
        return add_item(parse, in, resolve_path(parse, value));
    if (parse->setting->choices) {
        const char *choice = find_choice(parse->setting->choices, value, in->quoted);

        return choice ? add_item(parse, in, choice) : report_choices(parse, in);
    }
    return check_form(parse, in, value) && add_item(parse, in, value);
}

/* Parses a list that is written as one string: "forward, input". */
static bool parse_words(const struct parse *parse)
{
    struct span rest = span_of(parse->in->value);

    for (struct span word; span_next(&rest, ',', &word);) {
        char *name = arena_strndup(parse->walk->config->arena, word.at, word.length);

        if (!name)
            return out_of_memory(parse);
        if (!parse_item(parse, parse->in, name))
            return false;
    }
    return true;
}

static bool parse_list(const struct parse *parse)
{
    const char **strings;
    bool good = true;
    size_t count = 0;

    parse->out->kind = NODE_LIST;
    if (parse->in->kind == NODE_MAP)
        return report_invalid(parse, parse->in, "a list");
    if (parse->in->kind == NODE_SCALAR)
        good = parse->setting->choices ? parse_words(parse) : parse_item(parse, parse->in, parse->in->value);
    for (const struct node *item = parse->in->first; parse->in->kind == NODE_LIST && item; item = item->next) {
        if (item->kind != NODE_SCALAR)
            good = report_invalid(parse, item, "single values in its list");
        else
            good = parse_item(parse, item, item->value) && good;
    }
    if (!good)
        return false;
    strings = arena_alloc(parse->walk->config->arena, (parse->out->count + 1) * sizeof(*strings));
    if (!strings)
        return out_of_memory(parse);
    for (const struct node *item = parse->out->first; item; item = item->next)
        strings[count++] = item->value;
    strings[count] = NULL;
    parse->out->strings = strings;
    return true;
}

/* --- Variables: a list in YAML is a group in the syntax of rules ---------------------------------- */

static bool join_group(const struct parse *parse, const struct node *list, struct text *text)
{
    text_puts(text, "[");
    for (const struct node *item = list->first; item; item = item->next) {
        if (item != list->first)
            text_puts(text, ",");
        if (item->kind == NODE_SCALAR)
            text_puts(text, item->value);
        else if (item->kind != NODE_LIST)
            return report_invalid(parse, item, "single values in its list");
        else if (!join_group(parse, item, text))
            return false;
    }
    text_puts(text, "]");
    return true;
}

static bool parse_variable(const struct parse *parse)
{
    struct text text;
    bool good;

    if (parse->in->kind != NODE_LIST)
        return parse_string(parse);
    text_init(&text);
    good = join_group(parse, parse->in, &text);
    if (good)
        good = text.failed ? out_of_memory(parse)
                           : set_scalar(parse, parse->out, arena_strdup(parse->walk->config->arena, text.bytes));
    text_clear(&text);
    return good;
}

static bool parse_any(const struct parse *parse)
{
    struct node *out = parse->out;

    *out = *parse->in;
    out->next = NULL;
    return true;
}

static bool (*const parsers[])(const struct parse *parse) = {
    [SETTING_BOOL] = parse_bool,     [SETTING_NUMBER] = parse_number, [SETTING_SIZE] = parse_number,
    [SETTING_STRING] = parse_string, [SETTING_ENUM] = parse_enum,     [SETTING_PATH] = parse_path,
    [SETTING_LIST] = parse_list,     [SETTING_PATHS] = parse_list,    [SETTING_VARIABLE] = parse_variable,
    [SETTING_SECTION] = parse_any,   [SETTING_ANY] = parse_any,
};

struct node *value_parse_node(struct walk *walk, const struct setting *setting, const char *path, const struct node *in)
{
    struct parse parse = { .walk = walk, .setting = setting, .path = path, .in = in };

    parse.out = node_new(walk->config, NODE_NULL);
    if (!parse.out) {
        out_of_memory(&parse);
        return NULL;
    }
    parse.out->at = in->at;
    if (in->kind == NODE_NULL && setting->type != SETTING_ANY)
        return parse.out; /* a key without a value: the setting counts as not set */
    return parsers[setting->type](&parse) ? parse.out : NULL;
}
