/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SMTP: input that servers and mail readers interpret differently. */
#include <check.h>

#include "../lib/app_rig.h"

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

#define MIXED "Content-Type: multipart/mixed; boundary=\"b\"\r\n\r\n"
#define PART "--b\r\nContent-Disposition: attachment; filename=\"f\"\r\n"

/* MIME that mail readers interpret differently; rules must see every interpretation. */
#define DATA64 "Y29udGVudA==\r\n" /* Base64 of "content" */

static const struct {
    const char *message;
    const char *content; /* some file has this content */
    const char *name;    /* if not NULL, file.name has this value */
} ambiguous[] = {
    { MIXED PART "Content-Transfer-Encoding: x-uuencode\r\n\r\nbegin 644 u\r\n'8V]N=&5N=```\r\n`\r\nend\r\n--b--\r\n",
      "content", "u" },
    { "Subject: x\r\n\r\nSee:\r\nbegin  6  u v\r\n'8V]N=&5N=\r\n`\r\nend\r\nmore\r\n", "content", "u v" },
    { MIXED PART "Content-Transfer-Encoding: 7bit\r\nContent-Transfer-Encoding: base64\r\n\r\n" DATA64 "--b--\r\n",
      "content", NULL },
    { MIXED PART "Content-Transfer-Encoding: base64\r\nContent-Transfer-Encoding: 7bit\r\n\r\ncontent\r\n--b--\r\n",
      "content", NULL },
    { MIXED PART "Content-Transfer-Encoding : base64\r\n\r\n" DATA64 "--b--\r\n", "content", NULL },
    { MIXED PART "Content-Transfer-Encoding: \"base64\"\r\n\r\n" DATA64 "--b--\r\n", "content", NULL },
    { MIXED PART "Content-Transfer-Encoding: x-base64\r\n\r\ncontent\r\n--b--\r\n", "content", NULL },
    { MIXED PART "Content-Transfer-Encoding: quoted-printable\r\n\r\ncon= \t\r\ntent\r\n--b--\r\n", "content", NULL },
    { MIXED PART "Content-Transfer-Encoding: quoted-printable\r\n\r\n=ZZ==con=\rtent\r\n--b--\r\n", "=ZZ==content",
      NULL },
    /* Delimiters. */
    { MIXED PART "\r\none\r\n--bmore\r\ncontent\r\n--b--\r\n", "one\r\n--bmore\r\ncontent", NULL },
    { MIXED PART "\r\none\r\n--bmore\r\nContent-Type: a/b; name=g\r\n\r\ncontent\r\n--b--\r\n", "content", "g" },
    { MIXED " " PART "\r\ncontent\r\n--b--\r\n", "content", "f" },
    { MIXED "--" PART "\r\ncontent\r\n--b--\r\n", "content", "f" },
    { MIXED PART "\r\ncontent\r\n--b-- \t\r\nmore", "content", NULL },
    { "Content-Type: multipart/mixed; boundary=x; boundary=b\r\n\r\n" PART "\r\ncontent\r\n--b--\r\n", "content",
      NULL },
    { "Content-Type: multipart/mixed, boundary=b\r\n\r\n" PART "\r\ncontent\r\n--b--\r\n", "content", NULL },
    { "Content-Type: multipart/mixed boundary=\"b\"\r\n\r\n" PART "\r\ncontent\r\n--b--\r\n", "content", NULL },
    { "Content-Type: multipart/mixed; boundary='b'\r\n\r\n" PART "\r\ncontent\r\n--b--\r\n", "content", NULL },
    { "Content-Type: multipart/mixed; boundary=\"b \"\r\n\r\n" PART "\r\ncontent\r\n--b--\r\n", "content", NULL },
    { "Content-Type: multipart/mixed; boundary=\"<b>\"\r\n\r\n" PART "\r\ncontent\r\n--b--\r\n", "content", NULL },
    { "Content-Type: text/plain\r\n" MIXED PART "\r\ncontent\r\n--b--\r\n", "content", NULL },
    { MIXED "--b\r\nContent-Type: message/news\r\n\r\nContent-Type: a/b; name=g\r\n\r\ncontent\r\n--b--\r\n", "content",
      "g" },
    { "Subject: x\r\n\r\ntext\r\n" MIXED PART "\r\ncontent\r\n--b--\r\n", "content", "f" },
    /* Names. */
    { "Content-Disposition: attachment; (c) filename=g\r\n\r\ncontent\r\n", "content", "g" },
    { "Content-Disposition: attachment; x=\"a;b\"; filename=g\r\n\r\ncontent\r\n", "content", "g" },
    { "Content-Disposition: attachment; x=a=b; filename=g\r\n\r\ncontent\r\n", "content", "g" },
    { "Content-Disposition: filename=g\r\n\r\ncontent\r\n", "content", "g" },
    { "Content-Disposition: attachment, filename=g\r\n\r\ncontent\r\n", "content", "g" },
    { "Content-Disposition: attachment; filename=\"g\r\n\r\ncontent\r\n", "content", "g" },
    { "Content-Disposition: attachment; filename=a; filename=g\r\n\r\ncontent\r\n", "content", "g" },
    { "Content-Disposition: attachment; filename=a; filename*=utf-8''%67\r\n\r\ncontent\r\n", "content", "g" },
    { "Content-Disposition: attachment; filename=\"g\\h\"\r\n\r\ncontent\r\n", "content", "gh" },
    { "Content-Type: a/b; name=g\r\nContent-Disposition: attachment; filename=a\r\n\r\ncontent\r\n", "content", "g" },
    /* Headers. */
    { "Content-Disposition: attachment; filename=g\r\nno header\r\ncontent\r\n", "no header\r\ncontent", "g" },
    { "X: a\r\nno header\r\nContent-Disposition: attachment; filename=g\r\n\r\ncontent\r\n", "content", "g" },
    { MIXED "--b\r\r\nContent-Disposition: attachment; filename=g\r\r\n\r\r\ncontent\r\r\n--b--\r\r\n", "content\r",
      "g" },
    { "X: a\rContent-Disposition: attachment; filename=g\r\n\r\ncontent\r\n", "content", "g" },
};

