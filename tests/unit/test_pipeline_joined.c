/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An unencoded body consists of bytes of its stream, and a merged database searches both at once. The result must not
 * differ: random contents in the stream, in bodies and in files, in segments of all sizes, compared with a plain
 * search.
 */
#include <ctype.h>

#include "pipeline_app_rig.h"

enum {
    RULES = 120,
    FILLERS = 100,
    WORD_MAX = 24,
    HEAD_MAX = 400,
    BODY_MAX = 9000,
    PLANTED = 8,
    ROUNDS = 6,
    RESPONSES = 12
};

enum where { IN_STREAM, IN_BODY, IN_FILE, WHERES };

struct word_rule {
    char word[WORD_MAX + 1];
    enum where where;
    unsigned depth; /* 0: any position */
    bool nocase;    /* the rule has the word in capitals, with nocase */
};

struct response {
    char bytes[HEAD_MAX + BODY_MAX];
    size_t head, length;
    size_t inside[PLANTED]; /* positions within contents */
};

static uint32_t next_random(uint32_t *state)
{
    *state = *state * UINT32_C(1664525) + UINT32_C(1013904223);
    return *state >> 8;
}

/* Few letters, so that contents occur at random, within others, and in headers as well as in bodies. */
static char random_letter(uint32_t *state)
{
    return "abcdxyz-"[next_random(state) % 8];
}

static struct word_rule random_rule(uint32_t *state)
{
    struct word_rule rule = { .where = next_random(state) % WHERES };
    unsigned length = 2 + next_random(state) % 5;

    rule.nocase = next_random(state) % 3 == 0;
    if (next_random(state) % 8 == 0)
        length = WORD_MAX;
    for (unsigned i = 0; i < length; i++)
        rule.word[i] = random_letter(state);
    if (rule.where != IN_STREAM && next_random(state) % 3 == 0)
        rule.depth = length + next_random(state) % 3000;
    return rule;
}

static void write_rule(struct text *text, const struct word_rule *rule, unsigned sid)
{
    static const char *const buffers[] = { "", "http.response_body; ", "file.data; " };
    char word[WORD_MAX + 1] = "";

    for (unsigned i = 0; rule->word[i]; i++)
        word[i] = rule->nocase ? (char)toupper(rule->word[i]) : rule->word[i];
    text_printf(text, "alert tcp any any -> any any (flow:to_client; %scontent:\"%s\"; %s", buffers[rule->where], word,
                rule->nocase ? "nocase; " : "");
    if (rule->depth)
        text_printf(text, "depth:%u; ", rule->depth);
    text_printf(text, "sid:%u;)\n", sid);
}

/* Contents of two letters are searched separately, too. */
static void open_rules(uint32_t *state, struct word_rule rules[RULES])
{
    struct text text;

    text_init(&text);
    for (unsigned i = 0; i < RULES; i++) {
        rules[i] = random_rule(state);
        write_rule(&text, &rules[i], i + 1);
    }
    for (unsigned i = 0; i < FILLERS; i++)
        text_printf(&text, "alert tcp any any -> any any (flow:to_client; %scontent:\"filler%03u\"; sid:%u;)\n",
                    i % 2 ? "" : "file.data; ", i, 1000 + i);
    rig_open(text.bytes);
    text_clear(&text);
}

/* Makes a body that also has a long content in each of its parts. */
static void make_body(uint32_t *state, const struct word_rule *rules, struct response *response)
{
    char *body = response->bytes + response->head;
    size_t length = response->length - response->head, part = length / PLANTED;

    for (size_t i = 0; i < length; i++)
        body[i] = next_random(state) % 6 ? '.' : random_letter(state);
    for (unsigned i = 0; i < PLANTED && part > WORD_MAX; i++) {
        const char *word = rules[next_random(state) % RULES].word;
        size_t at = i * part + next_random(state) % (part - WORD_MAX);

        memcpy(body + at, word, strlen(word));
        response->inside[i] = response->head + at + 1 + next_random(state) % (strlen(word) - 1);
    }
}

static void make_response(uint32_t *state, const struct word_rule *rules, struct response *response)
{
    size_t length = next_random(state) % BODY_MAX;
    char pad[100] = "";

    for (size_t i = 0, count = next_random(state) % (sizeof(pad) - 1); i < count; i++)
        pad[i] = random_letter(state);
    response->head = (size_t)snprintf(response->bytes, HEAD_MAX,
                                      "HTTP/1.1 200 OK\r\nX: %s\r\nContent-Length: %zu\r\n\r\n", pad, length);
    response->length = response->head + length;
    memset(response->inside, 0, sizeof(response->inside));
    make_body(state, rules, response);
}

