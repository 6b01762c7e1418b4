/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Content keywords: options of a rule, a buffer, and whether the rule matches. The expected results are those of
 * Suricata's detect-engine-content-inspection.c.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "default_options.h"
#include "../lib/rule_text.h"
#include "detect/inspect.h"
#include "keyword/payload/search.h"
#include "sluice/pcre_scratch.h"
#include "sluice/transform.h"

struct match_case {
    const char *options;
    const char *bytes;
    size_t length;
    bool match;
};

#define YES(options, bytes)                                                                                            \
    {                                                                                                                  \
        options, bytes, sizeof(bytes) - 1, true                                                                        \
    }
#define NO(options, bytes)                                                                                             \
    {                                                                                                                  \
        options, bytes, sizeof(bytes) - 1, false                                                                       \
    }

static const struct match_case content_cases[] = {
    YES("content:\"abc\";", "xxabcxx"),
    NO("content:\"abc\";", "xxabxcx"),
    NO("content:\"abc\";", "ab"),
    NO("content:\"abc\";", ""),
    YES("content:\"abc\";", "abc"),
    NO("content:\"abc\";", "ABC"),
    YES("content:\"abc\"; nocase;", "ABC"),
    YES("content:\"AbC\"; nocase;", "xxaBc"),
    NO("content:\"AbC\"; nocase;", "xxaBd"),
    YES("content:\"a-b\"; nocase;", "xxA-B"),
    YES("content:\"aab\"; nocase;", "AaAaAB"),
    YES("content:\"ab\"; nocase;", "AAB"),
    YES("content:\"ab\"; nocase;", "aab"),
    NO("content:\"@[\"; nocase;", "`{"),
    YES("content:\"|41 42|\";", "xAB"),
    YES("content:\"x|0d 0a|y\";", "x\r\ny"),
    YES("content:\"|0D0A|\";", "\r\n"),
    YES("content:\"|41,42|\";", "AB"),
    YES("content:\"a|00|b\";", "a\0b"),
    YES("content:\"a\\;b\";", "a;b"),
    YES("content:\"a\\:b\";", "a:b"),
    YES("content:\"a\\\\b\";", "a\\b"),
    YES("content:\"a\\\"b\";", "a\"b"),
    YES("content:\"a:b\";", "a:b"),
    YES("content:\" a \";", "x a x"),
    YES("content:\"\xe4\";", "\xe4"),
    NO("content:\"\xe4\"; nocase;", "\xc4"),
    YES("content:!\"abc\";", "xyz"),
    NO("content:!\"abc\";", "xabc"),
    NO("content:! \"abc\";", "xabc"),
    NO("content:!\"abc\"; nocase;", "xABC"),
    YES("content:!\"abc\";", ""),
    YES("content:\"a\"; content:\"b\";", "ba"),
    NO("content:\"a\"; content:\"b\";", "aa"),
    YES("content:\"a\"; content:!\"b\"; content:\"c\";", "ca"),
    NO("content:\"a\"; content:!\"b\"; content:\"c\";", "cab"),
    YES("content:\"a\"; rawbytes;", "a"),
    YES("content:\"abcd\"; fast_pattern;", "abcd"),
    NO("content:\"abcd\"; fast_pattern:1,2;", "bc"),
    YES("content:\"abcd\"; fast_pattern:only;", "abcd"),
};

static const struct match_case position_cases[] = {
    YES("content:\"b\"; offset:1;", "ab"),
    NO("content:\"a\"; offset:1;", "ab"),
    YES("content:\"a\"; offset:1;", "aba"),
    NO("content:\"a\"; offset:5;", "aba"),
    YES("content:!\"a\"; offset:5;", "aba"),
    YES("content:!\"a\"; offset:3;", "aba"),
    YES("content:\"a\"; offset:0x2;", "aba"),
    YES("content:\"b\"; depth:2;", "ab"),
    NO("content:\"b\"; depth:1;", "ab"),
    YES("content:\"abc\"; depth:3;", "abc"),
    NO("content:\"abc\"; depth:3;", "xabc"),
    YES("content:\"abc\"; depth:10;", "xabc"),
    YES("content:\"c\"; offset:1; depth:2;", "abc"),
    NO("content:\"d\"; offset:1; depth:2;", "abcd"),
    YES("content:\"c\"; depth:2; offset:1;", "abc"),
    NO("content:\"d\"; depth:2; offset:1;", "abcd"),
    YES("content:!\"d\"; offset:1; depth:2;", "abcd"),
    NO("content:!\"c\"; offset:1; depth:2;", "abcd"),
    YES("content:!\"a\"; depth:1;", ""),
    YES("content:\"abc\"; startswith;", "abcd"),
    NO("content:\"abc\"; startswith;", "xabcd"),
    NO("content:\"abc\"; startswith;", "ab"),
    YES("content:!\"abc\"; startswith;", "xabcd"),
    NO("content:!\"abc\"; startswith;", "abcd"),
    YES("content:\"abc\"; nocase; startswith;", "ABCd"),
    YES("content:\"abc\"; endswith;", "xabc"),
    NO("content:\"abc\"; endswith;", "xabcx"),
    YES("content:\"abc\"; endswith;", "abcxabc"),
    YES("content:\"aa\"; endswith;", "aaa"),
    NO("content:\"abc\"; endswith;", "bc"),
    YES("content:\"abc\"; nocase; endswith;", "xABC"),
    YES("content:\"abc\"; startswith; endswith;", "abc"),
    NO("content:\"abc\"; startswith; endswith;", "abcd"),
    NO("content:\"abc\"; depth:5; endswith;", "xxxxabc"),
    YES("content:\"abc\"; depth:7; endswith;", "xxxxabc"),
    YES("content:\"abc\"; offset:3; endswith;", "xxxxabc"),
    NO("content:\"abc\"; offset:5; endswith;", "xxxxabc"),
    YES("content:!\"abc\"; endswith;", "abcx"),
    NO("content:!\"abc\"; endswith;", "xabc"),
    YES("content:!\"abc\"; endswith;", "xyz"),
    YES("content:!\"abc\"; endswith;", ""),
    YES("content:!\"abc\"; endswith;", "abcxabc"), /* the first occurrence decides */
    YES("content:!\"abc\"; offset:1; endswith;",
        "xabc"), /* the position counts from the start of the buffer, not from offset */
    YES("content:\"x\"; content:!\"abc\"; endswith; content:\"abc\";", "xabcx"),
    NO("content:\"x\"; content:!\"abc\"; endswith; content:\"abc\";", "xabc"),
};

