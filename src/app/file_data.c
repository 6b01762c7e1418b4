/* SPDX-License-Identifier: GPL-2.0-or-later */
/* file.data: the content of files of all protocols. Bodies that do not form a file are not included. */
#include "app_priv.h"

bool app_file_data(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    static const uint8_t nothing[1];
    const struct file *file = tx->files[which.direction].first;

    for (; file && which.index > 0; which.index--)
        file = file->next;
    if (!file)
        return false;
    *out = (struct app_bytes){
        .bytes = file->data.bytes ? file->data.bytes : nothing,
        .length = file->data.length,
        .offset = file->data_offset,
        .partial = file->state == FILE_OPEN,
    };
    return true;
}

const char *const app_file_protocols[] = { "http", "http2", "doh2", "smtp", "ftp-data",
                                           "smb",  "nfs",   "pop3", "imap", NULL };

/* Strings that occur in many bodies, mostly parts of web pages. They affect performance only (prefilter_hints.common).
 */
const char *const app_common_bodies[] = {
    "<!DOCTYPE html>",
    "<html lang=\"en\">",
    "<html><head><title>",
    "</title>",
    "</head><body>",
    "</body></html>",
    "<meta http-equiv=\"Content-Type\" content=\"text/html; charset=utf-8\">",
    "<meta charset=\"utf-8\">",
    "<link rel=\"stylesheet\" type=\"text/css\" href=\"",
    "<script type=\"text/javascript\" src=\"",
    "<script language=\"javascript\">",
    "</script>",
    "document.getElementById(",
    "document.write(",
    "function()",
    "function (",
    "window.location",
    "return false;",
    "<a href=\"http://www.",
    "<img src=\"",
    "<form method=\"post\" action=\"",
    "<input type=\"hidden\" name=\"",
    "<div class=\"",
    "<span id=\"",
    "</div>",
    "var ",
    "http://",
    "https://",
    NULL,
};

const struct keyword keyword_file_data = {
    .name = "file.data",
    .aliases = { "file_data" },
    .help = "selects the content of files: HTTP bodies, e-mail attachments, files in FTP and SMB",
    .manual = "The content after decoding (chunked coding, gzip, base64). It is inspected as it arrives: the first 100 "
              "kB as a whole, then in a sliding window.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_STATE | KEYWORD_MULTI,
    .scope = { app_file_protocols, APP_BOTH },
    .hints = &(const struct prefilter_hints){ .common = app_common_bodies },
};
