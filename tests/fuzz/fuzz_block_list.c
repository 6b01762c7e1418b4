/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A list of hosts and networks to block. The contract: every entry is a range that is not too wide and not upside down;
 * entries and lines that are left out together are not more than there are lines or objects; and what is written in
 * Sluice's own format is read again as the same entries.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/block_lists.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct block_entries entries = { .count = 0 }, again = { .count = 0 };
    struct diag *diag = diag_new();
    struct text text;
    char range[RANGE_TEXT_SIZE];
    char *copy = malloc(size + 1); /* diagnostics copy a line up to its end, or up to NUL */

    require(diag && copy);
    memcpy(copy, data, size);
    copy[size] = '\0';
    block_file_parse(&entries, "list", copy, size, diag);
    require(entries.count + entries.skipped <= size);
    text_init(&text);
    for (size_t i = 0; i < entries.count; i++) {
        const struct block_entry *entry = &entries.at[i];
        const unsigned bits = entry->version == 4 ? 32 - BLOCK_WIDEST4 : 128 - BLOCK_WIDEST6;

        require(entry->version == 4 || entry->version == 6);
        require(entry->range.low <= entry->range.high && (entry->range.high - entry->range.low) >> bits == 0);
        address_range_format(&entry->range, entry->version, range);
        text_printf(&text, "%s until %llu\n", range, (unsigned long long)(entry->until ? entry->until : 1));
    }
    require(!text.failed);
    require(block_file_parse(&again, "again", text.bytes ? text.bytes : "", text.length, diag) == 0);
    require(again.count == entries.count && again.skipped == 0);
    for (size_t i = 0; i < again.count; i++)
        require(again.at[i].range.low == entries.at[i].range.low &&
                again.at[i].range.high == entries.at[i].range.high && again.at[i].version == entries.at[i].version);
    text_clear(&text);
    block_entries_clear(&entries);
    block_entries_clear(&again);
    free(copy);
    diag_free(diag);
    return 0;
}
