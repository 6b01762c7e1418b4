/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of messages for scripts: the names and values of all headers. */
#include <string.h>

#include "smtp_priv.h"

bool smtp_script_value(const struct app_tx *tx, const char *name, enum flow_direction direction, unsigned index,
                       struct app_script_value *out)
{
    const struct mime *mime = ((const struct smtp_tx *)tx)->mime;
    const struct mime_header *header;
    bool is_name = strcmp(name, "mime_name") == 0;

    (void)direction;
    if (!mime || !mime->main_complete || index >= mime->main.count)
        return false;
    header = &mime->main.list[index];
    out->bytes = (struct app_bytes){
        .bytes = buffer_at(&mime->main.text, is_name ? header->name : header->value),
        .length = is_name ? header->name_length : header->value_length,
    };
    return out->bytes.bytes != NULL;
}
