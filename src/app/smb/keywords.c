/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SMB keywords. The DCE/RPC keywords are in src/app/dcerpc. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "sluice/arena.h"
#include "sluice/text.h"
#include "smb_priv.h"

static const char *const applications[] = { "smb", NULL };

/* --- Buffers ----------------------------------------------------------------------------------------- */

/* Whether the tree is a pipe share: according to the share type in the response, or to the share name as long as there
 * is no response. */
static bool is_pipe(const struct smb_tx *tx)
{
    const struct buffer *name = &tx->text[SMB_TEXT_NAME];

    if (tx->tree.is_answered)
        return tx->tree.is_pipe;
    return name->length >= 4 && strncasecmp((const char *)name->bytes + name->length - 4, "IPC$", 4) == 0;
}

static bool set_bytes(const struct buffer *text, struct app_bytes *out)
{
    static const uint8_t nothing[1];

    *out = (struct app_bytes){ .bytes = text->bytes ? text->bytes : nothing, .length = text->length };
    return true;
}

static bool get_tree(const struct app_tx *head, bool pipe_share, struct app_bytes *out)
{
    const struct smb_tx *tx = (const struct smb_tx *)head;

    return tx->kind == SMB_TREE_CONNECT && is_pipe(tx) == pipe_share && set_bytes(&tx->text[SMB_TEXT_NAME], out);
}

static bool get_named_pipe(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    (void)which;
    return get_tree(tx, true, out);
}

static bool get_share(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    (void)which;
    return get_tree(tx, false, out);
}

static bool get_ntlmssp(const struct app_tx *head, enum smb_text text, struct app_bytes *out)
{
    const struct smb_tx *tx = (const struct smb_tx *)head;

    return tx->kind == SMB_SESSION_SETUP && tx->setup.has_ntlmssp && set_bytes(&tx->text[text], out);
}

static bool get_user(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    (void)which;
    return get_ntlmssp(tx, SMB_TEXT_USER, out);
}

static bool get_domain(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    (void)which;
    return get_ntlmssp(tx, SMB_TEXT_DOMAIN, out);
}

const struct keyword keyword_smb_named_pipe = {
    .name = "smb.named_pipe",
    .aliases = { "smb_named_pipe" },
    .help = "name of the pipe share that a client connects to: \\\\HOST\\IPC$",
    .manual = "The share type in the response shows whether the share is a pipe share; before the response, a name "
              "that ends in IPC$ counts as one.",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
};

const struct keyword keyword_smb_share = {
    .name = "smb.share",
    .aliases = { "smb_share" },
    .help = "name of the file share that a client connects to: \\\\HOST\\C$",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
};

const struct keyword keyword_smb_ntlmssp_user = {
    .name = "smb.ntlmssp_user",
    .help = "user name in an NTLMSSP login",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
};

const struct keyword keyword_smb_ntlmssp_domain = {
    .name = "smb.ntlmssp_domain",
    .help = "domain in an NTLMSSP login",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
};

/* --- smb.version ------------------------------------------------------------------------------------- */

static bool smb_version_match(const struct match_input *in, const void *data)
{
    return ((const struct smb_tx *)in->transaction)->version == *(const uint8_t *)data;
}

static int smb_version_parse(struct rule_parser *parser, struct span value)
{
    uint8_t *version = arena_alloc(rule_parser_arena(parser), sizeof(*version));
    uint64_t number;

    if (!version)
        return -ENOMEM;
    if (!span_to_uint(span_trim(value), 1, 2, &number))
        return rule_parser_error(parser, value, "expected version 1 or 2");
    *version = (uint8_t)number;
    return rule_parser_add_transaction_condition(parser, version, false);
}

const struct keyword keyword_smb_version = {
    .name = "smb.version",
    .value = "1 or 2",
    .help = "SMB version of a transaction; SMB 3 counts as 2",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = smb_version_parse,
    .transaction = { .match = smb_version_match },
};

/* --- Tables ------------------------------------------------------------------------------------------ */

const struct app_buffer smb_buffers[SMB_BUFFERS] = {
    { &keyword_smb_named_pipe, APP_TO_SERVER, SMB_COMPLETE, .get = get_named_pipe },
    { &keyword_smb_share, APP_TO_SERVER, SMB_COMPLETE, .get = get_share },
    { &keyword_smb_ntlmssp_user, APP_TO_SERVER, SMB_COMPLETE, .get = get_user },
    { &keyword_smb_ntlmssp_domain, APP_TO_SERVER, SMB_COMPLETE, .get = get_domain },
    { &keyword_dcerpc_stub_data, APP_BOTH, SMB_COMPLETE, .get = dce_get_stub },
    { &keyword_file_data, APP_BOTH, 0, .get = app_file_data, .grows = true },
};

const struct app_condition smb_conditions[SMB_CONDITIONS] = {
    { &keyword_smb_version, APP_BOTH, SMB_COMPLETE },
    { &keyword_dcerpc_iface, APP_BOTH, SMB_COMPLETE },
    { &keyword_dcerpc_opnum, APP_BOTH, SMB_COMPLETE },
};
