/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the members of a file in EVE events (fileinfo), with Suricata's names. */
#include "file_priv.h"

#include "sluice/fields.h"

static void log_digest(const struct file *file, enum file_digest kind, const char *key, size_t length,
                       struct fields *out)
{
    if (file->digests >> kind & 1)
        fields_hex(out, key, file->digest[kind], length);
}

void file_describe(const struct file *file, uint64_t tx_id, const struct file_engine *engine, struct fields *out)
{
    bool stored = file->stored && (!engine || file->stored_tick < engine->tick);

    if (file->name.length > 0)
        fields_bytes(out, "filename", file->name.bytes, file->name.length);
    if (file->sid_count > 0) {
        fields_array_open(out, "sid");
        for (unsigned i = 0; i < file->sid_count; i++)
            fields_uint(out, NULL, file->sids[i]);
        fields_array_close(out);
    }
    fields_string(out, "magic", file->magic);
    fields_bool(out, "gaps", file->has_gaps);
    fields_string(out, "state", file_state_name(file->state));
    log_digest(file, FILE_MD5, "md5", 16, out);
    log_digest(file, FILE_SHA1, "sha1", 20, out);
    log_digest(file, FILE_SHA256, "sha256", 32, out);
    fields_bool(out, "stored", stored);
    if (stored)
        fields_uint(out, "file_id", file->id + 1u); /* counts from 1 in each flow; in Suricata the count is global */
    else if (file->store_requested && !file->store_refused)
        fields_bool(out, "storing", true);
    fields_uint(out, "size", file->size);
    fields_uint(out, "tx_id", tx_id);
    if (file->end > 0) {
        fields_uint(out, "start", file->start);
        fields_uint(out, "end", file->end);
    }
}
