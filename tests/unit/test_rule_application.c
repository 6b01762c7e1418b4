/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules on application protocols: protocols, directions, buffers with transforms, absent buffers. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/diag.h"
#include "sluice/keyword.h"
#include "sluice/rule.h"

enum { TO_SERVER = 1 << FLOW_TO_SERVER, TO_CLIENT = 1 << FLOW_TO_CLIENT };

static int held;

/* --- Keywords of the test ------------------------------------------------------------------------- */

static int parse_sid(struct rule_parser *parser, struct span value)
{
    uint64_t number = 0;

    if (!span_to_uint(value, 1, 1000, &number))
        return rule_parser_error(parser, value, "a number is needed");
    rule_parser_rule(parser)->sid = (uint32_t)number;
    return 0;
}

static int parse_content(struct rule_parser *parser, struct span value)
{
    struct content *content = arena_alloc(rule_parser_arena(parser), sizeof(*content));

    if (!content)
        return -ENOMEM;
    content->bytes = arena_copy(rule_parser_arena(parser), value.at, value.length);
    content->length = (uint16_t)value.length;
    return rule_parser_add_content_condition(parser, content, false);
}

static int parse_fast(struct rule_parser *parser, struct span value)
{
    (void)value;
    rule_parser_last_content(parser)->fast_pattern = true;
    return 0;
}

static int parse_absent(struct rule_parser *parser, struct span value)
{
    return rule_parser_set_absent(parser, value.length > 0);
}

static int hold(int err)
{
    if (!err)
        held++;
    return err;
}

static int parse_transform(struct rule_parser *parser, struct span value)
{
    (void)value;
    return hold(rule_parser_add_transform(parser, ""));
}

static int parse_transaction(struct rule_parser *parser, struct span value)
{
    (void)value;
    return hold(rule_parser_add_transaction_condition(parser, "", rule_parser_is_negated(parser)));
}

static int parse_file(struct rule_parser *parser, struct span value)
{
    (void)value;
    return hold(rule_parser_add_file_condition(parser, "", rule_parser_is_negated(parser)));
}

static void release(const struct condition *condition)
{
    (void)condition;
    held--;
}

static int parse_to(struct rule_parser *parser, struct span value)
{
    return rule_parser_require_directions(parser, span_equal(value, "server") ? TO_SERVER : TO_CLIENT);
}

static int parse_about(struct rule_parser *parser, struct span value)
{
    static const char *const tls[] = { "tls", NULL }, *const http[] = { "http1", NULL };

    return rule_parser_require_applications(parser, span_equal(value, "tls") ? tls : http);
}

static int parse_payload(struct rule_parser *parser, struct span value)
{
    (void)value;
    return rule_parser_select_buffer(parser, NULL);
}

static int parse_buffer(struct rule_parser *parser, struct span value);
static int parse_move(struct rule_parser *parser, struct span value);

static const char *const http[] = { "http1", "http2", NULL }, *const http1[] = { "http1", NULL };
static const char *const tls[] = { "tls", NULL }, *const dce[] = { "dcerpc", "smb", NULL };

#define BUFFER(name_, applications_, directions_, flags_)                                                              \
    {                                                                                                                  \
        .name = name_, .kind = KEYWORD_BUFFER, .flags = KEYWORD_NO_VALUE | (flags_), .parse = parse_buffer,            \
        .scope = { applications_, directions_ },                                                                       \
    }

