/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * FTP (RFC 959): the control connection, and the data connections that it negotiates.
 *
 * Both parsers share the data transfer commands. The control connection announces a data connection (app_expect) with a
 * tag that contains the command and the file name.
 */
#ifndef SLUICE_APP_FTP_PRIV_H
#define SLUICE_APP_FTP_PRIV_H

#include "sluice/app.h"

#include "address.h"

enum {
    FTP_REPLIES_MAX = 256,   /* reply lines stored per command */
    FTP_REPLY_BYTES = 65536, /* bytes of reply lines stored per command */
    FTP_NAME_MAX = 1024,     /* bytes of a file name */
};

enum ftp_command {
    FTP_OTHER,
    FTP_PORT,
    FTP_EPRT,
    FTP_PASV,
    FTP_EPSV,
    FTP_AUTH_TLS,
    FTP_RETR, /* this and the following commands transfer data; FTP_RETR to FTP_STOU transfer a file */
    FTP_STOR,
    FTP_APPE,
    FTP_STOU,
    FTP_LIST,
    FTP_NLST,
    FTP_MLSD,
};
const char *ftp_command_name(enum ftp_command command);
/* Finds a command by its name, ignoring case. Returns FTP_OTHER if it is unknown. */
enum ftp_command ftp_command_find(const uint8_t *word, uint32_t length);

static inline bool ftp_transfers_data(enum ftp_command command)
{
    return command >= FTP_RETR;
}
static inline bool ftp_transfers_file(enum ftp_command command)
{
    return command >= FTP_RETR && command <= FTP_STOU;
}
static inline bool ftp_is_upload(enum ftp_command command)
{
    return command >= FTP_STOR && command <= FTP_STOU;
}

enum ftp_event {
    FTP_REQUEST_COMMAND_TOO_LONG,
    FTP_RESPONSE_COMMAND_TOO_LONG,
    FTP_TOO_MANY_TRANSACTIONS,
    FTP_FILE_BEFORE_PORT,
    FTP_FILE_WITHOUT_NAME,
    FTP_EVENTS,
};

/* A line of a reply. */
struct ftp_reply {
    uint32_t at, length; /* the text after the code, in ftp_tx.replies */
    bool has_code;       /* the line starts with a code, without a hyphen after it; false: the text is the whole line */
    uint8_t code[3];     /* three digits */
};

enum { FTP_COMPLETE = 1 };
struct ftp_tx {
    struct app_tx tx;
    struct buffer request; /* the command line; empty for a reply without a command, such as the greeting */
    uint32_t command_length, argument_at;
    struct buffer
        telnet; /* the line as servers with Telnet interpret it (interpretation.c); empty if it equals `request`
                 */
    uint32_t telnet_command_length, telnet_argument_at;
    enum ftp_command command;         /* the command in `request`; if that is FTP_OTHER, the command in `telnet` */
    struct buffer replies;            /* texts of all reply lines */
    struct ftp_reply *reply;          /* array of the reply lines, owned */
    uint16_t reply_count, reply_room; /* used and allocated elements of `reply` */
    uint16_t dynamic_port;            /* port negotiated by this command; 0 for none */
    bool active;                      /* the client listens on dynamic_port (active mode) */
    uint16_t data_port;               /* port on which the data of this command is expected; 0 for none */
    bool data_active;                 /* the client listens on data_port */
    bool is_bounce;                   /* PORT or EPRT with an address other than the client's */
    bool done;                        /* the reply is complete */
    bool request_truncated, reply_truncated;
};

/* --- interpretation.c -------------------------------------------------------------------------------- */

/* Interprets a command line like servers that implement Telnet: removes Telnet commands, and white space before the FTP
 * command. Returns 0 or -ENOMEM; *out stays empty if the line is certainly interpreted in the same way without Telnet.
 */
int ftp_interpret_telnet(struct heap *heap, const uint8_t *line, uint32_t length, struct buffer *out);
/* Sets the length of the command and the offset of its argument. One blank separates command and argument; with
 * `any_white_space` any number of blanks and tabs. */
void ftp_split_command(const uint8_t *line, uint32_t length, bool any_white_space, uint32_t *command_length,
                       uint32_t *argument_at);

/* --- data.c ------------------------------------------------------------------------------------------ */

/* Tag of the expectation: the properties of an announced data connection. */
struct ftp_tag {
    uint8_t command;
    uint8_t direction; /* enum flow_direction: direction of the data on the data connection */
    uint16_t name_length;
    uint8_t name[FTP_NAME_MAX];
};

struct ftp_data_tx {
    struct app_tx tx;
    enum ftp_command command;
    enum flow_direction direction;
    struct buffer name; /* file name; empty for a listing */
};

/* --- keywords.c, log.c ------------------------------------------------------------------------------- */

enum { FTP_BUFFERS = 4, FTP_CONDITIONS = 4, FTP_DATA_BUFFERS = 1, FTP_DATA_CONDITIONS = 1 };
extern const struct app_buffer ftp_buffers[FTP_BUFFERS];
extern const struct app_condition ftp_conditions[FTP_CONDITIONS];
extern const struct app_condition ftp_data_conditions[FTP_DATA_CONDITIONS];

void ftp_log(const struct app_tx *tx, const void *settings, struct fields *out);
void ftp_data_log(const struct app_tx *tx, const void *settings, struct fields *out);

struct ftp_settings {
    uint32_t line_max, tx_max;
};

#endif
