/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SMTP: sessions, transactions, replies, BDAT, TLS, gaps. MIME: parts, encodings, names, limits. */
#include <check.h>

#include "../lib/app_rig.h"

/* The limits of smtp.md. */
enum { RECIPIENTS_MAX = 4096, QUEUE_MAX = 8192, FILES_MAX = 256, MULTIPART_DEPTH_MAX = 16, NESTED_MESSAGES_MAX = 64 };

static const int cuts[] = { 0, 1, 3, -1 };
enum { CUTS = sizeof(cuts) / sizeof(cuts[0]) };
#define ROWS(table) (int)(sizeof(table) / sizeof(table[0]))

static struct app_rig *smtp_rig(int cut, const char *yaml)
{
    struct app_rig *rig = app_rig_new("smtp", yaml);

    rig->flow.server_port = 25;
    rig->cut = cut;
    return rig;
}

static void client(struct app_rig *rig, const char *text)
{
    app_rig_text(rig, FLOW_TO_SERVER, text);
}

static void server(struct app_rig *rig, const char *text)
{
    app_rig_text(rig, FLOW_TO_CLIENT, text);
}

static void ask(struct app_rig *rig, const char *command, const char *reply)
{
    client(rig, command);
    server(rig, reply);
}

/* Sends a session up to DATA and its reply. */
static void begin(struct app_rig *rig)
{
    server(rig, "220 mail ESMTP\r\n");
    ask(rig, "EHLO me\r\n", "250-mail\r\n250 SIZE\r\n");
    ask(rig, "MAIL FROM:<a@b> SIZE=5\r\n", "250 ok\r\n");
    ask(rig, "RCPT TO:<c@d>\r\n", "250 ok\r\n");
    ask(rig, "DATA\r\n", "354 go\r\n");
}

static bool is_complete(const struct app_rig *rig, uint64_t id)
{
    const struct app_tx *tx = app_rig_tx(rig, id);

    return tx && app_tx_is_complete(tx, FLOW_TO_SERVER) && app_tx_is_complete(tx, FLOW_TO_CLIENT);
}

static void assert_buffer(const struct app_rig *rig, uint64_t id, const char *keyword, unsigned index, const char *want)
{
    struct app_bytes bytes = { 0 };
    bool there = app_rig_buffer(rig, id, keyword, FLOW_TO_SERVER, index, &bytes);

    ck_assert_msg(there == (want != NULL), "%s %u", keyword, index);
    if (want)
        ck_assert_msg(bytes.length == strlen(want) && memcmp(bytes.bytes, want, bytes.length) == 0, "%s %u: %.*s",
                      keyword, index, (int)bytes.length, (const char *)bytes.bytes);
}

static const struct file *file_of(const struct app_rig *rig, uint64_t id, unsigned index)
{
    const struct app_tx *tx = app_rig_tx(rig, id);
    const struct file *file = tx ? tx->files[FLOW_TO_SERVER].first : NULL;

    while (file && index-- > 0)
        file = file->next;
    return file;
}

static void assert_file(const struct app_rig *rig, uint64_t id, unsigned index, const char *name, const char *content,
                        enum file_state state)
{
    const struct file *file = file_of(rig, id, index);

    ck_assert_ptr_nonnull(file);
    ck_assert_msg(file->name.length == strlen(name) && memcmp(file->name.bytes, name, strlen(name)) == 0, "%.*s",
                  (int)file->name.length, (const char *)file->name.bytes);
    ck_assert_msg(file->size == strlen(content) && (file->size == 0 || !memcmp(file->data.bytes, content, file->size)),
                  "%s: %.*s", name, (int)file->data.length, (const char *)file->data.bytes);
    ck_assert_int_eq(file->state, state);
}

/* --- Sessions ------------------------------------------------------------------------------------- */

