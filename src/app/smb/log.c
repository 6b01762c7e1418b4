/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SMB transactions in EVE events. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "smb_priv.h"

static void log_text(const struct smb_tx *tx, enum smb_text text, const char *key, struct fields *out)
{
    const struct buffer *value = &tx->text[text];

    fields_bytes(out, key, value->bytes ? (const void *)value->bytes : "", value->length);
}

/* Logs a GUID in Suricata's byte order, which also reverses the parts of the second half. */
static void log_guid(const char *key, const uint8_t *guid, struct fields *out)
{
    static const uint8_t order[DCE_UUID] = { 3, 2, 1, 0, 5, 4, 7, 6, 9, 8, 11, 10, 15, 14, 13, 12 };
    uint8_t reordered[DCE_UUID];
    char text[DCE_UUID_TEXT];

    if (!guid) {
        fields_string(out, key, "");
        return;
    }
    for (unsigned i = 0; i < DCE_UUID; i++)
        reordered[i] = guid[order[i]];
    dce_uuid_text(reordered, text);
    fields_string(out, key, text);
}

static void log_id(const struct smb_tx *tx, struct fields *out)
{
    char text[8];

    if (tx->id.length == SMB_GUID) {
        log_guid("fuid", tx->id.bytes, out);
        return;
    }
    snprintf(text, sizeof(text), "%02x%02x", tx->id.bytes[1], tx->id.bytes[0]);
    fields_string(out, "fuid", tx->id.length ? text : "");
}

/* --- Common fields ----------------------------------------------------------------------------------- */

static void log_common(const struct smb_tx *tx, struct fields *out)
{
    char number[SMB_NAME_TEXT], code[16];

    fields_uint(out, "id", tx->head.tx.id + 1);
    if (tx->dialect)
        fields_string(out, "dialect", smb2_dialect_name(tx->dialect, number));
    else if (tx->dialect_length)
        fields_bytes(out, "dialect", tx->dialect_name, tx->dialect_length);
    else
        fields_string(out, "dialect", "unknown");
    if (tx->head.tx.only_events)
        return;
    if (tx->version == 1)
        fields_string(out, "command", smb1_command_name(tx->command, number));
    else if (tx->version == 2)
        fields_string(out, "command", smb2_command_name(tx->command, number));
    if (tx->has_status && tx->is_dos_status) {
        fields_string(out, "status", smb_dos_status_name(tx->error_class, (uint16_t)tx->status, number));
        snprintf(code, sizeof(code), "0x%04" PRIx32, tx->status);
    } else if (tx->has_status) {
        fields_string(out, "status", smb_status_name(tx->status, number));
        snprintf(code, sizeof(code), "0x%" PRIx32, tx->status);
    }
    if (tx->has_status)
        fields_string(out, "status_code", code);
    fields_uint(out, "session_id", tx->key.session);
    fields_uint(out, "tree_id", tx->key.tree);
}

/* --- Fields by transaction kind ---------------------------------------------------------------------- */

static void log_dialects(const struct smb_tx *tx, struct fields *out)
{
    const struct buffer *dialects = &tx->text[SMB_TEXT_DIALECTS];
    struct cursor cur = cursor_of(dialects->bytes, dialects->length);
    char number[SMB_NAME_TEXT];

    if (cursor_remaining(&cur) == 0)
        return;
    fields_array_open(out, "client_dialects");
    for (unsigned i = 0; i < SMB_DIALECTS_MAX && cursor_remaining(&cur) > 0; i++) {
        if (tx->version == 2) {
            const uint8_t *dialect = cursor_read(&cur, 2);

            if (!dialect)
                break;
            fields_string(out, NULL, smb2_dialect_name(load_le16(dialect), number));
            continue;
        }
        const uint8_t *end = memchr(cur.at, 0, cursor_remaining(&cur));
        size_t length = end ? (size_t)(end - cur.at) : cursor_remaining(&cur);

        fields_bytes(out, NULL, cur.at, length);
        cursor_skip(&cur, length + (end != NULL));
    }
    fields_array_close(out);
}

static void log_negotiate(const struct smb_tx *tx, struct fields *out)
{
    log_dialects(tx, out);
    if (tx->negotiate.has_client_guid)
        log_guid("client_guid", tx->negotiate.client_guid, out);
    log_guid("server_guid", tx->negotiate.has_server_guid ? tx->negotiate.server_guid : NULL, out);
    if (tx->negotiate.max_read)
        fields_uint(out, "max_read_size", tx->negotiate.max_read);
    if (tx->negotiate.max_write)
        fields_uint(out, "max_write_size", tx->negotiate.max_write);
}

