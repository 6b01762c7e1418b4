/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file.name and file.magic: properties of files besides their content. Every protocol with file.data has these buffers
 * without listing them in its table.
 */
#include <string.h>

#include "app_priv.h"

/* Finds the alternative name number *index of a file; each name ends with a line feed. If the file has fewer names,
 * subtracts the number of its names from *index and returns false. */
static bool find_other_name(const struct file *file, unsigned *index, struct app_bytes *out)
{
    const uint8_t *at = file->other_names.bytes, *limit = at + file->other_names.length, *end;

    while (at < limit && (end = memchr(at, '\n', (size_t)(limit - at)))) {
        *out = (struct app_bytes){ .bytes = at, .length = (uint32_t)(end - at) };
        if ((*index)-- == 0)
            return true;
        at = end + 1;
    }
    return false;
}

/* The names of all files. The name of each file is followed by its alternative names, which some receivers use. */
static bool get_name(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    static const uint8_t nothing[1];

    for (const struct file *file = tx->files[which.direction].first; file; file = file->next) {
        *out =
            (struct app_bytes){ .bytes = file->name.bytes ? file->name.bytes : nothing, .length = file->name.length };
        if (which.index-- == 0)
            return true;
        if (file->other_names.length > 0 && find_other_name(file, &which.index, out))
            return true;
    }
    return false;
}

/* The types of all files, up to the first file whose type is not known yet: files after it are omitted until then, so
 * that each file keeps its index. */
static bool get_magic(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct file *file = tx->files[which.direction].first;

    for (; file && file->magic_done && which.index > 0; which.index--)
        file = file->next;
    if (!file || !file->magic_done)
        return false;
    const char *text = file->magic ? file->magic : "";

    *out = (struct app_bytes){ .bytes = (const uint8_t *)text, .length = (uint32_t)strlen(text) };
    return true;
}

static int file_magic_parse(struct rule_parser *parser, struct span value)
{
    (void)value;
    rule_parser_rule(parser)->file_needs |= RULE_FILE_MAGIC;
    return rule_parser_select_buffer(parser, &keyword_file_magic);
}

const struct keyword keyword_file_name = {
    .name = "file.name",
    .help = "selects the names of files",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_STATE | KEYWORD_MULTI,
    .scope = { app_file_protocols, APP_BOTH },
};

const struct keyword keyword_file_magic = {
    .name = "file.magic",
    .help = "selects the file type reported by libmagic: \"PDF document, version 1.4\"",
    .manual = "libmagic examines a file once: when its first 4096 bytes, or the whole file, have arrived.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE | KEYWORD_STATE | KEYWORD_MULTI,
    .scope = { app_file_protocols, APP_BOTH },
    .parse = file_magic_parse,
};

static const struct app_buffer buffers[] = {
    { &keyword_file_name, APP_BOTH, 0, .get = get_name, .grows = true },
    { &keyword_file_magic, APP_BOTH, 0, .get = get_magic, .grows = true },
};

const struct app_buffer *app_file_buffer(const struct keyword *keyword)
{
    for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++)
        if (buffers[i].keyword == keyword)
            return &buffers[i];
    return NULL;
}
