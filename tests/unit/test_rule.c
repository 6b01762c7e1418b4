/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rule parser: positions, functions for keywords, keyword tables, limits, duplicates. The test has a small keyword
 * table. tests/rules tests whole rules.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rule/known_keywords.h"
#include "sluice/keyword.h"
#include "sluice/rule.h"

/* --- A small language ----------------------------------------------------------------------------- */

static int parse_sid(struct rule_parser *parser, struct span value)
{
    uint64_t number;

    if (!span_to_uint(value, 1, UINT32_MAX, &number))
        return rule_parser_error(parser, value, "bad sid");
    rule_parser_rule(parser)->sid = (uint32_t)number;
    return 0;
}

static int parse_rev(struct rule_parser *parser, struct span value)
{
    uint64_t number;

    if (!span_to_uint(value, 0, UINT32_MAX, &number))
        return rule_parser_error(parser, value, "bad rev");
    rule_parser_rule(parser)->revision = (uint32_t)number;
    return 0;
}

static int parse_content(struct rule_parser *parser, struct span value)
{
    struct content *content = arena_alloc(rule_parser_arena(parser), sizeof(*content));

    ck_assert_ptr_nonnull(content);
    content->bytes = (const uint8_t *)value.at;
    content->length = (uint16_t)value.length;
    content->negated = rule_parser_is_negated(parser);
    return rule_parser_add_content_condition(parser, content, false);
}

static int parse_within(struct rule_parser *parser, struct span value)
{
    struct content *content = rule_parser_last_content(parser);

    if (!content)
        return rule_parser_error(parser, value, "no content");
    content->has_within = true;
    rule_parser_set_relative(parser);
    return 0;
}

static int parse_nocase(struct rule_parser *parser, struct span value)
{
    struct content *content = rule_parser_last_content(parser);

    if (!content)
        return rule_parser_error(parser, value, "no content");
    content->nocase = true;
    return 0;
}

/* test:relative; or test:absolute; */
static int parse_test(struct rule_parser *parser, struct span value)
{
    bool relative = span_equal(value, "relative");

    if (relative && !rule_parser_has_previous(parser))
        return rule_parser_error(parser, value, "nothing before it");
    return rule_parser_add_content_condition(parser, NULL, relative);
}

static int parse_packet(struct rule_parser *parser, struct span value)
{
    (void)value;
    return rule_parser_add_packet_condition(parser, NULL, rule_parser_is_negated(parser));
}

/* value:name; defines a variable, or fails if all are in use. */
static int parse_value(struct rule_parser *parser, struct span value)
{
    return rule_parser_add_value(parser, value) < 0 ? rule_parser_error(parser, value, "no room") : 0;
}

static int refuse(struct rule_parser *parser, const struct condition *condition)
{
    (void)condition;
    return rule_parser_error(parser, (struct span){ 0 }, "refused at the end");
}

/* Number of allocations outside of the arena. */
static int held;

static int parse_holding(struct rule_parser *parser, struct span value)
{
    int err = rule_parser_keyword(parser)->kind == KEYWORD_PACKET
                  ? rule_parser_add_packet_condition(parser, NULL, false)
                  : rule_parser_add_content_condition(parser, NULL, false);

    (void)value;
    held += err == 0;
    return err;
}

static void release_held(const struct condition *condition)
{
    (void)condition;
    held--;
}

static int fail_silently(struct rule_parser *parser, struct span value)
{
    (void)parser;
    (void)value;
    return -ENOTSUP;
}

static int parse_buffer_a(struct rule_parser *parser, struct span value);
static int parse_payload(struct rule_parser *parser, struct span value);