static const struct match_case relative_cases[] = {
    YES("content:\"a\"; content:\"b\"; distance:0;", "ab"),
    NO("content:\"a\"; content:\"b\"; distance:0;", "ba"),
    YES("content:\"a\"; content:\"b\"; distance:0;", "axxxb"),
    NO("content:\"a\"; content:\"a\"; distance:0;", "xa"),
    YES("content:\"a\"; content:\"a\"; distance:0;", "aa"),
    YES("content:\"a\"; content:\"b\"; distance:3;", "axxxb"),
    NO("content:\"a\"; content:\"b\"; distance:4;", "axxxb"),
    YES("content:\"bc\"; content:\"bc\"; distance:-2;", "abc"),
    YES("content:\"c\"; content:\"a\"; distance:-3;", "abc"),
    NO("content:\"c\"; content:\"a\"; distance:-2;", "abc"),
    YES("content:\"c\"; content:\"a\"; distance:-100;", "abc"),
    YES("content:\"a\"; content:\"b\"; within:1;", "ab"),
    NO("content:\"a\"; content:\"b\"; within:1;", "axb"),
    YES("content:\"a\"; content:\"b\"; within:2;", "axb"),
    YES("content:\"a\"; content:\"b\"; distance:1; within:1;", "axb"),
    YES("content:\"a\"; content:\"b\"; within:1; distance:1;", "axb"),
    NO("content:\"a\"; content:\"b\"; distance:1; within:1;", "ab"),
    NO("content:\"a\"; content:\"b\"; distance:1; within:1;", "axxb"),
    YES("content:\"abc\"; content:\"b\"; distance:-2; within:1;", "abc"),
    NO("content:\"abc\"; content:\"c\"; distance:-2; within:1;", "abc"),
    /* a window that would end before the buffer's start does not limit */
    YES("content:\"c\"; content:\"e\"; distance:-100; within:10;", "abcde"),
    /* the next match of the first content is tried */
    YES("content:\"a\"; content:\"b\"; within:1;", "axab"),
    YES("content:\"a\"; content:\"b\"; within:1;", "aab"),
    YES("content:\"a\"; content:\"b\"; within:1;", "aaaaab"),
    YES("content:\"a\"; content:\"b\"; within:1; content:\"c\"; within:1;", "abxabc"),
    NO("content:\"a\"; content:\"b\"; within:1; content:\"c\"; within:1;", "abxabxc"),
    /* a retry counts from the same position as the first attempt */
    NO("content:\"x\"; content:\"b\"; within:3; content:\"c\"; within:1;", "xbyybc"),
    NO("content:\"x\"; pcre:\"/^.{0,2}b/R\"; content:\"c\"; within:1;", "xbyybc"),
    YES("content:\"a\"; content:\"b\"; distance:0; content:\"c\"; within:1;", "abxbc"),
    YES("content:\"a\"; content:\"b\"; distance:1; within:1; content:\"c\"; distance:1; within:1;", "axbxxaxbxc"),
    YES("content:\"this\"; content:\"is\"; within:6; content:\"big\"; within:8; content:\"string\"; within:8;",
        "now this is is big big string now"),
    YES("content:\"is\"; content:\"is\"; within:6; content:\"big\"; within:8; content:\"string\"; within:8;",
        "now this is is big big string now"),
    YES("content:\"thus\"; offset:5; content:\"is\"; within:6; content:\"big\"; within:8;", "thus thus is a big"),
    NO("content:\"thus\"; offset:6; content:\"is\"; within:6; content:\"big\"; within:8;", "thus thus is a big"),
    YES("content:\"fix\"; content:\"this\"; within:6; content:!\"and\"; distance:0;",
        "we need to fix this and yes fix this now"),
    NO("content:\"fix\"; content:\"this\"; within:6; content:!\"and\"; distance:0;", "we need to fix this and yes"),
    YES("content:\"a\"; content:!\"b\"; within:1;", "ax"),
    NO("content:\"a\"; content:!\"b\"; within:1;", "ab"),
    YES("content:\"a\"; content:!\"b\"; within:1;", "abax"),
    NO("content:\"a\"; content:!\"b\"; distance:0;", "axb"),
    YES("content:\"a\"; content:!\"b\"; distance:0;", "axbxa"),
    YES("content:\"a\"; content:!\"b\"; distance:5;", "ab"),
    YES("content:\"a\"; content:!\"b\"; within:1;", "a"),
    /* a negated content does not move the position, and stops retries of the content before it */
    YES("content:\"a\"; content:!\"x\"; content:\"b\"; within:1;", "ab"),
    NO("content:\"a\"; content:!\"x\"; content:\"b\"; within:1;", "acab"),
    YES("content:\"a\"; content:!\"x\"; within:1; content:\"b\"; within:1;", "axab"),
    /* the first content of a buffer counts from its start */
    YES("content:\"a\"; within:1;", "ab"),
    NO("content:\"b\"; within:1;", "ab"),
    YES("content:\"b\"; distance:1;", "ab"),
    NO("content:\"a\"; distance:1;", "ab"),
    YES("content:\"a\"; content:\"c\"; distance:0; endswith;", "acxc"),
    YES("content:\"x\"; content:\"yy\"; distance:1; within:5; endswith;", "xzzzyy"),
    NO("content:\"x\"; content:\"yy\"; distance:1; within:4; endswith;", "xzzzzyy"),
    /* an absolute content also moves the position */
    YES("content:\"c\"; content:\"a\"; content:\"b\"; distance:0;", "abc"),
    NO("content:\"a\"; content:\"c\"; content:\"b\"; distance:0;", "abc"),
};

