/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Floods of line-based protocols: SMTP with its mails, POP3, IMAP, FTP, SSH. */
#include "work.h"

/* --- SMTP ----------------------------------------------------------------------------------------- */

static void greet(struct work *work)
{
    work_text(work, FLOW_TO_CLIENT, "220 mail SMTP\r\n");
    work_text(work, FLOW_TO_SERVER, "EHLO a\r\n");
    work_text(work, FLOW_TO_CLIENT, "250-mail\r\n250 PIPELINING\r\n");
}

/* Sends `before` once, and `again` `units` times. */
static void repeat(struct work *work, enum flow_direction direction, const char *before, const char *again,
                   uint32_t units)
{
    struct wire wire = { 0 };

    wire_text(&wire, "%s", before);
    for (uint32_t i = 0; i < units; i++)
        wire_put(&wire, again, strlen(again));
    work_send(work, direction, &wire);
    wire_free(&wire);
}

static void smtp_commands(struct work *work, uint32_t units)
{
    greet(work);
    repeat(work, FLOW_TO_SERVER, "", "NOOP\r\n", units);
}

static void smtp_endless_command(struct work *work, uint32_t units)
{
    greet(work);
    repeat(work, FLOW_TO_SERVER, "MAIL FROM:<", "aaaaaaaaaaaaaaaa", units);
}

static void smtp_endless_reply(struct work *work, uint32_t units)
{
    greet(work);
    repeat(work, FLOW_TO_CLIENT, "250-", "aaaaaaaaaaaaaaaa", units);
}

static void smtp_reply_lines(struct work *work, uint32_t units)
{
    greet(work);
    work_text(work, FLOW_TO_SERVER, "NOOP\r\n");
    repeat(work, FLOW_TO_CLIENT, "", "250-a\r\n", units);
}

static void smtp_recipients(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    greet(work);
    work_text(work, FLOW_TO_SERVER, "MAIL FROM:<a@b>\r\n");
    work_text(work, FLOW_TO_CLIENT, "250 ok\r\n");
    for (uint32_t i = 0; i < units; i++) {
        wire_text(&wire, "RCPT TO:<");
        wire_fill(&wire, 'a', 3000);
        wire_text(&wire, ">\r\n");
        work_send(work, FLOW_TO_SERVER, &wire);
        work_text(work, FLOW_TO_CLIENT, "250 ok\r\n");
    }
    wire_free(&wire);
}

