/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The prefilter must not affect results: many rules with random contents, compared with a plain search, and rules on
 * transactions whose literal is in the payload.
 */
#include "pipeline_app_rig.h"

enum { RULES = 400, WORD_MAX = 40, ROUNDS = 8, REQUESTS = 24, MANY = 200 };

/* --- Random words --------------------------------------------------------------------------------- */

static uint32_t next_random(uint32_t *state)
{
    *state = *state * UINT32_C(1664525) + UINT32_C(1013904223);
    return *state >> 8;
}

/* Makes a word of few different pieces, so that words contain others, have equal beginnings and ends, and differ only
 * in case. */
static void random_word(uint32_t *state, char out[WORD_MAX], unsigned pieces)
{
    static const char *const piece[] = { "a",     "index", "INDEX", ".php", "down",
                                         "load/", "aaaa",  "1.1",   "x",    "Mozilla/5.0" };
    size_t length = 0;

    for (unsigned i = 0; i < pieces; i++) {
        const char *next = piece[next_random(state) % (sizeof(piece) / sizeof(piece[0]))];

        if (length + strlen(next) + 1 > WORD_MAX)
            break;
        strcpy(out + length, next);
        length += strlen(next);
    }
}

enum where { IN_URI, IN_AGENT, IN_BODY, IN_PAYLOAD, WHERES };
enum place { ANYWHERE, AT_START, AT_END, WITHIN_DEPTH, PLACES };

struct word_rule {
    char word[WORD_MAX];
    enum where where;
    enum place place;
    bool nocase;
    unsigned depth;
};

static struct word_rule random_rule(uint32_t *state)
{
    struct word_rule rule = { .where = next_random(state) % WHERES, .nocase = next_random(state) % 3 == 0 };

    random_word(state, rule.word, 1 + next_random(state) % 5);
    rule.place = rule.where == IN_PAYLOAD ? ANYWHERE : next_random(state) % PLACES;
    if (rule.where == IN_BODY && rule.place == AT_END) /* the end moves with each segment */
        rule.place = ANYWHERE;
    rule.depth = (unsigned)strlen(rule.word) + next_random(state) % 8;
    return rule;
}

static void write_rule(struct text *text, const struct word_rule *rule, unsigned sid)
{
    static const char *const places[] = { "", "startswith; ", "endswith; ", "" };
    static const char *const buffers[] = { "http.uri; ", "http.user_agent; ", "http.request_body; ", "" };

    text_printf(text, "alert tcp any any -> any any (%scontent:\"%s\"; %s%s", buffers[rule->where], rule->word,
                places[rule->place], rule->nocase ? "nocase; " : "");
    if (rule->place == WITHIN_DEPTH)
        text_printf(text, "depth:%u; ", rule->depth);
    text_printf(text, "%ssid:%u;)\n", rule->where == IN_PAYLOAD ? "http.method; content:\"POST\"; " : "", sid);
}

static bool equal_at(const char *text, const struct word_rule *rule)
{
    size_t length = strlen(rule->word);

    return (rule->nocase ? strncasecmp(text, rule->word, length) : strncmp(text, rule->word, length)) == 0;
}

static bool says(const struct word_rule *rule, const char *const texts[WHERES])
{
    const char *text = texts[rule->where];
    size_t length = strlen(text), word = strlen(rule->word);

    if (word > length)
        return false;
    if (rule->place == AT_START)
        return equal_at(text, rule);
    if (rule->place == AT_END)
        return equal_at(text + length - word, rule);
    if (rule->place == WITHIN_DEPTH && rule->depth < length)
        length = rule->depth;
    for (size_t at = 0; at + word <= length; at++) {
        if (equal_at(text + at, rule))
            return true;
    }
    return false;
}

static bool has_matched(unsigned sid)
{
    const struct hit *hits;
    size_t count = rig_hits(&hits);

    for (size_t i = 0; i < count; i++) {
        if (hits[i].rule->sid == sid)
            return true;
    }
    return false;
}

/* Sends the text in up to three segments, and records the rules that match. */
static void send_noting(uint32_t *state, const char *text, bool matched[RULES])
{
    size_t length = strlen(text), at = 0;

    for (unsigned piece = 0; piece < 3 && at < length; piece++) {
        size_t size = piece == 2 ? length - at : 1 + next_random(state) % (length - at);

        rig_send_bytes(RIG_CLIENT, text + at, size);
        at += size;
        for (unsigned i = 0; i < RULES; i++)
            matched[i] |= has_matched(i + 1);
    }
}

static void check_request(uint32_t *state, const struct word_rule *rules)
{
    char uri[WORD_MAX * 2] = "/", agent[WORD_MAX], body[WORD_MAX], request[512];
    const char *const texts[WHERES] = { uri, agent, body, request };
    bool matched[RULES] = { false };

    random_word(state, uri + 1, 1 + next_random(state) % 6);
    random_word(state, agent, 1 + next_random(state) % 6);
    random_word(state, body, 1 + next_random(state) % 6);
    snprintf(request, sizeof(request), "POST %s HTTP/1.1\r\nUser-Agent: %s\r\nContent-Length: %zu\r\n\r\n%s", uri,
             agent, strlen(body), body);
    send_noting(state, request, matched);
    for (unsigned i = 0; i < RULES; i++) {
        ck_assert_msg(matched[i] == says(&rules[i], texts), "\"%s\" in %d at %d: %d in %s", rules[i].word,
                      (int)rules[i].where, (int)rules[i].place, matched[i], request);
    }
}

