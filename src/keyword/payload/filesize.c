/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * filesize: the size is known when the file is complete. Only `>` and `>=` can match earlier, and for a truncated file
 * only they can match.
 */
#include <errno.h>

#include "name_content.h"
#include "sluice/number_range.h"
#include "sluice/file.h"

static bool has_no_upper_end(const struct number_range *range)
{
    return !range->negated && range->mask == UINT64_MAX && range->low + range->width == UINT64_MAX;
}

static enum file_match filesize_match(const struct file *file, const void *data)
{
    const struct number_range *range = data;

    if (file->state != FILE_CLOSED && !has_no_upper_end(range))
        return file->state == FILE_OPEN ? FILE_MATCH_LATER : FILE_MATCH_NO;
    if (number_range_has(range, file->size))
        return FILE_MATCH_YES;
    return file->state == FILE_OPEN ? FILE_MATCH_LATER : FILE_MATCH_NO;
}

static int filesize_parse(struct rule_parser *parser, struct span value)
{
    struct number_range *range = arena_alloc(rule_parser_arena(parser), sizeof(*range));

    if (!range)
        return -ENOMEM;
    int err = number_range_parse(parser, value, UINT64_MAX, NULL, range);

    return err ? err : rule_parser_add_file_condition(parser, range, false);
}

const struct keyword keyword_filesize = {
    .name = "filesize",
    .value = NUMBER_RANGE_FORM,
    .help = "size of the file in bytes",
    .manual = "For a file whose end was not seen, only > and >= can match.",
    .kind = KEYWORD_FILE,
    .scope = { name_content_applications, 1 << FLOW_TO_SERVER | 1 << FLOW_TO_CLIENT },
    .parse = filesize_parse,
    .file = { .match = filesize_match },
};