static const struct keyword keywords[] = {
    { .name = "sid", .kind = KEYWORD_META, .parse = parse_sid },
    { .name = "content", .kind = KEYWORD_CONTENT, .parse = parse_content, .content = { .is_literal = true } },
    { .name = "fast", .kind = KEYWORD_MODIFIER, .parse = parse_fast, .flags = KEYWORD_NO_VALUE },
    { .name = "absent", .kind = KEYWORD_MODIFIER, .parse = parse_absent, .flags = KEYWORD_OPTIONAL_VALUE },
    { .name = "lower",
      .kind = KEYWORD_TRANSFORM,
      .parse = parse_transform,
      .flags = KEYWORD_OPTIONAL_VALUE,
      .release = release },
    { .name = "upper",
      .kind = KEYWORD_TRANSFORM,
      .parse = parse_transform,
      .flags = KEYWORD_NO_VALUE,
      .release = release },
    { .name = "opcode",
      .kind = KEYWORD_TRANSACTION,
      .parse = parse_transaction,
      .flags = KEYWORD_NEGATABLE,
      .scope = { dce, TO_SERVER | TO_CLIENT },
      .release = release },
    { .name = "file", .kind = KEYWORD_FILE, .parse = parse_file, .flags = KEYWORD_NEGATABLE, .release = release },
    { .name = "to", .kind = KEYWORD_META, .parse = parse_to },
    { .name = "about", .kind = KEYWORD_META, .parse = parse_about },
    { .name = "payload", .kind = KEYWORD_BUFFER, .parse = parse_payload, .flags = KEYWORD_NO_VALUE },
    { .name = "move.uri", .kind = KEYWORD_MODIFIER, .parse = parse_move, .flags = KEYWORD_NO_VALUE },
    BUFFER("uri", http, TO_SERVER, 0),
    BUFFER("status", http, TO_CLIENT, 0),
    BUFFER("start", http1, TO_SERVER | TO_CLIENT, 0),
    BUFFER("sni", tls, TO_SERVER, 0),
    BUFFER("cert", tls, TO_CLIENT, KEYWORD_MULTI),
    BUFFER("header", NULL, 0, 0),
};
enum { KEYWORD_COUNT = sizeof(keywords) / sizeof(keywords[0]) };

static int parse_buffer(struct rule_parser *parser, struct span value)
{
    (void)value;
    return rule_parser_select_buffer(parser, rule_parser_keyword(parser));
}

static int parse_move(struct rule_parser *parser, struct span value)
{
    (void)value;
    return rule_parser_move_last_content(parser, rule_parser_find_keyword(parser, "uri"));
}

/* --- Rows ----------------------------------------------------------------------------------------- */

#define R(protocol, options) "alert " protocol " any any -> any any (sid:1; " options ")"
#define B(protocol, options) "alert " protocol " any any => any any (sid:1; " options ")"

/* The parsed rule as text: protocols, directions, and each buffer as NAME>DIRECTIONS|TRANSFORM...(a, o: absent) with
 * its number of contents; or the column of the first error. */
