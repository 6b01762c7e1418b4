/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sluice/rule.h"

bool rule_metadata_next(struct metadata_position *position, struct span *key, struct span *value)
{
    struct span pair;

    for (;;) {
        while (span_next(&position->rest, ',', &pair)) {
            *key = (struct span){ .at = pair.at };
            while (key->length < pair.length && pair.at[key->length] != ' ' && pair.at[key->length] != '\t')
                key->length++;
            *value = span_trim((struct span){ pair.at + key->length, pair.length - key->length });
            if (value->length > 0)
                return true;
        }
        if (!position->next)
            return false;
        position->rest = position->next->text;
        position->next = position->next->next;
    }
}