static const struct keyword test_sid = {
    .name = "sid",
    .kind = KEYWORD_META,
    .parse = parse_sid,
    .flags = KEYWORD_ONCE,
};
static const struct keyword test_rev = {
    .name = "rev",
    .kind = KEYWORD_META,
    .parse = parse_rev,
};
static const struct keyword test_content = {
    .name = "content",
    .aliases = { "pattern", "literal" },
    .kind = KEYWORD_CONTENT,
    .flags = KEYWORD_QUOTED | KEYWORD_QUOTES_REQUIRED | KEYWORD_NEGATABLE,
    .parse = parse_content,
    .content = { .is_literal = true },
};
static const struct keyword test_within = {
    .name = "within",
    .kind = KEYWORD_MODIFIER,
    .parse = parse_within,
};
static const struct keyword test_nocase = {
    .name = "nocase",
    .kind = KEYWORD_MODIFIER,
    .parse = parse_nocase,
    .flags = KEYWORD_NO_VALUE,
};
static const struct keyword test_test = {
    .name = "test",
    .kind = KEYWORD_CONTENT,
    .parse = parse_test,
};
static const struct keyword test_cheap = {
    .name = "cheap",
    .kind = KEYWORD_PACKET,
    .parse = parse_packet,
    .packet = { .cost = 1 },
};
static const struct keyword test_dear = {
    .name = "dear",
    .kind = KEYWORD_PACKET,
    .parse = parse_packet,
    .packet = { .cost = 9 },
};
static const struct keyword test_refused = {
    .name = "refused",
    .kind = KEYWORD_PACKET,
    .parse = parse_packet,
    .finish = refuse,
};
static const struct keyword test_value = {
    .name = "value",
    .kind = KEYWORD_META,
    .parse = parse_value,
};
static const struct keyword test_holding = {
    .name = "holding",
    .kind = KEYWORD_PACKET,
    .parse = parse_holding,
    .release = release_held,
};
static const struct keyword test_keeping = {
    .name = "keeping",
    .kind = KEYWORD_CONTENT,
    .parse = parse_holding,
    .release = release_held,
};
static const struct keyword test_silent = {
    .name = "silent",
    .kind = KEYWORD_META,
    .parse = fail_silently,
};
static const struct keyword test_buffer_a = {
    .name = "buffer.a",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .parse = parse_buffer_a,
};
static const struct keyword test_buffer_b = { .name = "into_b", .kind = KEYWORD_BUFFER };
static const struct keyword test_into_b = {
    .name = "into_b",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .moves_to = &test_buffer_b,
};
static const struct keyword test_payload = {
    .name = "payload",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .parse = parse_payload,
};

static int parse_buffer_a(struct rule_parser *parser, struct span value)
{
    (void)value;
    return rule_parser_select_buffer(parser, &test_buffer_a);
}

static int parse_payload(struct rule_parser *parser, struct span value)
{
    (void)value;
    return rule_parser_select_buffer(parser, NULL);
}

static const struct keyword *const test_keywords[] = {
    &test_sid,    &test_rev,     &test_content, &test_within,  &test_nocase, &test_test,
    &test_cheap,  &test_dear,    &test_refused, &test_value,   &test_silent, &test_buffer_a,
    &test_into_b, &test_payload, &test_holding, &test_keeping,
};
enum { TEST_KEYWORD_COUNT = sizeof(test_keywords) / sizeof(test_keywords[0]) };

static struct keyword_table *table;
static struct rule_variables *variables;
static struct diag *diag;
static struct rule_list *list;

static void setup(void)
{
    struct rule_list_options options = { 0 };

    table = keyword_table_new(test_keywords, TEST_KEYWORD_COUNT);
    variables = rule_variables_new();
    diag = diag_new();
    options.keywords = table;
    options.variables = variables;
    ck_assert_int_eq(rule_list_new(&list, &options, diag), 0);
}

static void teardown(void)
{
    rule_list_free(list);
    diag_free(diag);
    rule_variables_free(variables);
    keyword_table_free(table);
}

static void parse(const char *text)
{
    ck_assert_int_eq(rule_list_parse(list, "test", text, strlen(text), diag), 0);
}

/* Parses a text with one rule. */
static const struct rule *parse_one(const char *text)
{
    parse(text);
    if (diag_count(diag) > 0)
        diag_print(diag, stderr, false);
    ck_assert_uint_eq(diag_count(diag), 0);
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
    ck_assert_uint_eq(rule_list_count(list), 1);
    return rule_list_get(list, 0);
}

/* --- Limits --------------------------------------------------------------------------------------- */

START_TEST(long_rules_are_refused)
{
    size_t length = 80 * 1024;
    char *text = malloc(length + 64);

    ck_assert_ptr_nonnull(text);
    strcpy(text, "alert tcp any any -> any any (sid:1; content:\"");
    memset(text + strlen(text), 'a', length - strlen(text));
    strcpy(text + length, "\";)");
    parse(text);
    ck_assert_uint_eq(rule_list_rejected(list), 1);
    ck_assert_uint_eq(diag_errors(diag), 1);
    free(text);
}
END_TEST

