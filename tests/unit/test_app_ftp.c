/* SPDX-License-Identifier: GPL-2.0-or-later */
/* FTP: commands and their replies, ports, announced connections and their files, limits, detection. */
#include <check.h>

#include "../lib/app_rig.h"
#include "app/ftp/address.h"

/* The limits of ftp.md: bytes of a line, lines of a reply. */
enum { LINE_MAX_LENGTH = 4096, REPLIES_MAX = 256 };

static const int cuts[] = { 0, 1, 3, -1 };
enum { CUTS = sizeof(cuts) / sizeof(cuts[0]) };

static struct app_rig *ftp_rig(int cut, const char *yaml)
{
    struct app_rig *rig = app_rig_new("ftp", yaml);

    rig->flow.server_port = 21;
    rig->cut = cut;
    return rig;
}

static void ask(struct app_rig *rig, const char *command, const char *reply)
{
    app_rig_text(rig, FLOW_TO_SERVER, command);
    app_rig_text(rig, FLOW_TO_CLIENT, reply);
}

static void assert_buffer(const struct app_rig *rig, uint64_t id, const char *keyword, enum flow_direction direction,
                          unsigned index, const char *want)
{
    struct app_bytes bytes = { 0 };
    bool there = app_rig_buffer(rig, id, keyword, direction, index, &bytes);

    ck_assert_msg(there == (want != NULL), "%s %u", keyword, index);
    if (want)
        ck_assert_msg(bytes.length == strlen(want) && memcmp(bytes.bytes, want, bytes.length) == 0, "%s %u: %.*s",
                      keyword, index, (int)bytes.length, (const char *)bytes.bytes);
}

START_TEST(session_is_read)
{
    struct app_rig *rig = ftp_rig(cuts[_i], NULL);

    app_rig_text(rig, FLOW_TO_CLIENT, "220-Hello\r\nfriends\r\n220 ready\r\n");
    ask(rig, "user anonymous\r\n", "331 Password?\r\n");
    ask(rig, "FEAT\r\nSYST\r\n", "211-Features:\r\n MDTM\r\n211 End\r\n215 UNIX\r\n");
    ask(rig, "QUIT\n", "");
    app_rig_close(rig);
    ck_assert(!rig->failed);
    ck_assert_str_eq(app_rig_json(rig, 0),
                     "{\"completion_code\":[\"220\"],\"reply\":[\"220-Hello\",\"friends\",\"ready\"],"
                     "\"reply_received\":\"yes\",\"reply_truncated\":false}");
    ck_assert_str_eq(app_rig_json(rig, 1),
                     "{\"command\":\"USER\",\"command_data\":\"anonymous\",\"command_truncated\":false,"
                     "\"completion_code\":[\"331\"],\"reply\":[\"Password?\"],\"reply_received\":\"yes\","
                     "\"reply_truncated\":false}");
    assert_buffer(rig, 1, "ftp.command", FLOW_TO_SERVER, 0, "user");
    assert_buffer(rig, 1, "ftp.command_data", FLOW_TO_SERVER, 0, "anonymous");
    assert_buffer(rig, 2, "ftp.command_data", FLOW_TO_SERVER, 0, NULL);
    assert_buffer(rig, 2, "ftp.reply", FLOW_TO_CLIENT, 0, "211-Features:");
    assert_buffer(rig, 2, "ftp.completion_code", FLOW_TO_CLIENT, 0, "");
    assert_buffer(rig, 2, "ftp.reply", FLOW_TO_CLIENT, 1, " MDTM");
    assert_buffer(rig, 2, "ftp.completion_code", FLOW_TO_CLIENT, 2, "211");
    assert_buffer(rig, 3, "ftp.reply", FLOW_TO_CLIENT, 0, "UNIX");
    assert_buffer(rig, 3, "ftp.reply", FLOW_TO_CLIENT, 1, NULL);
    ck_assert_str_eq(app_rig_json(rig, 4),
                     "{\"command\":\"QUIT\",\"reply_received\":\"no\",\"reply_truncated\":false}");
    ck_assert_ptr_null(app_rig_tx(rig, 5));
    app_rig_free(rig);
}
END_TEST

