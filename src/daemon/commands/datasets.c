/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands about datasets, which act on the sets that the workers use. */
#include "service.h"

#include <stdlib.h>
#include <string.h>

#include "sluice/dataset.h"
#include "sluice/detect.h"
#include "sluice/diag.h"
#include "sluice/rule.h"
#include "sluice/text.h"

static struct datasets *get_datasets(const struct service *service)
{
    return rule_list_datasets(ruleset_rules(*service->options.ruleset));
}

/* Finds the set of the arguments `setname` and `settype`. Returns NULL after control_fail(). */
static struct dataset *find_set(const struct service *service, struct control_request *request)
{
    const char *name = control_string(request, "setname"), *word = control_string(request, "settype");
    struct dataset *set;
    enum dataset_type type;

    if (!name || !word) {
        control_fail(request, "%s is not string", name ? "settype" : "setname");
        return NULL;
    }
    if (!dataset_type_parse(span_of(word), &type)) {
        control_fail(request, "unknown settype '%.40s': it must be string, md5, sha256, ipv4 or ip", word);
        return NULL;
    }
    set = datasets_find(get_datasets(service), span_of(name));
    if (set && dataset_type_of(set) == type)
        return set;
    if (set)
        control_fail(request, "set not found or wrong type: dataset '%.63s' has type %s", name,
                     dataset_type_name(dataset_type_of(set)));
    else
        control_fail(request, "set not found or wrong type: no loaded rule or setting defines a dataset '%.63s'", name);
    return NULL;
}

enum value_operation { VALUE_ADD, VALUE_REMOVE, VALUE_LOOKUP };

static void change_value(struct control_request *request, struct dataset *set, enum value_operation operation,
                         struct span value, uint8_t *bytes)
{
    static const char *const refusals[] = {
        [VALUE_ADD] = "failed to add data",
        [VALUE_REMOVE] = "failed to remove data",
        [VALUE_LOOKUP] = "item not found in set",
    };
    size_t length;
    uint16_t reputation;
    const char *error = dataset_parse_line(dataset_type_of(set), value, bytes, &length, &reputation), *done = NULL;
    bool has_reputation = memchr(value.at, ',', value.length);

    if (error) {
        control_fail(request, "%s: %s", refusals[operation], error);
        return;
    }
    switch (operation) {
    case VALUE_ADD:
        if (!has_reputation && dataset_has(set, bytes, length)) {
            done = "data already in set";
            break;
        }
        switch (dataset_set_value(set, bytes, length, reputation)) {
        case DATASET_CHANGED:
            done = "data added";
            break;
        case DATASET_UNCHANGED:
            done = "data already in set";
            break;
        case DATASET_FULL:
            error = "the dataset is full; raise its memcap in the rule, or datasets.defaults.memcap";
            break;
        }
        break;
    case VALUE_REMOVE:
        done = dataset_remove(set, bytes, length) == DATASET_CHANGED ? "data removed" : NULL;
        error = "the dataset does not have this value";
        break;
    case VALUE_LOOKUP:
        done = dataset_has(set, bytes, length) ? "item found in set" : NULL;
        break;
    }
    if (done)
        json_string(control_answer(request), NULL, done);
    else
        control_fail(request, "%s%s%s", refusals[operation], error ? ": " : "", error ? error : "");
}

static void run_on_value(struct service *service, struct control_request *request, enum value_operation operation)
{
    struct dataset *set = find_set(service, request);
    const char *value = control_string(request, "datavalue");
    uint8_t *bytes;

    if (!set)
        return;
    if (!value) {
        control_fail(request, "datavalue is not string");
        return;
    }
    bytes = malloc(DATASET_MAX_STRING);
    if (bytes)
        change_value(request, set, operation, span_of(value), bytes);
    else
        control_fail(request, "out of memory");
    free(bytes);
}

void service_add_to_dataset(void *user, struct control_request *request)
{
    run_on_value(user, request, VALUE_ADD);
}

void service_remove_from_dataset(void *user, struct control_request *request)
{
    run_on_value(user, request, VALUE_REMOVE);
}

void service_look_up_in_dataset(void *user, struct control_request *request)
{
    run_on_value(user, request, VALUE_LOOKUP);
}

void service_clear_dataset(void *user, struct control_request *request)
{
    struct dataset *set = find_set(user, request);

    if (!set)
        return;
    dataset_clear(set);
    json_string(control_answer(request), NULL, "dataset cleared");
}

void service_dump_datasets(void *user, struct control_request *request)
{
    struct diag *diag = diag_new();
    int err = diag ? datasets_save(get_datasets(user), diag) : -1;

    if (!err)
        json_string(control_answer(request), NULL, "datasets dump done");
    else if (diag && diag_count(diag) > 0)
        control_fail(request, "datasets dump failed: %s: %s; check the folder and the disk, other sets were written",
                     diag_get(diag, 0)->file, diag_get(diag, 0)->message);
    else
        control_fail(request, "datasets dump failed: out of memory");
    diag_free(diag);
}

void service_list_datasets(void *user, struct control_request *request)
{
    const struct datasets *datasets = get_datasets(user);
    struct text *out = control_answer(request);
    struct dataset *set;
    const char *name;

    json_array_open(out, NULL);
    for (size_t i = 0; (name = datasets_name(datasets, i, &set)); i++) {
        json_object_open(out, NULL);
        json_string(out, "name", name);
        json_string(out, "type", dataset_type_name(dataset_type_of(set)));
        json_uint(out, "values", dataset_count(set));
        json_object_close(out);
    }
    json_array_close(out);
}
