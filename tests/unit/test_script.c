/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scripts of rules: the functions that they have, and every limit. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "script/pattern.h"
#include "sluice/script.h"

#ifdef SLUICE_LUA

static struct script_set *set;
static struct script_states *states;
static struct script_reports *reports;
static struct script_counts counts;
static struct script *script;
static char error[512];

static int load_as(const struct script_options *options, const struct script_load *how, const char *text)
{
    char path[] = "test_script_XXXXXX";
    struct script_load load = *how;
    int fd = mkstemp(path), err;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    load.path = path;
    ck_assert_int_eq(script_set_new(&set, options), 0);
    err = script_load(set, &load, &script, error, sizeof(error));
    unlink(path);
    if (err)
        return err;
    ck_assert_int_eq(script_states_new(&states, set), 0);
    memset(&counts, 0, sizeof(counts));
    ck_assert_int_eq(script_reports_new(&reports, &counts), 0);
    script_states_attach(states, reports);
    script_set_rule(script, 1, 7);
    return 0;
}

static const struct script_options limits = { .allowed = true, .max_bytes = 500000, .max_instructions = 500000 };

static int load(const char *text)
{
    return load_as(&limits, &(struct script_load){ .function = "match", .needs_init = true }, text);
}

static void unload(void)
{
    script_states_free(states);
    script_reports_free(reports);
    script_set_free(set);
    states = NULL;
    reports = NULL;
    set = NULL;
}

/* Loads a script with this function match(), and calls it. Returns false if it failed. */
static bool run_with(const struct script_options *options, const char *body, bool *matched)
{
    char text[4096];

    snprintf(text, sizeof(text), "function init() return {} end\nfunction match(args)\n%s\nend\n", body);
    ck_assert_msg(load_as(options, &(struct script_load){ .function = "match", .needs_init = true }, text) == 0,
                  "%s: %s", body, error);
    return script_match(states, script, NULL, NULL, 0, matched);
}

static bool run(const char *body, bool *matched)
{
    return run_with(&limits, body, matched);
}

