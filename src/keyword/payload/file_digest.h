/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparison of file digests with a list: filemd5, filesha1, filesha256. */
#ifndef SLUICE_KEYWORD_FILE_DIGEST_H
#define SLUICE_KEYWORD_FILE_DIGEST_H

#include "sluice/file.h"
#include "sluice/keyword.h"

#define FILE_DIGEST_MANUAL                                                                                             \
    "The file has a digest in hexadecimal at the beginning of each line; what follows it is ignored, and so are "      \
    "lines\n"                                                                                                          \
    "without one. Its path is relative to the file of the rule. The digest is known when the file is complete."

/* For parse(): reads the list of digests from the file that `value` names. Returns 0 or -errno. */
int file_digest_parse(struct rule_parser *parser, struct span value, enum file_digest kind);
enum file_match file_digest_match(const struct file *file, const void *data);

#endif