static void log_ntlmssp(const struct smb_tx *tx, struct fields *out)
{
    const uint8_t *version = tx->setup.version;
    char text[48];

    fields_object_open(out, "ntlmssp");
    log_text(tx, SMB_TEXT_DOMAIN, "domain", out);
    log_text(tx, SMB_TEXT_USER, "user", out);
    log_text(tx, SMB_TEXT_HOST, "host", out);
    if (tx->setup.has_version) {
        snprintf(text, sizeof(text), "%u.%u build %u rev %u", version[0], version[1], load_le16(version + 2),
                 version[7]);
        fields_string(out, "version", text);
    }
    if (tx->setup.has_warning)
        fields_bool(out, "warning", true);
    fields_object_close(out);
}

static void log_kerberos(const struct smb_tx *tx, struct fields *out)
{
    const struct buffer *names = &tx->text[SMB_TEXT_SERVICE_NAMES];
    struct cursor cur = cursor_of(names->bytes, names->length);

    fields_object_open(out, "kerberos");
    log_text(tx, SMB_TEXT_REALM, "realm", out);
    if (cursor_remaining(&cur) > 0)
        fields_array_open(out, "snames");
    while (cursor_remaining(&cur) > 0) {
        const uint8_t *end = memchr(cur.at, 0, cursor_remaining(&cur));
        size_t length = end ? (size_t)(end - cur.at) : cursor_remaining(&cur);

        fields_bytes(out, NULL, cur.at, length);
        cursor_skip(&cur, length + (end != NULL));
    }
    if (names->length > 0)
        fields_array_close(out);
    fields_object_close(out);
}

static void log_host(const struct smb_tx *tx, const char *key, enum smb_text os, enum smb_text lm, struct fields *out)
{
    fields_object_open(out, key);
    log_text(tx, os, "native_os", out);
    log_text(tx, lm, "native_lm", out);
    fields_object_close(out);
}

static void log_setup(const struct smb_tx *tx, struct fields *out)
{
    if (tx->setup.has_ntlmssp)
        log_ntlmssp(tx, out);
    if (tx->text[SMB_TEXT_REALM].length > 0)
        log_kerberos(tx, out);
    if (tx->setup.has_request)
        log_host(tx, "request", SMB_TEXT_REQUEST_OS, SMB_TEXT_REQUEST_LM, out);
    if (tx->setup.has_response)
        log_host(tx, "response", SMB_TEXT_RESPONSE_OS, SMB_TEXT_RESPONSE_LM, out);
}

static void log_tree(const struct smb_tx *tx, struct fields *out)
{
    static const char *const types[] = { "UNKNOWN", "FILE", "PIPE", "PRINT" };

    log_text(tx, SMB_TEXT_NAME, tx->tree.is_pipe ? "named_pipe" : "share", out);
    if (tx->version == 2) {
        fields_string(out, "share_type", types[tx->tree.share_type < 4 ? tx->tree.share_type : 0]);
        return;
    }
    fields_object_open(out, "service");
    if (tx->tree.has_request_service)
        log_text(tx, SMB_TEXT_REQUEST_SERVICE, "request", out);
    if (tx->tree.has_response_service)
        log_text(tx, SMB_TEXT_RESPONSE_SERVICE, "response", out);
    fields_object_close(out);
}

/* Converts 100 ns units since 1601 to seconds since 1970. */
static uint64_t get_unix_seconds(uint64_t time)
{
    const uint64_t epoch = UINT64_C(116444736000000000);

    return time > epoch ? (uint32_t)((time - epoch) / 10000000) : 0;
}

static void log_name(const struct smb_tx *tx, const char *key, struct fields *out)
{
    if (tx->text[SMB_TEXT_NAME].length > 0)
        log_text(tx, SMB_TEXT_NAME, key, out);
    else
        fields_string(out, "filename", "<share_root>");
}

static void log_create(const struct smb_tx *tx, struct fields *out)
{
    static const char *const dispositions[] = { "FILE_SUPERSEDE", "FILE_OPEN",      "FILE_CREATE",
                                                "FILE_OPEN_IF",   "FILE_OVERWRITE", "FILE_OVERWRITE_IF" };
    uint32_t disposition = tx->create.disposition;

    log_name(tx, tx->create.is_directory ? "directory" : "filename", out);
    fields_string(out, "disposition", disposition < 6 ? dispositions[disposition] : "UNKNOWN");
    fields_string(out, "access", tx->create.delete_on_close ? "delete on close" : "normal");
    fields_uint(out, "created", get_unix_seconds(tx->create.created));
    fields_uint(out, "accessed", get_unix_seconds(tx->create.accessed));
    fields_uint(out, "modified", get_unix_seconds(tx->create.modified));
    fields_uint(out, "changed", get_unix_seconds(tx->create.changed));
    fields_uint(out, "size", tx->create.size);
    log_id(tx, out);
}

