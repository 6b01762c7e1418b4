/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Set of candidates: see candidates.h. */
#include "candidates.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int candidates_init(struct candidates *candidates, uint32_t capacity)
{
    *candidates = (struct candidates){
        .list = calloc((size_t)capacity + 1, sizeof(*candidates->list)),
        .marks = calloc((size_t)capacity + 1, sizeof(*candidates->marks)),
        .capacity = capacity,
        .serial = 1,
    };
    if (candidates->list && candidates->marks)
        return 0;
    candidates_free(candidates);
    return -ENOMEM;
}

void candidates_free(struct candidates *candidates)
{
    free(candidates->list);
    free(candidates->marks);
    *candidates = (struct candidates){ .list = NULL };
}

void candidates_clear(struct candidates *candidates)
{
    if (++candidates->serial == 0) {
        memset(candidates->marks, 0, candidates->capacity * sizeof(*candidates->marks));
        candidates->serial = 1;
    }
    candidates->count = 0;
}