static bool has_content(const struct app_rig *rig, const char *content)
{
    const struct file *file;

    for (unsigned i = 0; (file = file_of(rig, 0, i)); i++)
        if (memmem(file->data.bytes, file->data.length, content, strlen(content)))
            return true;
    return false;
}

static bool has_name(const struct app_rig *rig, const char *name)
{
    const struct app_buffer *buffer = app_file_buffer(&keyword_file_name);
    struct app_bytes bytes;

    for (unsigned i = 0; buffer->get(app_rig_tx(rig, 0), (struct app_selector){ FLOW_TO_SERVER, i, 0 }, &bytes); i++)
        if (bytes.length == strlen(name) && memcmp(bytes.bytes, name, bytes.length) == 0)
            return true;
    return false;
}

START_TEST(all_readings_are_there)
{
    struct app_rig *rig = smtp_rig(cuts[_i % CUTS], NULL);
    unsigned row = (unsigned)_i / CUTS;

    begin(rig);
    client(rig, ambiguous[row].message);
    client(rig, ".\r\n");
    ck_assert_msg(has_content(rig, ambiguous[row].content), "%u: %s", row, ambiguous[row].message);
    if (ambiguous[row].name)
        ck_assert_msg(has_name(rig, ambiguous[row].name), "%u: %s", row, ambiguous[row].message);
    app_rig_free(rig);
}
END_TEST

/* Many other headers do not displace the ones that are inspected. */
START_TEST(many_headers_displace_none)
{
    struct app_rig *rig = smtp_rig(0, NULL);
    static char line[1024];

    begin(rig);
    memset(line, 'x', sizeof(line) - 3);
    memcpy(line, "X: ", 3);
    memcpy(line + sizeof(line) - 3, "\r\n", 3);
    for (unsigned i = 0; i < 700; i++)
        client(rig, _i == 0 ? "X: y\r\n" : line);
    client(rig, "Subject: s\r\nContent-Disposition: attachment; filename=f\r\n\r\ncontent\r\n.\r\n");
    assert_buffer(rig, 0, "email.subject", 0, "s");
    ck_assert(has_content(rig, "content"));
    ck_assert(app_rig_has_event(rig, 0, "MIME_PARSE_FAILED"));
    app_rig_free(rig);
}
END_TEST