static void log_file(const struct smb_tx *tx, struct fields *out)
{
    log_text(tx, SMB_TEXT_NAME, "filename", out);
    log_text(tx, SMB_TEXT_SHARE, "share", out);
    log_id(tx, out);
}

static void log_rename(const struct smb_tx *tx, struct fields *out)
{
    if (tx->version == 2) {
        fields_object_open(out, "set_info");
        fields_string(out, "class", "FILE_INFO");
        fields_string(out, "info_level", "SMB2_FILE_RENAME_INFO");
        fields_object_close(out);
    }
    fields_object_open(out, "rename");
    log_text(tx, SMB_TEXT_NAME, "from", out);
    log_text(tx, SMB_TEXT_NEW_NAME, "to", out);
    fields_object_close(out);
    log_id(tx, out);
}

static void log_set_info(const struct smb_tx *tx, struct fields *out)
{
    log_name(tx, "filename", out);
    fields_string(out, "access", tx->set_info.delete_on_close ? "delete on close" : "normal");
    if (tx->set_info.subcommand == 8)
        fields_string(out, "subcmd", "SET_FILE_INFO");
    if (tx->set_info.subcommand == 6)
        fields_string(out, "subcmd", "SET_PATH_INFO");
    if (tx->set_info.level == 1013)
        fields_string(out, "level_of_interest", "Set Disposition Information");
    log_id(tx, out);
}

static void log_dcerpc(const struct smb_tx *tx, struct fields *out)
{
    const struct dce_call *call = &tx->call;

    fields_object_open(out, "dcerpc");
    if (call->has_request)
        dce_log_type("request", call->request, out);
    else
        fields_string(out, "request", "REQUEST_LOST");
    if (call->has_response)
        dce_log_type("response", call->response, out);
    else
        fields_string(out, "response", "UNREPLIED");
    if (call->has_request && call->request == DCE_REQUEST) {
        fields_uint(out, "opnum", call->opnum);
        fields_object_open(out, "req");
        fields_uint(out, "frag_cnt", call->fragments[FLOW_TO_SERVER]);
        fields_uint(out, "stub_data_size", call->stub[FLOW_TO_SERVER].length);
        fields_object_close(out);
    }
    if (call->has_request && (call->request == DCE_REQUEST || call->request == DCE_BIND))
        dce_log_interfaces(call, call->request == DCE_BIND, out);
    if (call->has_response && call->response == DCE_RESPONSE) {
        fields_object_open(out, "res");
        fields_uint(out, "frag_cnt", call->fragments[FLOW_TO_CLIENT]);
        fields_uint(out, "stub_data_size", call->stub[FLOW_TO_CLIENT].length);
        fields_object_close(out);
    }
    fields_uint(out, "call_id", call->call_id);
    fields_object_close(out);
}

static void log_ioctl(const struct smb_tx *tx, struct fields *out)
{
    char number[SMB_NAME_TEXT];

    fields_string(out, "function", smb_function_name(tx->ioctl.function, number));
}

void smb_log(const struct app_tx *head, const void *settings, struct fields *out)
{
    static void (*const log_functions[SMB_KINDS])(const struct smb_tx *, struct fields *) = {
        [SMB_NEGOTIATE] = log_negotiate, [SMB_SESSION_SETUP] = log_setup, [SMB_TREE_CONNECT] = log_tree,
        [SMB_CREATE] = log_create,       [SMB_FILE] = log_file,           [SMB_DCERPC] = log_dcerpc,
        [SMB_IOCTL] = log_ioctl,         [SMB_RENAME] = log_rename,       [SMB_SET_INFO] = log_set_info,
    };
    const struct smb_tx *tx = (const struct smb_tx *)head;

    (void)settings;
    log_common(tx, out);
    if (log_functions[tx->kind])
        log_functions[tx->kind](tx, out);
}

bool smb_wants_log(const struct app_tx *tx, const void *settings)
{
    const struct smb_settings *log_settings = settings;

    return tx->only_events || log_settings->logs[((const struct smb_tx *)tx)->kind];
}