/* --- Ports ---------------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    bool extended, valid;
    int version;
    uint16_t port;
} addresses[] = {
    { "192,168,0,13,234,10", false, true, 4, 59914 },
    { " Entering Passive Mode (10,0,0,2,82,11).", false, true, 4, 21003 },
    { " Mode 4 (10, 0,0,2,82,11)", false, true, 4, 21003 },
    { "10,0,0,2,82", false, false, 0, 0 },
    { "10,0,0,256,82,11", false, false, 0, 0 },
    { "10,0,0,2,0,0", false, false, 0, 0 },
    { "10,0,0,2,82,1111", false, false, 0, 0 },
    { "", false, false, 0, 0 },
    { "|1|10.0.0.1|1025|", true, true, 4, 1025 },
    { "|2|2001:db8::1|65535|", true, true, 6, 65535 },
    { " Entering Extended Passive Mode (|||37100|)", true, true, 0, 37100 },
    { "!1!10.0.0.1!1025!", true, true, 4, 1025 },
    { "|1|10.0.0.1|1025", true, true, 4, 1025 }, /* vsftpd accepts it */
    { "|1|10.0.0.1|0001025|", true, true, 4, 1025 },
    { "|1|host|1025|", true, false, 0, 0 },
    { "|1|10.0.0.1|65536|", true, false, 0, 0 },
    { "|1|10.0.0.1|66561|", true, true, 4, 1025 }, /* ProFTPD uses the lower 16 bits */
    { "|1|10.0.0.1|0|", true, false, 0, 0 },
    { "|", true, false, 0, 0 },
    { "", true, false, 0, 0 },
};

START_TEST(address_is_read)
{
    const uint8_t *text = (const uint8_t *)addresses[_i].text;
    uint32_t length = (uint32_t)strlen(addresses[_i].text);
    uint8_t *copy = malloc(length + 1);
    struct ftp_address address = { 0 };
    bool valid;

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, text, length);
    valid = addresses[_i].extended ? ftp_parse_extended_address(copy, length, &address)
                                   : ftp_parse_host_port(copy, length, &address);
    ck_assert_int_eq(valid, addresses[_i].valid);
    if (valid) {
        ck_assert_int_eq(address.ip_version, addresses[_i].version);
        ck_assert_uint_eq(address.port, addresses[_i].port);
    }
    free(copy);
}
END_TEST

static const struct {
    const char *port, *agreed, *command;
    bool active;
    enum flow_direction direction; /* direction of the file */
    const char *name;
} transfers[] = {
    { "PASV\r\n", "227 Entering (10,0,0,2,4,1)\r\n", "RETR a b.txt\r\n", false, FLOW_TO_CLIENT, "a b.txt" },
    { "EPSV\r\n", "229 Extended (|||1025|)\r\n", "STOR up\r\n", false, FLOW_TO_SERVER, "up" },
    { "PORT 10,0,0,1,4,1\r\n", "200 ok\r\n", "RETR down\r\n", true, FLOW_TO_SERVER, "down" },
    { "EPRT |1|10.0.0.1|1025|\r\n", "200 ok\r\n", "APPE up\r\n", true, FLOW_TO_CLIENT, "up" },
    { "PASV\r\n", "227 Entering (10,0,0,2,4,1)\r\n", "NLST\r\n", false, FLOW_TO_CLIENT, NULL },
};

/* Makes the flow of the rig the announced data connection. */
static void begin_data(struct app_rig *rig, bool active)
{
    struct address client = rig->flow.client, server = rig->flow.server;

    app_flow_free(rig->app, &rig->flow, NULL, NULL);
    app_rig_start_flow(rig);
    rig->flow.client = active ? server : client;
    rig->flow.server = active ? client : server;
    rig->flow.client_port = 20;
    rig->flow.server_port = 1025;
}

START_TEST(data_is_followed)
{
    struct app_rig *rig = ftp_rig(cuts[_i % CUTS], NULL);
    enum flow_direction direction = transfers[_i / CUTS].direction;
    const char *name = transfers[_i / CUTS].name;

    app_rig_text(rig, FLOW_TO_CLIENT, "220 x\r\n");
    ask(rig, transfers[_i / CUTS].port, transfers[_i / CUTS].agreed);
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), "\"dynamic_port\":1025"));
    ask(rig, transfers[_i / CUTS].command, "150 go\r\n");
    begin_data(rig, transfers[_i / CUTS].active);
    app_rig_text(rig, direction, "root:x:0:0\n");
    ck_assert_str_eq(app_rig_protocol(rig), "ftp-data");
    app_rig_end(rig, direction);
    const struct app_tx *tx = app_rig_tx(rig, 0);

    ck_assert_ptr_nonnull(tx);
    ck_assert(app_tx_is_complete(tx, direction));
    if (name) {
        char want[64];

        snprintf(want, sizeof(want), "{\"filename\":\"%s\",\"command\":\"%.4s\"}", name, transfers[_i / CUTS].command);
        ck_assert_str_eq(app_rig_json(rig, 0), want);
        assert_buffer(rig, 0, "file.data", direction, 0, "root:x:0:0\n");
        ck_assert_int_eq(tx->files[direction].first->state, FILE_CLOSED);
    } else {
        ck_assert_str_eq(app_rig_json(rig, 0), "{\"command\":\"NLST\"}");
        ck_assert_ptr_null(tx->files[direction].first);
    }
    app_rig_free(rig);
}
END_TEST