/* Each expression is true. */
static const char *const expressions[] = {
    /* Basic functions. */
    "type(1) == 'number' and tostring(12) == '12' and tonumber('0x10') == 16 and select('#', 1, 2) == 2",
    "rawequal(1, 1) and rawlen({1, 2}) == 2 and rawget({5}, 1) == 5 and #rawset({}, 1, 2) == 1",
    "next({}) == nil and (function() for k, v in pairs({9}) do return v end end)() == 9",
    "(function() local s = 0 for i, v in ipairs({1, 2}) do s = s + v end return s end)() == 3",
    "assert(1) == 1 and _VERSION == 'Lua 5.4'",
    "table.concat({1, 2, 3}, ',') == '1,2,3' and table.unpack({7, 8}) == 7 and #table.pack(1, 2) == 2",
    "table.concat({1, 2, 3}, ',', 2, 3) == '2,3' and table.move({1, 2}, 1, 2, 2)[3] == 2",
    "(function() local t = {3, 1, 2} table.sort(t) table.insert(t, 4) table.insert(t, 1, 0) table.remove(t, 2) "
    "return table.concat(t) end)() == '0234'",
    "math.floor(1.5) == 1 and math.type(1) == 'integer' and math.max(1, 3) == 3",
    "utf8.len('a\\u{e4}') == 2 and utf8.char(228) == '\\u{e4}' and utf8.codepoint('a') == 97 and utf8.offset('ab', 2) "
    "== 2",
    "string.byte('a') == 97 and ('x'):upper() == 'X' and ('AB'):lower() == 'ab' and ('ab'):reverse() == 'ba'",
    "string.char(97, 98) == 'ab' and ('abc'):sub(2) == 'bc' and #('abc') == 3 and string.len('ab') == 2",
    "string.format('%d %s %5.2f %q', 1, 'a', 1.5, 'x') == '1 a  1.50 \"x\"'",
    "string.unpack('>I2', '\\1\\2') == 258 and string.pack('>I2', 258) == '\\1\\2' and string.packsize('I2') == 2",
    /* rep */
    "('ab'):rep(3) == 'ababab' and ('a'):rep(0) == '' and ('a'):rep(-1) == '' and ('a'):rep(3, ',') == 'a,a,a'",
    "(''):rep(1000000000000) == '' and ('x'):rep(1, 'y') == 'x' and (''):rep(3, ',') == ',,'",
    /* find */
    "('hello'):find('l') == 3 and select(2, ('hello'):find('ll')) == 4 and ('hello'):find('x') == nil",
    "('a.b'):find('.', 1, true) == 2 and ('a.b'):find('.', 2, true) == 2 and ('abc'):find('', 10) == nil",
    "('abc'):find('') == 1 and ('abc'):find('', 4) == 4 and ('abc'):find('c', -1) == 3 and ('abc'):find('a', -1) == "
    "nil",
    "select('#', ('abc'):find('(b)(c)')) == 4 and select(3, ('abc'):find('(b)')) == 'b'",
    "('abc'):find('^b') == nil and ('abc'):find('^b', 2) == 2 and ('a^b'):find('^', 1, true) == 2",
    "('a\\0b'):find('%z') == 2 and ('a\\0b'):find('\\0') == 2",
    /* match */
    "('key = value'):match('^(%w+)%s*=%s*(%w+)$') == 'key' and ('abc'):match('()b()') == 2",
    "('x123y'):match('%d+') == '123' and ('x123y'):match('%d-y') == '123y' and ('ac'):match('ab?c') == 'ac'",
    "('f(a(b)c)d'):match('%b()') == '(a(b)c)' and ('THE (quick) fox'):find('%f[%a]%a+%f[%A]') == 1",
    "('abab'):match('(ab)%1') == 'ab' and ('[x]'):match('[]]') == ']' and ('a-b'):match('[a%-]+') == 'a-'",
    "('2024-01-02'):match('(%d+)-(%d+)-(%d+)') == '2024' and ('abc'):match('[^a]+') == 'bc'",
    "('A1 b'):match('%u%d%s%l') == 'A1 b' and ('.'):match('%p') == '.' and ('\\1'):match('%c') == '\\1'",
    "('fF0'):match('%x+') == 'fF0' and ('a b'):match('%g+') == 'a' and ('ab'):match('%S+') == 'ab'",
    "('aaa'):match('a-') == '' and ('aaab'):match('a-b') == 'aaab' and ('abc'):match('[a-c]+') == 'abc'",
    "('x'):match('') == '' and ('GET / HTTP/1.0'):find('^GET%s+/.*HTTP/1.0$') == 1 and ('a$'):match('a$$') == 'a$'",
    /* gmatch */
    "(function() local t = {} for w in ('one two'):gmatch('%a+') do t[#t + 1] = w end return table.concat(t, '|') "
    "end)() "
    "== 'one|two'",
    "(function() local t = {} for k, v in ('a=1, b=2'):gmatch('(%w+)=(%w+)') do t[k] = v end return t.b end)() == '2'",
    "(function() local n = 0 for _ in ('abc'):gmatch('') do n = n + 1 end return n end)() == 4",
    "(function() local t = {} for w in ('abc'):gmatch('%a*') do t[#t + 1] = w end return #t end)() == 1",
    "(function() local n = 0 for _ in ('abc'):gmatch('%a', 2) do n = n + 1 end return n end)() == 2",
    /* gsub */
    "('hello world'):gsub('o', '0') == 'hell0 w0rld' and select(2, ('hello'):gsub('l', 'L')) == 2",
    "('hello'):gsub('', '-') == '-h-e-l-l-o-' and ('abc'):gsub('%w', '%0%0') == 'aabbcc'",
    "('hello world'):gsub('(%w+) (%w+)', '%2 %1') == 'world hello' and ('abc'):gsub('b', '%%') == 'a%c'",
    "('abc'):gsub('%w', {a = '1', b = false}) == '1bc' and ('abc'):gsub('%w', function(c) return c:upper() end) == "
    "'ABC'",
    "('aaa'):gsub('a', 'b', 2) == 'bba' and ('abc'):gsub('^a', 'x') == 'xbc' and ('aaa'):gsub('^a', 'x') == 'xaa'",
    "('abc d'):gsub('%s*$', '') == 'abc d' and ('a,b'):gsub(',', 1) == 'a1b' and ('abc'):gsub('%w*', 'x') == 'x'",
    "('x = 1'):gsub('()', '%1') == '1x2 3=4 516'",
    /* Libraries. */
    "require('suricata.hashing').md5_hex_digest('abc') == '900150983cd24fb0d6963f7d28e17f72'",
    "require('suricata.hashing').sha1_hex_digest('abc') == 'a9993e364706816aba3e25717850c26c9cd0d89d'",
    "require('suricata.hashing').sha256_hex_digest('abc') == "
    "'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'",
    "#require('suricata.hashing').md5_digest('abc') == 16 and #require('suricata.hashing').sha1_digest('') == 20 and "
    "#require('suricata.hashing').sha256_digest('') == 32",
    "(function() local h = require('suricata.hashing').sha256() h:update('a') h:update('bc') return "
    "h:finalize_to_hex() "
    "end)() == require('suricata.hashing').sha256_hex_digest('abc')",
    "(function() local h = require('suricata.hashing').md5() h:update('abc') return h:finalize() end)() == "
    "require('suricata.hashing').md5_digest('abc')",
    "(function() local h = require('suricata.hashing').sha1() h:update('abc') return #h:finalize() end)() == 20",
    "require('suricata.base64').encode('ab') == 'YWI=' and require('suricata.base64').encode_nopad('ab') == 'YWI'",
    "require('suricata.base64').decode('YWI=') == 'ab' and require('suricata.base64').decode_nopad('YWI') == 'ab'",
    "require('suricata.base64').decode_nopad('YWJj') == 'abc' and require('suricata.base64').encode('') == ''",
    "require('suricata.log') == require('suricata.log')",
};

