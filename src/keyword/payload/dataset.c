/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dataset:isset,NAME,type string,load FILE; matches if a dataset contains the whole buffer as a value. As in Suricata,
 * set and unset change the dataset as soon as the conditions before them in the rule have matched, and match if this
 * has changed the dataset.
 */
#include <errno.h>
#include <string.h>

#include "dataset_option.h"
#include "sluice/decision.h"

enum dataset_command { COMMAND_IS_SET, COMMAND_IS_NOT_SET, COMMAND_SET, COMMAND_UNSET };

struct dataset_condition {
    struct dataset *set;
    enum dataset_command command;
    uint32_t context; /* name under which the alert shows the object of the value; 0: none */
};

static bool holds(const struct dataset_condition *condition, const uint8_t *bytes, size_t length)
{
    switch (condition->command) {
    case COMMAND_IS_SET:
        return dataset_has(condition->set, bytes, length);
    case COMMAND_IS_NOT_SET:
        return !dataset_has(condition->set, bytes, length);
    case COMMAND_SET:
        return dataset_add(condition->set, bytes, length) == DATASET_CHANGED;
    default:
        return dataset_remove(condition->set, bytes, length) == DATASET_CHANGED;
    }
}

static enum inspect_result dataset_inspect(struct inspection *in, const struct condition *condition,
                                           struct inspect_retry *retry)
{
    const struct dataset_condition *data = condition->data;
    struct rule_captures *texts = in->texts;
    const char *object = NULL;

    (void)retry;
    replay_order_wait(in->input->order);
    if (data->context == 0 || data->command != COMMAND_IS_SET)
        return holds(data, in->data, in->length) ? INSPECT_YES : INSPECT_NEVER;
    if (!dataset_object(data->set, in->data, in->length, &object))
        return INSPECT_NEVER;
    if (object && texts && texts->count < RULE_TEXTS_MAX) {
        struct rule_capture *text = &texts->list[texts->count++];

        *text = (struct rule_capture){ .number = data->context, .kind = RULE_NAME_ALERT_TEXT, .is_json = true };
        memcpy(text->bytes, &object, sizeof(object));
    }
    return INSPECT_YES;
}

static bool find_command(struct span word, enum dataset_command *out)
{
    static const char *const names[] = { "isset", "isnotset", "set", "unset" }; /* indexed by enum dataset_command */

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (span_equal(word, names[i])) {
            *out = (enum dataset_command)i;
            return true;
        }
    }
    return false;
}

static int dataset_parse(struct rule_parser *parser, struct span value)
{
    struct dataset_condition *condition = arena_alloc(rule_parser_arena(parser), sizeof(*condition));
    struct span rest = value, word = value, name = { value.at, 0 }, context = { NULL, 0 };

    if (!condition)
        return -ENOMEM;
    span_next(&rest, ',', &word);
    if (!find_command(word, &condition->command))
        return rule_parser_error(parser, word,
                                 "unknown command '" SPAN_FORMAT "'; dataset has isset, isnotset, set, unset",
                                 SPAN_ARGS(word));
    span_next(&rest, ',', &name);
    int err = dataset_option_get(parser, value, name, rest, &context, &condition->set);

    condition->context = 0;
    if (!err && context.at) {
        condition->context = rule_parser_state(parser, RULE_NAME_ALERT_TEXT, context, RULE_STATE_WRITES);
        if (condition->context == 0)
            return -ENOMEM;
        rule_parser_rule(parser)->captures_text = true;
    }
    return err ? err : rule_parser_add_content_condition(parser, condition, false);
}

const struct keyword keyword_dataset = {
    .name = "dataset",
    .value = "isset|isnotset|set|unset,NAME[,type string|md5|sha256|ipv4|ip][,load FILE][,save FILE][,state FILE]"
             "[,memcap SIZE]"
             "[,format csv|json|ndjson,value_key MEMBER,context_key NAME[,array_key MEMBER][,remove_key]]",
    .help = "test whether the buffer is in a set of values, add it to the set, or remove it",
    .manual = "The whole buffer is compared. set and unset match when they changed the set. The first rule "
              "that names a set, or the section datasets of the configuration, creates it; only that "
              "definition needs the type. load names a file with one value per line (strings in Base64), "
              "searched in the folder of the rule file, in data-dir, or relative to the working directory "
              "of the program; save is written to data-dir at a clean stop; state is both. Adding to a full "
              "set fails and is counted. hashsize is accepted and ignored.\n"
              "With format json the file is an array of objects, or has one in the member array_key; with ndjson "
              "each line is an object. The member value_key of an object is its value. The path of a member has dots: "
              "info.host. When isset matches, the alert has the object in alert.context, under the name context_key; "
              "remove_key leaves out the member value_key there. Such a set can only be loaded. Of objects with the "
              "same value, the first is kept.",
    .kind = KEYWORD_CONTENT,
    .parse = dataset_parse,
    .content = { .inspect = dataset_inspect },
};
