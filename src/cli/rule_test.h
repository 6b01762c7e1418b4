/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads the rules of a configuration to test whether the daemon could load them; for `sluice update` and
 * `sluice suricata-compat`. */
#ifndef SLUICE_CLI_RULE_TEST_H
#define SLUICE_CLI_RULE_TEST_H

#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"
#include "sluice/diag.h"

/* The identity and the text of a loaded rule, for the comparison of two rule sets. */
struct rule_stamp {
    uint32_t gid, sid;
    uint64_t text; /* hash of the rule's text */
};

struct rule_test {
    /* Numbers of rules, as rule_list_read() and the functions after it in rule.h return them. */
    size_t read, loaded, failed, skipped, unmet;
    struct rule_stamp *stamps; /* of the loaded rules, in ascending order of gid and sid */
};

/* Parses the rules of rule-files and of `files`. With `compile` it also compiles them, with the pattern cache of the
 * configuration. Fills *out, which rule_test_clear() frees. Mistakes in rules are reported to `diag` and are no error.
 * Returns 0, -ENOMEM, or -EINVAL if the rules cannot be compiled (reported). */
int rule_test_run(struct rule_test *out, const struct config *config, const char *const *files, size_t count,
                  bool compile, struct diag *diag);
void rule_test_clear(struct rule_test *test);

/* The difference of two rule sets. */
struct rule_changes {
    size_t added, removed, changed;
};
struct rule_changes rule_test_compare(const struct rule_test *before, const struct rule_test *after);

#endif
