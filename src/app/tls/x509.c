/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Certificate decoder; see x509.h. A certificate is parsed from start to end, each field by a separate function, so
 * that the result names the first invalid field. Of the signature only the structure is checked.
 */
#include "x509.h"
#include "sluice/hex.h"

enum { VERSION_FIELD = DER_CONTEXT_CONSTRUCTED | 0, EXTENSIONS_FIELD = DER_CONTEXT_CONSTRUCTED | 3 };

/* --- Reading -------------------------------------------------------------------------------------- */

static bool read_version(struct cursor *tbs)
{
    const uint8_t *next = cursor_peek(tbs, 1);
    struct cursor field, number;

    if (!next || *next != VERSION_FIELD)
        return true; /* the field is absent in version 1 */
    return der_read(tbs, VERSION_FIELD, &field) && der_read(&field, DER_INTEGER, &number) &&
           cursor_remaining(&number) == 1;
}

static bool read_name(struct cursor *tbs, struct cursor *name)
{
    struct x509_text count_only = { 0 };

    return der_read(tbs, DER_SEQUENCE, name) && x509_name_text(*name, &count_only);
}

static bool read_validity(struct cursor *tbs, struct x509 *out)
{
    struct cursor validity;
    struct der_value from, until;

    return der_read(tbs, DER_SEQUENCE, &validity) && der_next(&validity, &from) && der_next(&validity, &until) &&
           der_time(&from, &out->not_before) && der_time(&until, &out->not_after);
}

/* Extension ::= SEQUENCE { OID, critical BOOLEAN DEFAULT FALSE, OCTET STRING } */
static bool read_extension(struct cursor *list, struct x509 *out)
{
    static const uint8_t subject_alternative_name[] = { 0x55, 0x1d, 0x11 };
    enum { BOOLEAN = 0x01 };
    struct cursor extension, id, value;

    if (!der_read(list, DER_SEQUENCE, &extension) || !der_read(&extension, DER_OID, &id) ||
        !der_skip_optional(&extension, BOOLEAN) || !der_read(&extension, DER_OCTET_STRING, &value))
        return false;
    if (cursor_remaining(&id) != sizeof(subject_alternative_name) ||
        memcmp(id.at, subject_alternative_name, sizeof(subject_alternative_name)) != 0)
        return true;
    return der_read(&value, DER_SEQUENCE, &out->alternatives);
}

static bool read_extensions(struct cursor *tbs, struct x509 *out)
{
    struct cursor field, list;

    /* issuerUniqueID and subjectUniqueID: implicit BIT STRINGs */
    if (!der_skip_optional(tbs, DER_CONTEXT | 1) || !der_skip_optional(tbs, DER_CONTEXT | 2))
        return false;
    if (cursor_remaining(tbs) == 0)
        return true;
    if (!der_read(tbs, EXTENSIONS_FIELD, &field) || !der_read(&field, DER_SEQUENCE, &list))
        return false;
    while (cursor_remaining(&list) > 0) {
        if (!read_extension(&list, out))
            return false;
    }
    return true;
}

static enum x509_result read_outer_sequence(struct cursor *cur, struct cursor *body)
{
    struct cursor header = *cur;
    uint8_t tag, length;

    if (der_read(cur, DER_SEQUENCE, body))
        return X509_OK;
    if (!cursor_u8(&header, &tag) || !cursor_u8(&header, &length))
        return X509_LENGTH;
    return length >= 0x80 && cursor_remaining(&header) < (length & 0x7fu) ? X509_LENGTH : X509_BROKEN;
}

enum x509_result x509_read(const uint8_t *bytes, size_t length, struct x509 *out)
{
    struct cursor whole = cursor_of(bytes, length), certificate, tbs, ignored;

    *out = (struct x509){ 0 };
    enum x509_result result = read_outer_sequence(&whole, &certificate);

    if (result == X509_OK)
        result = read_outer_sequence(&certificate, &tbs);
    if (result != X509_OK)
        return result;
    if (!read_version(&tbs))
        return X509_VERSION;
    if (!der_read(&tbs, DER_INTEGER, &out->serial) || cursor_remaining(&out->serial) == 0)
        return X509_SERIAL;
    if (!der_read(&tbs, DER_SEQUENCE, &ignored))
        return X509_ALGORITHM;
    if (!read_name(&tbs, &out->issuer))
        return X509_ISSUER;
    if (!read_validity(&tbs, out))
        return X509_DATE;
    if (!read_name(&tbs, &out->subject))
        return X509_SUBJECT;
    if (!der_read(&tbs, DER_SEQUENCE, &ignored)) /* subjectPublicKeyInfo */
        return X509_DER;
    if (!read_extensions(&tbs, out))
        return X509_EXTENSIONS;
    if (!der_read(&certificate, DER_SEQUENCE, &ignored))
        return X509_ALGORITHM;
    return der_read(&certificate, DER_BIT_STRING, &ignored) ? X509_OK : X509_DER;
}