START_TEST(functions_have_their_results)
{
    char body[1024];
    bool matched = false;

    snprintf(body, sizeof(body), "if %s then return 1 end return 0", expressions[_i]);
    bool done = run(body, &matched);

    if (!done) {
        struct script_report report;

        ck_assert(script_reports_next(reports, &report));
        ck_abort_msg("%s: %s", expressions[_i], report.text);
    }
    ck_assert_msg(matched, "%s", expressions[_i]);
    unload();
}
END_TEST

START_TEST(only_the_number_one_matches)
{
    static const struct {
        const char *body;
        bool matched;
    } rows[] = {
        { "return 1", true },     { "return 1.0", true },     { "return 0", false },   { "return 2", false },
        { "return true", false }, { "return '1'", false },    { "return nil", false }, { "", false },
        { "return {1}", false },  { "return 1, 2, 3", true },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bool matched = false;

        ck_assert(run(rows[i].body, &matched));
        ck_assert_msg(matched == rows[i].matched, "%s", rows[i].body);
        unload();
    }
}
END_TEST

START_TEST(arguments_are_members_of_a_table)
{
    const struct script_argument arguments[] = { { "buffer", (const uint8_t *)"a\0b", 3 },
                                                 { "payload", (const uint8_t *)"xyz", 3 } };
    bool matched = false;

    ck_assert_int_eq(
        load("function init() return {} end\nfunction match(args)\n"
             "if args.buffer == 'a\\0b' and args['payload'] == 'xyz' and args.offset == 1 then return 1 end "
             "end"),
        0);
    ck_assert(script_match(states, script, NULL, arguments, 2, &matched));
    ck_assert(matched);
    unload();
}
END_TEST

