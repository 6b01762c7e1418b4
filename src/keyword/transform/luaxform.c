/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * luaxform:FILE[,ARGUMENT...]; replaces the buffer by the result of a Lua script: transform(buffer, arguments) returns
 * a text and its length. Any other result leaves the buffer unchanged. If the script fails (an error, or a limit), the
 * buffer does not exist for the rule, so that the rule does not match.
 */
#include <errno.h>

#include "sluice/script.h"
#include "transform.h"
#include "transform_scratch_priv.h"

enum { LUAXFORM_MAX_WORDS = 9 };

struct luaxform {
    struct script *script;
    size_t count;
    const char *words[LUAXFORM_MAX_WORDS];
};

static uint8_t *alloc_result(void *user, uint32_t size)
{
    return transform_output(user, size);
}

static bool luaxform_transform(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length,
                               const void *data, const uint8_t **out, uint32_t *out_length)
{
    const struct luaxform *luaxform = data;
    const uint8_t *result = NULL;
    uint32_t size = 0;

    if (length == 0)
        return transform_keep(bytes, length, out, out_length);
    if (!script_transform(scratch->scripts, luaxform->script, bytes, length, luaxform->words, luaxform->count,
                          alloc_result, scratch, &result, &size))
        return false;
    return result ? transform_keep(result, size, out, out_length) : transform_keep(bytes, length, out, out_length);
}

static int luaxform_parse(struct rule_parser *parser, struct span value)
{
    struct luaxform *luaxform = arena_alloc(rule_parser_arena(parser), sizeof(*luaxform));
    const struct script_load load = { .function = "transform" };
    struct span rest = value, file, word;
    int err;

    if (!luaxform)
        return -ENOMEM;
    span_next(&rest, ',', &file);
    while (span_next(&rest, ',', &word)) {
        if (luaxform->count == LUAXFORM_MAX_WORDS)
            return rule_parser_error(parser, word, "'luaxform' has at most %d arguments", LUAXFORM_MAX_WORDS);
        luaxform->words[luaxform->count] = arena_strndup(rule_parser_arena(parser), word.at, word.length);
        if (!luaxform->words[luaxform->count++])
            return -ENOMEM;
    }
    err = rule_parser_load_script(parser, file, &load, &luaxform->script);
    if (err)
        return err;
    err = rule_parser_add_transform(parser, luaxform);
    if (err)
        script_release(luaxform->script);
    return err;
}

static int luaxform_finish(struct rule_parser *parser, const struct condition *condition)
{
    const struct luaxform *luaxform = condition->data;
    const struct rule *rule = rule_parser_rule(parser);

    script_set_rule(luaxform->script, rule->gid, rule->sid);
    return 0;
}

static void luaxform_release(const struct condition *condition)
{
    script_release(((const struct luaxform *)condition->data)->script);
}

const struct keyword keyword_luaxform = {
    .name = "luaxform",
    .value = "FILE[,ARGUMENT...]",
    .help = "replace the buffer by the result of a Lua script; needs security.lua.allow-rules",
    .manual = "The script has the function transform(buffer, arguments), which returns a text and its length; "
              "arguments is a table of texts. Any other result leaves the buffer unchanged. If the script fails or "
              "reaches a limit (security.lua.max-bytes, security.lua.max-instructions), the rule does not match. "
              "FILE is relative to the folder of the rule file or to default-rule-path.",
    .kind = KEYWORD_TRANSFORM,
    .flags = KEYWORD_QUOTED,
    .parse = luaxform_parse,
    .finish = luaxform_finish,
    .release = luaxform_release,
    .transform = { .apply = luaxform_transform },
};
