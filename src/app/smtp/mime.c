/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MIME parser: headers up to an empty line, then a body. Delimiter lines, which contain a boundary, divide the body of
 * a multipart into parts, each with headers and a body.
 *
 * Mail receivers differ in what they accept as the name of a file, its encoding, a boundary, or the end of headers. In
 * these cases the parser follows all interpretations: a file continues after a line that only some receivers treat as a
 * delimiter (mime_writer.c), and headers continue after a line that only some treat as the start of the body. An
 * unambiguous delimiter also ends nested parts. If several boundaries match a line, the longest is used; of equally
 * long ones the innermost.
 */
#include "mime.h"

#include <string.h>
#include "sluice/hex.h"

enum { LINE_MAX_LENGTH = 998, HEADER_NAME_MAX = 75 };

void mime_init(struct mime *mime, const struct mime_options *options, bool body_md5)
{
    memset(mime, 0, sizeof(*mime));
    mime->options = options;
    mime->extracts_urls = options->extract_urls;
    mime->computes_md5 = body_md5;
    if (body_md5)
        md5_init(&mime->md5);
}

bool mime_continue(struct mime *mime, struct mime_target *target, const struct mime *other)
{
    mime->state = other->state;
    mime->main_complete = other->main_complete;
    mime->header_open = other->header_open;
    mime->level = other->level;
    mime->boundaries = other->boundaries;
    memcpy(mime->boundary, other->boundary, sizeof(mime->boundary));
    mime->nested = other->nested;
    mime->early_body_headers = other->early_body_headers;
    mime->line_length = other->line_length;
    mime_copy_files(mime, target, other);
    return mime_headers_copy(target->heap, &mime->main, &other->main) &&
           mime_headers_copy(target->heap, &mime->part, &other->part);
}

void mime_clear(struct heap *heap, struct mime *mime)
{
    mime_headers_clear(heap, &mime->main);
    mime_headers_clear(heap, &mime->part);
    mime_urls_clear(heap, &mime->urls);
}

static void end_part(struct mime *mime, struct mime_target *target, bool complete)
{
    mime_close_files(mime, target, complete);
    if (!mime_finish_urls(target->heap, mime))
        mime->anomalies |= MIME_PARSE_FAILED;
}

/* --- End of headers ------------------------------------------------------------------------------- */

static const uint8_t *header_value(const struct mime_headers *headers, const struct mime_header *header)
{
    return buffer_at(&headers->text, header->value);
}

/* Writes the file name of a part according to RFC 2183 and RFC 2231. Returns its length, or 0 if it has none. */
static uint32_t get_file_name(struct mime *mime, const struct mime_headers *headers, uint8_t *out)
{
    static const char *const where[][2] = { { "content-disposition", "filename" }, { "content-type", "name" } };

    for (unsigned i = 0; i < 2; i++) {
        const struct mime_header *header = mime_headers_find(headers, where[i][0], 0);
        uint32_t length;

        if (!header || !mime_parameter(header_value(headers, header), header->value_length, where[i][1], out,
                                       MIME_FILE_NAME_MAX, &length))
            continue;
        if (length > MIME_FILE_NAME_MAX) {
            mime->anomalies |= MIME_LONG_FILE_NAME;
            length = MIME_FILE_NAME_MAX;
        }
        if (length > 0)
            return length;
    }
    return 0;
}

/* Whether the value without its parameters equals `text`. */
static bool value_equals(const struct mime_headers *headers, const struct mime_header *header, const char *text)
{
    const uint8_t *value = header_value(headers, header), *end;
    uint32_t length = header->value_length;

    end = length ? memchr(value, ';', length) : NULL;
    length = end ? (uint32_t)(end - value) : length;
    while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\t' || value[length - 1] == '\r'))
        length--;
    return mime_equal_nocase(value, length, text);
}

enum { SAME_HEADERS_MAX = 4 }; /* headers of the same name that are evaluated */