/* Errors of each kind: the script has no result, the error is counted and reported, and the next call works. */
static const struct {
    const char *body, *text;
    enum script_error error;
} failures[] = {
    { "error('oops')", "oops", SCRIPT_ERROR_RULE },
    { "error({})", "no text", SCRIPT_ERROR_RULE },
    { "local x = nil; return x.y", "attempt to index", SCRIPT_ERROR_RULE },
    { "return ('x'):find('[')", "missing ']'", SCRIPT_ERROR_RULE },
    { "return ('x'):find('%')", "ends with '%'", SCRIPT_ERROR_RULE },
    { "return ('x'):find('(x')", "unfinished capture", SCRIPT_ERROR_RULE },
    { "return ('x'):find('x)')", "invalid pattern capture", SCRIPT_ERROR_RULE },
    { "return ('x'):find('%1')", "invalid capture index", SCRIPT_ERROR_RULE },
    { "return ('x'):find('%b')", "missing arguments", SCRIPT_ERROR_RULE },
    { "return ('x'):find('%fx')", "missing '['", SCRIPT_ERROR_RULE },
    { "return ('x'):gsub('x', '%x')", "invalid use of '%'", SCRIPT_ERROR_RULE },
    { "return ('x'):gsub('x', '%2')", "invalid capture index", SCRIPT_ERROR_RULE },
    { "return ('x'):gsub('x', function() return {} end)", "invalid replacement value", SCRIPT_ERROR_RULE },
    { "return ('x'):rep(50):find(('(x)'):rep(40))", "too many captures", SCRIPT_ERROR_RULE },
    { "return ('a'):rep(300):find(('a?'):rep(300) .. ('a*'):rep(300))", "too complex", SCRIPT_ERROR_RULE },
    { "return ('x'):rep(1 << 40)", "too large", SCRIPT_ERROR_RULE },
    { "return require('os')", "Module not found", SCRIPT_ERROR_RULE },
    { "return require('suricata.base64').decode('YW')", "decoding failed", SCRIPT_ERROR_RULE },
    { "return require('suricata.base64').decode_nopad('YWI=')", "decoding failed", SCRIPT_ERROR_RULE },
    { "local h = require('suricata.hashing').md5(); h:finalize(); h:update('x')", "already finalized",
      SCRIPT_ERROR_RULE },
    { "local function f() return f() + 1 end return f()", "memory limit", SCRIPT_ERROR_MEMORY },

    { "return load('return 1')", "Blocked", SCRIPT_ERROR_FUNCTION },
    { "return pcall(error)", "pcall", SCRIPT_ERROR_FUNCTION },
    { "return xpcall(error, error)", "xpcall", SCRIPT_ERROR_FUNCTION },
    { "return dofile('/etc/passwd')", "dofile", SCRIPT_ERROR_FUNCTION },
    { "return loadfile('/etc/passwd')", "loadfile", SCRIPT_ERROR_FUNCTION },
    { "return setmetatable({}, {})", "setmetatable", SCRIPT_ERROR_FUNCTION },
    { "return getmetatable('')", "getmetatable", SCRIPT_ERROR_FUNCTION },
    { "return collectgarbage()", "collectgarbage", SCRIPT_ERROR_FUNCTION },
    { "return string.dump(match)", "dump", SCRIPT_ERROR_FUNCTION },
    { "return io.open('/etc/passwd')", "attempt to index", SCRIPT_ERROR_RULE },
    { "return os.execute('true')", "attempt to index", SCRIPT_ERROR_RULE },
    { "return coroutine.create(match)", "attempt to index", SCRIPT_ERROR_RULE },
    { "return debug.sethook()", "attempt to index", SCRIPT_ERROR_RULE },

    { "while true do end", "instruction limit", SCRIPT_ERROR_INSTRUCTIONS },
    { "::a:: goto a", "instruction limit", SCRIPT_ERROR_INSTRUCTIONS },
    { "for i = 1, 1e9 do local x = ('x'):upper() end", "instruction limit", SCRIPT_ERROR_INSTRUCTIONS },
    { "local s = ('x'):rep(1e5) while true do local x = s:upper() end", "instruction limit",
      SCRIPT_ERROR_INSTRUCTIONS },
    { "local s = ('x'):rep(1e5) while true do local x = s .. 'y' end", "instruction limit", SCRIPT_ERROR_INSTRUCTIONS },
    { "local s = ('a'):rep(1e5) return s:find(('a*'):rep(20) .. 'b')", "instruction limit", SCRIPT_ERROR_INSTRUCTIONS },
    { "local s = ('a'):rep(1e5) return s:find('.-.-.-.-b')", "instruction limit", SCRIPT_ERROR_INSTRUCTIONS },
    { "local s = ('('):rep(1e5) return s:match('.-%b()x')", "instruction limit", SCRIPT_ERROR_INSTRUCTIONS },
    { "local s = ('a'):rep(1e5) return s:gsub(('a*'):rep(20) .. 'b', '')", "instruction limit",
      SCRIPT_ERROR_INSTRUCTIONS },
    { "local s = ('a'):rep(1e5) for x in s:gmatch(('a*'):rep(20) .. 'b') do end", "instruction limit",
      SCRIPT_ERROR_INSTRUCTIONS },
    { "return ('x'):rep(3e4):find('[' .. ('a'):rep(2e4) .. ']')", "instruction limit", SCRIPT_ERROR_INSTRUCTIONS },
    { "return table.move({}, 1, 1e15, 2)", "instruction limit", SCRIPT_ERROR_INSTRUCTIONS },
    { "return table.unpack({}, 1, 1e9)", "instruction limit", SCRIPT_ERROR_INSTRUCTIONS },
    { "local t = {} for i = 1, 10000 do t[i] = i end while true do table.insert(t, 1, 0) table.remove(t, 1) end",
      "instruction limit", SCRIPT_ERROR_INSTRUCTIONS },
    { "local t = {} for i = 1, 10000 do t[i] = -i end while true do table.sort(t) end", "instruction limit",
      SCRIPT_ERROR_INSTRUCTIONS },
    { "local s = ('\\u{e4}'):rep(5e4) while true do utf8.len(s) end", "instruction limit", SCRIPT_ERROR_INSTRUCTIONS },
    { "local h, s = require('suricata.hashing'), ('x'):rep(1e5) while true do h.md5_digest(s) end", "instruction limit",
      SCRIPT_ERROR_INSTRUCTIONS },
    { "local b, s = require('suricata.base64'), ('x'):rep(1e5) while true do b.encode(s) end", "instruction limit",
      SCRIPT_ERROR_INSTRUCTIONS },
    { "return (''):rep(1e12, 'x')", "too large", SCRIPT_ERROR_RULE },

    { "return ('0123456789'):rep(1e5)", "memory limit", SCRIPT_ERROR_MEMORY },
    { "local s = 'x' while true do s = s .. s end", "memory limit", SCRIPT_ERROR_MEMORY },
    { "local t = {} for i = 1, 1e6 do t[i] = i end", "memory limit", SCRIPT_ERROR_MEMORY },
    { "local t = {} while true do t = {t} end", "memory limit", SCRIPT_ERROR_MEMORY },
    { "return string.format('%s%s%s', ('x'):rep(2e5), ('y'):rep(2e5), 'z')", "memory limit", SCRIPT_ERROR_MEMORY },
    { "return string.pack('c2000000', '')", "memory limit", SCRIPT_ERROR_MEMORY },
};

