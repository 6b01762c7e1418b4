/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration reader. The contract:
 * - A configuration without errors is printed as one that can be read again and is printed the same.
 * - After errors, the getters still return valid values of their types.
 * - No other file is read. (Include directives are removed from the input.)
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/config.h"
#include "sluice/daemon.h"
#include "sluice/setup.h"
#include "sluice/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_values(const struct config *config)
{
    struct queue_options queue = { .numbers = NULL };
    struct rules_options rules;

    config_fill(config, queue_settings, NULL, &queue);
    config_fill(config, rules_settings, NULL, &rules);
    must(queue.nfqueue.mode <= QUEUE_ROUTE);
    must(queue.nfqueue.length >= 1 && queue.nfqueue.length <= 1 << 20);
    must((queue.nfqueue.mark & ~queue.nfqueue.mark_mask) == 0);
    must(rules.files && rules.action_order && rules.action_order[0]);
}

static struct config *parse(const char *text, size_t length, struct diag *diag)
{
    struct config *config;

    must(daemon_new_config(&config) == 0);
    must(config_parse(config, "fuzz.yaml", text, length, CONFIG_STRICT, diag) == 0);
    return config;
}

static void check_round_trip(const struct config *config, struct diag *diag)
{
    struct text first, second;
    struct config *again;

    text_init(&first);
    text_init(&second);
    config_print(config, &first);
    if (!first.failed) { /* a configuration near the limit of nodes exceeds it with all defaults */
        size_t before = diag_errors(diag);

        again = parse(first.bytes, first.length, diag);
        must(diag_errors(diag) == before);
        config_print(again, &second);
        must(!second.failed && strcmp(first.bytes, second.bytes) == 0);
        config_free(again);
    }
    text_clear(&first);
    text_clear(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag *diag;
    struct config *config;
    bool has_include = memmem(data, size, "include", 7) != NULL;

    if (size > 1 << 16 || has_include)
        return 0;
    diag = diag_new();
    must(diag != NULL);
    config = parse((const char *)data, size, diag);
    check_values(config);
    if (diag_errors(diag) == 0)
        check_round_trip(config, diag);
    setup_check_conflicts(config, diag);
    config_free(config);
    diag_free(diag);
    return 0;
}