static const struct match_case isdataat_cases[] = {
    YES("isdataat:4;", "abcde"),
    NO("isdataat:5;", "abcde"),
    NO("isdataat:6;", "abcde"),
    NO("isdataat:0;", ""),
    YES("isdataat:!5;", "abcde"),
    NO("isdataat:!4;", "abcde"),
    YES("isdataat:4,relative;", "abcde"),
    YES("isdataat:5,relative;", "abcde"),
    NO("isdataat:6,relative;", "abcde"),
    YES("content:\"a\"; isdataat:3,relative;", "abcde"),
    YES("content:\"a\"; isdataat:4,relative;", "abcde"),
    NO("content:\"a\"; isdataat:5,relative;", "abcde"),
    YES("content:\"a\"; isdataat:5 , relative , rawbytes;", "abcdef"),
    YES("content:\"a\"; isdataat:!5,relative;", "abcde"),
    NO("content:\"a\"; isdataat:!4,relative;", "abcde"),
    YES("content:\"a\"; isdataat:!2,relative;", "abcda"),
    YES("content:\"e\"; isdataat:!1,relative;", "abcde"),
    NO("content:\"d\"; isdataat:!1,relative;", "abcde"),
    YES("content:!\"d\"; isdataat:!1,relative;", "abcde"),
    NO("content:!\"e\"; isdataat:!1,relative;", "abcde"),
    YES("content:\"e\"; isdataat:! 1,relative;", "eabcde"),
    YES("byte_extract:1,0,n; isdataat:n;", "\x02xx"),
    NO("byte_extract:1,0,n; isdataat:n;", "\x03xx"),
    YES("byte_extract:1,0,n; isdataat:n,relative;", "\x02xx"),
    NO("byte_extract:4,0,n; isdataat:n;", "\xff\xff\xff\xffxx"),
    YES("byte_extract:4,0,n; isdataat:!n;", "\xff\xff\xff\xffxx"),
    YES("content:\"a\"; byte_extract:1,0,n,relative; isdataat:n,relative;", "a\x09xa\x02xx"),
};

#define TEN(text) text text text text text text text text text text
#define HUNDRED(text) TEN(TEN(text))

/* Example values of X.690, and exploits. */
static const struct match_case asn1_cases[] = {
    YES("asn1:bitstring_overflow, absolute_offset 0;", "\x03\x01\xff"),
    NO("asn1:bitstring_overflow, absolute_offset 0;", "\x03\x01\x07"),
    NO("asn1:bitstring_overflow;", "\x23\x01\xff"),
    NO("asn1:bitstring_overflow;", "\x83\x01\xff"),
    YES("asn1:double_overflow;",
        "\x09\x82\x01\x01" HUNDRED("\x05")
            HUNDRED("\x05") "\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05"
                            "\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05"
                            "\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05"),
    NO("asn1:double_overflow;",
       "\x09\x82\x01\x00" HUNDRED("\x05")
           HUNDRED("\x05") "\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05"
                           "\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05"
                           "\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05"),
    YES("asn1:oversize_length 2;", "\x04\x03"
                                   "abc"),
    NO("asn1:oversize_length 3;", "\x04\x03"
                                  "abc"),
    NO("asn1:oversize_length 2;", "\x04\x03"
                                  "ab"),
    /* nested values, values after others, and after a malformed one */
    YES("asn1:bitstring_overflow;", "\x30\x05\x02\x00\x03\x01\xff"),
    YES("asn1:bitstring_overflow;", "\x30\x80\x03\x01\xff\x00\x00"),
    NO("asn1:bitstring_overflow;", "\x30\x80\x03\x01\xff"),
    YES("asn1:bitstring_overflow;", "\x05\x00\x03\x01\xff"),
    NO("asn1:bitstring_overflow;", "\x05\x09\x03\x01\xff"),
    NO("asn1:bitstring_overflow;", "\x30\x06\x02\x00\x03\x01\xff"),
    YES("asn1:bitstring_overflow;", "\x03\x01\xff\x05"),
    YES("asn1:bitstring_overflow;", "\x30\x07\x30\x80\x03\x01\xff\x00\x00"),
    NO("asn1:bitstring_overflow;",
       "\x30\x04\x30\x80\x03\x01\xff\x00\x00"), /* the inner value ends after the outer one */
    /* positions */
    YES("asn1:bitstring_overflow absolute_offset 2;", "xx\x03\x01\xff"),
    NO("asn1:bitstring_overflow absolute_offset 9;", "xx\x03\x01\xff"),
    YES("content:\"x\"; asn1:bitstring_overflow,relative_offset 1;", "xy\x03\x01\xff"),
    YES("content:\"|ff|\"; asn1:oversize_length 0,relative_offset -3;", "xy\x03\x01\xff"),
    NO("content:\"x\"; asn1:bitstring_overflow,relative_offset -2;", "xy\x03\x01\xff"),
    /* nested beyond the depth limit */
    NO("asn1:oversize_length 1000;", HUNDRED("\x30\x80")),
    NO("asn1:bitstring_overflow;", HUNDRED("\x05\x00") "\x03\x01\xff"),
};