START_TEST(failures_are_counted_and_reported)
{
    struct script_report report;
    bool matched = true;

    ck_assert_msg(!run(failures[_i].body, &matched), "%s", failures[_i].body);
    ck_assert(!matched);
    ck_assert(script_reports_next(reports, &report));
    ck_assert(report.is_error);
    ck_assert_msg(report.error == failures[_i].error && strstr(report.text, failures[_i].text), "%s: %u %s",
                  failures[_i].body, report.error, report.text);
    ck_assert_uint_eq(report.gid, 1);
    ck_assert_uint_eq(report.sid, 7);
    ck_assert_uint_eq(report.count, 1);
    ck_assert_uint_eq(counts.errors[failures[_i].error], 1);
    ck_assert_uint_eq(counts.calls, 1);
    ck_assert(!script_reports_next(reports, &report));
    unload();
}
END_TEST

START_TEST(a_state_survives_its_failures)
{
    struct script_report report;
    unsigned reported = 0;
    bool matched = false;

    ck_assert_int_eq(load("local n = 0\nfunction init() return {} end\nfunction match()\nn = n + 1\n"
                          "if n % 4 == 1 then while true do end end\n"
                          "if n % 4 == 2 then local t = {} for i = 1, 1e6 do t[i] = i end end\n"
                          "if n % 4 == 3 then error('x') end\n"
                          "return 1 end"),
                     0);
    for (unsigned i = 1; i <= 400; i++) {
        bool done = script_match(states, script, NULL, NULL, 0, &matched);

        ck_assert_int_eq(done, i % 4 == 0);
        ck_assert_int_eq(matched, i % 4 == 0);
        while (script_reports_next(reports, &report))
            reported++;
    }
    ck_assert_uint_eq(counts.errors[SCRIPT_ERROR_INSTRUCTIONS], 100);
    ck_assert_uint_eq(counts.errors[SCRIPT_ERROR_MEMORY], 100);
    ck_assert_uint_eq(counts.errors[SCRIPT_ERROR_RULE], 100);
    ck_assert_uint_eq(counts.failed, 300);
    ck_assert_uint_eq(reported, 3 * 7); /* with 1, 2, 4 ... 64 errors */
    ck_assert_uint_le(script_states_memory(states), 1000000);
    unload();
}
END_TEST