static const struct {
    const char *rule, *expected;
    unsigned column;
} rows[] = {
    { R("tcp", "content:a;"), "- 0 payload=1", 0 },
    { R("http", "content:a;"), "http,http2 0 payload=1", 0 },
    { R("http1", "content:a;"), "http 0 payload=1", 0 },
    { R("ssl", "content:a;"), "tls 0 payload=1", 0 },
    { R("dcerpc", "content:a;"), "dcerpc,smb 0 payload=1", 0 },
    { R("tcp", "uri; content:a;"), "http,http2 1 uri=1", 0 },
    { R("udp", "uri; content:a;"), "http,http2 1 uri=1", 0 },
    { R("ip", "uri; content:a;"), "http,http2 1 uri=1", 0 },
    { R("http1", "uri; content:a;"), "http 1 uri=1", 0 },
    { R("http2", "uri; content:a;"), "http2 1 uri=1", 0 },
    { R("http", "start; content:a;"), "http 3 start=1", 0 },
    { R("http", "start; content:a; status; content:b;"), "http 2 start=1 status=1", 0 },
    { R("tcp", "start; content:a; to:client;"), "http 2 start=1", 0 },
    { R("tcp", "to:server; start; content:a;"), "http 1 start=1", 0 },
    { R("smb", "opcode:1;"), "smb 3", 0 },
    { R("dcerpc", "opcode:1;"), "dcerpc,smb 3", 0 },
    { R("tcp", "opcode:1; to:server;"), "dcerpc,smb 1", 0 },
    { R("tcp", "about:tls; sni; content:a;"), "tls 1 sni=1", 0 },
    { R("tcp", "about:http;"), "http 0", 0 },
    { R("tcp", "content:a; move.uri; file:1;"), "http,http2 1 uri=1", 0 },
    { R("tls", "uri; content:a;"), NULL, 38 },
    { R("http2", "start; content:a;"), NULL, 40 },
    { R("icmp", "uri; content:a;"), NULL, 39 },
    { R("sctp", "opcode:1;"), NULL, 39 },
    { R("tcp", "uri; content:a; sni; content:b;"), NULL, 54 },
    { R("tcp", "about:tls; uri; content:a;"), NULL, 49 },
    { R("tcp", "uri; content:a; about:tls;"), NULL, 54 },
    { R("tcp", "uri; content:a; status; content:b;"), NULL, 54 },
    { R("tcp", "uri; content:a; to:client;"), NULL, 54 },
    { R("tcp", "to:client; uri; content:a;"), NULL, 49 },
    { R("tcp", "content:a; move.uri; status; content:a;"), NULL, 59 },

    { R("tcp", "uri; lower; content:a;"), "http,http2 1 uri|lower=1", 0 },
    { R("tcp", "uri; content:a; uri; lower; content:b; uri; content:c;"), "http,http2 1 uri=2 uri|lower=1", 0 },
    { R("tcp", "uri; lower; content:a; uri; content:b; uri; lower; content:c;"), "http,http2 1 uri|lower=2 uri=1", 0 },
    { R("tcp", "uri; lower:1; content:a; uri; lower:1; content:b;"), "http,http2 1 uri|lower=2", 0 },
    { R("tcp", "uri; lower:1; content:a; uri; lower:2; content:b;"), "http,http2 1 uri|lower=1 uri|lower=1", 0 },
    { R("tcp", "uri; lower; upper; content:a; uri; upper; lower; content:b;"),
      "http,http2 1 uri|lower|upper=1 uri|upper|lower=1", 0 },
    { R("tcp", "uri; lower; content:a; uri; lower; upper; content:b;"), "http,http2 1 uri|lower=1 uri|lower|upper=1",
      0 },
    { R("tcp", "uri; lower; content:a; payload; content:b; move.uri;"), "http,http2 1 uri|lower=1 uri=1", 0 },
    { R("tcp", "header; lower; content:a;"), "- 0 header|lower=1", 0 },
    { R("tcp", "uri; content:a; uri;"), "http,http2 1 uri=1", 0 },
    { R("tcp", "uri; uri; content:a;"), "http,http2 1 uri=1", 0 },
    { R("tcp", "cert; content:a; cert; content:b;"), "tls 2 cert=1 cert=1", 0 },
    { R("tcp", "cert; lower; content:a; content:a; cert; lower; content:b;"), "tls 2 cert|lower=2 cert|lower=1", 0 },
    { R("tcp", "lower; content:a;"), NULL, 38 },
    { R("tcp", "uri; content:a; lower; content:b; lower; content:c;"), NULL, 72 },
    { R("tcp", "uri; content:a; lower; content:b;"), "http,http2 1 uri=1 uri|lower=1", 0 },
    { R("tcp", "uri; absent; lower; content:b;"), "http,http2 1 uria=0 uri|lower=1", 0 },
    { R("tcp", "uri; content:a; lower;"), NULL, 1 },
    { R("tcp", "payload; lower; content:a;"), NULL, 47 },
    { R("tcp", "uri; absent; lower;"), NULL, 1 },
    { R("tcp", "uri; lower;"), NULL, 1 },
    { R("tcp", "uri; content:a; uri; lower;"), NULL, 1 },
    { R("tcp", "cert; content:a; cert;"), NULL, 1 },
    { R("tcp", "uri; lower; lower; lower; lower; lower; lower; lower; lower; lower; lower; lower; lower; lower; lower; "
               "lower; lower; lower; content:a;"),
      NULL, 155 },

    { R("tcp", "uri; absent;"), "http,http2 1 uria=0", 0 },
    { R("tcp", "uri; lower; absent;"), "http,http2 1 uri|lowera=0", 0 },
    { R("tcp", "uri; absent:or_else; content:a;"), "http,http2 1 urio=1", 0 },
    { R("tcp", "uri; content:a; absent:or_else;"), "http,http2 1 urio=1", 0 },
    { R("tcp", "uri; content:a; uri; absent:or_else;"), "http,http2 1 urio=1", 0 },
    { R("tcp", "absent;"), NULL, 38 },
    { R("tcp", "uri; absent; content:a;"), NULL, 1 },
    { R("tcp", "uri; absent; absent:or_else; content:a;"), NULL, 1 },
    { R("tcp", "uri; absent:or_else;"), NULL, 1 },
    { R("tcp", "uri; absent:or_else; content:a; fast;"), NULL, 1 },

    { B("tcp", "uri; content:a; status; content:b;"), "http,http2 3 uri>1=1 status>2=1", 0 },
    { B("tcp", "start:to_client; content:a; uri; content:b;"), "http 3 start>2=1 uri>1=1", 0 },
    { B("tcp", "start: to_server; content:a; start: to_client; content:b; start:to_server; content:c;"),
      "http 3 start>1=2 start>2=1", 0 },
    { B("tcp", "start:to_server; content:a; lower; content:b; status; content:c;"),
      "http 3 start>1=1 start>1|lower=1 status>2=1", 0 },
    { B("tcp", "content:a; move.uri; status; content:b;"), "http,http2 3 uri>1=1 status>2=1", 0 },
    { B("dcerpc", "opcode:to_server,1; opcode:to_client,!2;"), "dcerpc,smb 3", 0 },
    { B("tcp", "header; content:x; uri; content:a; status; content:b;"), "http,http2 3 header=1 uri>1=1 status>2=1",
      0 },
    { B("tcp", "uri; content:a; start; content:b;"), NULL, 54 },
    { B("tcp", "uri; content:a; start:to_sever; content:b;"), NULL, 60 },
    { B("tcp", "uri:to_server; content:a; status; content:b;"), NULL, 42 },
    { B("tcp", "uri; content:a;"), NULL, 19 },
    { B("tcp", "start:to_client; content:a;"), NULL, 19 },
    { B("tcp", "content:a;"), NULL, 19 },
    { B("tcp", "content:c; payload; uri; content:a; status; content:b;"), NULL, 19 },
    { B("tcp", "to:server; uri; content:a; status; content:b;"), NULL, 38 },
    { B("dcerpc", "opcode:1;"), NULL, 41 },
    { R("tcp", "start:to_client; content:a;"), "http 2 start=1", 0 },
    { R("tcp", "start:to_server; content:a; uri; content:b;"), "http 1 start=1 uri=1", 0 },
    { R("tcp", "start:to_client; content:a; uri; content:b;"), NULL, 66 },
    { R("tcp", "uri; content:a; start:to_client; content:b;"), NULL, 54 },
};

