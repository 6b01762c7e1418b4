/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The import of a suricata.yaml. The contract:
 * - Every key has a group, a position in the input, and a text, or the setting that it became.
 * - The settings that it writes are a configuration without mistakes, whatever the names and values of the input are.
 * - No other file is read.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/config.h"
#include "sluice/config_import.h"
#include "sluice/daemon.h"
#include "sluice/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_keys(const struct import *import)
{
    size_t counts[IMPORT_GROUPS] = { 0 };
    const struct import_key *key;

    for (size_t i = 0; (key = import_key(import, i)); i++) {
        must(key->group < IMPORT_GROUPS && key->path[0] && key->value && key->at.file && key->at.line > 0);
        must(key->group == IMPORT_TAKEN ? key->setting || key->text : key->text != NULL);
        counts[key->group]++;
    }
    for (enum import_group group = 0; group < IMPORT_GROUPS; group++)
        must(counts[group] == import_count(import, group));
}

static void check_output(const struct import *import)
{
    struct diag *diag = diag_new();
    struct config *config;
    struct text text;

    text_init(&text);
    text_puts(&text, "# settings\n");
    import_print(import, &text);
    must(diag && !text.failed && daemon_new_config(&config) == 0);
    must(config_parse(config, "sluice.yaml", text.bytes, text.length, CONFIG_STRICT, diag) == 0);
    must(diag_errors(diag) == 0);
    config_free(config);
    diag_free(diag);
    text_clear(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct import_options options = { .no_files = true, .keep_places = size % 2 };
    struct diag *diag;
    struct config *config;
    struct import *import;

    if (size > 1 << 16)
        return 0;
    diag = diag_new();
    must(diag && daemon_new_config(&config) == 0);
    if (import_parse(&import, config, "suricata.yaml", (const char *)data, size, &options, diag) == 0) {
        check_keys(import);
        check_output(import);
        import_free(import);
    } else {
        must(diag_errors(diag) > 0);
    }
    config_free(config);
    diag_free(diag);
    return 0;
}