START_TEST(limits_are_those_of_the_options)
{
    const struct script_options small = { .allowed = true, .max_bytes = 100000, .max_instructions = 20000 };
    bool matched = false;

    ck_assert(run_with(&small, "for i = 1, 100 do end return 1", &matched));
    ck_assert(matched);
    unload();
    ck_assert(!run_with(&small, "for i = 1, 30000 do end return 1", &matched));
    ck_assert_uint_eq(counts.errors[SCRIPT_ERROR_INSTRUCTIONS], 1);
    unload();
    ck_assert(run_with(&small, "return #('x'):rep(1000):rep(20) == 20000 and 1", &matched));
    ck_assert(matched);
    unload();
    ck_assert(!run_with(&small, "return #('x'):rep(1000):rep(95) and 1", &matched));
    ck_assert_uint_eq(counts.errors[SCRIPT_ERROR_MEMORY], 1);
    unload();
}
END_TEST

/* A buffer that the caller passes counts neither as memory of the script nor as work. */
START_TEST(arguments_do_not_count)
{
    const struct script_options small = { .allowed = true, .max_bytes = 100000, .max_instructions = 2000 };
    const size_t length = 1 << 20;
    uint8_t *bytes = calloc(1, length);
    const struct script_argument argument = { "buffer", bytes, length };
    bool matched = false;

    ck_assert_ptr_nonnull(bytes);
    ck_assert_int_eq(load_as(&small, &(struct script_load){ .function = "match", .needs_init = true },
                             "function init() return {} end function match(a) return #a.buffer == 1048576 and 1 end"),
                     0);
    for (unsigned i = 0; i < 20; i++) {
        ck_assert(script_match(states, script, NULL, &argument, 1, &matched));
        ck_assert(matched);
    }
    unload();
    free(bytes);
}
END_TEST

START_TEST(all_functions_if_they_are_allowed)
{
    const struct script_options all = {
        .allowed = true, .all_functions = true, .max_bytes = 500000, .max_instructions = 500000
    };
    bool matched = false;

    ck_assert(run_with(&all,
                       "local ok = pcall(error) if not ok and setmetatable({}, {}) and io.open and os.time() > 0 and "
                       "load('return 2')() == 2 and require('suricata.hashing').md5_digest then return 1 end",
                       &matched));
    ck_assert(matched);
    unload();
    ck_assert(!run_with(&all, "while true do pcall(function() while true do end end) end", &matched));
    ck_assert_uint_eq(counts.errors[SCRIPT_ERROR_INSTRUCTIONS], 1);
    unload();
}
END_TEST

static const char *need(void *owner, const char *key, const char *value)
{
    char *text = owner;

    snprintf(text + strlen(text), 256 - strlen(text), "%s%s%s ", key, value ? "=" : "", value ? value : "");
    return strcmp(key, "wrong") == 0 ? "no such data" : NULL;
}

START_TEST(init_names_what_the_script_needs)
{
    char needs[256] = "";
    const struct script_load how = { .function = "match", .needs_init = true, .owner = needs, .need = need };

    ck_assert_int_eq(load_as(&limits, &how,
                             "function init(sig) return {payload = tostring(true), packet = false} end "
                             "function match() end"),
                     0);
    ck_assert_str_eq(needs, "payload ");
    unload();
    needs[0] = '\0';
    ck_assert_int_eq(load_as(&limits, &how, "function init() return {flowvar = {'a'}} end function match() end"), 0);
    ck_assert_str_eq(needs, "flowvar=a ");
    unload();
    ck_assert_int_eq(load_as(&limits, &how, "function init() return {wrong = true} end function match() end"), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error, "init: no such data"));
    unload();
}
END_TEST