/* Returns a bit set of the encodings that receivers may use for a part; *first is the one according to RFC 2045. */
static unsigned possible_encodings(const struct mime_headers *headers, enum mime_encoding *first)
{
    static const struct {
        const char *word;
        enum mime_encoding encoding;
    } words[] = { { "base64", MIME_BASE64 }, { "quoted-printable", MIME_QUOTED } };
    unsigned encodings = 0;
    const struct mime_header *header;

    *first = MIME_PLAIN;
    for (unsigned i = 0; i < SAME_HEADERS_MAX; i++) {
        bool exact = false;

        header = mime_headers_find(headers, "content-transfer-encoding", i);
        if (!header)
            break;
        for (unsigned w = 0; w < sizeof(words) / sizeof(words[0]); w++) {
            bool equal = value_equals(headers, header, words[w].word);

            exact |= equal;
            if (equal || mime_contains(header_value(headers, header), header->value_length, words[w].word))
                encodings |= 1U << words[w].encoding;
            if (equal && i == 0)
                *first = words[w].encoding;
        }
        if (!exact)
            encodings |= 1U << MIME_PLAIN;
    }
    return encodings | 1U << *first;
}

/* Names that receivers may use for a file. */
struct file_names {
    uint8_t first[MIME_FILE_NAME_MAX];
    uint32_t first_length;
    uint8_t others[4 * MIME_FILE_NAME_MAX]; /* each followed by LF */
    uint32_t others_length;
};

static void add_name(void *user, const uint8_t *bytes, uint32_t length)
{
    struct file_names *names = user;

    length = length < MIME_FILE_NAME_MAX ? length : MIME_FILE_NAME_MAX;
    if (names->first_length == 0) {
        memcpy(names->first, bytes, length);
        names->first_length = length;
        return;
    }
    if (length == names->first_length && memcmp(bytes, names->first, length) == 0)
        return;
    for (uint32_t at = 0; at < names->others_length;) {
        const uint8_t *end = memchr(names->others + at, '\n', names->others_length - at);
        uint32_t size = (uint32_t)(end - names->others) - at;

        if (size == length && memcmp(names->others + at, bytes, size) == 0)
            return;
        at += size + 1;
    }
    if (length + 1 > sizeof(names->others) - names->others_length || memchr(bytes, '\n', length))
        return;
    memcpy(names->others + names->others_length, bytes, length);
    names->others[names->others_length + length] = '\n';
    names->others_length += length + 1;
}

static void find_names(struct mime *mime, const struct mime_headers *headers, struct file_names *names)
{
    static const char *const where[][2] = { { "content-disposition", "filename" },
                                            { "content-type", "name" },
                                            { "content-disposition", "name" },
                                            { "content-type", "filename" } };

    names->first_length = get_file_name(mime, headers, names->first);
    names->others_length = 0;
    for (unsigned i = 0; i < sizeof(where) / sizeof(where[0]); i++) {
        const struct mime_header *header;

        for (uint32_t n = 0; n < SAME_HEADERS_MAX && (header = mime_headers_find(headers, where[i][0], n)); n++)
            mime_each_parameter(header_value(headers, header), header->value_length, where[i][1], add_name, names);
    }
}

/* Opens the files of a part that has a name: one for each possible encoding. */
static void open_part_files(struct mime *mime, struct mime_target *target, const struct mime_headers *headers)
{
    struct file_names names;
    enum mime_encoding first;
    unsigned encodings;

    if (!mime_headers_find(headers, "content-disposition", 0) && !mime_headers_find(headers, "content-type", 0))
        return;
    find_names(mime, headers, &names);
    if (names.first_length == 0)
        return;
    encodings = possible_encodings(headers, &first);
    for (unsigned i = 0; i <= MIME_QUOTED; i++) {
        enum mime_encoding encoding = i == 0 ? first : i <= first ? i - 1 : i;

        if (encodings >> encoding & 1)
            mime_open_file(mime, target, names.first, names.first_length, encoding, i > 0);
    }
    if (names.others_length > 0 && mime->writers > 0)
        file_add_names(target->files, mime->writer[mime->writers - 1].file, names.others, names.others_length);
}

/* --- Boundaries of parts -------------------------------------------------------------------------- */

struct boundary_list {
    struct mime *mime;
    uint8_t level;
};

static void add_boundary(void *user, const uint8_t *bytes, uint32_t length)
{
    struct boundary_list *list = user;
    struct mime *mime = list->mime;
    struct mime_boundary *boundary = &mime->boundary[mime->boundaries];

    if (length > MIME_BOUNDARY_MAX) {
        mime->anomalies |= MIME_LONG_BOUNDARY;
        length = MIME_BOUNDARY_MAX;
    }
    for (unsigned i = mime->boundaries; i > 0 && mime->boundary[i - 1].level == list->level; i--)
        if (mime->boundary[i - 1].length == length + 2 && memcmp(mime->boundary[i - 1].bytes + 2, bytes, length) == 0)
            return;
    if (mime->boundaries == MIME_BOUNDARIES_MAX || list->level > MIME_DEPTH_MAX) {
        mime->anomalies |= MIME_MALFORMED;
        return;
    }
    *boundary = (struct mime_boundary){ .level = list->level, .length = (uint16_t)(length + 2), .bytes = "--" };
    memcpy(boundary->bytes + 2, bytes, length);
    mime->boundaries++;
}