static const struct match_case byte_test_cases[] = {
    YES("byte_test:1,=,5,0;", "\x05"),
    NO("byte_test:1,=,5,0;", "\x06"),
    YES("byte_test:1,!=,5,0;", "\x06"),
    YES("byte_test:1,!,5,0;", "\x06"),
    NO("byte_test:1,!,5,0;", "\x05"),
    YES("byte_test:2,=,0x0102,0;", "\x01\x02"),
    YES("byte_test:2,=,0x0201,0,little;", "\x01\x02"),
    YES("byte_test:2, =, 0x0102, 0, big;", "\x01\x02"),
    YES("byte_test:4,>,65535,1;", "x\x00\x01\x00\x00"),
    NO("byte_test:4,>,65536,1;", "x\x00\x01\x00\x00"),
    YES("byte_test:4,>=,65536,1;", "x\x00\x01\x00\x00"),
    YES("byte_test:4,<=,65536,1;", "x\x00\x01\x00\x00"),
    NO("byte_test:4,<,65536,1;", "x\x00\x01\x00\x00"),
    YES("byte_test:4,!<,65536,1;", "x\x00\x01\x00\x00"),
    YES("byte_test:1,&,4,0;", "\x06"),
    NO("byte_test:1,&,8,0;", "\x06"),
    YES("byte_test:1,!&,8,0;", "\x06"),
    YES("byte_test:1,^,4,0;", "\x06"),
    NO("byte_test:1,^,6,0;", "\x06"),
    NO("byte_test:4,=,1,0;", "\x00\x00\x01"),
    NO("byte_test:1,=,0,1;", "x"),
    NO("byte_test:1,=,0,-1;", "x"),
    YES("byte_test:8,=,0x0102030405060708,0;", "\1\2\3\4\5\6\7\10"),
    YES("byte_test:3,=,123,0,string,dec;", "123"),
    YES("byte_test:3,=,0x123,0,string,hex;", "123"),
    YES("byte_test:3,=,83,0,string,oct;", "123"),
    YES("byte_test:4,=,0x12,0,string;", "0x12"),
    YES("byte_test:3,=,12,0,string,dec;", "12x"),
    YES("byte_test:3,=,12,0,string,dec;", " 12"),
    NO("byte_test:3,=,0,0,string,dec;", "xyz"),
    NO("byte_test:3,!=,1,0,string,dec;", "xyz"),
    NO("byte_test:23,>,0,0,string,dec;", "99999999999999999999999"),
    YES("content:\"len=\"; byte_test:2,>,40,0,relative,string,dec;", "len=41"),
    NO("content:\"len=\"; byte_test:2,>,40,0,relative,string,dec;", "len=40"),
    YES("content:\"n\"; byte_test:1,=,2,0,relative;", "n\x01n\x02"),
    NO("content:\"n\"; byte_test:1,=,2,0,relative;", "n\x01n\x03"),
    NO("content:\"n\"; byte_test:1,=,0,0,relative;", "n"),
    YES("content:\"n\"; byte_test:1,=,7,-2,relative;", "\x07n"),
    YES("byte_test:1,=,0x07,0,bitmask 0xF8;", "\x38"),
    NO("byte_test:1,=,0x07,0,bitmask 0xFF;", "\x38"),
    YES("byte_test:3,=,0x01,0,bitmask 0xFF;", "\x38\x00\x01"),
    YES("pcre:\"/boy/\"; byte_test:1,=,1,6,relative,string,dec;", "boy HTTP/1"),
    YES("byte_extract:1,0,v; byte_test:1,=,v,1;", "\x09\x09"),
    NO("byte_extract:1,0,v; byte_test:1,=,v,1;", "\x09\x08"),
    YES("byte_extract:1,0,o; byte_test:1,=,0x41,o;", "\x02xA"),
    YES("byte_extract:1,0,w; byte_test:w,=,0x4142,1;", "\x02"
                                                       "AB"),
    NO("byte_extract:1,0,w; byte_test:w,=,0x4142,1;", "\x09"
                                                      "AB"),
    YES("test.buffer; byte_test:1,=,0x88,1,relative;", "x\x88"),
    /* in the payload only the previous condition is retried; in a buffer the previous content */
    NO("content:\"n\"; byte_test:1,>,0,0; byte_test:1,=,2,0,relative;", "n\x01n\x02"),
    YES("test.buffer; content:\"n\"; byte_test:1,>,0,0; byte_test:1,=,2,0,relative;", "n\x01n\x02"),
};

static const struct match_case byte_jump_cases[] = {
    YES("byte_jump:1,0; content:\"b\"; within:1;", "\x02xxb"),
    NO("byte_jump:1,0; content:\"b\"; within:1;", "\x01xxb"),
    YES("byte_jump:2,0,little; content:\"b\"; within:1;", "\x01\x00xb"),
    YES("byte_jump:1,0; content:\"b\"; distance:1; within:1;", "\x01xxb"),
    NO("byte_jump:1,0;", "\x04xxx"),
    YES("byte_jump:1,0;", "\x03xxx"), /* to the end of the buffer */
    NO("byte_jump:1,0; isdataat:1,relative;", "\x03xxx"),
    NO("byte_jump:4,0;", "\x00\x00\x00"),
    NO("byte_jump:1,0;", ""),
    YES("byte_jump:1,0,multiplier 2; content:\"b\"; within:1;", "\x01xxb"),
    YES("byte_jump:1,0,align; content:\"b\"; within:1;", "\x02xxxxb"),
    YES("byte_jump:1,0,align; content:\"b\"; within:1;", "\x04xxxxb"),
    YES("byte_jump:1,0,post_offset 1; content:\"b\"; within:1;", "\x01xxb"),
    YES("byte_jump:1,0,post_offset -1; content:\"x\"; within:1;", "\x01xb"),
    YES("byte_jump:1,2,from_beginning; content:\"b\"; within:1;", "xb\x01"),
    YES("byte_jump:1,0,from_end,post_offset -2; content:\"b\"; within:1;", "\x01xxb"),
    NO("byte_jump:1,0,from_end;", "\x01xxb"),
    YES("byte_jump:1,0,from_end;", "\x00xxb"),
    YES("byte_jump:2,0,string,dec; content:\"b\"; within:1;", "02xxb"),
    YES("byte_jump:2,0,string,hex; content:\"b\"; within:1;", "0axxxxxxxxxxb"),
    NO("byte_jump:2,0,string,dec;", "xx"),
    YES("content:\"len\"; byte_jump:1,0,relative; content:\"b\"; within:1;", "len\x02xxb"),
    YES("content:\"len\"; byte_jump:1,0,relative; content:\"b\"; within:1;", "len\x01xlen\x02xxb"),
    NO("content:\"len\"; byte_jump:1,1,relative;", "len\x01"),
    YES("content:\"q?\"; byte_jump:2,0,relative,string,from_end,post_offset -8; content:\"end\"; distance:0;",
        "q?03 when will it end"),
    NO("content:\"q?\"; byte_jump:0,0,relative,string,from_end,post_offset -3; content:\"end\"; distance:0;",
       "q?13 when will it end"),
    YES("content:\"bcd\"; byte_jump:0,0,relative,post_offset -3; pcre:\"/^b/R\";", "abcdx"),
    YES("content:\"bcd\"; byte_jump:0,0,relative,post_offset -4; pcre:\"/^abcd/R\";", "abcd"),  /* from the end */
    YES("content:\"bcd\"; byte_jump:0,0,relative,post_offset -10; pcre:\"/^abcd/R\";", "abcd"), /* before the start */
    YES("content:\"bcd\"; byte_jump:0,0,relative,post_offset -10;", "abcd"),
    YES("byte_extract:1,0,n; byte_jump:n,1; content:\"b\"; within:1;", "\x02\x00\x01xb"),
    NO("byte_extract:1,0,n; byte_jump:n,1;", "\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01xb"),
    YES("byte_extract:1,0,n; byte_jump:1,n; content:\"b\"; within:1;", "\x02\x00\x01xb"),
    YES("content:\"|00 00|\"; byte_extract:1,1,n,relative; byte_jump:n,0,relative; isdataat:1,relative;",
        "\x00\x00x\x01\x01yy"),
    /* 64-bit overflow: a jump back over the number and the byte before it */
    YES("byte_jump:8,1; content:\"a\"; within:1;", "a\xff\xff\xff\xff\xff\xff\xff\xf7z"),
};

