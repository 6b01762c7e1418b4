/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Settings as on the command line, one NAME=VALUE per line, and the options that are read from them: queues, marks,
 * ports, CPUs, decoder and firewall. The contract: options are within their bounds and in a form that `sluice check`
 * accepts; refused values have a message; the printed sluice table has the configured name.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/affinity.h"
#include "sluice/config.h"
#include "sluice/daemon.h"
#include "sluice/capture.h"
#include "sluice/decode.h"
#include "sluice/output.h"
#include "sluice/pipeline.h"
#include "sluice/setup.h"
#include "sluice/engine_limits.h"
#include "sluice/text.h"
#include "sluice/firewall.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_LINES = 32, MAX_LINE = 512 };

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void apply(struct config *config, const uint8_t *data, size_t size, struct diag *diag)
{
    const char *at = (const char *)data, *end = at + size;

    for (unsigned i = 0; i < MAX_LINES && at < end; i++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        char line[MAX_LINE];

        if (length < sizeof(line)) {
            size_t before = diag_count(diag);

            memcpy(line, at, length);
            line[length] = '\0';
            must(config_set(config, line, diag) == 0 || diag_count(diag) > before);
        }
        at += length + 1;
    }
}

static void check_queues(const struct config *config)
{
    struct nfqueue_options queues[CAPTURE_MAX_QUEUES];
    char error[ENGINE_ERROR_SIZE] = "";
    size_t count;

    if (setup_queue_options(config, queues, CAPTURE_MAX_QUEUES, &count, error)) {
        must(error[0] != '\0');
        return;
    }
    must(count >= 1 && count <= CAPTURE_MAX_QUEUES);
    for (size_t i = 0; i < count; i++) {
        must((queues[i].mark & ~queues[i].mark_mask) == 0);
        must(queues[i].mode != QUEUE_REPEAT || queues[i].mark != 0);
        must(queues[i].mode != QUEUE_ROUTE || queues[i].route_to != queues[i].queue);
        must(queues[i].batch >= 1 && queues[i].batch <= CAPTURE_MAX_BATCH && queues[i].length >= 1);
        for (size_t k = 0; k < i; k++)
            must(queues[k].queue != queues[i].queue);
    }
}

static void check_pipeline(const struct config *config, struct diag *diag)
{
    struct pipeline_options options;
    struct eve_options eve;
    enum rule_action order[4];
    char error[ENGINE_ERROR_SIZE] = "", path[256];
    size_t before = diag_errors(diag);

    int err = setup_pipeline_options(config, 2, true, &options, diag);

    if (!err)
        app_options_clear(&options.app);
    if (err) {
        must(diag_errors(diag) > before);
        return;
    }
    must(options.decode.teredo.count <= DECODE_MAX_PORTS && options.decode.vxlan.count <= DECODE_MAX_PORTS);
    must(options.decode.max_layers >= 1 && options.decode.max_layers <= DECODE_MAX_LAYERS);
    must(options.policy.packet_alert_max >= 1 && options.policy.threshold_memcap > 0);
    must(setup_action_order(config, order, error) == 0 || error[0] != '\0');
    if (setup_eve_path(config, NULL, path, sizeof(path), error) == 0)
        must(strlen(path) < sizeof(path));
    setup_eve_options(config, &eve);
}

static void check_affinity(const struct config *config)
{
    struct affinity affinity;
    char error[ENGINE_ERROR_SIZE] = "", text[256];

    if (affinity_plan(&affinity, config, 2, error))
        must(error[0] != '\0');
    else
        affinity_describe(&affinity, 2, text, sizeof(text));
}

/* Sets a priority, because otherwise firewall_print() would read the kernel's ruleset. */
static void check_firewall(const struct config *config)
{
    struct firewall_options options;
    char error[FIREWALL_ERROR_SIZE] = "";
    struct text out;

    if (setup_firewall_options(config, &options, error)) {
        must(error[0] != '\0');
        return;
    }
    options.has_priority = true;
    if (options.mode == ATTACH_NONE)
        options.mode = ATTACH_AFTER;
    must(strspn(options.table, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
         strlen(options.table));
    must(!strchr("0123456789-", options.table[0]));
    text_init(&out);
    if (firewall_print(&options, &out, error))
        must(error[0] != '\0');
    else
        must(out.length > 0 && (options.expression == QUEUE_EXPRESSION_XT || strstr(out.bytes, options.table)));
    text_clear(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag *diag = diag_new();
    struct config *config;

    must(diag && daemon_new_config(&config) == 0);
    apply(config, data, size, diag);
    check_queues(config);
    check_pipeline(config, diag);
    if (memmem(data, size, "threading.", strlen("threading."))) /* slow: reads the topology of the machine */
        check_affinity(config);
    check_firewall(config);
    setup_check_conflicts(config, diag);
    config_free(config);
    diag_free(diag);
    return 0;
}