START_TEST(a_nul_byte_is_a_mistake)
{
    static const char text[] = "alert tcp any any -> any any (sid:1; \0)\nalert tcp any any -> any any (sid:2;)";

    ck_assert_int_eq(rule_list_parse(list, "test", text, sizeof(text) - 1, diag), 0);
    ck_assert_uint_eq(rule_list_rejected(list), 1);
    ck_assert_uint_eq(rule_list_count(list), 1);
    ck_assert_uint_eq(diag_get(diag, 0)->column, 38);
}
END_TEST

/* Many broken rules must not push the last ones out of the diag. */
START_TEST(every_broken_rule_keeps_an_entry)
{
    enum { RULES = 60000 };
    static const char line[] = "alert tcp any any -> any any (x1; x2; x3;)\n";
    char *text = malloc(RULES * (sizeof(line) - 1) + 1);

    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < RULES; i++)
        memcpy(text + i * (sizeof(line) - 1), line, sizeof(line));
    parse(text);
    free(text);
    ck_assert_uint_eq(rule_list_rejected(list), RULES);
    ck_assert_uint_lt(diag_count(diag), DIAG_MAX_ENTRIES);
    ck_assert_uint_eq(diag_get(diag, diag_count(diag) - 1)->line, RULES);
}
END_TEST

/* --- Positions ------------------------------------------------------------------------------------ */

static const struct {
    const char *text;
    uint32_t line, column, width;
} position_rows[] = {
    { "alert tcp any any -> any any (sid:x;)", 1, 35, 1 },
    { "\n\n# comment\nalert tcp any any -> any any (sid:abc;)", 4, 35, 3 },
    { "\r\n\r\nalert tcp any any -> any any (sid:abc;)\r\n", 3, 35, 3 },
    { "   alert tcp any any -> any any (sid:abc;)", 1, 38, 3 },
    { "\xEF\xBB\xBF"
      "alert tcp any any -> any any (sid:abc;)",
      1, 35, 3 },
    { "alert tcp any any -> any any (\\\nsid:abc;)", 2, 5, 3 },
    { "alert tcp any any -> any any (\\  \r\n  sid:abc;)", 2, 7, 3 },
    { "alert tcp any any -> any any (\\\n\\\n\\\nsid:abc;)", 4, 5, 3 },
    { "alert tcp any any \\\n-> any any (sid:1; \\\nsid:2;)", 3, 1, 3 },
    { "alert tcp any any -> any any (sid:1; nosuchthing;)", 1, 38, 11 },
    { "alert tcp any any -> any any (sid:1; nosuchthing:with value;)", 1, 38, 11 },
    { "alert tcp any any -> any any (sid:1; refused:1;)", 1, 1, 1 },
    { "alert tcp any any -> any any (sid:1; silent:1;)", 1, 38, 6 },
    { "alert tcp any any -> any any (sid:1; value: ;)", 1, 38, 5 },
    { "alert tcp any any -> any any (sid:1; content:abc;)", 1, 46, 3 },
    { "alert tcp any any -> any any (sid:1; nocase;)", 1, 44, 1 },
    { "alert tcp any any -> any any (sid:1; nocase:x;)", 1, 45, 1 },
    { "alert tcp any any -> any any (sid:1; test:relative;)", 1, 43, 8 },
    { "alert tcp any any -> any any (sid:1; buffer.a;)", 1, 1, 47 },
    { "alert tcp any any -> any any (sid:1; content:\"a\"; into_b; buffer.a; into_b; nocase;)", 1, 69, 6 },
    { "alert tcp any any -> any any (sid:1; into_b;)", 1, 38, 6 },
    { "alert tcp [10.0.0.1,10.0.0.x] any -> any any (sid:1;)", 1, 21, 8 },
    { "alert tcp any [80,x] -> any any (sid:1;)", 1, 19, 1 },
    { "alert tcp any any -> any any (sid:1; foo)", 1, 38, 3 },
};

