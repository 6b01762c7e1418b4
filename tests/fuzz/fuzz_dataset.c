/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dataset and reputation files. The first byte is the type of a dataset; higher values stand for a reputation file and
 * a category file. The rest is the file. The contract: each accepted value of a dataset is found afterwards, and is the
 * same after it is written and read again. There are at most as many reputations as lines, and all values are in range.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/set.h"
#include "sluice/reputation.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MEMCAP = 1 << 18, MEMCAP_TINY = 1 << 10 };
enum { KIND_REPUTATIONS = DATASET_TYPE_COUNT, KIND_CATEGORIES, KIND_COUNT };

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_line(struct dataset *set, enum dataset_type type, struct span line, uint8_t *bytes, uint8_t *again)
{
    size_t length, length_again;
    uint16_t value, value_again;
    struct text text;

    if (dataset_parse_line(type, line, bytes, &length, &value))
        return;
    require(length > 0 && length <= DATASET_MAX_STRING);
    if (dataset_set_value(set, bytes, length, value) == DATASET_FULL)
        return;
    require(dataset_value(set, bytes, length, &value_again) && value_again == value);
    text_init(&text);
    dataset_print_value(type, bytes, length, &text);
    require(!text.failed &&
            !dataset_parse_line(type, (struct span){ text.bytes, text.length }, again, &length_again, &value_again));
    if (length == length_again) /* an address in ::ffff:0:0/96 is written as IPv4 */
        require(memcmp(bytes, again, length) == 0);
    require(dataset_has(set, again, length_again));
    text_clear(&text);
}

static void check_dataset(enum dataset_type type, size_t memcap, const uint8_t *data, size_t size)
{
    static uint8_t bytes[DATASET_MAX_STRING], again[DATASET_MAX_STRING];
    struct span rest = { (const char *)data, size }, line;
    struct dataset *set;

    require(dataset_new(&set, type, memcap, 7) == 0);
    while (span_next(&rest, '\n', &line))
        check_line(set, type, line, bytes, again);
    dataset_free(set);
}

static void check_reputations(bool categories, const uint8_t *data, size_t size)
{
    struct reputation *reputation;
    struct diag *diag = diag_new();
    struct address address = { { 10, 0, 0, 1 } };
    size_t lines = 1;

    require(diag && reputation_new(&reputation) == 0);
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    if (categories)
        require(reputation_parse_categories(reputation, "fuzz", (const char *)data, size, diag) == 0);
    else
        require(reputation_parse(reputation, "fuzz", (const char *)data, size, diag) == 0);
    require(reputation_count(reputation) + (diag_errors(diag) <= 100 ? diag_errors(diag) : 0) <= lines);
    for (unsigned category = 0; category < REPUTATION_CATEGORIES; category++) {
        int value = reputation_value(reputation, category, 4, &address);

        require(value >= -1 && value <= REPUTATION_MAX);
    }
    reputation_free(reputation);
    diag_free(diag);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    int kind = data[0] % KIND_COUNT;

    if (kind >= DATASET_TYPE_COUNT) {
        check_reputations(kind == KIND_CATEGORIES, data + 1, size - 1);
        return 0;
    }
    check_dataset((enum dataset_type)kind, MEMCAP, data + 1, size - 1);
    check_dataset((enum dataset_type)kind, MEMCAP_TINY, data + 1, size - 1);
    return 0;
}
