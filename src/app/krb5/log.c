/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kerberos in EVE events. Missing values are logged as "<empty>" or "<none>", as in Suricata. */
#include "krb5_priv.h"

static void log_text(const struct krb5_tx *tx, const char *key, bool is_present, const struct krb5_text *text,
                     struct fields *out)
{
    if (!is_present)
        fields_string(out, key, "<empty>");
    else if (text->length == 0)
        fields_string(out, key, "");
    else
        fields_bytes(out, key, tx->text.bytes + text->at, text->length);
}

void krb5_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct krb5_tx *krb5 = (const struct krb5_tx *)tx;
    char text[KRB5_NAME_TEXT];

    (void)settings;
    if (!krb5->parsed)
        return;
    fields_string(out, "msg_type", krb5_type_name(krb5->type));
    if (krb5->has_error) {
        fields_string(out, "failed_request", krb5_type_name(krb5->request));
        fields_string(out, "error_code", krb5_number_name(krb5_error_names, "ErrorCode", krb5->error, text));
    }
    log_text(krb5, "cname", krb5->client.is_present, &krb5->client.whole, out);
    log_text(krb5, "realm", krb5->has_realm, &krb5->realm, out);
    log_text(krb5, "sname", krb5->server.is_present, &krb5->server.whole, out);
    fields_string(out, "encryption",
                  krb5->has_encryption
                      ? krb5_number_name(krb5_encryption_names, "EncryptionType", krb5->encryption, text)
                      : "<none>");
    fields_bool(out, "weak_encryption", krb5->has_encryption && krb5_is_weak(krb5->encryption));
    if (!krb5->has_ticket_encryption)
        return;
    fields_string(out, "ticket_encryption",
                  krb5_number_name(krb5_encryption_names, "EncryptionType", krb5->ticket_encryption, text));
    fields_bool(out, "ticket_weak_encryption", krb5_is_weak(krb5->ticket_encryption));
}