/* A connection is a data connection only if it has the announced addresses and port, and a command was sent for it. */
START_TEST(only_what_was_announced)
{
    struct app_rig *rig = ftp_rig(0, NULL);

    app_rig_text(rig, FLOW_TO_CLIENT, "220 x\r\n");
    ask(rig, "PASV\r\n", "227 Entering (10,0,0,2,4,1)\r\n");
    if (_i == 0)
        ask(rig, "RETR a\r\n", "150 go\r\n");
    begin_data(rig, false);
    if (_i == 0)
        rig->flow.client.bytes[3] = 77;
    app_rig_text(rig, FLOW_TO_CLIENT, "root:x:0:0\n");
    ck_assert(!app_rig_protocol(rig) || strcmp(app_rig_protocol(rig), "ftp-data") != 0);
    app_rig_free(rig);
}
END_TEST

START_TEST(lost_bytes_are_told)
{
    struct app_rig *rig = ftp_rig(0, NULL);

    app_rig_text(rig, FLOW_TO_CLIENT, "220 x\r\n");
    ask(rig, "PASV\r\n", "227 Entering (10,0,0,2,4,1)\r\n");
    ask(rig, "RETR a\r\n", "150 go\r\n");
    begin_data(rig, false);
    app_rig_text(rig, FLOW_TO_CLIENT, "one");
    app_rig_lose(rig, FLOW_TO_CLIENT, 10);
    app_rig_text(rig, FLOW_TO_CLIENT, "two");
    app_rig_end(rig, FLOW_TO_CLIENT);
    ck_assert_int_eq(app_rig_tx(rig, 0)->files[FLOW_TO_CLIENT].first->state, FILE_TRUNCATED);
    app_rig_free(rig);
}
END_TEST

static const struct {
    const char *command;
    bool bounce;
} bounces[] = {
    { "PORT 10,0,0,1,4,1\r\n", false },         { "PORT 10,0,0,9,4,1\r\n", true },
    { "EPRT |1|10.0.0.1|1025|\r\n", false },    { "EPRT |1|10.0.0.3|1025|\r\n", true },
    { "EPRT |2|2001:db8::1|1025|\r\n", true },  { "PORT nonsense\r\n", false },
    { "PORT 10,0,0,9x,4,1\r\n", true },         { "EPRT |1|10.0.0.3|1025\r\n", true },
    { "PORT\t10\xff\xf1,0,0,9,4,1\r\n", true },
};

START_TEST(bounce_is_seen)
{
    struct app_rig *rig = ftp_rig(cuts[_i % CUTS], NULL);

    app_rig_text(rig, FLOW_TO_SERVER, bounces[_i / CUTS].command);
    app_rig_text(rig, FLOW_TO_CLIENT, "220 x\r\n");
    ck_assert_int_eq(app_rig_matches(rig, 0, FLOW_TO_SERVER, "ftpbounce;"), bounces[_i / CUTS].bounce);
    app_rig_free(rig);
}
END_TEST

/* --- Readings ------------------------------------------------------------------------------------- */