static void describe_buffer(struct text *text, const struct rule_buffer *buffer)
{
    static const char *const absence[] = { "", "a", "o" };
    unsigned count = 0;

    text_printf(text, " %s", buffer->keyword ? buffer->keyword->name : "payload");
    if (buffer->directions)
        text_printf(text, ">%u", buffer->directions);
    for (const struct condition *c = buffer->transforms; c; c = c->next)
        text_printf(text, "|%s", c->keyword->name);
    for (const struct condition *c = buffer->conditions; c; c = c->next)
        count++;
    text_printf(text, "%s=%u", absence[buffer->absence], count);
}

static void describe(struct text *text, const struct rule *rule)
{
    if (!rule->applications)
        text_printf(text, "-");
    for (const char *const *name = rule->applications; name && *name; name++)
        text_printf(text, "%s%s", name == rule->applications ? "" : ",", *name);
    text_printf(text, " %u", rule->directions);
    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next)
        describe_buffer(text, buffer);
}

static const struct keyword *list_of_keywords[KEYWORD_COUNT];
static const char *const applications[] = { "http", "http1", "http2", "tls", "ssl", "dcerpc", "smb", NULL };

START_TEST(rules_are_understood)
{
    struct rule_list_options options = { .applications = applications };
    struct rule_variables *variables = rule_variables_new();
    struct diag *diag = diag_new();
    struct rule_list *list;
    struct text text;

    for (size_t i = 0; i < KEYWORD_COUNT; i++)
        list_of_keywords[i] = &keywords[i];
    options.keywords = keyword_table_new(list_of_keywords, KEYWORD_COUNT);
    options.variables = variables;
    text_init(&text);
    ck_assert_int_eq(rule_list_new(&list, &options, diag), 0);
    ck_assert_int_eq(rule_list_parse(list, "test", rows[_i].rule, strlen(rows[_i].rule), diag), 0);
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
    if (rows[_i].expected) {
        diag_print(diag, stderr, false);
        ck_assert_uint_eq(rule_list_count(list), 1);
        describe(&text, rule_list_get(list, 0));
        ck_assert_str_eq(text.bytes, rows[_i].expected);
    } else {
        ck_assert_uint_eq(rule_list_count(list), 0);
        ck_assert_uint_eq(diag_errors(diag) + diag_unsupported(diag), 1);
        ck_assert_uint_eq(diag_get(diag, 0)->column, rows[_i].column);
    }
    text_clear(&text);
    rule_list_free(list);
    ck_assert_int_eq(held, 0);
    diag_free(diag);
    rule_variables_free(variables);
    keyword_table_free((struct keyword_table *)options.keywords);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rule_application");
    TCase *tcase = tcase_create("rule_application");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(tcase, rules_are_understood, 0, (int)(sizeof(rows) / sizeof(rows[0])));
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