/* For servers that require CRLF the following bytes are part of the message, for others commands. */
static const char *const ends[] = { "\n.\n", "\n.\r\n", "\r\n.\n" };

START_TEST(message_goes_on_behind_a_doubtful_end)
{
    struct app_rig *rig = smtp_rig(cuts[_i % CUTS], NULL);
    const char *end = ends[_i / CUTS];
    bool found = false;

    begin(rig);
    client(rig, MIXED PART "\r\nfirst con");
    client(rig, end);
    client(rig, "tent\r\n" PART "\r\nsecond\r\n--b--\r\n.\r\n");
    for (uint64_t id = 0; id < 3; id++) {
        const struct app_tx *tx = app_rig_tx(rig, id);

        for (const struct file *file = tx ? tx->files[FLOW_TO_SERVER].first : NULL; file; file = file->next)
            found |= memmem(file->data.bytes, file->data.length, "second", 6) != NULL;
    }
    ck_assert(found);
    server(rig, "250 ok\r\n");
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

/* A reply shows that the server found the end of the message, so the other reading ends. */
START_TEST(reply_ends_the_doubt)
{
    struct app_rig *rig = smtp_rig(cuts[_i], NULL);

    begin(rig);
    client(rig, "Subject: a\n\nb\n.\n");
    server(rig, "250 ok\r\n");
    ck_assert(is_complete(rig, 0));
    client(rig, "MAIL FROM:<c>\n");
    server(rig, "250 ok\r\n");
    client(rig, "RCPT TO:<d>\n");
    server(rig, "250 ok\r\n");
    client(rig, "DATA\n");
    server(rig, "354 go\r\n");
    client(rig, "Subject: e\n\nf\n.\n");
    server(rig, "250 ok\r\n");
    ck_assert(!rig->failed);
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), "\"mail_from\""));
    app_rig_free(rig);
}
END_TEST

/* Besides the first HELO and MAIL FROM, the ones that servers may use instead are inspected. */
START_TEST(other_names_are_kept)
{
    struct app_rig *rig = smtp_rig(cuts[_i], NULL);

    server(rig, "220 mail\r\n");
    ask(rig, "HELO a\r\n", "250 ok\r\n");
    ask(rig, "EHLO b c\r\n", "250 ok\r\n");
    ask(rig, "MAIL FROM\r\n", "501 what\r\n");
    ask(rig, "MAIL FROM:x < d > SIZE=1\r\n", "250 ok\r\n");
    ask(rig, "RCPT TO:y <e f> NOTIFY=NEVER\r\n", "250 ok\r\n");
    assert_buffer(rig, 0, "smtp.helo", 0, "a");
    assert_buffer(rig, 0, "smtp.helo", 1, "b c");
    assert_buffer(rig, 0, "smtp.helo", 2, NULL);
    assert_buffer(rig, 0, "smtp.mail_from", 0, "");
    assert_buffer(rig, 0, "smtp.mail_from", 1, "< d >");
    assert_buffer(rig, 0, "smtp.rcpt_to", 0, "<e f>");
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_smtp_readings");
    TCase *tests = tcase_create("smtp");

    tcase_add_loop_test(tests, all_readings_are_there, 0, ROWS(ambiguous) * CUTS);
    tcase_add_loop_test(tests, many_headers_displace_none, 0, 2);
    tcase_add_loop_test(tests, message_goes_on_behind_a_doubtful_end, 0, ROWS(ends) * CUTS);
    tcase_add_loop_test(tests, reply_ends_the_doubt, 0, CUTS);
    tcase_add_loop_test(tests, other_names_are_kept, 0, CUTS);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