static const struct match_case byte_extract_cases[] = {
    YES("byte_extract:2,0,n,string,dec; content:\"34\"; offset:0; depth:n;", "10xxxx34"),
    NO("byte_extract:2,0,n,string,dec; content:\"34\"; offset:0; depth:n;", "07xxxx34"),
    YES("byte_extract:1,2,n,string,dec; content:\"34\"; offset:8; depth:n;", "xx2xxxxx34"),
    NO("byte_extract:1,2,n,string,dec; content:\"34\"; offset:8; depth:n;", "xx2xxxxxx34"),
    YES("byte_extract:1,0,d,string,dec; byte_extract:1,1,o,string,dec; content:\"34\"; offset:o; depth:d;", "23x34"),
    NO("byte_extract:1,0,d,string,dec; byte_extract:1,1,o,string,dec; content:\"34\"; offset:o; depth:d;", "24x34"),
    YES("byte_extract:1,0,o,string,dec; content:\"ab\"; offset:o; depth:2;", "3xxab"),
    NO("byte_extract:1,0,o,string,dec; content:\"ab\"; offset:o; depth:2;", "3xxxab"),
    YES("byte_extract:1,0,o,string,dec; content:\"ab\"; depth:2; offset:o;", "3xxab"),
    YES("byte_extract:1,0,o,string,dec; content:\"ab\"; offset:o;", "3xxxxxab"),
    YES("byte_extract:1,0,n,string,dec; content:\"a\"; content:\"b\"; distance:n;", "2axxb"),
    NO("byte_extract:1,0,n,string,dec; content:\"a\"; content:\"b\"; distance:n;", "3axxb"),
    YES("byte_extract:1,0,n,string,dec; content:\"a\"; content:\"b\"; within:n;", "3axxb"),
    NO("byte_extract:1,0,n,string,dec; content:\"a\"; content:\"b\"; within:n;", "2axxb"),
    YES("byte_extract:1,0,d; content:\"1\"; depth:2; content:\".\"; distance:d; within:1;", "\x02"
                                                                                            "1xx."),
    YES("content:\"len\"; byte_extract:1,0,n,relative; content:\"b\"; distance:n;", "len\x02xxb"),
    YES("content:\"len\"; byte_extract:1,0,n,relative; content:\"b\"; distance:n; within:1;", "len\x01yylen\x02xxb"),
    YES("byte_extract:1,0,n,multiplier 3; content:\"b\"; offset:n; depth:1;", "\x01xxb"),
    YES("byte_extract:1,0,n,align 4; content:\"b\"; offset:n; depth:1;", "\x01xxxb"),
    YES("byte_extract:1,0,n,align 2; content:\"b\"; offset:n; depth:1;", "\x01xb"),
    YES("byte_extract:2,0,n,little; content:\"b\"; offset:n; depth:1;", "\x03\x00xb"),
    YES("byte_extract:1,0,n; content:\"b\"; distance:0; within:1;", "xb"),             /* it moves the position */
    YES("byte_extract:3,0,n,string,dec; content:\"x\"; distance:0; within:1;", "12x"), /* over the digits only */
    NO("byte_extract:3,0,n,string,dec;", "abc"),
    NO("byte_extract:4,0,n;", "abc"),
    NO("content:\"a\"; byte_extract:1,0,n,relative;", "a"),
    YES("test.buffer; byte_extract:1,0,n; pkt_data; byte_test:1,=,n,1;", "\x05\x05"),
    YES("byte_extract:1,0,n,string,hex; content:\"x\"; offset:n;", "axxxxxxxxxx"),
    /* the low 32 bits count */
    YES("byte_extract:8,0,n; content:\"x\"; offset:n;", "\x01\x00\x00\x00\x00\x00\x00\x02"
                                                        "x"),
};

static const struct match_case byte_math_cases[] = {
    YES("byte_math:bytes 1, offset 0, oper +, rvalue 3, result r; byte_test:1,=,r,1;", "\x02\x05"),
    NO("byte_math:bytes 1, offset 0, oper +, rvalue 3, result r; byte_test:1,=,r,1;", "\x02\x04"),
    YES("byte_math:bytes 1, offset 0, oper -, rvalue 1, result r; byte_test:1,=,r,1;", "\x02\x01"),
    YES("byte_math:bytes 1, offset 0, oper *, rvalue 3, result r; byte_test:1,=,r,1;", "\x02\x06"),
    YES("byte_math:bytes 1, offset 0, oper /, rvalue 2, result r; byte_test:1,=,r,1;", "\x09\x04"),
    YES("byte_math:bytes 1, offset 1, oper <<, rvalue 2, result r; byte_test:1,=,0x88,0; byte_test:1,=,r,0;",
        "\x88\x22"),
    YES("byte_math:bytes 1, offset 0, oper >>, rvalue 2, result r; byte_test:1,=,r,1;", "\x22\x08"),
    YES("byte_math:bytes 2,offset 0,oper +,rvalue 1,result r,endian little; byte_test:1,=,r,2;", "\x02\x00\x03"),
    YES("byte_math:bytes 2, offset 0, oper +, rvalue 1, result r, string dec; byte_test:1,=,r,2;", "12\x0d"),
    YES("byte_math:bytes 2, offset 0, oper +, rvalue 1, result r, string hex; byte_test:1,=,r,2;", "12\x13"),
    YES("byte_math:bytes 1, offset 0, oper +, rvalue 0, result r, bitmask 0xF0; byte_test:1,=,r,1;", "\x5a\x05"),
    YES("byte_math:bytes 1, offset 0, oper +, rvalue 0, result r, bitmask F0; byte_test:1,=,r,1;", "\x5a\x05"),
    YES("content:\"n\"; byte_math:bytes 1, offset 0, oper +, rvalue 1, result r, relative; byte_test:1,=,r,0,relative;",
        "n\x02\x03"),
    YES("content:\"n\"; byte_math:relative, bytes 1, oper +, offset 0, result r, rvalue 1; byte_test:1,=,r,0,relative;",
        "n\x02\x04n\x02\x03"),
    YES("byte_extract:1,0,v; byte_math:bytes 1, offset 1, oper -, rvalue v, result r; byte_test:1,=,r,2;",
        "\x02\x05\x03"),
    NO("byte_extract:1,0,v; byte_math:bytes 1, offset 1, oper /, rvalue v, result r;", "\x00\x05"),
    YES("byte_extract:1,0,v; byte_math:bytes v, offset 1, oper +, rvalue 0, result r; byte_test:1,=,r,3;",
        "\x02\x00\x05\x05"),
    YES("byte_extract:1,0,v; byte_math:bytes 1, offset 0, oper <<, rvalue v, result r; byte_test:1,=,r,1;", "\x41\x00"),
    NO("byte_math:bytes 4, offset 0, oper +, rvalue 1, result r;", "abc"),
    NO("byte_math:bytes 9, offset 0, oper +, rvalue 1, result r;", "abcdefghi"),
    NO("content:\"n\"; byte_math:bytes 1, offset 0, oper +, rvalue 1, result r, relative;", "n"),
    YES("byte_math:bytes 1, offset 0, oper +, rvalue 1, result r; content:\"b\"; distance:0; within:1;", "ab"),
    YES("test.buffer; byte_math:bytes 1, offset 0, oper +, rvalue 1, result r; pkt_data; byte_test:1,=,r,1;", "ab"),
};