START_TEST(mail_is_read)
{
    struct app_rig *rig = smtp_rig(cuts[_i], NULL);
    app_set_needs(rig->app, RULE_MESSAGE_MD5);

    begin(rig);
    ck_assert(!is_complete(rig, 0));
    assert_buffer(rig, 0, "email.from", 0, NULL);
    client(rig, "From: x <a@b>\r\nTo: \"c, d\" <c@d>,\r\n e@f\r\nReceived: 1\r\nreceived: 2\r\nSubject: "
                "s\r\n\r\n..hello\r\n.\r\n");
    ck_assert(!is_complete(rig, 0));
    server(rig, "250 queued\r\n");
    ck_assert(is_complete(rig, 0));
    ask(rig, "QUIT\r\n", "221 bye\r\n");
    ck_assert_ptr_null(app_rig_tx(rig, 1));
    ck_assert_str_eq(app_rig_json(rig, 0),
                     "{\"helo\":\"me\",\"mail_from\":\"<a@b>\",\"rcpt_to\":[\"<c@d>\"],\"email\":{\"from\":\"x <a@b>\","
                     "\"to\":[\"\\\"c, d\\\" <c@d>\",\"e@f\"],\"status\":\"PARSE_DONE\"}}");
    assert_buffer(rig, 0, "smtp.helo", 0, "me");
    assert_buffer(rig, 0, "smtp.mail_from", 0, "<a@b>");
    assert_buffer(rig, 0, "smtp.rcpt_to", 0, "<c@d>");
    assert_buffer(rig, 0, "smtp.rcpt_to", 1, NULL);
    assert_buffer(rig, 0, "email.from", 0, "x <a@b>");
    assert_buffer(rig, 0, "email.received", 1, "2");
    assert_buffer(rig, 0, "email.received", 2, NULL);
    assert_buffer(rig, 0, "email.subject", 0, "s");
    assert_buffer(rig, 0, "email.cc", 0, NULL);
    assert_buffer(rig, 0, "email.body_md5", 0, "23d5d8dffbc160e84a20527210d15260");
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

/* A whole session in one write before the server's greeting, followed by the server's replies. */
static const struct {
    const char *client, *server;
    const char *found;  /* subjects of the transactions before the replies, in order */
    const char *absent; /* a subject that no transaction has */
    const char *at_end; /* subject of the transaction that the server accepted */
} one_writes[] = {
    /* The server accepts the message. */
    { "EHLO x\r\nMAIL FROM:<a>\r\nRCPT TO:<b>\r\nDATA\r\nSubject: one\r\n\r\nx\r\n.\r\nQUIT\r\n",
      "220 m\r\n250 m\r\n250 1\r\n250 2\r\n354 go\r\n250 taken\r\n221 bye\r\n", "one", "two", "one" },
    /* The server refuses the first DATA, which has no recipient. If it had accepted, the second message would be part
       of the first. */
    { "EHLO x\r\nDATA\r\nSubject: one\r\nMAIL FROM:<a>\r\nRCPT TO:<b>\r\nDATA\r\nSubject: two\r\n\r\nx\r\n.\r\n",
      "220 m\r\n250 m\r\n503 no\r\n500 what\r\n250 1\r\n250 2\r\n354 go\r\n250 taken\r\n", "one two", NULL, "two" },
    /* The server refuses two DATA commands. */
    { "EHLO x\r\nDATA\r\nDATA\r\nMAIL FROM:<a>\r\nRCPT TO:<b>\r\nDATA\r\nSubject: three\r\n\r\nx\r\n.\r\n",
      "220 m\r\n250 m\r\n503 no\r\n503 no\r\n250 1\r\n250 2\r\n354 go\r\n250 taken\r\n", "three", NULL, "three" },
    /* Two messages. */
    { "EHLO x\r\nMAIL FROM:<a>\r\nRCPT TO:<b>\r\nDATA\r\nSubject: one\r\n\r\nx\r\n.\r\nMAIL FROM:<a>\r\nRCPT "
      "TO:<b>\r\nDATA\r\n"
      "Subject: two\r\n\r\nx\r\n.\r\n",
      "220 m\r\n250 m\r\n250 1\r\n250 2\r\n354 go\r\n250 taken\r\n250 1\r\n250 2\r\n354 go\r\n250 taken\r\n", "one two",
      NULL, "two" },
    /* A server without BDAT reads the chunk as commands. */
    { "EHLO x\r\nBDAT 500\r\nMAIL FROM:<a>\r\nRCPT TO:<b>\r\nDATA\r\nSubject: four\r\n\r\nx\r\n.\r\n",
      "220 m\r\n250 m\r\n502 what\r\n250 1\r\n250 2\r\n354 go\r\n250 taken\r\n", "four", NULL, "four" },
    { "EHLO x\r\nMAIL FROM:<a>\r\nRCPT TO:<b>\r\nBDAT 16 LAST\r\nSubject: five\r\n\r\nQUIT\r\n",
      "220 m\r\n250-m\r\n250 CHUNKING\r\n250 1\r\n250 2\r\n250 taken\r\n221 bye\r\n", "five", NULL, "five" },
};

/* Returns the transaction with this subject, or NULL. `logged`: only in the reading that agrees with the server's
 * replies. */
static const struct app_tx *find_subject(struct app_rig *rig, const char *subject, bool logged)
{
    for (uint64_t id = 0; id < 32; id++) {
        struct app_bytes bytes = { 0 };

        if (app_rig_tx(rig, id) && !(logged && app_rig_tx(rig, id)->log_never) &&
            app_rig_buffer(rig, id, "email.subject", FLOW_TO_SERVER, 0, &bytes) && bytes.length == strlen(subject) &&
            memcmp(bytes.bytes, subject, bytes.length) == 0)
            return app_rig_tx(rig, id);
    }
    return NULL;
}

START_TEST(one_write_is_read_in_every_way)
{
    unsigned row = (unsigned)_i / CUTS;
    struct app_rig *rig = smtp_rig(cuts[_i % CUTS], NULL);
    char found[64], *word, *rest = NULL;

    client(rig, one_writes[row].client);
    ck_assert(!rig->failed);
    snprintf(found, sizeof(found), "%s", one_writes[row].found);
    for (word = strtok_r(found, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        ck_assert_msg(find_subject(rig, word, false) != NULL, "%u: %s", row, word);
    if (one_writes[row].absent)
        ck_assert_ptr_null(find_subject(rig, one_writes[row].absent, false));
    server(rig, one_writes[row].server);
    ck_assert(!rig->failed);

    const struct app_tx *tx = find_subject(rig, one_writes[row].at_end, true);

    ck_assert_ptr_nonnull(tx);
    ck_assert(app_tx_is_complete(tx, FLOW_TO_SERVER) && app_tx_is_complete(tx, FLOW_TO_CLIENT));
    /* The session continues in the correct reading. */
    ask(rig, "MAIL FROM:<z>\r\n", "250 1\r\n");
    ask(rig, "RCPT TO:<z>\r\n", "250 1\r\n");
    ask(rig, "DATA\r\n", "354 go\r\n");
    client(rig, "Subject: last\r\n\r\nx\r\n.\r\n");
    ck_assert_ptr_nonnull(find_subject(rig, "last", true));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

/* With too many readings parsing stops, and app-layer.error-policy decides about the flow. */
START_TEST(readings_are_limited)
{
    struct app_rig *rig = smtp_rig(0, NULL);

    client(rig, "EHLO x\r\n");
    for (unsigned i = 0; i < 8 && !rig->failed; i++)
        client(rig, "DATA\r\nx\r\n");
    ck_assert(rig->failed);
    app_rig_free(rig);
}
END_TEST

/* Commands in one write, the number of transactions, and the events of the first one. */
static const struct {
    const char *client, *server;
    unsigned count, complete;
    const char *sender; /* sender of the last transaction */
    const char *events;
} sessions[] = {
    { "MAIL FROM:<a>\r\nRSET\r\nMAIL FROM:<b>\r\n", "250 1\r\n250 2\r\n250 3\r\n", 2, 1, "<b>", NULL },
    { "MAIL FROM:<a>\r\nEHLO x\r\n", "250 1\r\n250-2\r\n250 2\r\n", 1, 1, "<a>", "DUPLICATE_FIELDS" },
    { "MAIL FROM:<a>\r\nEHLO\r\n", "250 1\r\n501 2\r\n", 1, 0, "<a>", "DUPLICATE_FIELDS" },
    { "MAIL FROM:<a>\r\nMAIL FROM:<b>\r\n", "250 1\r\n503 2\r\n", 1, 0, "<a>", "DUPLICATE_FIELDS" },
    { "QUIT\r\n", "221 1\r\n", 1, 0, NULL, NULL },
    { "DATA\r\n", "503 1\r\n", 1, 0, NULL, "DATA_COMMAND_REJECTED" },
    { "MAIL FROM:<>\r\nDATA\r\nNOOP\r\n", "250 1\r\n", 2, 0, NULL, "INVALID_PIPELINED_SEQUENCE" },
    { "DATA\r\nDATA\r\n", "", 2, 0, NULL, "INVALID_PIPELINED_SEQUENCE" },
    { " data \r\n", "503 1\r\n", 1, 0, NULL, "DATA_COMMAND_REJECTED" },
    { "\tMAIL \t FROM:\t<a> SIZE=1\r\n", "250 1\r\n", 1, 0, "<a>", NULL },
    { "BDAT 5 X\r\nBDAT X\r\nBDAT\r\n", "501 1\r\n501 2\r\n", 1, 0, NULL, "INVALID_BDAT" },
    { "BDAT 4 LAST\r\nab\r\nMAIL FROM:<b>\r\n", "250 1\r\n250 2\r\n", 2, 1, "<b>", NULL },
    { "BDAT 0 LAST\r\nMAIL FROM:<b>\r\n", "250 1\r\n250 2\r\n", 2, 1, "<b>", NULL },
    { "BDAT 2\r\nab\r\nMAIL FROM:<b>\r\n", "250 1\r\n250 2\r\n", 1, 0, "<b>", "BDAT_CHUNK_LEN_EXCEEDED" },
    { "BDAT 2\r\nabBDAT 2 LAST\r\n\r\nMAIL FROM:<b>\r\n", "250 1\r\n250 2\r\n250 3\r\n", 2, 1, "<b>", NULL },
    { "STARTTLS\r\n", "454 no\r\n", 1, 0, NULL, "TLS_REJECTED" },
    { "STARTTLS\r\n", "220 go\r\n", 1, 1, NULL, NULL },
};

START_TEST(transactions_are_told_apart)
{
    struct app_rig *rig = smtp_rig(cuts[_i % CUTS], NULL);
    unsigned row = (unsigned)_i / CUTS;

    server(rig, "220 mail\r\n");
    ask(rig, "EHLO me\r\n", "250-mail\r\n250 CHUNKING\r\n");
    client(rig, sessions[row].client);
    server(rig, sessions[row].server);
    for (unsigned i = 0; i < sessions[row].count; i++)
        ck_assert_int_eq(is_complete(rig, i), i < sessions[row].complete);
    ck_assert_ptr_null(app_rig_tx(rig, sessions[row].count));
    if (sessions[row].sender)
        assert_buffer(rig, sessions[row].count - 1, "smtp.mail_from", 0, sessions[row].sender);
    if (sessions[row].events)
        ck_assert_msg(app_rig_has_event(rig, 0, sessions[row].events), "%u: %s", row, app_rig_json(rig, 0));
    else
        ck_assert_ptr_null(strstr(app_rig_json(rig, 0), "events"));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

START_TEST(pipelined_mails_are_told_apart)
{
    struct app_rig *rig = smtp_rig(cuts[_i], NULL);

    begin(rig);
    client(rig, "From: a\r\n\r\nx\r\n.\r\nRSET\r\nMAIL FROM:<b>\r\nRCPT TO:<c>\r\nDATA\r\n");
    ck_assert(!is_complete(rig, 0));
    server(rig, "250 queued\r\n250 reset\r\n250 b\r\n250 c\r\n354 go\r\n");
    client(rig, "From: b\r\n\r\ny\r\n.\r\n");
    server(rig, "250 queued\r\n");
    ck_assert(is_complete(rig, 0) && is_complete(rig, 1));
    assert_buffer(rig, 1, "email.from", 0, "b");
    ck_assert_ptr_null(strstr(app_rig_json(rig, 0), "events"));
    ck_assert_ptr_null(app_rig_tx(rig, 2));
    app_rig_free(rig);
}
END_TEST

/* A server with PIPELINING gets the message right after DATA. If it refuses DATA, commands follow. */
START_TEST(data_is_not_waited_for)
{
    struct app_rig *rig = smtp_rig(cuts[_i % CUTS], NULL);
    bool refused = _i >= CUTS;

    server(rig, "220 mail\r\n");
    ask(rig, "EHLO me\r\n", "250-mail\r\n250-PIPELINING\r\n250 SIZE\r\n");
    ask(rig, "MAIL FROM:<a>\r\n", "250 ok\r\n");
    client(rig, "DATA\r\n");
    if (refused)
        server(rig, "554 no\r\n");
    client(rig, "Subject: x\r\n\r\ny\r\n.\r\n");
    assert_buffer(rig, 0, "email.subject", 0, refused ? NULL : "x");
    ck_assert_int_eq(app_rig_has_event(rig, 0, "DATA_COMMAND_REJECTED"), refused);
    app_rig_free(rig);
}
END_TEST

static const struct {
    const char *server;
    bool fails, event;
} replies[] = {
    { "250 ok\r\n", false, false }, { "472 what\r\n", true, true },   { "ok\r\n", true, true },
    { "25\r\n", true, true },       { "\n250 ok\r\n", false, false }, { "\r\n", true, true },
    { "250\r\n", false, false },
};

START_TEST(invalid_replies_are_told)
{
    struct app_rig *rig = smtp_rig(cuts[_i % CUTS], NULL);

    server(rig, "220 mail\r\n");
    client(rig, "HELO me\r\n");
    server(rig, replies[_i / CUTS].server);
    ck_assert_int_eq(rig->failed, replies[_i / CUTS].fails);
    ck_assert_int_eq(app_rig_has_event(rig, 0, "INVALID_REPLY"), replies[_i / CUTS].event);
    app_rig_free(rig);
}
END_TEST

/* Lines within AUTH are no commands, even if they look like commands. */
START_TEST(auth_is_passed_over)
{
    struct app_rig *rig = smtp_rig(cuts[_i], NULL);

    server(rig, "220 mail\r\n");
    ask(rig, "EHLO me\r\n", "250-PIPELINING\r\n250-PIPELINING\r\n250 AUTH\r\n");
    ask(rig, "AUTH LOGIN\r\n", "334 VXNlcm5hbWU6\r\n");
    ask(rig, "data\r\n", "334 UGFzc3dvcmQ6\r\n");
    ask(rig, "Rset\r\n", "235 ok\r\n");
    ask(rig, "MAIL FROM:<a>\r\n", "250 ok\r\n");
    assert_buffer(rig, 0, "smtp.mail_from", 0, "<a>");
    ck_assert_ptr_null(strstr(app_rig_json(rig, 0), "events"));
    app_rig_free(rig);
}
END_TEST

START_TEST(greeting_is_missed)
{
    struct app_rig *rig = smtp_rig(cuts[_i], NULL);

    client(rig, "HELO me\r\n");
    ck_assert(app_rig_has_event(rig, 0, "NO_SERVER_WELCOME_MESSAGE"));
    app_rig_free(rig);
}
END_TEST

START_TEST(long_lines_are_cut)
{
    struct app_rig *rig = smtp_rig(cuts[_i], NULL);
    char line[6000];

    memset(line, 'x', sizeof(line));
    memcpy(line, "HELO ", 5);
    memcpy(line + sizeof(line) - 2, "\r\n", 2);
    server(rig, "220 mail\r\n");
    app_rig_send(rig, FLOW_TO_SERVER, line, sizeof(line));
    memcpy(line, "xxxxx", 5);
    app_rig_send(rig, FLOW_TO_CLIENT, line, sizeof(line));
    server(rig, "250 ok\r\n");
    ask(rig, "MAIL FROM:<a>\r\n", "250 ok\r\n");
    ck_assert(app_rig_has_event(rig, 0, "TRUNCATED_LINE"));
    ck_assert(app_rig_has_event(rig, 0, "MAX_COMMAND_LINE_LEN_EXCEEDED"));
    ck_assert(app_rig_has_event(rig, 0, "MAX_REPLY_LINE_LEN_EXCEEDED"));
    assert_buffer(rig, 0, "smtp.mail_from", 0, "<a>");
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

/* Commands without end and without replies: the number of open commands is limited. */
START_TEST(waiting_is_bounded)
{
    struct app_rig *rig = smtp_rig(0, NULL);

    server(rig, "220 mail\r\n");
    client(rig, "HELO me\r\n");
    for (unsigned i = 0; i < QUEUE_MAX && !rig->failed; i++)
        client(rig, "RCPT TO:<a>\r\n");
    ck_assert(rig->failed);
    assert_buffer(rig, 0, "smtp.rcpt_to", RECIPIENTS_MAX - 1, "<a>");
    assert_buffer(rig, 0, "smtp.rcpt_to", RECIPIENTS_MAX, NULL);
    ck_assert(app_rig_has_event(rig, 0, "TOO_MANY_RECIPIENTS"));
    app_rig_free(rig);
}
END_TEST

START_TEST(tls_takes_over)
{
    static const uint8_t hello[] = { 22, 3, 1, 0, 5, 1, 0, 0, 1, 0 };
    struct app_rig *rig = smtp_rig(cuts[_i], NULL);

    server(rig, "220 mail\r\n");
    ask(rig, "EHLO me\r\n", "250 STARTTLS\r\n");
    ask(rig, "STARTTLS\r\n", "220 go\r\n");
    ck_assert(is_complete(rig, 0));
    app_rig_send(rig, FLOW_TO_SERVER, hello, sizeof(hello));
    ck_assert_str_eq(app_rig_protocol(rig), "tls");
    app_rig_free(rig);
}
END_TEST

/* --- Gaps ----------------------------------------------------------------------------------------- */

START_TEST(gap_in_a_message)
{
    struct app_rig *rig = smtp_rig(cuts[_i], NULL);

    begin(rig);
    client(rig, "Content-Type: a/b; name=c\r\n\r\none\r\ntw");
    app_rig_lose(rig, FLOW_TO_SERVER, 100);
    client(rig, "rest\r\nthree\r\n.\r\n");
    server(rig, "250 ok\r\n");
    ck_assert_uint_eq(file_of(rig, 0, 0)->size,
                      strlen("onethree") + 102); /* bytes that were waiting before the gap are lost, too */
    ck_assert_int_eq(file_of(rig, 0, 0)->state, FILE_TRUNCATED);
    ck_assert(file_of(rig, 0, 0)->has_gaps);
    ck_assert(is_complete(rig, 0) && !rig->failed);
    app_rig_free(rig);
}
END_TEST

/* The end of a BDAT chunk is known even if bytes of it are lost. */
START_TEST(gap_in_a_chunk)
{
    struct app_rig *rig = smtp_rig(cuts[_i % CUTS], NULL);
    bool to_its_end = _i >= CUTS;

    server(rig, "220 mail\r\n");
    ask(rig, "EHLO me\r\n", "250 CHUNKING\r\n");
    client(rig, "BDAT 100 LAST\r\nContent-Type: a; name=c\r\n\r\none\r\n");
    app_rig_lose(rig, FLOW_TO_SERVER, to_its_end ? 68 : 61);
    if (!to_its_end)
        client(rig, "x\r\ntwo\n");
    client(rig, "MAIL FROM:<b>\r\n");
    server(rig, "250 ok\r\n250 ok\r\n");
    ck_assert(is_complete(rig, 0));
    assert_buffer(rig, 1, "smtp.mail_from", 0, "<b>");
    ck_assert_int_eq(file_of(rig, 0, 0)->state, FILE_TRUNCATED);
    ck_assert_ptr_null(strstr(app_rig_json(rig, 0), "events"));
    app_rig_free(rig);
}
END_TEST

START_TEST(gap_in_replies)
{
    struct app_rig *rig = smtp_rig(cuts[_i], NULL);

    server(rig, "220 mail\r\n");
    client(rig, "HELO me\r\nMAIL FROM:<a>\r\nDATA\r\n");
    app_rig_lose(rig, FLOW_TO_CLIENT, 30);
    server(rig, "xx\r\n");
    client(rig, "Subject: s\r\n\r\nb\r\n.\r\n");
    server(rig, "250 ok\r\n");
    assert_buffer(rig, 0, "email.subject", 0, "s");
    ck_assert(is_complete(rig, 0) && !rig->failed);
    app_rig_free(rig);
}
END_TEST

START_TEST(connection_ends_in_a_message)
{
    struct app_rig *rig = smtp_rig(cuts[_i], NULL);

    begin(rig);
    client(rig, "Content-Type: a/b; name=c\r\n\r\none\r\ntwo");
    app_rig_end(rig, FLOW_TO_SERVER);
    app_rig_close(rig);
    assert_file(rig, 0, 0, "c", "one", FILE_TRUNCATED);
    app_rig_free(rig);
}
END_TEST

/* --- Messages ------------------------------------------------------------------------------------- */

#define MIXED "Content-Type: multipart/mixed; boundary=\"b\"\r\n\r\n"
#define PART "--b\r\nContent-Disposition: attachment; filename=\"f\"\r\n"

static const struct {
    const char *message;
    const char *name[2], *content[2];
    const char *event;
} messages[] = {
    { MIXED PART "\r\none\r\ntwo\r\n--b--\r\n", { "f" }, { "one\r\ntwo" }, NULL },
    { MIXED PART "\r\none\r\n\r\n--b\r\nContent-Type: a/b; name=g\r\n\r\n\r\n--b--\r\nx\r\n",
      { "f", "g" },
      { "one\r\n", "" },
      NULL },
    { MIXED PART "--b\r\nContent-Type: a/b; name=g\r\n\r\n2\r\n--b--\r\n", { "f", "g" }, { "", "2" }, NULL },
    { MIXED PART "Content-Transfer-Encoding: base64\r\n\r\nQUJD\r\nRE\r\nVGRw==\r\n--b--\r\n",
      { "f" },
      { "ABCDEFG" },
      NULL },
    { MIXED PART "Content-Transfer-Encoding: BASE64\r\n\r\nQU JD=!\r\nREU\r\n--b--\r\n",
      { "f" },
      { "ABCDE" },
      "MIME_INVALID_BASE64" },
    { MIXED PART "Content-Transfer-Encoding: quoted-printable\r\n\r\na=3D=\r\nb=e4\r\nc\r\n--b--\r\n",
      { "f" },
      { "a=b\xe4\r\nc" },
      NULL },
    { MIXED PART "Content-Transfer-Encoding: quoted-printable\r\n\r\na=zzb=4\r\n--b--\r\n",
      { "f" },
      { "a=zzb=4" }, /* as receivers do it */
      "MIME_INVALID_QP" },
    { MIXED "--b\r\n" MIXED PART "\r\nx\r\n--b--\r\n", { "f" }, { "x" }, NULL },
    { "Content-Type: multipart/mixed;\r\n boundary=b\r\n\r\n--b\r\nContent-Type: multipart/related; "
      "boundary=bb\r\n\r\n--bb\r\n"
      "Content-Type: a/b; name=in\r\n\r\nx\r\n--bb--\r\n--b\r\nContent-Type: a/b; name=out\r\n\r\ny\r\n--b--\r\n",
      { "in", "out" },
      { "x", "y" },
      NULL },
    { MIXED
      "--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: in\r\nContent-Type: a/b; name=in\r\n\r\nx\r\n--b--\r\n",
      { "in" },
      { "x" },
      NULL },
    { "Content-Type: message/rfc822; name=no\r\nContent-Transfer-Encoding: base64\r\n\r\nContent-Type: a/b; "
      "name=in\r\n\r\nx\r\n",
      { "in" },
      { "x" },
      NULL },
    { "Content-Disposition: attachment; filename*0=\"a b\"; filename*1=c;\r\n filename*2*=%64.e\r\n\r\nx\r\n",
      { "a bcd.e" },
      { "x" },
      NULL },
    { "Content-Disposition: attachment; filename*=utf-8'en'a%20b%zz\r\n\r\nx\r\n", { "a b%zz" }, { "x" }, NULL },
    { "Content-Disposition: attachment; x; =; filename = \"f\\\"\"; y\r\n\r\nx\r\n", { "f\\\"" }, { "x" }, NULL },
    { "Content-Disposition: inline\r\nContent-Type: a/b; charset=x; NAME=n\r\n\r\nx\r\n", { "n" }, { "x" }, NULL },
    { "Content-Disposition: x; other=\"filename=no;\"\r\n\r\nx\r\n", { NULL }, { NULL }, NULL },
    { "Subject: x\r\n\r\nno file\r\n", { NULL }, { NULL }, NULL },
};

START_TEST(parts_are_found)
{
    struct app_rig *rig = smtp_rig(cuts[_i % CUTS], NULL);
    unsigned row = (unsigned)_i / CUTS, count = 0;

    begin(rig);
    client(rig, messages[row].message);
    client(rig, ".\r\n");
    for (; count < 2 && messages[row].name[count]; count++)
        assert_file(rig, 0, count, messages[row].name[count], messages[row].content[count], FILE_CLOSED);
    ck_assert_ptr_null(file_of(rig, 0, count));
    if (messages[row].event)
        ck_assert_msg(app_rig_has_event(rig, 0, messages[row].event), "%u: %s", row, app_rig_json(rig, 0));
    else
        ck_assert_ptr_null(strstr(app_rig_json(rig, 0), "events"));
    app_rig_free(rig);
}
END_TEST

/* Messages in BDAT chunks that end at any place. */
START_TEST(chunks_are_joined)
{
    struct app_rig *rig = smtp_rig(cuts[_i % CUTS], NULL);
    unsigned row = (unsigned)_i / CUTS, count = 0;
    const char *at = messages[row].message;
    size_t left = strlen(at);

    server(rig, "220 mail\r\n");
    ask(rig, "EHLO me\r\n", "250 CHUNKING\r\n");
    while (left > 0) {
        size_t size = left < 7 ? left : 7;
        char command[32];

        snprintf(command, sizeof(command), "BDAT %zu%s\r\n", size, size == left ? " last" : "");
        client(rig, command);
        app_rig_send(rig, FLOW_TO_SERVER, at, size);
        server(rig, "250 ok\r\n");
        at += size;
        left -= size;
    }
    ck_assert(is_complete(rig, 0));
    for (; count < 2 && messages[row].name[count]; count++)
        assert_file(rig, 0, count, messages[row].name[count], messages[row].content[count], FILE_CLOSED);
    ck_assert_ptr_null(file_of(rig, 0, count));
    app_rig_free(rig);
}
END_TEST

START_TEST(urls_are_found)
{
    struct app_rig *rig = smtp_rig(cuts[_i % CUTS], _i < CUTS ? NULL
                                                              : "app-layer: {protocols: {smtp: {mime: {log-url-scheme: "
                                                                "true, extract-urls-schemes: [https, ftp]}}}}\n");
    bool schemes = _i >= CUTS;

    begin(rig);
    client(rig, MIXED
           "http://preamble\r\n--b\r\nContent-Type: text/plain\r\n\r\nsee HTTP://a.b/c?d and <http://e> https://f\r\n"
           "--b\r\nContent-Type: text/html; charset=x\r\n\r\n<a href=\"ftp://g\">:http:/no\r\n" PART
           "Content-Transfer-Encoding: base64\r\n\r\nDQpodHRw\r\nOi8vaC9pIA==\r\n--b--\r\nhttp://after\r\n.\r\n");
    assert_buffer(rig, 0, "email.url", 0, schemes ? "https://f" : "a.b/c?d");
    assert_buffer(rig, 0, "email.url", 1, schemes ? "ftp://g" : "e");
    assert_buffer(rig, 0, "email.url", 2, schemes ? NULL : "h/i");
    assert_buffer(rig, 0, "email.url", 3, NULL);
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), schemes ? "\"url\":[\"ftp://g\",\"https://f\"]"
                                                               : "\"url\":[\"h/i\",\"e\",\"a.b/c?d\"]"));
    app_rig_free(rig);
}
END_TEST

/* URLs beyond the limit are not stored, and reported once. */
START_TEST(urls_have_a_limit)
{
    enum { URLS_MAX = 256 };
    struct app_rig *rig = smtp_rig(0, NULL);

    begin(rig);
    client(rig, "Subject: x\r\n\r\n");
    for (unsigned i = 0; i < URLS_MAX; i++)
        client(rig, "http://a/\r\n");
    assert_buffer(rig, 0, "email.url", URLS_MAX - 1, "a/");
    ck_assert(!app_rig_has_event(rig, 0, "MIME_PARSE_FAILED"));
    client(rig, "no more\r\nhttp://b/\r\n.\r\n");
    assert_buffer(rig, 0, "email.url", URLS_MAX, NULL);
    ck_assert(app_rig_has_event(rig, 0, "MIME_PARSE_FAILED"));
    app_rig_free(rig);
}
END_TEST

/* A URL is available to rules when it arrives, not only at the end of the message. */
START_TEST(urls_are_told_at_once)
{
    struct app_rig *rig = smtp_rig(0, NULL);

    begin(rig);
    client(rig, "Subject: x\r\n\r\n");
    app_rig_tx(rig, 0)->fresh[FLOW_TO_SERVER] = false;
    client(rig, "text\r\n");
    ck_assert(!app_rig_tx(rig, 0)->fresh[FLOW_TO_SERVER]);
    client(rig, "http://a\r\n");
    ck_assert(app_rig_tx(rig, 0)->fresh[FLOW_TO_SERVER]);
    assert_buffer(rig, 0, "email.url", 0, "a");
    app_rig_free(rig);
}
END_TEST

/* Lines of a message: `length` letters between two texts. */
static const struct {
    const char *before, *after;
    unsigned length;
    const char *event;
    bool set;
} limits[] = {
    { "S: ", "\r\n\r\n", 995, "MIME_LONG_LINE", false },
    { "S: ", "\r\n\r\n", 996, "MIME_LONG_LINE", true },
    { "\r\n", "\r\n", 9000, "MIME_LONG_LINE", true },
    { "", ": x\r\n\r\n", 75, "MIME_LONG_HEADER_NAME", false },
    { "", ": x\r\n\r\n", 76, "MIME_LONG_HEADER_NAME", true },
    { "S: ", "\r\n\r\n", 2000, "MIME_LONG_HEADER_VALUE", false },
    { "S: ", "\r\n\r\n", 2001, "MIME_LONG_HEADER_VALUE", true },
    { "S: x\r\n ", "\r\n\r\n", 2001, "MIME_LONG_HEADER_VALUE", true },
    { "Content-Type: multipart/x; boundary=", "\r\n\r\n", 254, "MIME_LONG_BOUNDARY", false },
    { "Content-Type: multipart/x; boundary=", "\r\n\r\n", 255, "MIME_LONG_BOUNDARY", true },
    { "Content-Type: a; name=", "\r\n\r\n", 255, "MIME_LONG_FILENAME", false },
    { "Content-Type: a; name=", "\r\n\r\n", 256, "MIME_LONG_FILENAME", true },
    { "Content-Type: a; name=f\r\nContent-Transfer-Encoding: base64\r\n\r\n", "\r\n", 76, "MIME_LONG_ENC_LINE", false },
    { "Content-Type: a; name=f\r\nContent-Transfer-Encoding: base64\r\n\r\n", "\r\n", 77, "MIME_LONG_ENC_LINE", true },
    { "S: ", "\r\n\r\n", 65535, "MIME_PARSE_FAILED", false },
    { "S: ", "\r\n\r\n", 65536, "MIME_PARSE_FAILED", true },
};

START_TEST(limits_are_told)
{
    static char letters[70000];
    struct app_rig *rig = smtp_rig(cuts[_i % CUTS], NULL);
    unsigned row = (unsigned)_i / CUTS;

    memset(letters, 'a', sizeof(letters));
    begin(rig);
    client(rig, limits[row].before);
    app_rig_send(rig, FLOW_TO_SERVER, letters, limits[row].length);
    client(rig, limits[row].after);
    client(rig, ".\r\n");
    ck_assert_msg(app_rig_has_event(rig, 0, limits[row].event) == limits[row].set, "%u %s", row, limits[row].event);
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

static void deepen(struct app_rig *rig, unsigned levels)
{
    client(rig, "Content-Type: multipart/x; boundary=b0\r\n\r\n");
    for (unsigned i = 0; i + 1 < levels; i++) {
        char part[100];

        snprintf(part, sizeof(part), "--b%u\r\nContent-Type: multipart/x; boundary=b%u\r\n\r\n", i, i + 1);
        client(rig, part);
    }
}

START_TEST(depth_is_bounded)
{
    static const struct {
        unsigned levels, nested;
        bool set;
    } rows[] = { { MULTIPART_DEPTH_MAX, 0, false },
                 { MULTIPART_DEPTH_MAX + 1, 0, true },
                 { 1, NESTED_MESSAGES_MAX, false },
                 { 1, NESTED_MESSAGES_MAX + 1, true } };
    struct app_rig *rig = smtp_rig(0, NULL);

    begin(rig);
    deepen(rig, rows[_i].levels);
    for (unsigned i = 0; i < rows[_i].nested; i++)
        client(rig, i == 0 ? "--b0\r\nContent-Type: message/rfc822\r\n\r\n" : "Content-Type: message/rfc822\r\n\r\n");
    client(rig, ".\r\n");
    ck_assert_int_eq(app_rig_has_event(rig, 0, "MIME_MALFORMED_MSG"), rows[_i].set);
    app_rig_free(rig);
}
END_TEST

START_TEST(files_are_bounded)
{
    struct app_rig *rig = smtp_rig(0, NULL);

    begin(rig);
    client(rig, MIXED);
    for (unsigned i = 0; i <= FILES_MAX; i++)
        client(rig, PART "\r\nx\r\n");
    client(rig, ".\r\n");
    ck_assert_uint_eq(app_rig_tx(rig, 0)->files[FLOW_TO_SERVER].count, FILES_MAX);
    ck_assert(app_rig_has_event(rig, 0, "MIME_PARSE_FAILED"));
    app_rig_free(rig);
}
END_TEST

/* --- Settings ------------------------------------------------------------------------------------- */

static const struct {
    const char *yaml;
    const char *json;
} settings[] = {
    { "app-layer: {protocols: {smtp: {mime: {decode-mime: false}}}}\n",
      "{\"helo\":\"me\",\"mail_from\":\"<a@b>\",\"rcpt_to\":[\"<c@d>\"]}" },
    { "eve: {types: {smtp: {extended: true}}}\n", "\"email\":{\"status\":\"PARSE_DONE\",\"attachment\":[\"f\"],\"bcc\":"
                                                  "[\"x\",\"y\"],\"subject\":\"s\",\"x_mailer\":\"m\"}" },
    { "eve: {types: {smtp: {custom: [received, X-Mailer]}}}\n",
      "\"email\":{\"status\":\"PARSE_DONE\",\"attachment\":[\"f\"],\"x_mailer\":\"m\",\"received\":[\"1\",\"2\"]}" },
    { "eve: {types: {smtp: {md5: [body, subject]}}}\n",
      "\"subject_md5\":\"03c7c0ace395d80182db07ae2c30f034\",\"body_md5\":\"89dd3590116a70b579661a2d8593bb2f\"" },
};

START_TEST(settings_hold)
{
    struct app_rig *rig = smtp_rig(0, settings[_i].yaml);

    begin(rig);
    client(rig, "Subject: s\r\nBcc: x, y\r\nReceived: 1\r\nX-Mailer: m\r\nReceived: 2\r\nContent-Type: a; "
                "name=f\r\n\r\nbody\r\n.\r\n");
    ck_assert_msg(strstr(app_rig_json(rig, 0), settings[_i].json) != NULL, "%s", app_rig_json(rig, 0));
    app_rig_free(rig);
}
END_TEST

/* The digest of the body is computed only if a rule or a setting needs it. */
static const struct {
    const char *yaml;
    unsigned wanted;
    bool made;
} body_digests[] = {
    { NULL, 0, false },
    { NULL, RULE_FILE_MD5, false },
    { NULL, RULE_MESSAGE_MD5, true },
    { "eve: {types: {smtp: {md5: [subject]}}}\n", 0, false },
    { "eve: {types: {smtp: {md5: [body]}}}\n", 0, true },
    { "app-layer: {protocols: {smtp: {mime: {body-md5: yes}}}}\n", 0, true },
    { "app-layer: {protocols: {smtp: {mime: {body-md5: no}}}}\n", RULE_MESSAGE_MD5, false },
};

START_TEST(body_digest_is_made_on_demand)
{
    struct app_rig *rig = smtp_rig(0, body_digests[_i].yaml);

    app_set_needs(rig->app, body_digests[_i].wanted);
    begin(rig);
    client(rig, "Subject: s\r\n\r\nbody\r\n.\r\n");
    assert_buffer(rig, 0, "email.body_md5", 0, body_digests[_i].made ? "89dd3590116a70b579661a2d8593bb2f" : NULL);
    app_rig_free(rig);
}
END_TEST

START_TEST(raw_message_is_a_file)
{
    struct app_rig *rig =
        smtp_rig(cuts[_i], "app-layer: {protocols: {smtp: {raw-extraction: true, mime: {decode-mime: false}}}}\n");

    begin(rig);
    client(rig, "Subject: s\r\n\r\n..x\r\n.\r\n");
    assert_file(rig, 0, 0, "rawmsg", "Subject: s\r\n\r\n.x\r\n", FILE_CLOSED);
    app_rig_free(rig);
}
END_TEST

/* --- Protocol detection ----------------------------------------------------------------------------------- */

static const struct {
    uint16_t port;
    enum flow_direction direction;
    const char *sent;
    bool found;
} finds[] = {
    { 25, FLOW_TO_CLIENT, "220 ready\r\n", true },         { 4025, FLOW_TO_CLIENT, "220 mail ESMTP\r\n", true },
    { 4025, FLOW_TO_CLIENT, "220 ready\r\n", false },      { 21, FLOW_TO_CLIENT, "220 mail ESMTP\r\n", false },
    { 4025, FLOW_TO_CLIENT, "221 mail ESMTP\r\n", false }, { 4025, FLOW_TO_SERVER, "EHLO a\r\n", true },
    { 4025, FLOW_TO_SERVER, "helo a\r\n", true },          { 4025, FLOW_TO_SERVER, "GET / HTTP/1.1\r\n", false },
};

START_TEST(protocol_is_found)
{
    struct app_rig *rig = smtp_rig(cuts[_i % CUTS], NULL);
    const char *found;

    rig->flow.server_port = finds[_i / CUTS].port;
    app_rig_text(rig, finds[_i / CUTS].direction, finds[_i / CUTS].sent);
    found = app_rig_protocol(rig);
    ck_assert_int_eq(found && strcmp(found, "smtp") == 0, finds[_i / CUTS].found);
    app_rig_free(rig);
}
END_TEST

static void add_sessions(TCase *tests)
{
    tcase_add_loop_test(tests, mail_is_read, 0, CUTS);
    tcase_add_loop_test(tests, one_write_is_read_in_every_way, 0, ROWS(one_writes) * CUTS);
    tcase_add_test(tests, readings_are_limited);
    tcase_add_loop_test(tests, transactions_are_told_apart, 0, ROWS(sessions) * CUTS);
    tcase_add_loop_test(tests, pipelined_mails_are_told_apart, 0, CUTS);
    tcase_add_loop_test(tests, data_is_not_waited_for, 0, 2 * CUTS);
    tcase_add_loop_test(tests, invalid_replies_are_told, 0, ROWS(replies) * CUTS);
    tcase_add_loop_test(tests, auth_is_passed_over, 0, CUTS);
    tcase_add_loop_test(tests, greeting_is_missed, 0, CUTS);
    tcase_add_loop_test(tests, long_lines_are_cut, 0, CUTS);
    tcase_add_test(tests, waiting_is_bounded);
    tcase_add_loop_test(tests, tls_takes_over, 0, CUTS);
    tcase_add_loop_test(tests, gap_in_a_message, 0, CUTS);
    tcase_add_loop_test(tests, gap_in_a_chunk, 0, 2 * CUTS);
    tcase_add_loop_test(tests, gap_in_replies, 0, CUTS);
    tcase_add_loop_test(tests, connection_ends_in_a_message, 0, CUTS);
    tcase_add_loop_test(tests, protocol_is_found, 0, ROWS(finds) * CUTS);
}

int main(void)
{
    Suite *suite = suite_create("app_smtp");
    TCase *tests = tcase_create("smtp");

    add_sessions(tests);
    tcase_add_loop_test(tests, parts_are_found, 0, ROWS(messages) * CUTS);
    tcase_add_loop_test(tests, chunks_are_joined, 0, ROWS(messages) * CUTS);
    tcase_add_loop_test(tests, urls_are_found, 0, 2 * CUTS);
    tcase_add_test(tests, urls_are_told_at_once);
    tcase_add_test(tests, urls_have_a_limit);
    tcase_add_loop_test(tests, limits_are_told, 0, ROWS(limits) * CUTS);
    tcase_add_loop_test(tests, depth_is_bounded, 0, 4);
    tcase_add_test(tests, files_are_bounded);
    tcase_add_loop_test(tests, settings_hold, 0, ROWS(settings));
    tcase_add_loop_test(tests, body_digest_is_made_on_demand, 0, ROWS(body_digests));
    tcase_add_loop_test(tests, raw_message_is_a_file, 0, CUTS);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
