/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors in the values of content keywords: message and position. In each row the caret below the options marks the
 * expected position.
 */
#include <check.h>
#include <string.h>

#include "../lib/rule_text.h"

/* carets must stay below the marked text */
/* clang-format off */
static const struct {
    const char *options;
    const char *mark; /* NULL: any position */
    const char *message;
} bad_cases[] = {
    { "content:abc;",
      "        ^", "double quotes" },
    { "content:\"abc;",
      "        ^", "closing quote is missing" },
    { "content:\"\";",
      "        ^", "empty" },
    { "content:\"||\";",
      "        ^", "empty" },
    { "content:\"a\"b\";",
      "          ^", "double quote inside" },
    { "content:\"a|4\";",
      "          ^", "the bar that ends the hexadecimal bytes is missing" },
    { "content:\"a|4|\";",
      "           ^", "two hexadecimal digits" },
    { "content:\"a|4g|\";",
      "            ^", "not a hexadecimal digit" },
    { "content:\"a|41\";",
      "          ^", "the bar that ends the hexadecimal bytes is missing" },
    { "content:\"a\\nb\";",
      "          ^^", "may be escaped" },
    { "content:\"a\",nocase;",
      "           ^", "Snort 3" },
    { "content:\"a\", offset 3;",
      "           ^", "Snort 3" },
    { "content:\"a\" x;",
      "            ^", "nothing may follow" },
    { "nocase;", NULL, "needs a content before" },
    { "content:\"a\"; nocase; nocase;", NULL, "already" },
    { "test.buffer; nocase;", NULL, "needs a content before" },
    { "content:\"a\"; offset:x;",
      "                    ^", "sets 'x'" },
    { "content:\"a\"; offset:-1;",
      "                    ^", "from 0 to 65535" },
    { "content:\"a\"; offset:65536;",
      "                    ^", "from 0 to 65535" },
    { "content:\"a\"; offset:;", NULL, "needs a value" },
    { "content:\"a\"; offset:1; offset:2;", NULL, "already" },
    { "content:\"a\"; startswith; offset:2;", NULL, "startswith" },
    { "content:\"a\"; distance:1; offset:2;", NULL, "distance or within" },
    { "content:\"a\"; fast_pattern:only; offset:2;", NULL, "fast_pattern:only" },
    { "content:!\"a\"; fast_pattern; offset:2;", NULL, "negated content with fast_pattern" },
    { "content:\"abc\"; depth:2;",
      "                     ^", "less than the content's 3 bytes" },
    { "content:\"a\"; depth:1; depth:2;", NULL, "depth already" },
    { "content:\"a\"; startswith; depth:2;", NULL, "startswith already" },
    { "content:\"a\"; within:1; depth:2;", NULL, "distance or within" },
    { "content:\"a\"; depth:1; startswith;", NULL, "another startswith" },
    { "content:\"a\"; offset:1; startswith;", NULL, "another startswith" },
    { "content:\"a\"; distance:1; startswith;", NULL, "distance or within" },
    { "endswith;", NULL, "needs a content before" },
    { "content:\"abc\"; within:2;",
      "                      ^", "less than the content's 3 bytes" },
    { "content:\"a\"; within:-1;", NULL, "less than" },
    { "content:\"a\"; within:1; within:1;", NULL, "already" },
    { "content:\"a\"; depth:1; within:1;", NULL, "offset, depth" },
    { "content:\"a\"; distance:1; distance:1;", NULL, "already" },
    { "content:\"a\"; distance:1x;",
      "                      ^", "got '1x'" },
    { "content:\"a\"; distance:9999999999;", NULL, "distance must be" },
    { "content:\"a\"; rawbytes; rawbytes;", NULL, "already" },
    { "test.buffer; content:\"a\"; rawbytes;", NULL, "test.buffer" },
    { "fast_pattern;", NULL, "needs a content before" },
    { "content:\"a\"; fast_pattern; content:\"b\"; fast_pattern;", NULL, "only one" },
    { "content:\"a\"; fast_pattern; test.buffer; content:\"b\"; fast_pattern;", NULL, "only one" },
    { "content:\"abc\"; fast_pattern:1,3;", NULL, "beyond the content's 3 bytes" },
    { "content:\"abc\"; fast_pattern:1,0;",
      "                              ^", "the length" },
    { "content:\"abc\"; fast_pattern:1;", NULL, "OFFSET,LENGTH" },
    { "content:\"abc\"; fast_pattern:1,2,3;", NULL, "OFFSET,LENGTH" },
    { "content:\"abc\"; offset:1; fast_pattern:only;", NULL, "fast_pattern:only" },
    { "content:!\"abc\"; offset:1; fast_pattern;", NULL, "negated content with offset" },
    { "asn1:oversize_length;",
      "     ^", "needs a number from 0 to 4294967295" },
    { "asn1:bitstring_overflow,relative_offset 65536;",
      "                                        ^", "needs a number from -65535 to 65535" },
    { "asn1:absolute_offset 1;",
      "     ^", "needs a condition" },
    { "asn1:double_overflow,some;",
      "                     ^", "not 'some'" },
    { "asn1:double_overflow,absolute_offset 1,relative_offset 1;",
      "     ^", "exclude each other" },
    { "isdataat:x;",
      "         ^", "sets 'x'" },
    { "isdataat:70000;",
      "         ^", "from 0 to 65535" },
    { "isdataat:1,relativ;",
      "           ^", "'relative' and 'rawbytes'" },
    { "byte_test:4,=,1;",
      "          ^", "BYTES,OPERATOR,VALUE,OFFSET" },
    { "byte_test:9,=,1,0;",
      "          ^", "at most 8 bytes" },
    { "byte_test:24,=,1,0,string,dec;",
      "          ^", "from 0 to 23" },
    { "byte_test:4,~,1,0;",
      "            ^", "the operator" },
    { "byte_test:4,!~,1,0;",
      "            ^", "the operator" },
    { "byte_test:4,=,1z,0;",
      "              ^", "to compare with" },
    { "byte_test:4,=,v,0;",
      "              ^", "sets 'v'" },
    { "byte_test:4,=,1,0,hex;", NULL, "need 'string'" },
    { "byte_test:4,=,1,0,string,hex,dec;",
      "                             ^", "the base is given twice" },
    { "byte_test:4,=,1,0,relative,huge;",
      "                           ^", "unknown option 'huge'" },
    { "byte_test:4,=,1,0,bitmask;", NULL, "needs a value" },
    { "byte_test:4,=,1,0,bitmask 0x1ffffffff;",
      "                          ^", "32 bits" },
    { "byte_test:4,=,1,0,relative 3;",
      "                           ^", "takes no value" },
    { "byte_jump:4;", NULL, "BYTES,OFFSET" },
    { "byte_jump:9,0;", NULL, "at most 8 bytes" },
    { "byte_jump:4,65536;",
      "            ^", "the offset" },
    { "byte_jump:4,0,from_end,from_beginning;",
      "                       ^", "exclude each other" },
    { "byte_jump:4,0,multiplier 0;",
      "                         ^", "the multiplier" },
    { "byte_jump:4,0,post_offset x;",
      "                          ^", "post_offset" },
    { "byte_jump:4,0,dec;", NULL, "need 'string'" },
    { "byte_extract:4,0;", NULL, "BYTES,OFFSET,VARIABLE" },
    { "byte_extract:4,0,1x;",
      "                 ^", "start with a letter" },
    { "byte_extract:9,0,x;", NULL, "at most 8 bytes" },
    { "byte_extract:15,0,x,string,hex;", NULL, "at most 14 digits" },
    { "byte_extract:21,0,x,string,dec;", NULL, "at most 20 digits" },
    { "byte_extract:4,0,x,hex;",
      "                   ^", "'string' must come before" },
    { "byte_extract:4,0,x,string,little;", NULL, "exclude each other" },
    { "byte_extract:4,0,x,align 3;",
      "                         ^", "2 or 4" },
    { "byte_extract:4,40000,x;", NULL, "the offset" },
    { "byte_extract:1,0,a; byte_extract:1,0,b; byte_extract:1,0,c; byte_extract:1,0,d; byte_extract:1,0,e; "
      "byte_extract:1,0,f; byte_extract:1,0,g; byte_extract:1,0,h; byte_extract:1,0,i;",
      NULL, "more than 8 variables" },
    { "byte_math:bytes 4, offset 0, oper +, rvalue 1;", NULL, "needs bytes, offset" },
    { "byte_math:bytes 11, offset 0, oper +, rvalue 1, result r;",
      "                ^", "from 1 to 10" },
    { "byte_math:bytes 4, offset 0, oper %, rvalue 1, result r;",
      "                                  ^", "oper must be" },
    { "byte_math:bytes 4, offset 70000, oper +, rvalue 1, result r;", NULL, "offset must be" },
    { "byte_math:bytes 8, offset 0, oper <<, rvalue 1, result r;", NULL, "can be shifted" },
    { "byte_math:bytes 4, offset 0, oper /, rvalue 0, result r;", NULL, "division by 0" },
    { "byte_math:bytes 4, offset 0, oper +, rvalue v, result r;",
      "                                            ^", "sets 'v'" },
    { "byte_math:bytes 4, offset 0, oper +, rvalue r, result r;",
      "                                            ^", "sets 'r'" },
    { "byte_math:bytes 4, bytes 4, offset 0, oper +, rvalue 1, result r;", NULL, "duplicate" },
    { "byte_math:bytes 4, offset 0, oper +, rvalue 1, result r, endian middle;", NULL, "big, little or dce" },
    { "byte_math:bytes 4, offset 0, oper +, rvalue 1, result r, string bin;", NULL, "hex, dec or oct" },
    { "byte_math:bytes 4, offset 0, oper +, rvalue 1, result r, bitmask 0x123456789;", NULL, "32 bits" },
    { "dsize:x;",
      "      ^", "from 0 to 65535" },
    { "dsize:65536;", NULL, "from 0 to 65535" },
    { "dsize:10<>10;", NULL, "no size can match: the bounds are exclusive" },
    { "dsize:10<>11;", NULL, "no size can match: the bounds are exclusive" },
    { "dsize:10<>x;",
      "          ^", "got 'x'" },
    { "dsize:<0;", NULL, "no size" },
    { "dsize:>65535;", NULL, "no size" },
    { "dsize:1zb;", NULL, "got '1zb'" },
    { "content:\"abc\"; dsize:2;",
      "                     ^", "need 3 bytes" },
    { "dsize:<5; content:\"abc\"; content:\"de\"; distance:0;",
      "      ^", "need 5 bytes" },
    { "dsize:5; content:\"abc\"; offset:3;", NULL, "need 6 bytes" },
    { "bsize:5;", NULL, "needs a buffer" },
    { "test.buffer; content:\"abc\"; bsize:2;",
      "                                  ^", "need 3 bytes" },
    { "pcre:\"abc\";",
      "      ^", "/PATTERN/FLAGS" },
    { "pcre:\"/abc\";",
      "      ^", "closing slash" },
    { "pcre:\"/abc\\/\";",
      "      ^", "closing slash" },
    { "pcre:\"/a(b/\";",
      "          ^", "parenthesis" },
    { "pcre:\"/a[b/\";", NULL, "character class" },
    { "decode-event:stream.ipv4.trunc_pkt;",
      "             ^", "unknown decoder event 'stream.ipv4.trunc_pkt'" },
    { "engine-event:decoder.3whs_ack_in_wrong_dir;", NULL, "unknown decoder event" },
    { "pcre:\"/a/k\";",
      "         ^", "unknown pcre modifier 'k'" },
    { "pcre:\"/a/iUI\";",
      "           ^", "select different buffers" },
    { "content:\"a\"; fast_pattern:only; content:\"b\"; within:2;", NULL, "count from a content with" },
    { "content:\"a\"; fast_pattern:only; content:\"b\"; distance:2;", NULL, "count from a content with" },
    { "threshold:type limit, track by_src, count 1, seconds 1; threshold:type limit, track by_src, count 1, seconds 2;",
      NULL, "only one threshold" },
    { "pcre:\"/a/UB\";",
      "         ^", "for the payload" },
    { "test.buffer; pcre:\"/a/U\";", NULL, "'test.buffer' has selected a buffer" },
    { "http.uri; dotprefix; pcre:\"/a/U\";", NULL, "'http.uri' has selected a buffer" },
    { "content:\"a\"; pcre:\"/a/RU\";", NULL, "before it in its buffer" },
    { "test.buffer; content:\"a\"; pkt_data; pcre:\"/a/RU\";", NULL, "before it in its buffer" },
    { "pcre:\"/a/R\";",
      "         ^", "before it in the payload" },
    { "byte_jump:1,0; pcre:\"/a/R\";", NULL, "before it in the payload" },
    { "pcre:\"/a(b)/i, flows:x\";",
      "               ^", "flow:NAME, pkt:NAME or alert:NAME" },
    { "pcre:\"/a(b)/i, flow:\";", NULL, "flow:NAME, pkt:NAME or alert:NAME" },
    { "pcre:\"/a(b)/i, flow:x, pkt:y\";",
      "                       ^", "only 1 groups" },
    { "pcre:\"/ab/,flow:x\";", NULL, "only 0 groups" },
    { "pcre:\"/(a)(b)/,pkt:key,pkt:value\";",
      "               ^", "not supported" },
    { "pcre:!\"/(?P<flow_x>a)/\";", NULL, "negated" },
    { "pcre:\"/(a)(a)(a)(a)(a)(a)(a)(a)(?P<flow_x>a)/,flow:a\";", NULL, "first 8 groups" },
    { "flowvar:x;", NULL, "needs NAME" },
    { "flowvar:,\"a\";", NULL, "a name before" },
    { "pktvar:x,a;", NULL, "quotes" },
};
/* clang-format on */

