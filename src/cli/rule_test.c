/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rule_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "sluice/daemon.h"
#include "sluice/detect.h"
#include "sluice/rule.h"
#include "sluice/setup.h"

static int compare_stamps(const void *a, const void *b)
{
    const struct rule_stamp *one = a, *other = b;

    if (one->gid != other->gid)
        return one->gid < other->gid ? -1 : 1;
    return one->sid < other->sid ? -1 : one->sid > other->sid;
}

int rule_test_run(struct rule_test *out, const struct config *config, const char *const *files, size_t count,
                  bool compile, struct diag *diag)
{
    struct rule_list *list;
    struct ruleset *ruleset;
    size_t errors;
    int err = setup_parse_rules(&list, config, files, count, diag);

    *out = (struct rule_test){ .read = 0 };
    if (err)
        return err;
    out->read = rule_list_read(list);
    out->loaded = rule_list_count(list);
    out->failed = rule_list_failed(list);
    out->skipped = rule_list_skipped(list);
    out->unmet = rule_list_unmet(list);
    out->stamps = calloc(out->loaded + 1, sizeof(*out->stamps));
    if (!out->stamps) {
        rule_list_free(list);
        return -ENOMEM;
    }
    for (size_t i = 0; i < out->loaded; i++) {
        const struct rule *rule = rule_list_get(list, i);

        out->stamps[i] = (struct rule_stamp){ rule->gid, rule->sid, XXH3_64bits(rule->text, strlen(rule->text)) };
    }
    qsort(out->stamps, out->loaded, sizeof(*out->stamps), compare_stamps);
    if (!compile || out->loaded == 0) {
        rule_list_free(list);
        return 0;
    }
    confinement_create_cache_folder(config);
    errors = diag_errors(diag);
    err = setup_compile_rules(&ruleset, list, config, diag);
    if (!err) {
        ruleset_free(ruleset); /* also frees the list */
        return 0;
    }
    if (err != -ENOMEM && diag_errors(diag) == errors)
        diag_error(diag, (struct position){ .line = 0 }, "the rules cannot be compiled");
    rule_list_free(list);
    rule_test_clear(out);
    return err == -ENOMEM ? err : -EINVAL;
}

void rule_test_clear(struct rule_test *test)
{
    free(test->stamps);
    *test = (struct rule_test){ .read = 0 };
}

struct rule_changes rule_test_compare(const struct rule_test *before, const struct rule_test *after)
{
    struct rule_changes changes = { .added = 0 };
    size_t i = 0, k = 0;

    while (i < before->loaded || k < after->loaded) {
        int order = i == before->loaded  ? 1
                    : k == after->loaded ? -1
                                         : compare_stamps(&before->stamps[i], &after->stamps[k]);

        changes.removed += order < 0;
        changes.added += order > 0;
        changes.changed += order == 0 && before->stamps[i].text != after->stamps[k].text;
        i += order <= 0;
        k += order >= 0;
    }
    return changes;
}