static const struct match_case pcre_cases[] = {
    YES("pcre:\"/a.c/\";", "xabc"),
    YES("pcre:\"/(*UTF)a.c/\";", "xa\xc3\xa4"
                                 "c"),
    /* Text that is not UTF-8 matches where it is. */
    YES("pcre:\"/(*UTF)a.c/\";", "abc\xc3"),
    YES("pcre:\"/(*UTF)a.c/\";", "\xff\xc3"
                                 "abc"),
    NO("pcre:\"/(*UTF)a.c/\";", "a\xc3"
                                "c"),
    NO("pcre:!\"/(*UTF)a.c/\";", "\xff"
                                 "abc"),
    YES("pcre:!\"/(*UTF)a.c/\";", "\xff"
                                  "ab"),
    YES("content:\"|ff|\"; pcre:\"/(*UTF)^a\xc3\xa4/R\";", "\xff"
                                                           "a\xc3\xa4"),
    YES("pcre:\"/(*UTF)a./\"; content:\"c\"; within:1;", "a\xff"
                                                         "ab"
                                                         "c"),
    YES("pcre:\"/(*NO_JIT)a.c/\";", "xabc"),
    NO("pcre:\"/(*NO_JIT)a.c/\";", "xab"),
    NO("pcre:\"/a.c/\";", "xab"),
    YES("pcre:/a.c/;", "xabc"),
    YES("pcre:!\"/a.c/\";", "xab"),
    NO("pcre:!\"/a.c/\";", "xabc"),
    YES("pcre:\"/ABC/i\";", "xabc"),
    NO("pcre:\"/a.c/\";", "a\nc"),
    YES("pcre:\"/a.c/s\";", "a\nc"),
    YES("pcre:\"/^b/m\";", "a\nb"),
    NO("pcre:\"/^b/\";", "a\nb"),
    YES("pcre:\"/a b/x\";", "ab"),
    NO("pcre:\"/b/A\";", "ab"),
    YES("pcre:\"/a/A\";", "ab"),
    YES("pcre:\"/a$/\";", "a\n"),
    NO("pcre:\"/a$/E\";", "a\n"),
    YES("pcre:\"/a\\/b/\";", "a/b"),
    YES("pcre:\"/a/b/\";", "a/b"),
    YES("pcre:\"/a\\\\/\";", "a\\"),
    YES("pcre:\"/a\\\"b/\";", "a\"b"),
    YES("pcre:\"/a\\x3bb/\";", "a;b"),
    YES("pcre:\"/(a)\\1/\";", "aa"),
    NO("pcre:\"/(a)\\1/\";", "ab"),
    YES("pcre:\"//\";", ""),
    YES("pcre:\"/a/BO\";", "a"),
    YES("content:\"a\"; pcre:\"/^b/R\";", "xab"),
    NO("content:\"a\"; pcre:\"/^b/R\";", "xacb"),
    YES("content:\"a\"; pcre:\"/^b/R\";", "acab"),
    YES("content:\"a\"; pcre:\"/b/R\";", "acb"),
    YES("content:\"a\"; pcre:!\"/^b/R\";", "abac"),
    NO("content:\"a\"; pcre:!\"/^b/R\";", "abab"),
    YES("pcre:\"/a/\"; pcre:\"/^b/R\";", "acab"),
    YES("pcre:\"/a./\"; content:\"c\"; within:1;", "abxabc"),
    YES("pcre:\"/a/\"; content:\"b\"; distance:0;", "ab"),
    NO("pcre:\"/b/\"; content:\"a\"; distance:0;", "ab"),
    YES("pcre:\"/a+/G\"; content:\"a\"; distance:0;", "aa"),
    NO("pcre:\"/aa/\"; content:\"a\"; distance:0;", "aa"),
    YES("pcre:\"/a+/\"; content:\"a\"; distance:0;", "aba"),
    YES("content:\"AB\"; pcre:\"/[0-9]+/R\"; isdataat:1,relative;", "ABx12x"),
    NO("content:\"AB\"; pcre:\"/[0-9]+/R\"; isdataat:2,relative;", "ABx12x"),
    YES("test.buffer; pcre:\"/^a/R\";", "ab"),
    /* if the last pcre match does not help, an earlier condition is retried, because it sets the variable */
    YES("content:\"a\"; byte_extract:1,0,n,relative; pcre:\"/x/\"; content:\"b\"; distance:n; within:1;", "a\x05"
                                                                                                          "a\x00xb"),
    NO("pcre:\"/(a+)+$/\";", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"),
    NO("pcre:!\"/(a+)+$/\";",
       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"), /* reaching the limit is no match */
    YES("pcre:\"/\\x00\\xff/\";", "\x00\xff"),
    YES("content:\"a\"; pcre:\"/(?<=a)b/R\"; content:\"c\"; within:1;", "axabc"),
};

static const struct match_case buffer_cases[] = {
    YES("test.buffer; bsize:3;", "abc"),
    NO("test.buffer; bsize:2;", "abc"),
    YES("test.buffer; bsize:<4;", "abc"),
    NO("test.buffer; bsize:<3;", "abc"),
    YES("test.buffer; bsize:>2;", "abc"),
    NO("test.buffer; bsize:>3;", "abc"),
    YES("test.buffer; bsize:>=3;", "abc"),
    YES("test.buffer; bsize:<=3;", "abc"),
    YES("test.buffer; bsize:!4;", "abc"),
    NO("test.buffer; bsize:!3;", "abc"),
    YES("test.buffer; bsize:2<>4;", "abc"),
    NO("test.buffer; bsize:3<>5;", "abc"),
    NO("test.buffer; bsize:1<>3;", "abc"),
    YES("test.buffer; bsize:0;", ""),
    NO("test.buffer; bsize:1kb;", "abc"),
    YES("test.buffer; content:\"b\"; bsize:3; content:\"c\"; distance:0; within:1;", "abc"),
    YES("content:\"a\"; test.buffer; content:\"b\"; pkt_data; content:\"c\";", "abc"),
    /* each buffer starts at its beginning; the payload continues at its last position */
    YES("content:\"c\"; test.buffer; content:\"a\"; within:1;", "abc"),
    YES("content:\"a\"; test.buffer; content:\"c\"; pkt_data; content:\"b\"; within:1;", "abc"),
};

static const struct match_case base64_cases[] = {
    YES("base64_decode; base64_data; content:\"foobar\";", "Zm9vYmFy"),
    NO("base64_decode; base64_data; content:\"Zm9v\";", "Zm9vYmFy"),
    NO("base64_decode; base64_data; content:\"foobar\";", "Zm9vYmF"),
    YES("base64_decode; base64_data; content:\"fooba\"; isdataat:!1,relative;", "Zm9vYmE"),
    YES("base64_decode; base64_data; content:\"foo\"; isdataat:!1,relative;", "Zm9v YmFy"),
    YES("base64_decode:offset 4; base64_data; content:\"bar\"; startswith;", "Zm9vYmFy"),
    NO("base64_decode:offset 8; base64_data; content:!\"x\";", "Zm9vYmFy"),
    YES("base64_decode:offset 7; base64_data; content:!\"x\";", "Zm9vYmFy"),
    YES("base64_decode:bytes 4; base64_data; content:\"foo\"; isdataat:!1,relative;", "Zm9vYmFy"),
    YES("content:\"foobar=\"; base64_decode:bytes 2,relative; base64_data; content:\"|9e|\"; startswith;",
        "foobar=nm0="),
    YES("content:\"a\"; base64_decode:bytes 8, offset 1, relative; base64_data; content:\"bar\";", "xa=Zm9vYmFy"),
    NO("content:\"b\"; base64_decode:relative; base64_data; content:!\"x\";", "Zm9vYmFy"),
    /* relative conditions count from the start of the decoded bytes, then from each other */
    YES("content:\"!\"; base64_decode:relative; base64_data; content:\"foo\"; within:3; content:\"ar\"; distance:1;",
        "x!Zm9vYmFy"),
    NO("content:\"!\"; base64_decode:relative; base64_data; content:\"bar\"; within:3;", "x!Zm9vYmFy"),
    YES("base64_decode; base64_data; pcre:\"/^f/\"; byte_test:1,=,0x6f,0,relative;", "Zm9v"),
    YES("test.buffer; content:\"!\"; base64_decode:relative; base64_data; bsize:3;", "!Zm9v"),
    /* conditions before base64_decode are not retried, unless another condition requires it */
    NO("content:\"!\"; base64_decode:relative; base64_data; content:\"foo\";", "!YmFy!Zm9v"),
    YES("content:\"!\"; content:\"!\"; distance:0; base64_decode:relative; base64_data; content:\"foo\";",
        "!YmFy!Zm9v"),
    YES("base64_decode; base64_data; content:\"foo\"; pkt_data; content:\"v\";", "Zm9v"),
    NO("base64_decode; base64_data; content:\"foo\"; pkt_data; content:\"x\";", "Zm9v"),
    NO("base64_decode; base64_data; content:!\"x\";", "!"),
    NO("base64_decode; base64_data; content:!\"x\";", ""),
};

static struct pcre_scratch *scratch;
static struct transform_scratch *transforms;

static bool matches_in(const struct rule *rule, const void *bytes, size_t length)
{
    struct inspection in = { .data = bytes, .length = (uint32_t)length, .pcre = scratch, .transforms = transforms };

    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next) {
        in.steps_left = INSPECT_STEPS;
        if (!inspect_buffer(&in, buffer->conditions))
            return false;
    }
    return true;
}

/* All buffers of the rule have these bytes, in an allocation of exact size, so that a sanitizer detects reads past the
 * end. */
static void run(const struct match_case *test)
{
    uint8_t *copy = malloc(test->length ? test->length : 1);
    struct rule_text text;

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, test->bytes, test->length);
    rule_text_open(&text, test->options, strlen(test->options));
    ck_assert_msg(text.rule != NULL, "%s: %s", test->options, text.message);
    bool match = matches_in(text.rule, copy, test->length);
    ck_assert_msg(match == test->match, "%s: expected %s", test->options, test->match ? "a match" : "no match");
    rule_text_close(&text);
    free(copy);
}