START_TEST(mistakes_point_at_their_place)
{
    const struct diag_entry *entry;

    parse(position_rows[_i].text);
    ck_assert_uint_eq(rule_list_rejected(list), 1);
    ck_assert_uint_gt(diag_count(diag), 0);
    entry = diag_get(diag, 0);
    ck_assert_str_eq(entry->file, "test");
    ck_assert_uint_eq(entry->line, position_rows[_i].line);
    ck_assert_uint_eq(entry->column, position_rows[_i].column);
    ck_assert_uint_eq(entry->width, position_rows[_i].width);
}
END_TEST

START_TEST(rules_know_their_text_and_line)
{
    const struct rule *rule = parse_one("\n#x\n  alert tcp any any -> any any (\\\n  sid:7;)  \n");

    ck_assert_str_eq(rule->text, "alert tcp any any -> any any (  sid:7;)");
    ck_assert_uint_eq(rule->line, 3);
    ck_assert_str_eq(rule->file, "test");
}
END_TEST

static const struct {
    const char *text;
    size_t read;
} statement_rows[] = {
    { "", 0 },       { "\n \n\t\r\n", 0 }, { "# a comment", 0 }, { "   # a comment \\\n", 0 },
    { "\\\n", 0 },   { "\\", 0 },          { "\\\n\\\n", 0 },    { "x", 1 },
    { "x\ny\n", 2 }, { "x\\\ny\n", 1 },    { "# x\\\ny\n", 1 },  { "x\\\n# y\nz", 2 },
    { "\\\nx", 1 },
};

START_TEST(statements_are_counted)
{
    parse(statement_rows[_i].text);
    ck_assert_uint_eq(rule_list_read(list), statement_rows[_i].read);
    ck_assert_uint_eq(rule_list_rejected(list), statement_rows[_i].read);
}
END_TEST

/* --- Functions for keywords ----------------------------------------------------------------------- */

START_TEST(packet_conditions_come_cheapest_first)
{
    const struct rule *rule = parse_one("alert tcp any any -> any any (sid:1; dear:1; cheap:1; dear:2; cheap:2;)");
    const struct keyword *const expected[] = { &test_cheap, &test_cheap, &test_dear, &test_dear };
    const struct condition *condition = rule->packet_conditions;

    for (size_t i = 0; i < 4; i++, condition = condition->next) {
        ck_assert_ptr_nonnull(condition);
        ck_assert_ptr_eq(condition->keyword, expected[i]);
    }
    ck_assert_ptr_null(condition);
}
END_TEST

static size_t count_conditions(const struct rule_buffer *buffer)
{
    size_t count = 0;

    for (const struct condition *c = buffer->conditions; c; c = c->next)
        count++;
    return count;
}

START_TEST(a_buffer_is_continued)
{
    const struct rule *rule = parse_one("alert tcp any any -> any any (sid:1; content:\"a\"; buffer.a; content:\"b\"; "
                                        "nocase; payload; content:\"c\"; buffer.a; content:\"d\"; test:relative;)");
    const struct rule_buffer *payload = rule->buffers, *a = payload->next;

    ck_assert_ptr_null(payload->keyword);
    ck_assert_ptr_eq(a->keyword, &test_buffer_a);
    ck_assert_ptr_null(a->next);
    ck_assert_uint_eq(count_conditions(payload), 2);
    ck_assert_uint_eq(count_conditions(a), 3);
    ck_assert(((const struct content *)a->conditions->data)->nocase);
    ck_assert(!a->conditions->next_relative);
    ck_assert(a->conditions->next->next_relative);
}
END_TEST

/* content:"a"; into_b; nocase; test:relative; : the modifier and the relative condition follow the content. */
START_TEST(what_follows_a_moved_content_follows_it)
{
    const struct rule *rule = parse_one("alert tcp any any -> any any (sid:1; content:\"x\"; content:\"a\"; into_b; "
                                        "nocase; test:relative; test:absolute;)");
    const struct rule_buffer *payload = rule->buffers, *b = payload->next;

    ck_assert_uint_eq(count_conditions(payload), 2);
    ck_assert_ptr_eq(b->keyword, &test_buffer_b);
    ck_assert_uint_eq(count_conditions(b), 2);
    ck_assert(((const struct content *)b->conditions->data)->nocase);
    ck_assert(b->conditions->next->relative);
    ck_assert(b->conditions->next_relative);
    ck_assert_ptr_eq(payload->conditions->next->keyword, &test_test);
}
END_TEST