static const struct {
    const char *text, *error;
} unloadable[] = {
    { "function init() return {} end", "has no function 'match'" },
    { "function match() end", "has no function 'init'" },
    { "function init() end function match() end", "must return a table" },
    { "match = 1 function init() return {} end", "has no function 'match'" },
    { "function match(", "expected" },
    { "error('at start')", "at start" },
    { "\x1bLua", "attempt to load a binary chunk" },
    { "while true do end", "instruction limit" },
    { "x = ('x'):rep(1e7)", "memory limit" },
    { "os.exit(1)", "attempt to index" },
    { "function init() return {} end function match() end function thread_init() error('in thread_init') end",
      "in thread_init" },
};

START_TEST(scripts_that_cannot_be_loaded)
{
    ck_assert_int_eq(load(unloadable[_i].text), -EINVAL);
    ck_assert_msg(strstr(error, unloadable[_i].error), "%s: %s", unloadable[_i].text, error);
    unload();
}
END_TEST

START_TEST(files_that_cannot_be_read)
{
    const struct script_load how = { .path = "/nonexistent/x.lua", .function = "match" };

    ck_assert_int_eq(script_set_new(&set, &limits), 0);
    ck_assert_int_eq(script_load(set, &how, &script, error, sizeof(error)), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error, "No such file"));
    unload();
}
END_TEST

/* thread_init() works in the temporary state, and fails in that of the worker. */
START_TEST(a_state_that_fails_at_its_start_has_no_result)
{
    char path[] = "test_script_XXXXXX";
    const struct script_load how = { .path = path, .function = "match", .needs_init = true };
    struct script_report report;
    bool matched = true;
    static const char text[] = "loaded = false\n"
                               "function init() loaded = true return {} end\n"
                               "function thread_init() if not loaded then error('not loaded') end end\n"
                               "function match() return 1 end\n";
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    ck_assert_int_eq(script_set_new(&set, &limits), 0);
    ck_assert_int_eq(script_load(set, &how, &script, error, sizeof(error)), 0);
    unlink(path);
    ck_assert_int_eq(script_states_new(&states, set), 0);
    memset(&counts, 0, sizeof(counts));
    ck_assert_int_eq(script_reports_new(&reports, &counts), 0);
    script_states_attach(states, reports);
    ck_assert(!script_match(states, script, NULL, NULL, 0, &matched));
    ck_assert_uint_eq(counts.errors[SCRIPT_ERROR_RULE], 1);
    ck_assert(script_reports_next(reports, &report));
    ck_assert_ptr_nonnull(strstr(report.text, "not loaded"));
    unload();
}
END_TEST

START_TEST(messages_are_reported)
{
    static const struct {
        uint8_t level;
        const char *text;
    } wanted[] = { { 3, "a 1 nil" }, { 3, "w" },    { 0, "error" },  { 1, "warning" }, { 2, "notice" },
                   { 3, "info?" },   { 3, "perf" }, { 3, "config" }, { 4, "debug" } };
    struct script_report report;
    bool matched = false;

    ck_assert(
        run("local log = require('suricata.log') print('a', 1, nil) warn('w') log.error('error') "
            "log.warning('warning') log.notice('notice') log.info('info\\n') log.perf('perf') log.config('config') "
            "log.debug('debug') return 1",
            &matched));
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        ck_assert(script_reports_next(reports, &report));
        ck_assert(!report.is_error);
        ck_assert_uint_eq(report.level, wanted[i].level);
        ck_assert_str_eq(report.text, wanted[i].text);
    }
    ck_assert(!script_reports_next(reports, &report));
    unload();
}
END_TEST

START_TEST(messages_that_do_not_fit_are_counted)
{
    bool matched = false;

    ck_assert(run("for i = 1, 500 do print(('x'):rep(300)) end return 1", &matched));
    ck_assert(matched);
    ck_assert_uint_gt(counts.lost, 300);
    unload();
}
END_TEST

/* --- Transforms ----------------------------------------------------------------------------------- */

static uint8_t memory[1024];

