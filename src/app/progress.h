/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Progress of transactions. */
#ifndef APP_PROGRESS_H
#define APP_PROGRESS_H

#include "sluice/app.h"

/* Returns the progress of a complete direction. */
static inline uint8_t app_complete_progress(const struct app_proto *proto, enum flow_direction direction)
{
    return proto->complete[direction] > 0 ? proto->complete[direction] : 1;
}

#endif