START_TEST(an_emptied_payload_is_no_buffer)
{
    const struct rule *rule = parse_one("alert tcp any any -> any any (sid:1; content:\"a\"; into_b;)");

    ck_assert_ptr_eq(rule->buffers->keyword, &test_buffer_b);
    ck_assert_ptr_null(rule->buffers->next);
}
END_TEST

START_TEST(a_moved_content_leaves_its_chain)
{
    const struct rule *rule = parse_one("alert tcp any any -> any any (sid:1; content:\"a\"; content:\"b\"; within:5; "
                                        "into_b; content:\"c\";)");

    ck_assert(!rule->buffers->conditions->next_relative);
    ck_assert(rule->buffers->next->conditions->relative);
}
END_TEST

START_TEST(values_are_bounded)
{
    parse("alert tcp any any -> any any (sid:1; value:a; value:b; value:c; value:d; value:e; value:f; value:g; "
          "value:h; value:a;)\n"
          "alert tcp any any -> any any (sid:2; value:a; value:b; value:c; value:d; value:e; value:f; value:g; "
          "value:h; value:i;)");
    ck_assert_uint_eq(rule_list_count(list), 1);
    ck_assert_uint_eq(rule_list_rejected(list), 1);
}
END_TEST

/* Rules with errors, and rules with unsupported features. A rule with both counts as an error. */
START_TEST(left_out_rules_keep_their_reason)
{
    static const struct {
        enum rule_failure_kind kind;
        uint32_t line, sid;
        const char *reason;
    } wanted[] = {
        { RULE_FAILURE_UNSUPPORTED, 1, 7, "keyword 'gtp_type' is not supported" },
        { RULE_FAILURE_MISTAKE, 2, 8, "unknown keyword 'nothing_like_it'" },
        { RULE_FAILURE_UNSUPPORTED, 3, 9, "protocol 'quic' is not supported" },
        { RULE_FAILURE_UNSUPPORTED, 4, 10, "the action 'activate' is not supported" },
        { RULE_FAILURE_MISTAKE, 5, 11, "the rule has no direction" },
        { RULE_FAILURE_UNSUPPORTED, 6, 12, "protocol 'http' is not supported" },
        { RULE_FAILURE_MISTAKE, 7, 13, "unknown keyword 'nothing_like_it'" },
        { RULE_FAILURE_MISTAKE, 8, 0, "unknown action 'x'" },
    };

    parse("alert tcp any any -> any any (sid:7; gtp_type:1;)\n"
          "alert tcp any any -> any any (sid:8; nothing_like_it;)\n"
          "alert quic any any -> any any (sid:9;)\n"
          "activate tcp any any -> any any (sid:10;)\n"
          "alert tcp any any (msg:\"x\"; sid:11;)\n"
          "alert http (sid:12;)\n"
          "alert tcp any any -> any any (gtp_type:1; nothing_like_it; sid:13;)\n"
          "x y any any -> any any (msg:\"x\";)\n");
    ck_assert_int_eq(rule_list_load(list, "/nonexistent/x.rules", diag), -ENOENT);
    ck_assert_uint_eq(rule_list_failed(list), 4);
    ck_assert_uint_eq(rule_list_skipped(list), 4);
    ck_assert_uint_eq(rule_list_unreadable_files(list), 1);
    ck_assert_uint_eq(rule_list_failure_count(list), 9);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        const struct rule_failure *failure = rule_list_failure(list, i);

        ck_assert_uint_eq(failure->kind, wanted[i].kind);
        ck_assert_uint_eq(failure->line, wanted[i].line);
        ck_assert_uint_eq(failure->sid, wanted[i].sid);
        ck_assert_msg(strstr(failure->reason, wanted[i].reason) == failure->reason, "%s", failure->reason);
    }
    ck_assert_uint_eq(rule_list_failure(list, 8)->kind, RULE_FAILURE_UNREAD_FILE);
    ck_assert_str_eq(rule_list_failure(list, 8)->file, "/nonexistent/x.rules");
}
END_TEST