START_TEST(points_at_the_mistake)
{
    const char *options = bad_cases[_i].options, *mark = bad_cases[_i].mark;
    struct rule_text text;

    rule_text_open(&text, options, strlen(options));
    ck_assert_msg(!text.rule && text.errors > 0, "%s: no mistake found", options);
    ck_assert_msg(strstr(text.message, bad_cases[_i].message) != NULL, "%s: %s", options, text.message);
    if (mark)
        ck_assert_msg(text.at == strcspn(mark, "^"), "%s: at %zu: %s", options, text.at, text.message);
    rule_text_close(&text);
}
END_TEST

/* Buffers of a rule, with the number of conditions of each. */
static const struct {
    const char *options, *buffers;
} letter_rows[] = {
    { "content:\"a\"; pcre:\"/a/B\";", "payload 2 " },
    { "content:\"a\"; pcre:\"/a/iU\"; content:\"b\";", "payload 2 http.uri 1 " },
    { "pcre:\"/a/U\"; pcre:\"/b/RU\"; pcre:\"/c/\";", "http.uri 2 payload 1 " },
    { "http.uri; content:\"a\"; pcre:\"/b/RU\"; pkt_data; pcre:\"/c/U\";", "http.uri 3 " },
    { "pcre:/Java/\\d\\.\\d/Ui\";", "http.uri 1 " },
    { "content:\"a\"; test.buffer; content:\"b\"; threshold:type limit, track by_src, count 1, seconds 1; "
      "threshold:type limit, track by_src, count 1, seconds 2;",
      "payload 1 test.buffer 1 " },
    { "http.uri; dotprefix; content:\"a\"; pkt_data; pcre:\"/c/U\";", "http.uri 1 http.uri 1 " },
};

