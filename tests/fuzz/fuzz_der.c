/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ASN.1 values. The contract: reading stays within the input and advances the cursor; a failure does not move it; and
 * DER_ANY reads all values that DER_DEFINITE accepts, with the same result.
 */
#include <stdlib.h>

#include "sluice/der.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void read_all(struct cursor cur, enum der_form form)
{
    while (cursor_remaining(&cur) > 0) {
        struct cursor before = cur, same = cur;
        struct der_header header, other;

        if (der_read_header(&cur, form, &header) != DER_OK) {
            require(cur.at == before.at);
            return;
        }
        require(cur.at > before.at && cur.at <= cur.end && cur.end == before.end);
        require(!header.indefinite || header.length == 0);
        if (form == DER_DEFINITE) {
            require(der_read_header(&same, DER_ANY, &other) == DER_OK && same.at == cur.at);
            require(other.length == header.length && other.number == header.number && !header.indefinite);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cursor cur = cursor_of(data, size), explicit = cur;
    char text[DER_OID_TEXT_MAX];
    struct der_value value;
    int64_t seconds;
    int32_t number;

    for (enum der_form form = DER_DEFINITE; form <= DER_ONE_OCTET_TAG; form++)
        read_all(cur, form);
    if (!der_read_explicit_int32(&explicit, 0, &number))
        require(explicit.at == cur.at);
    while (der_next(&cur, &value)) {
        require(value.body.at >= data && value.body.end == cur.at);
        require(der_oid_text(value.body, text) <= sizeof(text));
        value.tag = cursor_remaining(&value.body) % 2 ? DER_UTC_TIME : DER_GENERALIZED_TIME;
        der_time(&value, &seconds);
    }
    return 0;
}
