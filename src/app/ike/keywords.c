/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IKE keywords. The initiator's SPI is a buffer of messages to the server, the responder's SPI of messages to the
 * client. */
#include <errno.h>

#include "ike_priv.h"
#include "sluice/arena.h"
#include "sluice/number_range.h"
#include "sluice/text.h"

static const char *const applications[] = { "ike", NULL };

/* --- Buffers ----------------------------------------------------------------------------------------- */

static bool get_initiator(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct ike_tx *ike = (const struct ike_tx *)tx;

    (void)which;
    *out = (struct app_bytes){ .bytes = (const uint8_t *)ike->initiator, .length = IKE_SPI_TEXT };
    return ike->parsed;
}

static bool get_responder(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct ike_tx *ike = (const struct ike_tx *)tx;

    (void)which;
    *out = (struct app_bytes){ .bytes = (const uint8_t *)ike->responder, .length = IKE_SPI_TEXT };
    return ike->parsed;
}

static bool get_vendor(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct ike_tx *ike = (const struct ike_tx *)tx;

    if (which.index >= ike->vendors)
        return false;
    *out = (struct app_bytes){ .bytes = (const uint8_t *)"", .length = ike->vendor[which.index].length };
    if (out->length)
        out->bytes = ike->text.bytes + ike->vendor[which.index].at;
    return true;
}

static bool set_bytes(const struct buffer *buffer, struct app_bytes *out)
{
    *out = (struct app_bytes){ .bytes = buffer->bytes, .length = buffer->length };
    return buffer->length > 0;
}

static bool get_key_exchange(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    (void)which;
    return set_bytes(&((const struct ike_tx *)tx)->in_message.key_exchange, out);
}

static bool get_nonce(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    (void)which;
    return set_bytes(&((const struct ike_tx *)tx)->in_message.nonce, out);
}

const struct keyword keyword_ike_init_spi = {
    .name = "ike.init_spi",
    .help = "initiator's SPI in an IKE message: 16 lower-case hexadecimal digits",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
};

const struct keyword keyword_ike_resp_spi = {
    .name = "ike.resp_spi",
    .help = "responder's SPI in an IKE message: 16 lower-case hexadecimal digits",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_CLIENT },
};

const struct keyword keyword_ike_vendor = {
    .name = "ike.vendor",
    .help = "vendor ID in an IKE version 1 message, in lower-case hexadecimal digits",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_TO_SERVER },
};