static void add_boundaries(struct mime *mime, const struct mime_headers *headers)
{
    struct boundary_list list = { .mime = mime, .level = (uint8_t)(mime->level + 1) };
    const struct mime_header *type;
    uint8_t boundary[MIME_BOUNDARY_MAX + 1];
    uint32_t length;

    for (uint32_t i = 0; i < SAME_HEADERS_MAX && (type = mime_headers_find(headers, "content-type", i)); i++) {
        const uint8_t *value = header_value(headers, type);

        if (mime_parameter(value, type->value_length, "boundary", boundary, sizeof(boundary), &length) && length > 0)
            add_boundary(&list, boundary, length);
        mime_each_parameter(value, type->value_length, "boundary", add_boundary, &list);
    }
}

/* Applies the headers of a part: adds its boundaries and opens its files. */
static void start_body(struct mime *mime, struct mime_target *target, const struct mime_headers *headers)
{
    add_boundaries(mime, headers);
    open_part_files(mime, target, headers);
}

static void end_headers(struct mime *mime, struct mime_target *target)
{
    struct mime_headers *headers = mime->main_complete ? &mime->part : &mime->main;
    const struct mime_header *type = mime_headers_find(headers, "content-type", 0);

    mime->header_open = false;
    mime->main_complete = true;
    mime->state = MIME_IN_BODY;
    mime->extracts_urls = mime->options->extract_urls && (!type || value_equals(headers, type, "text/plain") ||
                                                          value_equals(headers, type, "text/html"));
    const bool is_message =
        type && (value_equals(headers, type, "message/rfc822") || value_equals(headers, type, "message/news") ||
                 value_equals(headers, type, "message/global"));

    if (is_message && mime->nested < MIME_NESTED_MAX) { /* the nested message's headers replace those of the part */
        mime->nested++;
        mime->state = MIME_IN_HEADERS;
        mime_headers_clear(target->heap, &mime->part);
        return;
    }
    if (is_message)
        mime->anomalies |= MIME_MALFORMED;
    start_body(mime, target, headers);
    mime->early_body_headers = 0;
}

/* Starts the body at a line where only some receivers end the headers; for other receivers the headers continue. Has no
 * effect without headers. Without `again` it also has no effect if no header was added since the last call. */
static void start_body_early(struct mime *mime, struct mime_target *target, const struct mime_headers *headers,
                             bool again)
{
    if (headers->count == 0 || (headers->count == mime->early_body_headers && !again))
        return;
    start_body(mime, target, headers);
    mime->early_body_headers = headers->count;
}

/* --- Body lines ----------------------------------------------------------------------------------- */

static void parse_header_line(struct mime *mime, struct mime_target *target, const struct mime_line *line);

/* Whether a body line starts the headers of a nested message within text. Programs that save attachments search for
 * such lines. */
static bool starts_nested_headers(struct mime *mime, const struct mime_line *line)
{
    static const char word[] = "content-type:";
    const uint32_t length = sizeof(word) - 1;

    return line->begins && mime->nested < MIME_NESTED_MAX && line->length > length &&
           mime_equal_nocase(line->bytes, length, word);
}

static void parse_body_line(struct mime *mime, struct mime_target *target, const struct mime_line *line)
{
    bool in_file = mime->writers > 0 && !mime->writer[0].alternative;

    if (!in_file && mime->state == MIME_IN_BODY && starts_nested_headers(mime, line)) {
        mime->nested++;
        mime->early_body_headers = 0;
        mime->state = MIME_IN_HEADERS;
        mime_headers_clear(target->heap, &mime->part);
        parse_header_line(mime, target, line);
        return;
    }
    mime_write_line(mime, target, line);
    if (!in_file && mime->extracts_urls && mime->state == MIME_IN_BODY) {
        if (!mime_find_urls(target->heap, mime, line->bytes, line->length + line->end_length))
            mime->anomalies |= MIME_PARSE_FAILED;
    }
}

