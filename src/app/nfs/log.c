/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NFS calls with their replies in EVE events. The RPC fields are in a separate object. */
#include <stdio.h>

#include "nfs_priv.h"

static void log_text(const struct nfs_tx *tx, const char *key, const struct nfs_text *text, struct fields *out)
{
    if (text->length)
        fields_bytes(out, key, tx->text.bytes + text->at, text->length);
    else
        fields_string(out, key, "");
}

void nfs_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct nfs_tx *nfs = (const struct nfs_tx *)tx;
    char text[NFS_NUMBER_TEXT];

    (void)settings;
    if (!nfs->parsed)
        return;
    fields_uint(out, "version", nfs->version);
    fields_string(out, "procedure", nfs_procedure_name(nfs->version, nfs->procedure, text));
    log_text(nfs, "filename", &nfs->name, out);
    if (nfs->has_handle) {
        snprintf(text, sizeof(text), "%x", (unsigned)nfs->handle_crc);
        fields_string(out, "hhash", text);
    }
    fields_uint(out, "id", tx->id + 1);
    fields_bool(out, "file_tx", nfs->is_file);
    fields_string(out, "type", "response");
    fields_string(out, "status", nfs_status_name(nfs->status, text));
    if (nfs->version > 3)
        return;
    if (nfs->is_file) {
        fields_object_open(out, nfs->file.direction == FLOW_TO_CLIENT ? "read" : "write");
        fields_bool(out, "first", true);
        fields_bool(out, "last", nfs->file.is_last);
        fields_uint(out, "last_xid", nfs->file.last_xid);
        fields_uint(out, "chunks", nfs->file.messages);
        fields_object_close(out);
    }
    if (nfs->has_target) {
        fields_object_open(out, "rename");
        log_text(nfs, "from", &nfs->name, out);
        log_text(nfs, "to", &nfs->target, out);
        fields_object_close(out);
    }
}

void nfs_log_rpc(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct nfs_tx *nfs = (const struct nfs_tx *)tx;
    char text[NFS_NUMBER_TEXT];

    (void)settings;
    if (!nfs->parsed)
        return;
    fields_object_open(out, "rpc");
    fields_uint(out, "xid", nfs->xid);
    fields_string(out, "status", nfs_rpc_status_name(nfs->rpc_status, text));
    fields_string(out, "auth_type", nfs_auth_name(nfs->auth_type, text));
    if (nfs->auth_type == RPC_AUTH_UNIX) {
        fields_object_open(out, "creds");
        log_text(nfs, "machine_name", &nfs->machine, out);
        fields_uint(out, "uid", nfs->uid);
        fields_uint(out, "gid", nfs->gid);
        fields_object_close(out);
    }
    fields_object_close(out);
}

/* GETATTR calls of versions 2 and 3 are not logged: they are the most frequent calls, and their events would contain no
 * information. */
bool nfs_wants_log(const struct app_tx *tx, const void *settings)
{
    const struct nfs_tx *nfs = (const struct nfs_tx *)tx;

    (void)settings;
    return nfs->parsed && !(nfs->version <= 3 && nfs->procedure == NFS3_GETATTR);
}
