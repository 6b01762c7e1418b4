/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A certificate. The contract: no crash; no read outside of it; all fields are within it; texts have exactly the length
 * that a first run without a buffer has counted.
 */
#include <stdint.h>
#include <stdlib.h>

#include "app/tls/x509.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_within(const struct cursor *part, const uint8_t *data, size_t size)
{
    require(!part->at || (part->at >= data && part->end <= data + size && part->at <= part->end));
}

/* Writes the texts of all fields. */
static void write_all(const struct x509 *x509, struct x509_text *out)
{
    struct cursor alternatives = x509->alternatives;

    require(x509_name_text(x509->subject, out));
    require(x509_name_text(x509->issuer, out));
    x509_serial_text(x509->serial, out);
    while (x509_alternative_text(&alternatives, out))
        ;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct x509 x509;
    struct x509_text text = { 0 };

    if (x509_read(data, size, &x509) != X509_OK)
        return 0;
    check_within(&x509.serial, data, size);
    check_within(&x509.issuer, data, size);
    check_within(&x509.subject, data, size);
    check_within(&x509.alternatives, data, size);
    write_all(&x509, &text);

    size_t counted = text.length;

    text = (struct x509_text){ .bytes = malloc(counted + 1), .capacity = counted };
    require(text.bytes != NULL);
    write_all(&x509, &text);
    require(text.length == counted);
    free(text.bytes);
    return 0;
}