static void smtp_messages(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    greet(work);
    for (uint32_t i = 0; i < units; i++)
        wire_text(&wire, "MAIL FROM:<a@b>\r\nRCPT TO:<a@b>\r\nDATA\r\nSubject: a\r\n\r\na\r\n.\r\n");
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void begin_message(struct work *work)
{
    greet(work);
    work_text(work, FLOW_TO_SERVER, "MAIL FROM:<a@b>\r\nRCPT TO:<a@b>\r\nDATA\r\n");
    work_text(work, FLOW_TO_CLIENT, "250 ok\r\n250 ok\r\n354 go\r\n");
}

static void mail_headers(struct work *work, uint32_t units)
{
    begin_message(work);
    repeat(work, FLOW_TO_SERVER, "", "Received: from a by b\r\n", units);
}

static void mail_endless_header(struct work *work, uint32_t units)
{
    begin_message(work);
    repeat(work, FLOW_TO_SERVER, "Subject: ", "aaaaaaaaaaaaaaaa", units);
}

static void mail_folded_header(struct work *work, uint32_t units)
{
    begin_message(work);
    repeat(work, FLOW_TO_SERVER, "Subject: ", "\r\n aaaaaaaaaaaaa", units);
}

static void mail_endless_line(struct work *work, uint32_t units)
{
    begin_message(work);
    repeat(work, FLOW_TO_SERVER, "Subject: a\r\n\r\n", "aaaaaaaaaaaaaaaa", units);
}

static void mail_parts(struct work *work, uint32_t units)
{
    begin_message(work);
    repeat(work, FLOW_TO_SERVER, "Content-Type: multipart/mixed; boundary=b\r\n\r\n",
           "--b\r\nContent-Disposition: attachment; filename=a\r\n\r\na\r\n", units);
}

static void mail_nested(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    begin_message(work);
    wire_text(&wire, "Content-Type: multipart/mixed; boundary=b0\r\n\r\n");
    for (uint32_t i = 0; i < units; i++)
        wire_text(&wire, "--b%u\r\nContent-Type: multipart/mixed; boundary=b%u\r\n\r\n", i, i + 1);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void mail_nested_messages(struct work *work, uint32_t units)
{
    begin_message(work);
    repeat(work, FLOW_TO_SERVER, "", "Content-Type: message/rfc822\r\n\r\n", units);
}

static void mail_parameters(struct work *work, uint32_t units)
{
    begin_message(work);
    for (uint32_t i = 0; i < units; i++)
        repeat(work, FLOW_TO_SERVER,
               i == 0 ? "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: a"
                      : "--b\r\nContent-Type: a",
               "; name*=a'b'%41", 200),
            work_text(work, FLOW_TO_SERVER, "\r\n\r\n");
}

static void mail_base64(struct work *work, uint32_t units)
{
    begin_message(work);
    repeat(work, FLOW_TO_SERVER, "Content-Transfer-Encoding: base64\r\nContent-Type: a/b; name=a\r\n\r\n",
           "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB\r\n", units);
}

static void mail_urls(struct work *work, uint32_t units)
{
    begin_message(work);
    repeat(work, FLOW_TO_SERVER, "Content-Type: text/plain\r\n\r\n", "http://http:/:::::: ", units);
}

static void mail_chunks(struct work *work, uint32_t units)
{
    greet(work);
    work_text(work, FLOW_TO_SERVER, "MAIL FROM:<a@b>\r\n");
    work_text(work, FLOW_TO_CLIENT, "250 ok\r\n");
    for (uint32_t i = 0; i < units; i++) {
        work_text(work, FLOW_TO_SERVER, "BDAT 1\r\na");
        work_text(work, FLOW_TO_CLIENT, "250 ok\r\n");
    }
}

/* --- FTP ------------------------------------------------------------------------------------------ */

static void ftp_commands(struct work *work, uint32_t units)
{
    work_text(work, FLOW_TO_CLIENT, "220 FTP\r\n");
    repeat(work, FLOW_TO_SERVER, "USER a\r\n", "NOOP\r\n", units);
}

static void ftp_answered(struct work *work, uint32_t units)
{
    work_text(work, FLOW_TO_CLIENT, "220 FTP\r\n");
    work_text(work, FLOW_TO_SERVER, "USER a\r\n");
    work_text(work, FLOW_TO_CLIENT, "331 a\r\n");
    for (uint32_t i = 0; i < units; i += 100) {
        repeat(work, FLOW_TO_SERVER, "", "NOOP\r\n", 100);
        repeat(work, FLOW_TO_CLIENT, "", "200 ok\r\n", 100);
    }
}

static void ftp_endless_command(struct work *work, uint32_t units)
{
    work_text(work, FLOW_TO_CLIENT, "220 FTP\r\n");
    repeat(work, FLOW_TO_SERVER, "USER a\r\nSTOR ", "aaaaaaaaaaaaaaaa", units);
}

static void ftp_endless_reply(struct work *work, uint32_t units)
{
    work_text(work, FLOW_TO_SERVER, "USER a\r\n");
    repeat(work, FLOW_TO_CLIENT, "220-", "aaaaaaaaaaaaaaaa", units);
}

static void ftp_reply_lines(struct work *work, uint32_t units)
{
    work_text(work, FLOW_TO_SERVER, "USER a\r\n");
    repeat(work, FLOW_TO_CLIENT, "220-a\r\n", "a\r\n", units);
}

static void ftp_ports(struct work *work, uint32_t units)
{
    work_text(work, FLOW_TO_CLIENT, "220 FTP\r\n");
    work_text(work, FLOW_TO_SERVER, "USER a\r\n");
    work_text(work, FLOW_TO_CLIENT, "331 a\r\n");
    for (uint32_t i = 0; i < units; i++) {
        char text[64];

        snprintf(text, sizeof(text), "PORT 10,0,0,1,%u,%u\r\nRETR a\r\n", i >> 8 & 255, i & 255);
        work_text(work, FLOW_TO_SERVER, text);
        work_text(work, FLOW_TO_CLIENT, "200 ok\r\n226 ok\r\n");
    }
}

/* --- SSH ------------------------------------------------------------------------------------------ */

static void ssh_banner(struct work *work, uint32_t units)
{
    repeat(work, FLOW_TO_SERVER, "SSH-2.0-", "aaaaaaaaaaaaaaaa", units);
}

static void ssh_records(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    wire_text(&wire, "SSH-2.0-a\r\n");
    for (uint32_t i = 0; i < units; i++)
        wire_put(&wire, "\0\0\0\2\0\2", 6);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

/* KEXINIT messages with algorithm lists of maximum length. */
static void ssh_offers(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    wire_text(&wire, "SSH-2.0-a\r\n");
    for (uint32_t i = 0; i < units; i++) {
        wire_number(&wire, 4, 60002);
        wire_number(&wire, 2, 20);
        wire_fill(&wire, ',', 60000);
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

#define ROW(text, of, at, function, ...)                                                                               \
    {                                                                                                                  \
        .name = text, .proto = of, .port = at, .run = function, __VA_ARGS__                                            \
    }
/* --- POP3 and IMAP -------------------------------------------------------------------------------- */

static void pop3_commands(struct work *work, uint32_t units)
{
    work_text(work, FLOW_TO_CLIENT, "+OK POP3\r\n");
    repeat(work, FLOW_TO_SERVER, "", "NOOP\r\n", units);
}

static void pop3_answered(struct work *work, uint32_t units)
{
    for (uint32_t i = 0; i < units; i++) {
        work_text(work, FLOW_TO_SERVER, "NOOP\r\n");
        work_text(work, FLOW_TO_CLIENT, "+OK\r\n");
    }
}

static void pop3_endless_command(struct work *work, uint32_t units)
{
    repeat(work, FLOW_TO_SERVER, "USER ", "aaaaaaaaaaaaaaaa", units);
}

static void pop3_endless_list(struct work *work, uint32_t units)
{
    work_text(work, FLOW_TO_SERVER, "LIST\r\n");
    repeat(work, FLOW_TO_CLIENT, "+OK\r\n", "1 2\r\n", units);
}

static void pop3_message(struct work *work, uint32_t units)
{
    work_text(work, FLOW_TO_SERVER, "RETR 1\r\n");
    repeat(work, FLOW_TO_CLIENT, "+OK\r\nContent-Type: text/plain; name=a\r\n\r\n", "a.\r\n", units);
}

static void imap_commands(struct work *work, uint32_t units)
{
    work_text(work, FLOW_TO_CLIENT, "* OK\r\n");
    repeat(work, FLOW_TO_SERVER, "", "a NOOP\r\n", units);
}

/* As many commands as are allowed without a response, then responses with another tag. */
static void imap_responses(struct work *work, uint32_t units)
{
    work_text(work, FLOW_TO_CLIENT, "* OK\r\n");
    repeat(work, FLOW_TO_SERVER, "", "a NOOP\r\n", 250);
    repeat(work, FLOW_TO_CLIENT, "", "b OK\r\n", units);
}

static void imap_literals(struct work *work, uint32_t units)
{
    work_text(work, FLOW_TO_CLIENT, "* OK\r\n");
    repeat(work, FLOW_TO_CLIENT, "* 1 FETCH (", "{1}\r\na", units);
}

static void imap_message(struct work *work, uint32_t units)
{
    work_text(work, FLOW_TO_CLIENT, "* OK\r\n");
    repeat(work, FLOW_TO_CLIENT, "* 1 FETCH ({999999999}\r\nContent-Type: text/plain; name=a\r\n\r\n", "a.\r\n", units);
}

static void imap_endless_line(struct work *work, uint32_t units)
{
    work_text(work, FLOW_TO_CLIENT, "* OK\r\n");
    repeat(work, FLOW_TO_CLIENT, "* 1 FETCH ", "aaaaaaaaaaaaaaaa", units);
}

#define SMTP(text, function, ...) ROW("SMTP: " text, "smtp", 25, function, __VA_ARGS__)
#define POP3(text, function, ...) ROW("POP3: " text, "pop3", 110, function, __VA_ARGS__)
#define IMAP(text, function, ...) ROW("IMAP: " text, "imap", 143, function, __VA_ARGS__)
#define FTP(text, function, ...) ROW("FTP: " text, "ftp", 21, function, __VA_ARGS__)
#define SSH(text, function, ...) ROW("SSH: " text, "ssh", 22, function, __VA_ARGS__)

const struct flood mail_floods[] = {
    SMTP("commands without a reply", smtp_commands, .units = 10000, .memory_kib = 1024, .given_up = true),
    SMTP("a command without end", smtp_endless_command, .units = 4000, .memory_kib = 1024,
         .event = "MAX_COMMAND_LINE_LEN_EXCEEDED"),
    SMTP("a reply without end", smtp_endless_reply, .units = 4000, .memory_kib = 1024,
         .event = "MAX_REPLY_LINE_LEN_EXCEEDED"),
    SMTP("lines of a reply without end", smtp_reply_lines, .units = 5000, .memory_kib = 1024),
    SMTP("recipients", smtp_recipients, .units = 500, .memory_kib = 1024),
    SMTP("messages without a reply", smtp_messages, .units = 500, .memory_kib = 2048, .given_up = true),
    SMTP("headers of a message", mail_headers, .units = 2000, .memory_kib = 1024, .event = "MIME_PARSE_FAILED"),
    SMTP("a header without end", mail_endless_header, .units = 8000, .memory_kib = 1024,
         .event = "MIME_LONG_HEADER_VALUE"),
    SMTP("a header folded without end", mail_folded_header, .units = 8000, .memory_kib = 1024,
         .event = "MIME_LONG_HEADER_VALUE"),
    SMTP("a line without end", mail_endless_line, .units = 4000, .memory_kib = 1024, .event = "MIME_LONG_LINE"),
    SMTP("parts of a message", mail_parts, .units = 1000, .memory_kib = 1024, .event = "MIME_PARSE_FAILED"),
    SMTP("parts within parts", mail_nested, .units = 500, .memory_kib = 1024, .event = "MIME_MALFORMED_MSG"),
    SMTP("messages within messages", mail_nested_messages, .units = 1000, .memory_kib = 1024,
         .event = "MIME_MALFORMED_MSG"),
    SMTP("parameters", mail_parameters, .units = 20, .memory_kib = 1024),
    SMTP("base64 without end", mail_base64, .units = 4000, .memory_kib = 1024),
    SMTP("URLs without end", mail_urls, .units = 4000, .memory_kib = 1024),
    SMTP("chunks of a byte", mail_chunks, .units = 1000, .memory_kib = 1024),

    POP3("commands without a response", pop3_commands, .units = 1000, .memory_kib = 1024,
         .event = "too_many_transactions", .given_up = true),
    POP3("commands with their responses", pop3_answered, .units = 2000, .memory_kib = 1024),
    POP3("a command without end", pop3_endless_command, .units = 4000, .memory_kib = 1024, .event = "request_too_long"),
    POP3("lines of a response without end", pop3_endless_list, .units = 5000, .memory_kib = 1024),
    POP3("a message without end", pop3_message, .units = 8000, .memory_kib = 1024),

    IMAP("commands without a response", imap_commands, .units = 1000, .memory_kib = 1024, .given_up = true),
    IMAP("responses to no command", imap_responses, .units = 5000, .memory_kib = 1024),
    IMAP("literals of a byte", imap_literals, .units = 2000, .memory_kib = 1024),
    IMAP("a message without end", imap_message, .units = 8000, .memory_kib = 1024),
    IMAP("a line without end", imap_endless_line, .units = 4000, .memory_kib = 1024),

    FTP("commands without a reply", ftp_commands, .units = 3000, .memory_kib = 2048, .event = "too_many_transactions",
        .given_up = true),
    FTP("commands with their replies", ftp_answered, .units = 2000, .memory_kib = 1024),
    FTP("a command without end", ftp_endless_command, .units = 4000, .memory_kib = 1024,
        .event = "request_command_too_long"),
    FTP("a reply without end", ftp_endless_reply, .units = 4000, .memory_kib = 1024,
        .event = "response_command_too_long"),
    FTP("lines of a reply without end", ftp_reply_lines, .units = 5000, .memory_kib = 1024),
    FTP("ports", ftp_ports, .units = 1000, .memory_kib = 1024),

    SSH("a banner without end", ssh_banner, .units = 4000, .memory_kib = 1024, .event = "long_banner"),
    SSH("empty records", ssh_records, .units = 5000, .memory_kib = 1024),
    SSH("offers of algorithms", ssh_offers, .units = 4, .memory_kib = 1024),
};
const size_t mail_flood_count = sizeof(mail_floods) / sizeof(mail_floods[0]);