static bool says(const struct word_rule *rule, const struct response *response)
{
    const char *bytes = response->bytes + (rule->where == IN_STREAM ? 0 : response->head);
    size_t length = response->length - (rule->where == IN_STREAM ? 0 : response->head);

    if (rule->depth && rule->depth < length)
        length = rule->depth;
    return memmem(bytes, length, rule->word, strlen(rule->word)) != NULL;
}

static void note_matches(bool matched[RULES])
{
    const struct hit *hits;
    size_t count = rig_hits(&hits);

    for (size_t i = 0; i < count; i++) {
        if (hits[i].rule->sid <= RULES)
            matched[hits[i].rule->sid - 1] = true;
    }
}

/* Returns the size of a segment. Most segments end within a content. */
static size_t segment_size(uint32_t *state, const struct response *response, size_t at, size_t most)
{
    size_t size = next_random(state) % 2 ? most : 1 + next_random(state) % most;

    for (unsigned i = 0; i < PLANTED && next_random(state) % 8; i++) {
        if (response->inside[i] > at && response->inside[i] <= at + most)
            size = response->inside[i] - at;
    }
    return size < response->length - at ? size : response->length - at;
}

static void send_noting(uint32_t *state, const struct response *response, bool matched[RULES])
{
    static const size_t sizes[] = { 40, 300, 1448, 1448, 4000, 4000, BODY_MAX };
    size_t most = sizes[next_random(state) % (sizeof(sizes) / sizeof(sizes[0]))];

    for (size_t at = 0; at < response->length;) {
        size_t size = segment_size(state, response, at, most);

        rig_send_bytes(RIG_SERVER, response->bytes + at, size);
        at += size;
        note_matches(matched);
    }
}

START_TEST(words_are_found_in_streams_and_bodies_alike)
{
    uint32_t state = (uint32_t)_i + 1;
    static struct response response;
    struct word_rule rules[RULES];
    unsigned yes = 0, no = 0;

    open_rules(&state, rules);
    for (unsigned number = 0; number < RESPONSES; number++) {
        bool matched[RULES] = { false };

        make_response(&state, rules, &response);
        rig.client_port++;
        rig_handshake();
        rig_send(RIG_CLIENT, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        send_noting(&state, &response, matched);
        for (unsigned i = 0; i < RULES; i++) {
            bool expected = says(&rules[i], &response);

            ck_assert_msg(matched[i] == expected, "round %d, response %u of %zu bytes: \"%s\" in %d, depth %u: %d", _i,
                          number, response.length, rules[i].word, (int)rules[i].where, rules[i].depth, matched[i]);
            *(expected ? &yes : &no) += 1;
        }
    }
    ck_assert_uint_gt(yes, 50);
    ck_assert_uint_gt(no, 50);
}
END_TEST

/* Returns the number of bytes that are searched for a body of some segments: once for an unencoded body, twice for a
 * chunked one, of which the stream has more bytes. */
static uint64_t scanned_for(const char *head, const char *chunk)
{
    const struct detect_counters *counters = detector_counters(rig.pipeline.detector);
    char bytes[4000];
    uint64_t before;

    rig.client_port++;
    rig_handshake();
    rig_send(RIG_CLIENT, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    rig_send(RIG_SERVER, head);
    memset(bytes, '.', sizeof(bytes));
    memcpy(bytes, chunk, strlen(chunk));
    memcpy(bytes + sizeof(bytes) - 2, "\r\n", 2);
    before = counters->bytes_scanned;
    for (unsigned i = 0; i < 4; i++) {
        bytes[100] = (char)('0' + i);
        rig_send_bytes(RIG_SERVER, bytes, sizeof(bytes));
    }
    return counters->bytes_scanned - before;
}

START_TEST(a_body_that_comes_as_it_is_is_searched_with_its_stream)
{
    uint32_t state = 7;
    struct word_rule rules[RULES];

    open_rules(&state, rules);
    uint64_t plain = scanned_for("HTTP/1.1 200 OK\r\nContent-Length: 16000\r\n\r\n", "");
    uint64_t chunked = scanned_for("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "f98\r\n");

    ck_assert_uint_ge(plain, 16000);
    ck_assert_uint_lt(plain, 18000);
    ck_assert_uint_gt(chunked, 30000);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("pipeline_joined");

    tcase_set_timeout(tcase, 300);
    tcase_add_checked_fixture(tcase, rig_setup_applications, rig_close_applications);
    tcase_add_loop_test(tcase, words_are_found_in_streams_and_bodies_alike, 0, ROUNDS);
    tcase_add_test(tcase, a_body_that_comes_as_it_is_is_searched_with_its_stream);
    return rig_run(tcase, "pipeline_joined");
}