START_TEST(kept_failures_are_bounded)
{
    static const char line[] = "alert tcp any any -> any any (x1;)\n";

    for (size_t i = 0; i < RULE_MAX_FAILURES + 5; i++)
        ck_assert_int_eq(rule_list_parse(list, "test", line, sizeof(line) - 1, diag), 0);
    ck_assert_uint_eq(rule_list_failed(list), RULE_MAX_FAILURES + 5);
    ck_assert_uint_eq(rule_list_failure_count(list), RULE_MAX_FAILURES);
}
END_TEST

static void count_tag(const char *tag, size_t rules, void *user)
{
    char *text = user;

    snprintf(text + strlen(text), 256 - strlen(text), "%s=%zu ", tag, rules);
}

START_TEST(what_is_missing_is_counted_by_rule)
{
    char text[256] = "";

    parse("alert tcp any any -> any any (sid:1; gtp_type:1; gtp_type:2; gtp_info:x;)\n"
          "alert http any any -> any any (sid:2; GTP_TYPE:1; nothing_like_it;)\n"
          "alert tcp any any -> any any (sid:3; vba_data; content:\"a\"; within:1; regex:\"x\"; nocase;)\n");
    rule_list_each_missing(list, count_tag, text);
    ck_assert_str_eq(text, "gtp_type=2 gtp_info=1 nothing_like_it=1 protocol http=1 regex=1 vba_data=1 ");
    ck_assert_uint_eq(diag_errors(diag), 1); /* nothing_like_it: unknown keyword */
    ck_assert_uint_eq(diag_unsupported(diag), 6);
    ck_assert_str_eq(diag_get(diag, 0)->tag, "gtp_type");
    ck_assert_str_eq(diag_get(diag, 2)->tag, "protocol http");
}
END_TEST

START_TEST(what_conditions_hold_is_given_back_once)
{
    struct rule_list_options options = { .keywords = table };
    struct rule_list *other;
    static const char text[] = "alert tcp any any -> any any (sid:1; holding:a; keeping:b; buffer.a; keeping:c;)\n"
                               "alert tcp any any -> any any (sid:1; rev:1; holding:a;)\n"
                               "alert tcp any any -> any any (sid:1; holding:a;)\n"
                               "alert tcp any any -> any any (holding:a; keeping:b;)\n"
                               "alert tcp any any -> any any (sid:2; holding:a; nosuch)\n"
                               "alert tcp any any -> any any (sid:3; holding:a; refused:1;)\n";

    held = 0;
    ck_assert_int_eq(rule_list_new(&other, &options, diag), 0);
    ck_assert_int_eq(rule_list_parse(other, "test", text, sizeof(text) - 1, diag), 0);
    ck_assert_int_eq(held, 5);
    ck_assert_int_eq(rule_list_finish(other, diag), 0);
    ck_assert_int_eq(held, 1);
    rule_list_free(other);
    ck_assert_int_eq(held, 0);
}
END_TEST

/* --- Keyword tables ------------------------------------------------------------------------------- */

START_TEST(keywords_are_found_by_every_name)
{
    ck_assert_ptr_eq(keyword_table_find(table, span_of("content")), &test_content);
    ck_assert_ptr_eq(keyword_table_find(table, span_of("CONTENT")), &test_content);
    ck_assert_ptr_eq(keyword_table_find(table, span_of("Literal")), &test_content);
    ck_assert_ptr_null(keyword_table_find(table, span_of("conten")));
    ck_assert_ptr_null(keyword_table_find(table, span_of("")));
    ck_assert_str_eq(keyword_table_nearest(table, span_of("contend")), "content");
    ck_assert_ptr_null(keyword_table_nearest(table, span_of("zzzzzz")));
    ck_assert_ptr_null(keyword_table_nearest(table, span_of("")));
}
END_TEST

START_TEST(known_names_are_in_order_and_not_supported)
{
    struct keyword_table *supported = keyword_table_new(keyword_list, keyword_list_count);

    ck_assert_ptr_nonnull(supported);
    for (size_t i = 0; i < known_keyword_count(); i++) {
        const char *name = known_keyword_get(i)->name;

        ck_assert_ptr_eq(known_keyword_find(span_of(name)), known_keyword_get(i));
        ck_assert_msg(!keyword_table_find(supported, span_of(name)), "%s is supported: remove it", name);
        if (i > 0)
            ck_assert_int_lt(strcmp(known_keyword_get(i - 1)->name, name), 0);
    }
    ck_assert_ptr_null(known_keyword_get(known_keyword_count()));
    keyword_table_free(supported);
    ck_assert_ptr_nonnull(known_keyword_find(span_of("VBA_Data")));
    ck_assert_str_eq(known_keyword_nearest(span_of("vba_dato")), "vba_data");
}
END_TEST

