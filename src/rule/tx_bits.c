/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bits of transactions. */
#include "sluice/heap.h"
#include "sluice/keyword.h"

bool tx_bits_has(const struct tx_bits *bits, uint32_t number)
{
    for (uint32_t i = 0; bits && i < bits->count; i++) {
        if (bits->numbers[i] == number)
            return true;
    }
    return false;
}

void tx_bits_set(struct heap *heap, struct tx_bits **bits, uint32_t number)
{
    uint32_t count = *bits ? (*bits)->count : 0;
    size_t used = *bits ? sizeof(**bits) + count * sizeof(number) : 0;
    struct tx_bits *grown;

    if (count == TX_MAX_BITS || tx_bits_has(*bits, number))
        return;
    grown = heap_grow(heap, *bits, used, sizeof(**bits) + (count + 1) * sizeof(number));
    if (!grown)
        return;
    grown->numbers[count] = number;
    grown->count = count + 1;
    *bits = grown;
}