/* Each request has its own connection, because the bytes of earlier requests would be in the inspection window. */
START_TEST(random_words_are_found_as_their_contents_say)
{
    uint32_t state = (uint32_t)_i + 1;
    struct word_rule rules[RULES];
    struct text text;

    text_init(&text);
    for (unsigned i = 0; i < RULES; i++) {
        rules[i] = random_rule(&state);
        write_rule(&text, &rules[i], i + 1);
    }
    rig_open(text.bytes);
    text_clear(&text);
    for (unsigned i = 0; i < REQUESTS; i++) {
        rig.client_port++;
        rig_handshake();
        check_request(&state, rules);
    }
}
END_TEST

/* --- Transactions found by the payload ------------------------------------------------------------ */

#define RULE(options) "alert tcp any any -> any any (" options " sid:1;)\n"
#define BY_PAYLOAD "content:\"Cookie|3a| secret\"; "
#define PLAIN "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
#define TELLING "GET /a HTTP/1.1\r\nCookie: secret\r\nHost: h\r\n\r\n"

static const struct {
    const char *options, *request;
    unsigned alerts;
} found[] = {
    { RULE(BY_PAYLOAD "http.method; content:\"GET\";"), TELLING, 1 },
    { RULE(BY_PAYLOAD "http.method; content:\"GET\";"), PLAIN, 0 },
    { RULE(BY_PAYLOAD "http.method; content:\"POST\";"), TELLING, 0 },
    { RULE(BY_PAYLOAD "http.method; content:\"GET\";"), PLAIN TELLING, 2 }, /* both contents are in the stream */
    { RULE(BY_PAYLOAD "urilen:2;"), TELLING, 1 },
    { RULE(BY_PAYLOAD "urilen:3;"), TELLING, 0 },
    { RULE("content:\"Host|3a| h\"; content:\"secret\"; fast_pattern; http.uri; content:\"/\";"), TELLING, 1 },
    { RULE("content:\"secret\"; fast_pattern; http.header_names; content:!\"Accept\";"), TELLING, 1 },
    { RULE("content:\"secret\"; fast_pattern; http.header_names; content:!\"Host\";"), TELLING, 0 },
};

static uint64_t alerts(void)
{
    return policy_counters(rig.pipeline.policy)->alerts;
}

static void send_cut(const char *text, size_t size)
{
    for (size_t length = strlen(text), at = 0; at < length; at += size)
        rig_send_bytes(RIG_CLIENT, text + at, size < length - at ? size : length - at);
}

static void check_found(unsigned at, size_t size)
{
    rig_open(found[at].options);
    rig_handshake();
    send_cut(found[at].request, size);
    rig_acknowledge(RIG_SERVER);
    rig_finish();
    if (found[at].alerts < 2)
        ck_assert_uint_eq(alerts(), found[at].alerts);
    else
        ck_assert_uint_ge(alerts(), 1);
}

START_TEST(found_in_one_segment)
{
    check_found((unsigned)_i, 4096);
}
END_TEST

START_TEST(found_byte_by_byte)
{
    check_found((unsigned)_i, 1);
}
END_TEST

START_TEST(found_when_acknowledged)
{
    rig_passive();
    check_found((unsigned)_i, 7);
}
END_TEST

static unsigned count_hits(void)
{
    unsigned count = 0;

    for (unsigned sid = 1; sid <= MANY; sid++)
        count += has_matched(sid);
    return count;
}

/* More candidates than are stored for a packet, and more pending ones than for a flow. */
START_TEST(many_are_found)
{
    struct text text;

    text_init(&text);
    for (unsigned i = 0; i < MANY; i++)
        text_printf(&text,
                    "alert tcp any any -> any any (content:\"Cookie: secret\"; http.method; content:\"%s\"; sid:%u;)\n",
                    i % 2 ? "GET" : "PUT", i + 1);
    rig_open(text.bytes);
    text_clear(&text);
    rig_handshake();
    send_cut(TELLING, _i ? (size_t)_i : 4096);
    ck_assert_uint_eq(count_hits(), MANY / 2);
}
END_TEST

/* Bytes that have left the inspection window do not match any more. */
START_TEST(what_is_long_past_is_not_found)
{
    char filler[4096];

    rig_open(RULE(BY_PAYLOAD "http.uri; content:\"/b\"; bsize:2;"));
    rig_handshake();
    rig_send(RIG_CLIENT, TELLING "POST /c HTTP/1.1\r\nHost: h\r\nContent-Length: 4096\r\n\r\n");
    memset(filler, '.', sizeof(filler));
    rig_send_bytes(RIG_CLIENT, filler, sizeof(filler));
    rig_send(RIG_CLIENT, "GET /b HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert_uint_eq(alerts(), 0);
    rig_send(RIG_CLIENT, TELLING "GET /b HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert_uint_eq(alerts(), 1);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("pipeline_literals");
    int cases = (int)(sizeof(found) / sizeof(found[0]));

    tcase_add_checked_fixture(tcase, rig_setup_applications, rig_close_applications);
    tcase_add_loop_test(tcase, random_words_are_found_as_their_contents_say, 0, ROUNDS);
    tcase_add_loop_test(tcase, found_in_one_segment, 0, cases);
    tcase_add_loop_test(tcase, found_byte_by_byte, 0, cases);
    tcase_add_loop_test(tcase, found_when_acknowledged, 0, cases);
    tcase_add_loop_test(tcase, many_are_found, 0, 3);
    tcase_add_test(tcase, what_is_long_past_is_not_found);
    return rig_run(tcase, "pipeline_literals");
}
