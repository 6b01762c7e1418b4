/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits that worker, setup, daemon and replay share. */
#ifndef SLUICE_ENGINE_LIMITS_H
#define SLUICE_ENGINE_LIMITS_H

enum {
    ENGINE_MAX_CPUS = 1024,
    ENGINE_ERROR_SIZE = 512, /* size of the buffers for error texts, NUL included */
};

#endif