const struct keyword keyword_ike_key_exchange_payload = {
    .name = "ike.key_exchange_payload",
    .help = "key exchange payload of an IKE version 1 message",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_ike_nonce_payload = {
    .name = "ike.nonce_payload",
    .help = "nonce payload of an IKE version 1 message",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct app_buffer ike_buffers[IKE_BUFFERS] = {
    { &keyword_ike_init_spi, APP_TO_SERVER, IKE_COMPLETE, .get = get_initiator },
    { &keyword_ike_resp_spi, APP_TO_CLIENT, IKE_COMPLETE, .get = get_responder },
    { &keyword_ike_vendor, APP_TO_SERVER, IKE_COMPLETE, .get = get_vendor },
    { &keyword_ike_key_exchange_payload, APP_BOTH, IKE_COMPLETE, .get = get_key_exchange },
    { &keyword_ike_nonce_payload, APP_BOTH, IKE_COMPLETE, .get = get_nonce },
};

/* --- Numbers ----------------------------------------------------------------------------------------- */

static int number_parse(struct rule_parser *parser, struct span value)
{
    uint64_t limit = rule_parser_keyword(parser) == &keyword_ike_exchtype ? UINT8_MAX : UINT32_MAX;

    return number_range_transaction_condition(parser, value, limit, NULL);
}

static bool exchtype_match(const struct match_input *in, const void *data)
{
    const struct ike_tx *ike = (const struct ike_tx *)in->transaction;

    return ike->parsed && number_range_has(data, ike->exchange);
}

static bool key_length_match(const struct match_input *in, const void *data)
{
    const struct ike_tx *ike = (const struct ike_tx *)in->transaction;

    return ike->in_message.key_exchange.length > 0 && number_range_has(data, ike->in_message.key_exchange.length);
}

static bool nonce_length_match(const struct match_input *in, const void *data)
{
    const struct ike_tx *ike = (const struct ike_tx *)in->transaction;

    return ike->in_message.nonce.length > 0 && number_range_has(data, ike->in_message.nonce.length);
}

const struct keyword keyword_ike_exchtype = {
    .name = "ike.exchtype",
    .value = NUMBER_RANGE_FORM,
    .help = "exchange type of an IKE message: 2 (main mode), 4 (aggressive), 34 (version 2: IKE_SA_INIT)",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = number_parse,
    .transaction = { .match = exchtype_match },
};

const struct keyword keyword_ike_key_exchange_payload_length = {
    .name = "ike.key_exchange_payload_length",
    .value = NUMBER_RANGE_FORM,
    .help = "length of the key exchange payload of an IKE version 1 message, in bytes",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = number_parse,
    .transaction = { .match = key_length_match },
};

const struct keyword keyword_ike_nonce_payload_length = {
    .name = "ike.nonce_payload_length",
    .value = NUMBER_RANGE_FORM,
    .help = "length of the nonce payload of an IKE version 1 message, in bytes",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = number_parse,
    .transaction = { .match = nonce_length_match },
};

/* --- Attributes chosen by the server ----------------------------------------------------------------- */

struct attribute_condition {
    uint16_t attribute; /* attribute type of version 1 */
    uint8_t transform;  /* transform type of version 2; 0: none */
    struct number_range range;
};

static const struct {
    const char *name;
    uint16_t attribute;
    uint8_t transform;
} chosen_names[] = {
    { "alg_enc", 1, IKE2_ENC }, { "alg_hash", 2, 0 },       { "alg_auth", 3, IKE2_AUTH },  { "alg_dh", 4, IKE2_DH },
    { "sa_group_type", 5, 0 },  { "sa_life_type", 11, 0 },  { "sa_life_duration", 12, 0 }, { "alg_prf", 13, IKE2_PRF },
    { "sa_key_length", 14, 0 }, { "sa_field_size", 15, 0 },
};

static bool chosen_match(const struct match_input *in, const void *data)
{
    const struct ike_tx *ike = (const struct ike_tx *)in->transaction;
    const struct attribute_condition *condition = data;

    if (ike->major == 2) {
        const struct ike_choice *choice = &ike->choice[condition->transform];

        return condition->transform && choice->is_set && number_range_has(&condition->range, choice->id);
    }
    for (uint32_t i = 0; i < ike->first_count && i < ike_attribute_count(&ike->attributes); i++) {
        const struct ike_attribute *attribute = ike_attribute_at(&ike->attributes, i);

        if (attribute->type == condition->attribute && attribute->has_number)
            return number_range_has(&condition->range, attribute->number);
    }
    return false;
}

static int chosen_parse(struct rule_parser *parser, struct span value)
{
    struct attribute_condition *condition = arena_alloc(rule_parser_arena(parser), sizeof(*condition));
    struct span text = span_trim(value), name = { .at = text.at };
    int err;

    if (!condition)
        return -ENOMEM;
    while (name.length < text.length &&
           ((text.at[name.length] >= 'a' && text.at[name.length] <= 'z') || text.at[name.length] == '_'))
        name.length++;
    for (size_t i = 0; i < sizeof(chosen_names) / sizeof(chosen_names[0]); i++) {
        if (!span_equal(name, chosen_names[i].name))
            continue;
        condition->attribute = chosen_names[i].attribute;
        condition->transform = chosen_names[i].transform;
    }
    if (!condition->attribute)
        return rule_parser_error(parser, text, "expected an attribute: alg_enc, alg_hash, alg_auth, alg_dh ...");
    text.at += name.length;
    text.length -= name.length;
    err = number_range_parse(parser, span_trim(text), UINT32_MAX, NULL, &condition->range);
    return err ? err : rule_parser_add_transaction_condition(parser, condition, false);
}

const struct keyword keyword_ike_chosen_sa_attribute = {
    .name = "ike.chosen_sa_attribute",
    .value = "NAME=NUMBER",
    .help = "attribute of the SA that the IKE responder chose: alg_enc, alg_hash, alg_auth, alg_dh, alg_prf, "
            "sa_group_type, sa_life_type, sa_life_duration, sa_key_length, sa_field_size",
    .manual = "Version 2 supports alg_enc, alg_auth, alg_prf and alg_dh. Other comparison operators may replace =.",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_TO_CLIENT },
    .parse = chosen_parse,
    .transaction = { .match = chosen_match },
};

const struct app_condition ike_conditions[IKE_CONDITIONS] = {
    { &keyword_ike_exchtype, APP_BOTH, IKE_COMPLETE },
    { &keyword_ike_key_exchange_payload_length, APP_BOTH, IKE_COMPLETE },
    { &keyword_ike_nonce_payload_length, APP_BOTH, IKE_COMPLETE },
    { &keyword_ike_chosen_sa_attribute, APP_TO_CLIENT, IKE_COMPLETE },
};
