/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dataset_option.h"

#include <ctype.h>
#include <errno.h>

struct fields {
    struct dataset_spec spec;
    struct span context_key; /* .at NULL: none */
    bool has_load, has_save, of_datarep;
};

static int set_type(struct rule_parser *parser, struct span value, void *data, int argument)
{
    struct fields *fields = data;

    (void)argument;
    if (!dataset_type_parse(value, &fields->spec.type))
        return rule_parser_error(parser, value, "a dataset's type is string, md5, sha256, ipv4 or ip");
    fields->spec.has_type = true;
    return 0;
}

enum { FILE_LOAD, FILE_SAVE, FILE_STATE };

static int set_file(struct rule_parser *parser, struct span value, void *data, int argument)
{
    struct fields *fields = data;
    bool loads = argument != FILE_SAVE, saves = argument != FILE_LOAD;

    if (saves && fields->of_datarep)
        return rule_parser_error(parser, value, "'datarep' can only 'load'");
    if ((loads && fields->has_load) || (saves && fields->has_save))
        return rule_parser_error(parser, value, "the file was given before; 'state' stands for both 'load' and 'save'");
    if (loads) {
        fields->spec.load = value;
        fields->has_load = true;
    }
    if (saves) {
        fields->spec.save = value;
        fields->has_save = true;
    }
    fields->spec.has_state = argument == FILE_STATE;
    return 0;
}

/* Parses a size in bytes such as 1024 or "100mb", as in Suricata. Returns false if it is invalid. */
static bool parse_size(struct span text, uint64_t *out)
{
    static const char units[] = "kmg";
    size_t digits = 0;
    unsigned shift = 0;

    while (digits < text.length && isdigit((unsigned char)text.at[digits]))
        digits++;
    struct span unit = span_trim((struct span){ text.at + digits, text.length - digits });

    for (unsigned i = 0; i < 3 && unit.length > 0; i++) {
        const char both[] = { units[i], 'b', '\0' }, letter[] = { units[i], '\0' };

        if (span_equal_nocase(unit, both) || span_equal_nocase(unit, letter))
            shift = 10 * (i + 1);
    }
    if ((unit.length > 0 && shift == 0) || !span_to_uint((struct span){ text.at, digits }, 1, UINT32_MAX, out))
        return false;
    *out <<= shift;
    return true;
}

static int set_memcap(struct rule_parser *parser, struct span value, void *data, int argument)
{
    enum { MOST = 16 }; /* maximum memcap of a dataset, in GiB */
    struct fields *fields = data;
    uint64_t size;

    (void)argument;
    if (!parse_size(value, &size) || size > (uint64_t)MOST << 30)
        return rule_parser_error(parser, value,
                                 "'memcap' must be a size of at most 16gb, such as 65536, 512kb or 100mb");
    fields->spec.memcap = (size_t)size;
    return 0;
}

/* hashsize is accepted and ignored, because the size of the hash table is derived from the memcap. */
static int set_hashsize(struct rule_parser *parser, struct span value, void *data, int argument)
{
    uint64_t size;

    (void)data;
    (void)argument;
    return parse_size(value, &size) ? 0 : rule_parser_error(parser, value, "'hashsize' must be a number");
}

static int set_format(struct rule_parser *parser, struct span value, void *data, int argument)
{
    static const char *const names[] = { "csv", "json", "ndjson" }; /* indexed by enum dataset_format */
    struct fields *fields = data;

    (void)argument;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!span_equal(value, names[i]))
            continue;
        fields->spec.format = (enum dataset_format)i;
        if (i > 0 && fields->of_datarep)
            break;
        return 0;
    }
    return rule_parser_error(parser, value,
                             fields->of_datarep ? "the format for 'datarep' is csv"
                                                : "a dataset's format is csv, json or ndjson");
}

enum { KEY_OF_CONTEXT, KEY_OF_VALUE, KEY_OF_ARRAY };

static int set_key(struct rule_parser *parser, struct span value, void *data, int argument)
{
    struct fields *fields = data;

    if (value.length == 0)
        return rule_parser_error(parser, value, "the name of a member is missing");
    *(argument == KEY_OF_CONTEXT ? &fields->context_key
      : argument == KEY_OF_VALUE ? &fields->spec.value_key
                                 : &fields->spec.array_key) = value;
    return 0;
}

static int set_remove_key(struct rule_parser *parser, struct span value, void *data, int argument)
{
    struct fields *fields = data;

    (void)parser;
    (void)value;
    (void)argument;
    fields->spec.remove_key = true;
    return 0;
}

static const struct option options[] = {
    { "type", set_type, 0, true },
    { "load", set_file, FILE_LOAD, true },
    { "save", set_file, FILE_SAVE, true },
    { "state", set_file, FILE_STATE, true },
    { "memcap", set_memcap, 0, true },
    { "hashsize", set_hashsize, 0, true },
    { "format", set_format, 0, true },
    { "context_key", set_key, KEY_OF_CONTEXT, true },
    { "enrichment_key", set_key, KEY_OF_CONTEXT, true },
    { "value_key", set_key, KEY_OF_VALUE, true },
    { "array_key", set_key, KEY_OF_ARRAY, true },
    { "remove_key", set_remove_key, 0, false },
};

static int check_name(struct rule_parser *parser, struct span value, struct span name)
{
    if (name.length == 0)
        return rule_parser_error(parser, value, "the name of the dataset is missing");
    for (size_t i = 0; i < name.length; i++) {
        if (isspace((unsigned char)name.at[i]))
            return rule_parser_error(parser, (struct span){ name.at + i, 1 }, "a name can't have spaces");
    }
    return 0;
}

int dataset_option_get(struct rule_parser *parser, struct span value, struct span name, struct span rest,
                       struct span *context_key, struct dataset **out)
{
    struct fields fields = {
        .spec = { .name = name, .from_rule = true, .rule_file = rule_parser_file(parser) },
        .of_datarep = context_key == NULL,
    };
    char error[DATASET_ERROR_SIZE];
    int err = check_name(parser, value, name);

    if (!err)
        err = option_list(parser, rest, options, sizeof(options) / sizeof(options[0]), &fields);
    if (!err && !rule_parser_current_buffer(parser))
        err = rule_parser_error(parser, value, "a buffer must be selected before: ip.src; dataset:...");
    if (!err && !rule_parser_datasets(parser))
        err = rule_parser_error(parser, value, "no datasets can be used here");
    if (!err && fields.spec.format == DATASET_LINES &&
        (fields.context_key.at || fields.spec.value_key.at || fields.spec.array_key.at || fields.spec.remove_key))
        err = rule_parser_error(parser, value, "keys need 'format json' or 'format ndjson'");
    if (!err && fields.spec.format != DATASET_LINES && !fields.context_key.at)
        err =
            rule_parser_error(parser, value, "a dataset in JSON needs 'context_key', the name of its object in alerts");
    if (!err && fields.spec.format != DATASET_JSON && fields.spec.array_key.at)
        err = rule_parser_error(parser, value, "'array_key' needs 'format json'");
    if (err)
        return err;
    err = datasets_get(rule_parser_datasets(parser), &fields.spec, out, rule_parser_diag(parser), error);
    if (!err && context_key)
        *context_key = fields.context_key;
    return err == -EINVAL ? rule_parser_error(parser, value, "%s", error) : err;
}
