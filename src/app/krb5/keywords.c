/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kerberos keywords. */
#include <errno.h>

#include "krb5_priv.h"
#include "sluice/arena.h"
#include "sluice/text.h"

static const char *const applications[] = { "krb5", NULL };

/* --- Names ------------------------------------------------------------------------------------------- */

static bool get_component(const struct krb5_tx *tx, const struct krb5_name *name, unsigned index, struct app_bytes *out)
{
    if (!tx->parsed || !name->is_present || index >= name->components)
        return false;
    *out = (struct app_bytes){ .bytes = (const uint8_t *)"", .length = name->component[index].length };
    if (out->length)
        out->bytes = tx->text.bytes + name->component[index].at;
    return true;
}

static bool get_client(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct krb5_tx *krb5 = (const struct krb5_tx *)tx;

    return get_component(krb5, &krb5->client, which.index, out);
}

static bool get_server(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct krb5_tx *krb5 = (const struct krb5_tx *)tx;

    return get_component(krb5, &krb5->server, which.index, out);
}

const struct keyword keyword_krb5_cname = {
    .name = "krb5.cname",
    .aliases = { "krb5_cname" },
    .help = "component of the client principal name (cname) in a Kerberos message",
    .manual = "Each component has a separate buffer: user/admin has two.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_krb5_sname = {
    .name = "krb5.sname",
    .aliases = { "krb5_sname" },
    .help = "component of the server principal name (sname) in a Kerberos message",
    .manual = "Each component has a separate buffer: krbtgt/EXAMPLE.COM has two.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct app_buffer krb5_buffers[KRB5_BUFFERS] = {
    { &keyword_krb5_cname, APP_BOTH, KRB5_COMPLETE, .get = get_client },
    { &keyword_krb5_sname, APP_BOTH, KRB5_COMPLETE, .get = get_server },
};

/* --- Numbers ----------------------------------------------------------------------------------------- */

static bool type_match(const struct match_input *in, const void *data)
{
    const struct krb5_tx *krb5 = (const struct krb5_tx *)in->transaction;

    return krb5->parsed && number_range_has(data, krb5->type);
}

static int type_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT32_MAX, krb5_type_names);
}

const struct keyword keyword_krb5_msg_type = {
    .name = "krb5_msg_type",
    .value = NUMBER_RANGE_FORM " or [!]NAME",
    .help = "type of a Kerberos message by number or name: 10 or as_req, as_rep, tgs_req, tgs_rep, error",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = type_parse,
    .transaction = { .match = type_match },
};

static bool error_match(const struct match_input *in, const void *data)
{
    const struct krb5_tx *krb5 = (const struct krb5_tx *)in->transaction;

    return krb5->parsed && krb5->has_error && number_range_has(data, (uint64_t)(int64_t)krb5->error);
}

static int error_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, INT32_MAX, NULL);
}

const struct keyword keyword_krb5_err_code = {
    .name = "krb5_err_code",
    .value = NUMBER_RANGE_FORM,
    .help = "code of a Kerberos error: 25",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = error_parse,
    .transaction = { .match = error_match },
};

/* --- Ticket encryption ------------------------------------------------------------------------------- */

enum { LIST_MAX = 64 };

/* Condition on the encryption type of the ticket: whether it is weak, or a list of types. */
struct encryption_condition {
    bool by_weakness, weak; /* by_weakness: weak types match, or, if `weak` is false, types that are not weak. Without
                               by_weakness the types in `list` match */
    unsigned count;
    int32_t list[LIST_MAX];
};

static bool ticket_match(const struct match_input *in, const void *data)
{
    const struct krb5_tx *krb5 = (const struct krb5_tx *)in->transaction;
    const struct encryption_condition *condition = data;

    if (!krb5->parsed || !krb5->has_ticket_encryption)
        return false;
    if (condition->by_weakness)
        return krb5_is_weak(krb5->ticket_encryption) == condition->weak;
    for (unsigned i = 0; i < condition->count; i++)
        if (condition->list[i] == krb5->ticket_encryption)
            return true;
    return false;
}

static int add_encryption(struct rule_parser *parser, struct span item, struct encryption_condition *out)
{
    int64_t number = 0;
    const struct krb5_number_name *name = krb5_encryption_names;

    if (out->count == LIST_MAX)
        return rule_parser_error(parser, item, "more than %d encryption types", LIST_MAX);
    while (name->name && !span_equal(item, name->name))
        name++;
    if (name->name)
        number = name->number;
    else if (!span_to_int(item, INT32_MIN, INT32_MAX, &number))
        return rule_parser_error(parser, item, "expected the name or number of an encryption type");
    out->list[out->count++] = (int32_t)number;
    return 0;
}

static int ticket_parse(struct rule_parser *parser, struct span value)
{
    struct encryption_condition *condition = arena_alloc(rule_parser_arena(parser), sizeof(*condition));
    struct span text = span_trim(value);
    int err = 0;

    if (!condition)
        return -ENOMEM;
    if (span_equal(text, "weak") || span_equal(text, "!weak")) {
        condition->by_weakness = true;
        condition->weak = text.at[0] == 'w';
    } else {
        for (size_t at = 0, end; !err && at < text.length; at = end + 1) {
            for (end = at; end < text.length && !memchr(", \t", text.at[end], 3); end++)
                ;
            err = end > at ? add_encryption(parser, (struct span){ text.at + at, end - at }, condition) : 0;
        }
        if (!err && condition->count == 0)
            err = rule_parser_error(parser, text, "expected encryption types, or weak");
    }
    return err ? err : rule_parser_add_transaction_condition(parser, condition, false);
}

const struct keyword keyword_krb5_ticket_encryption = {
    .name = "krb5.ticket_encryption",
    .value = "[!]weak, or NAME or NUMBER, ...",
    .help = "encryption type of the ticket in a Kerberos reply: weak, or one of a list (rc4-hmac, 18, -128)",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = ticket_parse,
    .transaction = { .match = ticket_match },
};

const struct app_condition krb5_conditions[KRB5_CONDITIONS] = {
    { &keyword_krb5_msg_type, APP_BOTH, KRB5_COMPLETE },
    { &keyword_krb5_err_code, APP_BOTH, KRB5_COMPLETE },
    { &keyword_krb5_ticket_encryption, APP_BOTH, KRB5_COMPLETE },
};