/* Every keyword of the build is in the list of Suricata's keywords, unless it is an extension of Sluice. */
START_TEST(keywords_of_the_build_have_one_owner_each)
{
    struct keyword_table *all = keyword_table_new(keyword_list, keyword_list_count);

    ck_assert_ptr_nonnull(all);
    for (size_t i = 0; i < keyword_list_count; i++) {
        const struct keyword *keyword = keyword_list[i];

        ck_assert_ptr_eq(keyword_table_find(all, span_of(keyword->name)), keyword);
        for (size_t k = 0; k < 4 && keyword->aliases[k]; k++)
            ck_assert_ptr_eq(keyword_table_find(all, span_of(keyword->aliases[k])), keyword);
        ck_assert_ptr_nonnull(keyword->help);
    }
    keyword_table_free(all);
}
END_TEST

/* --- Duplicates ----------------------------------------------------------------------------------- */

START_TEST(the_highest_revision_stays)
{
    parse("alert tcp any any -> any any (sid:5; rev:1;)\n"
          "alert tcp any any -> any any (sid:4; rev:3;)\n"
          "alert tcp any any -> any any (sid:5; rev:2;)\n"
          "alert tcp any any -> any any (sid:4; rev:3;)\n"
          "alert tcp any any -> any any (sid:4; rev:2;)\n");
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
    ck_assert_uint_eq(rule_list_count(list), 2);
    ck_assert_uint_eq(rule_list_rejected(list), 1);
    ck_assert_uint_eq(rule_list_replaced(list), 2); /* one by a higher revision, and a duplicate */
    ck_assert_uint_eq(rule_list_get(list, 0)->sid, 4);
    ck_assert_uint_eq(rule_list_get(list, 0)->index, 0);
    ck_assert_uint_eq(rule_list_get(list, 1)->sid, 5);
    ck_assert_uint_eq(rule_list_get(list, 1)->revision, 2);
    ck_assert_uint_eq(rule_list_get(list, 1)->index, 1);
    ck_assert_ptr_eq(rule_list_find(list, 1, 5), rule_list_get(list, 1));
    ck_assert_ptr_null(rule_list_find(list, 2, 5));
    ck_assert_ptr_null(rule_list_find(list, 1, 6));
    ck_assert_uint_eq(diag_errors(diag), 1);
    ck_assert_uint_eq(diag_warnings(diag), 2);
}
END_TEST

#define ROWS(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
    Suite *suite = suite_create("rule");
    TCase *tcase = tcase_create("rule");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, mistakes_point_at_their_place, 0, ROWS(position_rows));
    tcase_add_loop_test(tcase, statements_are_counted, 0, ROWS(statement_rows));
    tcase_add_test(tcase, rules_know_their_text_and_line);
    tcase_add_test(tcase, long_rules_are_refused);
    tcase_add_test(tcase, a_nul_byte_is_a_mistake);
    tcase_add_test(tcase, every_broken_rule_keeps_an_entry);
    tcase_add_test(tcase, packet_conditions_come_cheapest_first);
    tcase_add_test(tcase, a_buffer_is_continued);
    tcase_add_test(tcase, what_follows_a_moved_content_follows_it);
    tcase_add_test(tcase, an_emptied_payload_is_no_buffer);
    tcase_add_test(tcase, a_moved_content_leaves_its_chain);
    tcase_add_test(tcase, values_are_bounded);
    tcase_add_test(tcase, left_out_rules_keep_their_reason);
    tcase_add_test(tcase, kept_failures_are_bounded);
    tcase_add_test(tcase, what_is_missing_is_counted_by_rule);
    tcase_add_test(tcase, what_conditions_hold_is_given_back_once);
    tcase_add_test(tcase, keywords_are_found_by_every_name);
    tcase_add_test(tcase, known_names_are_in_order_and_not_supported);
    tcase_add_test(tcase, keywords_of_the_build_have_one_owner_each);
    tcase_add_test(tcase, the_highest_revision_stays);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