/* --- Header lines --------------------------------------------------------------------------------- */

/* Adds the headers within a line that receivers find if they treat a bare CR as a line end. *ends: such receivers find
 * an empty line, which ends the headers. Returns false if memory is exhausted or a limit is exceeded. */
static bool add_headers_after_cr(struct mime_target *target, struct mime_headers *headers, const struct mime_line *line,
                                 bool *ends)
{
    const uint8_t *at = line->bytes, *end = at + line->length, *cr;
    bool kept = true;

    *ends = end[-1] == '\r';
    while (at < end && (cr = memchr(at, '\r', (size_t)(end - at)))) {
        const uint8_t *next = cr + 1 < end ? memchr(cr + 1, '\r', (size_t)(end - cr - 1)) : NULL;

        at = cr + 1;
        next = next ? next : end;
        *ends |= next == at;
        if (next > at && *at != ' ' && *at != '\t')
            kept &= mime_headers_add(target->heap, headers, at, (uint32_t)(next - at));
    }
    return kept;
}

static void parse_header_line(struct mime *mime, struct mime_target *target, const struct mime_line *line)
{
    struct mime_headers *headers = mime->main_complete ? &mime->part : &mime->main;
    const uint8_t *bytes = line->bytes;
    uint32_t count = headers->count;
    bool kept = true, ends = false, is_body_line = mime->writers > 0;

    if (line->begins && line->length == 0 && line->end_length > 0) {
        end_headers(mime, target);
        return;
    }
    if (!line->begins || (line->length > 0 && (bytes[0] == ' ' || bytes[0] == '\t'))) {
        if (mime->header_open && headers->count > 0)
            kept = mime_headers_append(target->heap, headers, bytes + line->begins, line->length - line->begins);
    } else {
        kept = mime_headers_add(target->heap, headers, bytes, line->length);
        mime->header_open = headers->count > count;
        const bool is_mbox_line = (line->length > 5 && memcmp(bytes, "From ", 5) == 0) ||
                                  (line->length > 6 && memcmp(bytes, ">From ", 6) == 0);

        if (kept && !mime->header_open && !is_mbox_line && bytes[0] != '\r') {
            start_body_early(mime, target, headers, false);
            is_body_line = true;
        }
    }
    if (mime->header_open && headers->count > 0) {
        const struct mime_header *header = &headers->list[headers->count - 1];

        if (header->name_length > HEADER_NAME_MAX)
            mime->anomalies |= MIME_LONG_HEADER_NAME;
        if (header->value_length > mime->options->value_depth)
            mime->anomalies |= MIME_LONG_HEADER_VALUE;
    }
    if (line->length > 0 && memchr(bytes, '\r', line->length)) {
        kept &= add_headers_after_cr(target, headers, line, &ends);
        mime->header_open = false;
    }
    if (!kept)
        mime->anomalies |= MIME_PARSE_FAILED;
    if (is_body_line)
        parse_body_line(mime, target, line);
    if (ends) /* the body starts after this line */
        start_body_early(mime, target, headers, bytes[0] == '\r');
}

/* --- Boundaries ----------------------------------------------------------------------------------- */

enum { DELIMITERS_MAX = 16 }; /* candidate positions per line */

struct delimiter {
    const struct mime_boundary *boundary; /* NULL: not a delimiter */
    bool closes;                          /* close-delimiter: no further part follows */
    bool ambiguous;                       /* only some receivers treat the line as a delimiter */
};

/* Returns the longest boundary that the bytes start with; of equally long ones the innermost. */
static const struct mime_boundary *find_boundary(const struct mime *mime, const uint8_t *bytes, uint32_t length)
{
    const struct mime_boundary *longest = NULL;

    for (unsigned i = mime->boundaries; i > 0; i--) {
        const struct mime_boundary *boundary = &mime->boundary[i - 1];

        if (length >= boundary->length && (!longest || boundary->length > longest->length) &&
            memcmp(bytes, boundary->bytes, boundary->length) == 0)
            longest = boundary;
    }
    return longest;
}

/* Finds a boundary in a line. If it is at the start and only blanks follow, the line is a delimiter for all receivers;
 * otherwise for some of them (ambiguous). */
static struct delimiter find_delimiter(const struct mime *mime, const struct mime_line *line)
{
    struct delimiter found = { .boundary = NULL };
    uint32_t at = 0, candidates = 0;

