/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File type detection with libmagic. Each worker has its own handle, because a handle stores the last result. libmagic
 * allocates memory and is slow, so it is called once per file, and only if a rule or the configuration needs it.
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

const char *magic_identify(struct file_magic *magic, const void *bytes, size_t length)
{
    return magic_buffer(magic->cookie, bytes, length);
}