START_TEST(letters_of_pcre_choose_buffers)
{
    struct rule_text text;
    char found[128] = "";

    rule_text_open(&text, letter_rows[_i].options, strlen(letter_rows[_i].options));
    ck_assert_str_eq(text.message, "");
    for (const struct rule_buffer *buffer = text.rule->buffers; buffer; buffer = buffer->next) {
        unsigned count = 0;

        for (const struct condition *c = buffer->conditions; c; c = c->next)
            count++;
        snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s %u ",
                 buffer->keyword ? buffer->keyword->name : "payload", count);
    }
    ck_assert_str_eq(found, letter_rows[_i].buffers);
    rule_text_close(&text);
}
END_TEST

/* --- The table ------------------------------------------------------------------------------------ */

static bool has_operations(const struct keyword *keyword)
{
    switch (keyword->kind) {
    case KEYWORD_META:
        return keyword->parse != NULL;
    case KEYWORD_MODIFIER:
        return (keyword->parse == NULL) == (keyword->moves_to != NULL);
    case KEYWORD_PACKET:
        return keyword->packet.match != NULL;
    case KEYWORD_CONTENT:
        return keyword->content.inspect != NULL || strcmp(keyword->name, "uricontent") == 0; /* adds a content */
    case KEYWORD_BUFFER: /* pkt_data and base64_data only have parse() */
        return keyword->scope.applications ? keyword->buffer.get == NULL : keyword->buffer.get || keyword->parse;
    case KEYWORD_TRANSACTION:
        return keyword->transaction.match != NULL;
    case KEYWORD_FILE:
        return keyword->file.match != NULL;
    case KEYWORD_TRANSFORM:
        return keyword->transform.apply != NULL;
    }
    return false;
}

START_TEST(keywords_have_the_operations_of_their_kind)
{
    for (size_t i = 0; i < keyword_list_count; i++)
        ck_assert_msg(has_operations(keyword_list[i]), "%s", keyword_list[i]->name);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("keyword_parse");
    TCase *tcase = tcase_create("mistakes");

    tcase_add_loop_test(tcase, points_at_the_mistake, 0, sizeof(bad_cases) / sizeof(bad_cases[0]));
    tcase_add_loop_test(tcase, letters_of_pcre_choose_buffers, 0, sizeof(letter_rows) / sizeof(letter_rows[0]));
    tcase_add_test(tcase, keywords_have_the_operations_of_their_kind);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