static const struct {
    const char *line, *command, *argument;      /* as the client sends it */
    const char *plain_command, *plain_argument; /* after removal of Telnet codes; NULL: unchanged */
} readings[] = {
    { "DELE a b\r\n", "DELE", "a b", NULL, NULL },
    { "DELE a\xff\xf1z\r\n", "DELE", "a\xff\xf1z", "DELE", "az" },
    { "\xff\xf4\xff\xf2"
      "ABOR\r\n",
      "\xff\xf4\xff\xf2"
      "ABOR",
      NULL, "ABOR", NULL },
    { "DE\xff\xfb\x01LE a\r\n", "DE\xff\xfb\x01LE", "a", "DELE", "a" },
    { "DELE\xff\xfd\x06 a\r\n", "DELE\xff\xfd\x06", "a", "DELE", "a" },
    { "\xff\xfa\x18\x01\xff\xf0"
      "DELE a\r\n",
      "\xff\xfa\x18\x01\xff\xf0"
      "DELE",
      "a", "DELE", "a" },
    { "\xff\xf1 DELE a\r\n", "\xff\xf1", "DELE a", "DELE", "a" },
    { "DELE \xff\xff"
      "a\r\n",
      "DELE",
      "\xff\xff"
      "a",
      "DELE",
      "\xff"
      "a" },
    { "DELE \xff"
      "a\r\n",
      "DELE",
      "\xff"
      "a",
      NULL, NULL },
    { "DELE a\xff\r\n", "DELE", "a\xff", "DELE", "a" },
    { "DELE\ta\r\n", "DELE\ta", NULL, "DELE", "a" },
    { "DELE  a\r\n", "DELE", " a", "DELE", "a" },
    { "DELE \t a\r\n", "DELE", "\t a", "DELE", "a" },
    { " \tDELE a\r\n", "", "\tDELE a", "DELE", "a" },
};

START_TEST(both_readings_are_kept)
{
    struct app_rig *rig = ftp_rig(cuts[_i % CUTS], NULL);
    const char *argument = readings[_i / CUTS].argument, *plain_argument = readings[_i / CUTS].plain_argument;

    app_rig_text(rig, FLOW_TO_CLIENT, "220 x\r\n");
    app_rig_text(rig, FLOW_TO_SERVER, readings[_i / CUTS].line);
    assert_buffer(rig, 1, "ftp.command", FLOW_TO_SERVER, 0, readings[_i / CUTS].command);
    assert_buffer(rig, 1, "ftp.command", FLOW_TO_SERVER, 1, readings[_i / CUTS].plain_command);
    assert_buffer(rig, 1, "ftp.command", FLOW_TO_SERVER, 2, NULL);
    assert_buffer(rig, 1, "ftp.command_data", FLOW_TO_SERVER, 0, argument ? argument : plain_argument);
    assert_buffer(rig, 1, "ftp.command_data", FLOW_TO_SERVER, 1, argument ? plain_argument : NULL);
    app_rig_free(rig);
}
END_TEST

/* Each of these sessions transfers a file on port 1025, whatever commands come before. */
static const struct {
    const char *steps[8]; /* texts of client and server in turn */
    bool active;
    const char *command, *name; /* expected command and file name; NULL: a directory listing */
} files_of[] = {
    { { "PORT 10\xff\xf6,0,0,1,4,1\r\n", "200 ok\r\n", "STOR a\r\n", "150 go\r\n" }, true, "STOR", "a" },
    { { "PORT +10x,0,0,1,+4,1\r\n", "200 ok\r\n", "STOR a\r\n", "150 go\r\n" }, true, "STOR", "a" },
    { { "PORT 10,0,0,1,3,257\r\n", "200 ok\r\n", "STOR a\r\n", "150 go\r\n" }, true, "STOR", "a" },
    { { "EPRT |1|10.0.0.1|01025\r\n", "200 ok\r\n", "STOR\ta\r\n", "150 go\r\n" }, true, "STOR", "a" },
    /* The server answers the empty line. */
    { { "\r\nPASV\r\n", "500 what?\r\n227 (10,0,0,2,4,1)\r\n", "STOR a\r\n", "150 go\r\n" }, false, "STOR", "a" },
    { { "NOOP\r\nPASV\r\n", "227 (10,0,0,2,4,1)\r\n", "STOR a\r\n", "150 go\r\n" }, false, "STOR", "a" },
    { { "NOOP\r\nEPSV\r\n", "229 (|||1025|)\r\n", "STOR a\r\n", "150 go\r\n" }, false, "STOR", "a" },
    /* The port is still open after a command that failed. */
    { { "PASV\r\n", "227 (10,0,0,2,4,1)\r\n", "LIST x\r\n", "550 none\r\n", "APPE a\r\n", "150 go\r\n" },
      false,
      "APPE",
      "a" },
    { { "PASV\r\n", "227 (10,0,0,2,4,1)\r\n", "LIST x\r\nAPPE a\r\n", "550 none\r\n150 go\r\n" }, false, "APPE", "a" },
    { { "PASV\r\nSTOR a\r\n", "227 (10,0,0,2,4,1)\r\n150 go\r\n" }, false, "STOR", "a" },
    { { "PASV\r\n", "227 (10,0,0,2,4,1)\r\n", "STOR a\r\n", "550 no\r\n", "STOR b\r\n", "150 go\r\n" },
      false,
      "STOR",
      "b" },
    { { "PASV\r\n", "227 (10,0,0,2,4,1)\r\n", "STOR a\r\n", "550 no\r\n", "LIST\r\n", "150 go\r\n" },
      false,
      "STOR",
      "a" },
    { { "PASV\r\n", "227 (10,0,0,2,4,1)\r\n", "NLST\r\n", "550 no\r\n", "LIST\r\n", "150 go\r\n" },
      false,
      "LIST",
      NULL },
};

