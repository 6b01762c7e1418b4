/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libmagic, of which each worker has its own: a handle keeps the last answer. It allocates, and is slow: it is asked
 * once a file, and only where a rule or the configuration wants to know.
 */
#include <magic.h>
#include <stdlib.h>

#include "file_priv.h"

struct file_magic {
    magic_t cookie;
};

struct file_magic *file_magic_new(void)
{
    struct file_magic *magic = calloc(1, sizeof(*magic));

    if (!magic)
        return NULL;
    magic->cookie = magic_open(MAGIC_NONE);
    if (magic->cookie && magic_load(magic->cookie, NULL) == 0)
        return magic;
    file_magic_free(magic);
    return NULL;
}

void file_magic_free(struct file_magic *magic)
{
    if (!magic)
        return;
    if (magic->cookie)
        magic_close(magic->cookie);
    free(magic);
}

const char *magic_of(struct file_magic *magic, const void *bytes, size_t length)
{
    return magic_buffer(magic->cookie, bytes, length);
}
