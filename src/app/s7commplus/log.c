/* SPDX-License-Identifier: GPL-2.0-or-later */
/* S7comm-plus in EVE events. Suricata has no such event, so all members are in the object "sluice". */
#include "s7commplus_priv.h"

static const char *find_name(const struct s7commplus_name *names, uint16_t value)
{
    while (names->name && names->value != value)
        names++;
    return names->name;
}

void s7commplus_log_own(const struct app_tx *tx, struct fields *out)
{
    const struct s7commplus_tx *message = (const struct s7commplus_tx *)tx;

    if (!message->is_parsed)
        return;
    fields_object_open(out, "s7commplus");
    fields_uint(out, "version", message->version);
    if (message->has_function) {
        fields_string(out, "opcode", find_name(s7commplus_opcodes, message->opcode));
        fields_uint(out, "function_code", message->function);
        fields_string(out, "function", find_name(s7commplus_functions, message->function));
    }
    fields_uint(out, "length", message->content.length);
    fields_object_close(out);
}