static uint8_t *alloc(void *user, uint32_t size)
{
    (void)user;
    return size <= sizeof(memory) ? memory : NULL;
}

START_TEST(transforms_return_text_and_length)
{
    static const struct {
        const char *body, *out; /* out NULL: unchanged */
        bool done;
    } rows[] = {
        { "return input:upper(), #input", "ABC", true },
        { "return input .. args[1] .. args[2], 10", "abcxyz", true },
        { "return input, 2", "ab", true },
        { "return input", NULL, true },
        { "return input, 0", NULL, true },
        { "return input, -1", NULL, true },
        { "return nil, 3", NULL, true },
        { "return #args == 2 and 'two', 3", "two", true },
        { "return ('x'):rep(2000), 2000", NULL, false },
        { "error('x')", NULL, false },
    };
    const char *const words[] = { "x", "yz" };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[256];
        const uint8_t *out = NULL;
        uint32_t length = 0;

        snprintf(text, sizeof(text), "function transform(input, args) %s end", rows[i].body);
        ck_assert_int_eq(load_as(&limits, &(struct script_load){ .function = "transform" }, text), 0);
        ck_assert_int_eq(
            script_transform(states, script, (const uint8_t *)"abc", 3, words, 2, alloc, NULL, &out, &length),
            rows[i].done);
        ck_assert_msg((out != NULL) == (rows[i].out != NULL), "%s", rows[i].body);
        if (out) {
            ck_assert_uint_eq(length, strlen(rows[i].out));
            ck_assert_mem_eq(out, rows[i].out, length);
        }
        unload();
    }
}
END_TEST

START_TEST(released_scripts_have_no_state)
{
    bool matched = true;

    ck_assert_int_eq(load("function init() return {} end function match() return 1 end"), 0);
    script_states_free(states);
    script_release(script);
    ck_assert_int_eq(script_states_new(&states, set), 0);
    script_states_attach(states, reports);
    ck_assert(!script_match(states, script, NULL, NULL, 0, &matched));
    ck_assert_uint_eq(counts.failed, 0);
    unload();
}
END_TEST

#else

START_TEST(scripts_cannot_be_loaded)
{
    const struct script_load how = { .path = "x.lua", .function = "match" };
    const struct script_options options = { .allowed = true };
    struct script_set *set;
    struct script *script;
    char error[128];

    ck_assert(!script_is_available());
    ck_assert_int_eq(script_set_new(&set, &options), 0);
    ck_assert_int_eq(script_load(set, &how, &script, error, sizeof(error)), -EINVAL);
    ck_assert_str_eq(error, "this program was built without Lua");
    script_set_free(set);
}
END_TEST

#endif

int main(void)
{
    Suite *suite = suite_create("script");
    TCase *tests = tcase_create("script");
    SRunner *runner;
    int failed;

#ifdef SLUICE_LUA
    tcase_add_loop_test(tests, functions_have_their_results, 0, sizeof(expressions) / sizeof(expressions[0]));
    tcase_add_test(tests, only_the_number_one_matches);
    tcase_add_test(tests, arguments_are_members_of_a_table);
    tcase_add_loop_test(tests, failures_are_counted_and_reported, 0, sizeof(failures) / sizeof(failures[0]));
    tcase_add_test(tests, a_state_survives_its_failures);
    tcase_add_test(tests, limits_are_those_of_the_options);
    tcase_add_test(tests, arguments_do_not_count);
    tcase_add_test(tests, all_functions_if_they_are_allowed);
    tcase_add_test(tests, init_names_what_the_script_needs);
    tcase_add_loop_test(tests, scripts_that_cannot_be_loaded, 0, sizeof(unloadable) / sizeof(unloadable[0]));
    tcase_add_test(tests, files_that_cannot_be_read);
    tcase_add_test(tests, a_state_that_fails_at_its_start_has_no_result);
    tcase_add_test(tests, messages_are_reported);
    tcase_add_test(tests, messages_that_do_not_fit_are_counted);
    tcase_add_test(tests, transforms_return_text_and_length);
    tcase_add_test(tests, released_scripts_have_no_state);
#else
    tcase_add_test(tests, scripts_cannot_be_loaded);
#endif
    suite_add_tcase(suite, tests);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