#define TABLE_TEST(name)                                                                                               \
    START_TEST(name##_rows)                                                                                            \
    {                                                                                                                  \
        run(&name##_cases[_i]);                                                                                        \
    }                                                                                                                  \
    END_TEST

TABLE_TEST(content)
TABLE_TEST(position)
TABLE_TEST(relative)
TABLE_TEST(asn1)
TABLE_TEST(isdataat)
TABLE_TEST(byte_test)
TABLE_TEST(byte_jump)
TABLE_TEST(byte_extract)
TABLE_TEST(byte_math)
TABLE_TEST(pcre)
TABLE_TEST(buffer)
TABLE_TEST(base64)

static void open_scratch(void)
{
    struct detector_options options;

    detector_options_default(&options);
    scratch = pcre_scratch_new(&(struct pcre_limits){ options.pcre_match_limit, options.pcre_depth_limit });
    transforms = transform_scratch_new();
    ck_assert_ptr_nonnull(scratch);
    ck_assert_ptr_nonnull(transforms);
}

static void close_scratch(void)
{
    pcre_scratch_free(scratch);
    transform_scratch_free(transforms);
}

/* --- Long buffers --------------------------------------------------------------------------------- */

enum { LONG = 64 << 10 };

/* Returns whether the rule matches LONG bytes of `filling` with `word` at offset `at`. */
static bool matches_long(const char *options, char filling, const char *word, size_t at)
{
    uint8_t *bytes = malloc(LONG);
    struct rule_text text;

    ck_assert_ptr_nonnull(bytes);
    memset(bytes, filling, LONG);
    memcpy(bytes + at, word, strlen(word));
    rule_text_open(&text, options, strlen(options));
    ck_assert_msg(text.rule != NULL, "%s: %s", options, text.message);

    bool match = matches_in(text.rule, bytes, LONG);

    rule_text_close(&text);
    free(bytes);
    return match;
}

/* A plain search; search_first() must return the same result. */
static const uint8_t *find_plainly(const struct content *content, const uint8_t *bytes, size_t length)
{
    for (size_t at = 0; at + content->length <= length; at++)
        if (search_equal(content, bytes + at))
            return bytes + at;
    return NULL;
}

/* Contents from a small alphabet, with a few changes, in buffers of all lengths around the block sizes. */
START_TEST(search_finds_what_a_plain_one_finds)
{
    static const uint8_t letters[] = { 'a', 'B', 'b', 'A', 0, '[', '{', 0xff };
    uint32_t random = 2463534242U;
    unsigned found = 0;

    for (unsigned round = 0; round < 20000; round++) {
        size_t length = 1 + round % 300, size = 1 + round % (round % 3 ? 5 : 290);
        uint8_t *bytes = malloc(length), wanted[300];
        struct content content = { .bytes = wanted, .length = (uint16_t)size, .nocase = round & 1 };
        unsigned kinds = 1 + round / 7 % sizeof(letters);

        ck_assert_ptr_nonnull(bytes);
        for (size_t i = 0; i < length; i++) {
            random = random * 1664525 + 1013904223;
            bytes[i] = letters[(random >> 16) % kinds];
        }
        for (size_t i = 0; i < size; i++) {
            uint8_t byte = bytes[((random >> 8) + i) % length];

            wanted[i] = content.nocase ? search_lower(byte) : byte;
        }

        const uint8_t *expected = find_plainly(&content, bytes, length);

        ck_assert_msg(search_first(&content, bytes, length) == expected, "round %u", round);
        found += expected != NULL;
        free(bytes);
    }
    ck_assert_uint_gt(found, 5000);
    ck_assert_uint_lt(found, 19000);
}
END_TEST

START_TEST(a_word_is_found_at_any_place_of_a_long_buffer)
{
    for (size_t at = 0; at <= LONG - 2; at += at < 200 || at > LONG - 200 ? 1 : 4001) {
        ck_assert(matches_long("content:\"bC\";", 'b', "bC", at));
        ck_assert(matches_long("content:\"Bc\"; nocase;", 'c', "BC", at));
        ck_assert(!matches_long("content:\"bc\";", 'c', "bC", at));
    }
}
END_TEST

/* A content after one with many matches is searched from each of them; the search cache must be correct for all of
 * them. */
START_TEST(what_is_remembered_of_a_search_holds_for_the_next)
{
    static const char *const near = "content:\"aa\"; content:\"aa\"; within:4; content:\"bc\"; distance:0; "
                                    "content:\"d\"; distance:1; within:1;";

    ck_assert(matches_long(near, 'a', "bcad", 50000));
    ck_assert(matches_long(near, 'a', "bcxxbcxd", 50000));
    ck_assert(!matches_long(near, 'a', "bcd", 50000));
    ck_assert(!matches_long(near, 'a', "bx", 50000));
    /* a window that moves with the position, until it contains the content */
    ck_assert(matches_long("content:\"a\"; content:\"bc\"; within:1000;", 'a', "bc", 3900));
    ck_assert(!matches_long("content:\"a\"; content:\"bc\"; distance:600; within:400;", 'a', "bc", 9000));
    ck_assert(matches_long("content:\"a\"; content:\"bc\"; distance:600; within:400;", 'a', "bc", 3000));
    /* a position before the ones that were searched */
    ck_assert(matches_long("content:\"x\"; content:\"bc\"; distance:-700; within:700;", 'a', "bcxx", 30000));
    ck_assert(!matches_long("content:\"x\"; content:!\"bc\"; distance:-700; within:710;", 'a', "bcxx", 30000));
    ck_assert(
        matches_long("content:\"x\"; byte_jump:3,0,relative,string,dec,multiplier 100; content:\"bc\"; within:2000;",
                     'a', "x500-x000bc", 30));
}
END_TEST

#define ADD_TABLE(tcase, name)                                                                                         \
    tcase_add_loop_test(tcase, name##_rows, 0, sizeof(name##_cases) / sizeof(name##_cases[0]))

int main(void)
{
    Suite *suite = suite_create("keyword_content");
    TCase *tcase = tcase_create("match");

    tcase_add_checked_fixture(tcase, open_scratch, close_scratch);
    ADD_TABLE(tcase, content);
    ADD_TABLE(tcase, position);
    ADD_TABLE(tcase, relative);
    ADD_TABLE(tcase, asn1);
    ADD_TABLE(tcase, isdataat);
    ADD_TABLE(tcase, byte_test);
    ADD_TABLE(tcase, byte_jump);
    ADD_TABLE(tcase, byte_extract);
    ADD_TABLE(tcase, byte_math);
    ADD_TABLE(tcase, pcre);
    ADD_TABLE(tcase, buffer);
    ADD_TABLE(tcase, base64);
    tcase_add_test(tcase, search_finds_what_a_plain_one_finds);
    tcase_add_test(tcase, a_word_is_found_at_any_place_of_a_long_buffer);
    tcase_add_test(tcase, what_is_remembered_of_a_search_holds_for_the_next);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