    if (!line->begins || mime->boundaries == 0)
        return found;
    while (at + 2 < line->length && candidates < DELIMITERS_MAX && !found.boundary) {
        const uint8_t *hyphen = memchr(line->bytes + at, '-', line->length - at);

        if (!hyphen)
            return found;
        at = (uint32_t)(hyphen - line->bytes);
        found.boundary =
            at + 1 < line->length && hyphen[1] == '-' ? find_boundary(mime, hyphen, line->length - at) : NULL;
        candidates++;
        at++;
    }
    if (!found.boundary)
        return found;
    found.ambiguous = at > 1;
    at += found.boundary->length - 1u;
    found.closes = at + 2 <= line->length && line->bytes[at] == '-' && line->bytes[at + 1] == '-';
    for (at += found.closes ? 2 : 0; at < line->length; at++)
        found.ambiguous |= line->bytes[at] != ' ' && line->bytes[at] != '\t';
    return found;
}

/* Ends the current part and starts the next. An ambiguous delimiter is also written to the open files, and the
 * boundaries of nested parts stay valid. */
static void handle_delimiter(struct mime *mime, struct mime_target *target, const struct mime_line *line,
                             const struct delimiter *delimiter)
{
    if (delimiter->ambiguous)
        mime_write_line(mime, target, line);
    else
        end_part(mime, target, true);
    while (!delimiter->ambiguous && mime->boundary[mime->boundaries - 1].level > delimiter->boundary->level)
        mime->boundaries--;
    mime->header_open = false;
    mime->extracts_urls = false;
    mime->early_body_headers = 0;
    mime->level = delimiter->boundary->level;
    mime->state = delimiter->closes ? MIME_IN_BODY : MIME_IN_HEADERS;
    mime_headers_clear(target->heap, &mime->part);
}

/* --- Lines ---------------------------------------------------------------------------------------- */

void mime_line(struct mime *mime, struct mime_target *target, const struct mime_line *line)
{
    if (mime->ended)
        return;
    mime->line_length = (line->begins ? 0 : mime->line_length) + line->length;
    if (mime->line_length > LINE_MAX_LENGTH)
        mime->anomalies |= MIME_LONG_LINE;
    if (mime->computes_md5 && (mime->md5_begun || mime->state == MIME_IN_BODY)) {
        mime->md5_begun = true;
        md5_update(&mime->md5, line->length + line->end_length, line->bytes);
    }
    const struct delimiter delimiter = find_delimiter(mime, line);

    if (delimiter.boundary) {
        /* The delimiter follows the headers of a part directly: the part has no empty line and no body. */
        if (mime->state == MIME_IN_HEADERS && mime->part.count > 0 && !delimiter.ambiguous)
            end_headers(mime, target);
        handle_delimiter(mime, target, line, &delimiter);
        return;
    }
    if (mime->state == MIME_IN_BODY) {
        parse_body_line(mime, target, line);
        return;
    }
    /* While the end of a file is ambiguous, header lines are also written to it. The empty line after the headers is
     * written to it here, because parse_header_line() then opens the files of the part. */
    if (line->begins && line->length == 0 && line->end_length > 0 && mime->writers > 0)
        mime_write_line(mime, target, line);
    parse_header_line(mime, target, line);
}

void mime_gap(struct mime *mime, struct mime_target *target, uint64_t length)
{
    mime->header_open = false;
    for (unsigned i = 0; i < mime->writers; i++) {
        struct mime_writer *writer = &mime->writer[i];

        writer->base64.count = writer->quoted.count = writer->line_end_length = 0;
        /* The decoded length of the gap is unknown. */
        file_gap(target->files, writer->file, writer->encoding == MIME_PLAIN ? length : 0);
        target->grown = true;
    }
}

void mime_end(struct mime *mime, struct mime_target *target, bool complete)
{
    uint8_t digest[MD5_DIGEST_SIZE];

    if (mime->ended)
        return;
    if (mime->state == MIME_IN_HEADERS)
        end_headers(mime, target);
    end_part(mime, target, complete);
    mime->ended = true;
    if (!mime->computes_md5 || !mime->md5_begun || !complete)
        return;
    md5_digest(&mime->md5, sizeof(digest), digest);
    hex_write((char *)mime->md5_text, digest, sizeof(digest));
    mime->md5_done = true;
}