START_TEST(file_is_found_behind_others)
{
    struct app_rig *rig = ftp_rig(cuts[_i % CUTS], NULL);
    const char *const *steps = files_of[_i / CUTS].steps;
    bool up = files_of[_i / CUTS].name != NULL;
    enum flow_direction direction = up != files_of[_i / CUTS].active ? FLOW_TO_SERVER : FLOW_TO_CLIENT;
    char want[64];

    app_rig_text(rig, FLOW_TO_CLIENT, "220 x\r\n");
    for (unsigned i = 0; i < 8 && steps[i]; i++)
        app_rig_text(rig, i % 2 ? FLOW_TO_CLIENT : FLOW_TO_SERVER, steps[i]);
    begin_data(rig, files_of[_i / CUTS].active);
    app_rig_text(rig, direction, "root:x:0:0\n");
    ck_assert_str_eq(app_rig_protocol(rig), "ftp-data");
    if (up)
        snprintf(want, sizeof(want), "{\"filename\":\"%s\",\"command\":\"%s\"}", files_of[_i / CUTS].name,
                 files_of[_i / CUTS].command);
    else
        snprintf(want, sizeof(want), "{\"command\":\"%s\"}", files_of[_i / CUTS].command);
    ck_assert_str_eq(app_rig_json(rig, 0), want);
    app_rig_free(rig);
}
END_TEST

/* --- Limits and events ---------------------------------------------------------------------------- */

START_TEST(long_lines_are_cut)
{
    struct app_rig *rig = ftp_rig(cuts[_i], NULL);
    static char line[6000];
    struct app_bytes bytes;

    memset(line, 'a', 5000);
    memcpy(line, "220 ", 4);
    strcpy(line + 5000, "\r\n");
    app_rig_text(rig, FLOW_TO_CLIENT, line);
    memcpy(line, "USER", 5);
    line[4] = ' ';
    app_rig_text(rig, FLOW_TO_SERVER, line);
    app_rig_text(rig, FLOW_TO_SERVER, "PWD\r\n");
    app_rig_text(rig, FLOW_TO_CLIENT, "331 x\r\n");
    ck_assert(!rig->failed);
    ck_assert(app_rig_has_event(rig, 0, "response_command_too_long"));
    ck_assert(app_rig_has_event(rig, 1, "request_command_too_long"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), "\"reply_truncated\":true"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), "\"command_truncated\":true"));
    ck_assert(app_rig_buffer(rig, 1, "ftp.command_data", FLOW_TO_SERVER, 0, &bytes));
    ck_assert_uint_eq(bytes.length, LINE_MAX_LENGTH - 5); /* without the command */
    assert_buffer(rig, 2, "ftp.command", FLOW_TO_SERVER, 0, "PWD");
    ck_assert_ptr_null(app_rig_tx(rig, 3));
    app_rig_free(rig);
}
END_TEST

START_TEST(too_many_commands_fail)
{
    struct app_rig *rig = ftp_rig(0, "app-layer:\n  protocols:\n    ftp:\n      max-tx: 2\n");

    ask(rig, "USER a\r\nPASS b\r\n", "220 x\r\n331 y\r\n");
    ask(rig, "PWD\r\nPWD\r\n", "");
    ck_assert(!rig->failed);
    app_rig_text(rig, FLOW_TO_SERVER, "PWD\r\n");
    ck_assert(rig->failed);
    ck_assert(app_rig_has_event(rig, 2, "too_many_transactions"));
    app_rig_free(rig);
}
END_TEST

START_TEST(data_without_port_is_told)
{
    struct app_rig *rig = ftp_rig(0, NULL);

    app_rig_text(rig, FLOW_TO_CLIENT, "220 x\r\n");
    ask(rig, "RETR x\r\nRETR\r\nLIST\r\n", "425 no\r\n");
    ck_assert(app_rig_has_event(rig, 1, "file_before_port"));
    ck_assert(!app_rig_has_event(rig, 1, "file_without_name"));
    ck_assert(app_rig_has_event(rig, 2, "file_without_name"));
    ck_assert(!app_rig_has_event(rig, 3, "file_without_name"));
    app_rig_free(rig);
}
END_TEST