/* --- Text ----------------------------------------------------------------------------------------- */

static void append_text(struct x509_text *out, const void *bytes, size_t length)
{
    if (length == 0)
        return;
    if (out->bytes) {
        if (length > out->capacity - out->length)
            return;
        memcpy(out->bytes + out->length, bytes, length);
    }
    out->length += length;
}

static void append_string(struct x509_text *out, const char *string)
{
    append_text(out, string, strlen(string));
}

static void append_hex(struct x509_text *out, uint8_t byte)
{
    static const char digits[] = "0123456789ABCDEF";

    append_text(out, &digits[byte >> 4], 1);
    append_text(out, &digits[byte & 15], 1);
}

static void append_decimal(struct x509_text *out, unsigned value)
{
    char digits[10];
    size_t count = sizeof(digits);

    do {
        digits[--count] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    append_text(out, digits + count, sizeof(digits) - count);
}

static void append_oid(struct x509_text *out, struct cursor id)
{
    char text[DER_OID_TEXT_MAX];

    append_text(out, text, der_oid_text(id, text));
}

struct short_name {
    const char *name;
    uint8_t length, id[11];
};

/* Attribute names as written by Suricata; other attributes are written as OID(1.2.3). */
static const struct short_name short_names[] = {
    { "CN", 3, { 0x55, 4, 3 } },
    { "C", 3, { 0x55, 4, 6 } },
    { "L", 3, { 0x55, 4, 7 } },
    { "ST", 3, { 0x55, 4, 8 } },
    { "O", 3, { 0x55, 4, 10 } },
    { "OU", 3, { 0x55, 4, 11 } },
    { "Email", 9, { 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1 } },
    { "DC", 10, { 0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25 } },
    { "objectClass", 3, { 0x55, 4, 0 } },
    { "aliasedEntryName", 3, { 0x55, 4, 1 } },
    { "knowledgeInformation", 3, { 0x55, 4, 2 } },
    { "surname", 3, { 0x55, 4, 4 } },
    { "serialNumber", 3, { 0x55, 4, 5 } },
    { "streetAddress", 3, { 0x55, 4, 9 } },
    { "title", 3, { 0x55, 4, 12 } },
    { "description", 3, { 0x55, 4, 13 } },
    { "searchGuide", 3, { 0x55, 4, 14 } },
    { "businessCategory", 3, { 0x55, 4, 15 } },
    { "postalAddress", 3, { 0x55, 4, 16 } },
    { "postalCode", 3, { 0x55, 4, 17 } },
    { "name", 3, { 0x55, 4, 41 } },
    { "givenName", 3, { 0x55, 4, 42 } },
    { "initials", 3, { 0x55, 4, 43 } },
    { "generationQualifier", 3, { 0x55, 4, 44 } },
    { "uniqueIdentifier", 3, { 0x55, 4, 45 } },
    { "dnQualifier", 3, { 0x55, 4, 46 } },
    { "unstructuredName", 9, { 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 2 } },
    { "uid", 10, { 9, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 1 } },
    { "contentType", 9, { 0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 9, 3 } },
    { "id-messageDigest", 9, { 0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 9, 4 } },
    { "signing-time", 9, { 0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 9, 5 } },
    { "challengePassword", 9, { 0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 9, 7 } },
    { "extensionRequest", 9, { 0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 9, 14 } },
    { "smimeCapabilities", 9, { 0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 9, 15 } },
    { "friendlyName", 9, { 0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 9, 20 } },
    { "msJurisdictionLocality", 11, { 0x2b, 6, 1, 4, 1, 0x82, 0x37, 0x3c, 2, 1, 1 } },
    { "msJurisdictionStateOrProvince", 11, { 0x2b, 6, 1, 4, 1, 0x82, 0x37, 0x3c, 2, 1, 2 } },
    { "msJurisdictionCountry", 11, { 0x2b, 6, 1, 4, 1, 0x82, 0x37, 0x3c, 2, 1, 3 } },
};

static void append_attribute_type(struct x509_text *out, struct cursor id)
{
    for (size_t i = 0; i < sizeof(short_names) / sizeof(short_names[0]); i++) {
        if (cursor_remaining(&id) == short_names[i].length &&
            memcmp(id.at, short_names[i].id, short_names[i].length) == 0) {
            append_string(out, short_names[i].name);
            return;
        }
    }
    append_string(out, "OID(");
    append_oid(out, id);
    append_string(out, ")");
}

static bool is_string(uint8_t tag)
{
    switch (tag) {
    case DER_OBJECT_DESCRIPTOR:
    case DER_UTF8_STRING:
    case DER_NUMERIC_STRING:
    case DER_PRINTABLE_STRING:
    case DER_T61_STRING:
    case DER_VIDEOTEX_STRING:
    case DER_IA5_STRING:
    case DER_GRAPHIC_STRING:
    case DER_VISIBLE_STRING:
    case DER_GENERAL_STRING:
    case DER_BMP_STRING:
        return true;
    default:
        return false;
    }
}

/* Writes one attribute. Strings are copied without escapes: rules may search for a NUL in a name. */
static bool append_attribute(struct x509_text *out, struct cursor *set)
{
    struct cursor attribute, id;
    struct der_value value;

    if (!der_read(set, DER_SEQUENCE, &attribute) || !der_read(&attribute, DER_OID, &id) || cursor_remaining(&id) == 0 ||
        !der_next(&attribute, &value))
        return false;
    append_attribute_type(out, id);
    append_string(out, "=");
    if (is_string(value.tag)) {
        append_text(out, value.body.at, cursor_remaining(&value.body));
        return true;
    }
    for (const uint8_t *byte = value.body.at; byte < value.body.end; byte++)
        append_hex(out, *byte);
    return true;
}

bool x509_name_text(struct cursor name, struct x509_text *out)
{
    bool is_first = true;
    struct cursor set;

    while (cursor_remaining(&name) > 0) {
        if (!der_read(&name, DER_SET, &set))
            return false;
        for (bool is_first_of_set = true; cursor_remaining(&set) > 0; is_first_of_set = false) {
            if (!is_first)
                append_string(out, is_first_of_set ? ", " : " + ");
            if (!append_attribute(out, &set))
                return false;
            is_first = false;
        }
    }
    return true;
}

void x509_serial_text(struct cursor serial, struct x509_text *out)
{
    for (const uint8_t *byte = serial.at; byte < serial.end; byte++) {
        if (byte > serial.at)
            append_string(out, ":");
        append_hex(out, *byte);
    }
}

/* --- Alternative names ---------------------------------------------------------------------------- */

/* Finds the longest run of at least two 16-bit groups that are zero, which is written as "::" (RFC 5952). */
static void find_zero_run(const uint8_t *bytes, unsigned *start, unsigned *count)
{
    *start = *count = 0;
    for (unsigned i = 0; i < 8; i++) {
        unsigned run = 0;

        while (i + run < 8 && load_be16(bytes + 2 * (size_t)(i + run)) == 0)
            run++;
        if (run > *count && run > 1) {
            *start = i;
            *count = run;
        }
    }
}

static void append_group(struct x509_text *out, uint16_t group)
{
    bool begun = false;

    for (int shift = 12; shift >= 0; shift -= 4) {
        unsigned digit = group >> shift & 15;

        begun |= digit != 0 || shift == 0;
        if (begun)
            append_text(out, &hex_digits[digit], 1);
    }
}

static void append_ipv6(struct x509_text *out, const uint8_t *bytes)
{
    unsigned start, count;

    find_zero_run(bytes, &start, &count);
    for (unsigned i = 0; i < 8; i++) {
        if (count > 0 && i == start) {
            append_string(out, "::");
            i += count - 1;
            continue;
        }
        if (i > 0 && (count == 0 || i != start + count))
            append_string(out, ":");
        append_group(out, load_be16(bytes + 2 * (size_t)i));
    }
}

/* Choices of GeneralName that have a text form. */
enum {
    OTHER_NAME = DER_CONTEXT_CONSTRUCTED | 0,
    RFC822_NAME = DER_CONTEXT | 1,
    DNS_NAME = DER_CONTEXT | 2,
    DIRECTORY_NAME = DER_CONTEXT_CONSTRUCTED | 4,
    URI_NAME = DER_CONTEXT | 6,
    IP_ADDRESS = DER_CONTEXT | 7,
    REGISTERED_ID = DER_CONTEXT | 8,
};

static void append_general_name(struct x509_text *out, const struct der_value *value)
{
    struct cursor body = value->body, inner;

    switch (value->tag) {
    case RFC822_NAME:
    case DNS_NAME:
    case URI_NAME:
        append_text(out, body.at, cursor_remaining(&body));
        break;
    case IP_ADDRESS:
        for (unsigned i = 0; cursor_remaining(&body) == 4 && i < 4; i++) {
            if (i > 0)
                append_string(out, ".");
            append_decimal(out, body.at[i]);
        }
        if (cursor_remaining(&body) == 16)
            append_ipv6(out, body.at);
        break;
    case DIRECTORY_NAME:
        if (der_read(&body, DER_SEQUENCE, &inner))
            x509_name_text(inner, out);
        break;
    case OTHER_NAME:
        if (der_read(&body, DER_OID, &inner))
            append_oid(out, inner);
        break;
    case REGISTERED_ID:
        append_oid(out, body);
        break;
    default:
        break;
    }
}

bool x509_alternative_text(struct cursor *alternatives, struct x509_text *out)
{
    struct der_value value;

    if (!der_next(alternatives, &value))
        return false;
    append_general_name(out, &value);
    return true;
}