/* A reply without end is stored up to the limit. */
START_TEST(replies_are_limited)
{
    struct app_rig *rig = ftp_rig(0, NULL);

    ask(rig, "FEAT\r\n", "211-x\r\n");
    for (unsigned i = 0; i < 2000; i++)
        app_rig_text(rig, FLOW_TO_CLIENT, " feature of some length\r\n");
    app_rig_text(rig, FLOW_TO_CLIENT, "211 end\r\n");
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_CLIENT));
    assert_buffer(rig, 0, "ftp.reply", FLOW_TO_CLIENT, REPLIES_MAX - 1, " feature of some length");
    assert_buffer(rig, 0, "ftp.reply", FLOW_TO_CLIENT, REPLIES_MAX, NULL);
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), "\"reply_truncated\":true"));
    app_rig_free(rig);
}
END_TEST

/* After the server's reply 234 the connection uses TLS. */
START_TEST(tls_takes_over)
{
    struct app_rig *rig = ftp_rig(cuts[_i], NULL);

    app_rig_text(rig, FLOW_TO_CLIENT, "220 x\r\n");
    ask(rig, "AUTH TLS\r\n", "234 go\r\n");
    ck_assert_uint_eq(app_original_protocol(&rig->flow), app_id_by_name("ftp"));
    ck_assert_uint_eq(app_flow_protocol(&rig->flow), 0);
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), "\"command\":\"AUTH TLS\""));
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
    { 21, FLOW_TO_CLIENT, "220 ready\r\n", true },
    { 21, FLOW_TO_SERVER, "USER a\r\n", true },
    { 2121, FLOW_TO_CLIENT, "220 (vsFTPd 3.0.2)\r\n", true },
    { 2121, FLOW_TO_CLIENT, "220 ProFTPD ready\r\n", true },
    { 2121, FLOW_TO_CLIENT, "220 mail.test ESMTP\r\n", false },
    { 2121, FLOW_TO_SERVER, "USER a\r\n", true },
    { 2121, FLOW_TO_SERVER, "user a\r\n", true },
    { 2121, FLOW_TO_SERVER, "FEAT\r\n", true },
    { 2121, FLOW_TO_SERVER, "AUTH TLS\r\n", true },
    { 6667, FLOW_TO_SERVER, "USER a 0 * :me\r\n", false },
    { 110, FLOW_TO_SERVER, "USER a\r\n", false },
    { 21, FLOW_TO_SERVER, "GET / HTTP/1.1\r\n", false },
};

START_TEST(protocol_is_found)
{
    struct app_rig *rig = ftp_rig(cuts[_i % CUTS], NULL);
    const char *found;

    rig->flow.server_port = finds[_i / CUTS].port;
    app_rig_text(rig, finds[_i / CUTS].direction, finds[_i / CUTS].sent);
    found = app_rig_protocol(rig);
    ck_assert_int_eq(found && strcmp(found, "ftp") == 0, finds[_i / CUTS].found);
    app_rig_free(rig);
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof(table[0]))

int main(void)
{
    Suite *suite = suite_create("app_ftp");
    TCase *tests = tcase_create("ftp");

    tcase_add_loop_test(tests, session_is_read, 0, CUTS);
    tcase_add_loop_test(tests, address_is_read, 0, ROWS(addresses));
    tcase_add_loop_test(tests, data_is_followed, 0, ROWS(transfers) * CUTS);
    tcase_add_loop_test(tests, only_what_was_announced, 0, 2);
    tcase_add_test(tests, lost_bytes_are_told);
    tcase_add_loop_test(tests, bounce_is_seen, 0, ROWS(bounces) * CUTS);
    tcase_add_loop_test(tests, both_readings_are_kept, 0, ROWS(readings) * CUTS);
    tcase_add_loop_test(tests, file_is_found_behind_others, 0, ROWS(files_of) * CUTS);
    tcase_add_loop_test(tests, long_lines_are_cut, 0, CUTS);
    tcase_add_test(tests, too_many_commands_fail);
    tcase_add_test(tests, data_without_port_is_told);
    tcase_add_test(tests, replies_are_limited);
    tcase_add_loop_test(tests, tls_takes_over, 0, CUTS);
    tcase_add_loop_test(tests, protocol_is_found, 0, ROWS(finds) * CUTS);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
