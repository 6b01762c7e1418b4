/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside SMTP:
 *
 *   smtp.c      the protocol: lines of both directions, gaps, finding it
 *   command.c   lines of the client
 *   reply.c     lines of the server
 *   message.c   bytes of a message, of DATA and BDAT
 *   reading.c   what follows DATA or BDAT while it is not known whether the server accepts it
 *   mime.c ...  what a message is made of (mime.h)
 */
#ifndef SMTP_PRIV_H
#define SMTP_PRIV_H

#include "mime.h"
#include "sluice/app.h"
#include "sluice/rule.h"

enum {
    SMTP_LINE_MAX = 4096,             /* what is longer is cut, and its rest skipped */
    SMTP_RECIPIENTS_MAX = 4096,       /* of one transaction */
    SMTP_RECIPIENT_BYTES = 256 << 10, /* of all of them; what does not fit is not kept */
    SMTP_QUEUE_MAX = 8192,            /* commands without a reply */
    SMTP_TX_MAX = 128,                /* transactions without a reply to their message */
    SMTP_READINGS_MAX = 4,            /* of one reading: commands whose acceptance is not known */
    SMTP_READING_DEPTH_MAX = 3,       /* readings within readings */
};

/* By the names of the field. */
enum smtp_event {
    SMTP_INVALID_REPLY,
    SMTP_UNABLE_TO_MATCH_REPLY,
    SMTP_COMMAND_LINE_TOO_LONG,
    SMTP_REPLY_LINE_TOO_LONG,
    SMTP_INVALID_PIPELINED_SEQUENCE,
    SMTP_BDAT_CHUNK_TOO_LONG,
    SMTP_NO_WELCOME,
    SMTP_TLS_REJECTED,
    SMTP_DATA_REJECTED,
    SMTP_FAILED_CHANGE,
    SMTP_MIME_PARSE_FAILED,
    SMTP_MIME_MALFORMED,
    SMTP_MIME_INVALID_BASE64,
    SMTP_MIME_INVALID_QUOTED,
    SMTP_MIME_LONG_LINE,
    SMTP_MIME_LONG_ENCODED_LINE,
    SMTP_MIME_LONG_HEADER_NAME,
    SMTP_MIME_LONG_HEADER_VALUE,
    SMTP_MIME_LONG_BOUNDARY,
    SMTP_MIME_LONG_FILE_NAME,
    SMTP_DUPLICATE_FIELDS,
    SMTP_UNPARSABLE_CONTENT,
    SMTP_TRUNCATED_LINE,
    SMTP_INVALID_BDAT,
    SMTP_EVENTS,
};

/* Progress of the client, and of the server with less steps. */
enum { SMTP_STARTED, SMTP_DATA, SMTP_HEADERS, SMTP_COMPLETE };
enum { SMTP_REPLIES_STARTED, SMTP_REPLIES_DATA, SMTP_REPLIES_COMPLETE };

struct smtp_text {
    uint32_t at, length;
};

struct smtp_tx {
    struct app_tx tx;
    struct buffer helo, mail_from;
    struct buffer other_helos,
        other_senders; /* what servers may take for these instead, each followed by a line feed */
    bool has_helo, has_mail_from;
    bool has_data;     /* a DATA or BDAT command came */
    bool request_over; /* no command belongs to it any more */
    struct buffer recipient_text;
    struct smtp_text *recipients;
    uint32_t recipient_count, recipient_room;
    struct mime *mime;                /* NULL without a message, or when they are not decoded */
    struct file *raw;                 /* the whole message as a file (raw-extraction) */
    const struct smtp_state *reading; /* the alternative reading that it belongs to; NULL: the main one */
    unsigned told;                    /* anomalies of the message that are events already */
    uint32_t told_urls;
};

enum smtp_command {
    SMTP_OTHER,
    SMTP_HELO,
    SMTP_HELO_AGAIN, /* while a transaction is under way: ends it when it is accepted */
    SMTP_MAIL,
    SMTP_RCPT,
    SMTP_AUTH, /* or what the client says within it */
    SMTP_STARTTLS,
    SMTP_DATA_COMMAND,
    SMTP_BDAT,
    SMTP_BDAT_LAST,
    SMTP_MESSAGE, /* what the server says to the message after DATA */
    SMTP_RSET,
    SMTP_QUIT,
};

/* A command that has no reply yet. */
struct smtp_waiting {
    enum smtp_command command;
    uint64_t tx;      /* id + 1; 0: none */
    bool has_reading; /* the oldest alternative reading begins behind it */
};

enum smtp_mode { SMTP_COMMANDS, SMTP_IN_DATA, SMTP_IN_CHUNK };

struct smtp_state {
    struct buffer helo; /* the first name of the session */
    bool has_helo;
    uint64_t current; /* id of the transaction that commands belong to, + 1; 0: none */
    uint64_t begun;   /* transactions so far */
    enum smtp_mode mode;
    bool pipelining, chunking; /* the server says that it knows PIPELINING, CHUNKING */
    bool in_doubt;     /* DATA or BDAT has no reply, so that it is not known whether a message or commands follow */
    bool greeted;      /* the first reply was seen, all of it */
    bool replies_lost; /* a gap: a reply to DATA is not waited for */
    bool in_auth;      /* the next line is no command, but an answer to 334 */
    bool after_chunk;  /* the next line stands behind a chunk */
    bool changing;     /* to TLS; when it comes back it was none */
    bool skip[FLOW_DIRECTIONS]; /* up to the line's end */
    bool cut[FLOW_DIRECTIONS];  /* in a message: the line's first piece is gone by */
    bool after_lf;              /* in a message: the line before ended with LF alone */
    bool strict;                /* a reading: LF alone ends no line, and so no message */
    uint64_t chunk_left;
    bool chunk_is_last;
    struct buffer partial; /* of a line that a chunk does not end */
    bool partial_begins;
    struct smtp_waiting *queue;
    uint32_t data_waiting; /* commands DATA in it */
    uint32_t queue_first, queue_count, queue_room;
    /* How to read what follows if the server refuses a DATA or BDAT, by the order of these commands (reading.c). */
    struct smtp_state *refused[SMTP_READINGS_MAX];
    uint8_t refused_count, depth; /* depth 0: the main reading */
    struct buffer unread;         /* of an alternative reading: bytes that make no line yet */
};

enum smtp_md5 { SMTP_MD5_NEVER, SMTP_MD5_ALWAYS, SMTP_MD5_AUTO };

struct smtp_settings {
    bool decode, raw;
    enum smtp_md5 body_md5;
    struct mime_options mime;
    char **schemes;
    bool log_extended, log_body_md5, log_subject_md5;
    uint32_t log_fields; /* bits, by the table of log.c */
};

/* What the functions of one call share. */
struct smtp_feed {
    struct app_context *context;
    struct smtp_state *state;
    const struct smtp_settings *settings;
    struct smtp_tx *current; /* that commands belong to; NULL for none */
};

/* --- smtp.c --------------------------------------------------------------------------------------- */

/* The next unit of the reading; how many bytes were taken, 0: more are needed. `seen`: so many were there before. */
uint32_t smtp_take(struct smtp_feed *f, enum flow_direction direction, const uint8_t *bytes, uint32_t length,
                   uint32_t seen, int *err);
/* By its id + 1; NULL when it is gone. */
struct smtp_tx *smtp_find(const struct smtp_feed *f, uint64_t number);

/* --- transfer.c ----------------------------------------------------------------------------------- */

void smtp_transfer(struct app_context *context, void *data, struct transfer *t);
/* transfer_mime.c: what has come of a transaction's message, which has not ended. */
void smtp_transfer_message(struct smtp_feed *f, struct transfer *t, struct smtp_tx *tx);
struct smtp_tx *smtp_new(struct smtp_feed *f); /* NULL: no memory */
void smtp_complete(struct smtp_feed *f, struct smtp_tx *tx);
/* On a transaction; nothing without one. */
void smtp_event(const struct smtp_feed *f, struct smtp_tx *tx, enum smtp_event event);

/* --- command.c, reply.c: a line without its end; 0, or -errno: no more is parsed ------------------ */

int smtp_take_command(struct smtp_feed *f, const uint8_t *line, uint32_t length);
int smtp_take_reply(struct smtp_feed *f, const uint8_t *line, uint32_t length, uint32_t end_length);
bool smtp_is_reply(const uint8_t *line, uint32_t length); /* it begins with a code that there is */
/* Replies, or commands, are lost: what waits can't be told apart any more. */
void smtp_forget_replies(struct smtp_feed *f);
/* 0, -ENOMEM, or -EINVAL: too many wait. */
int smtp_expect_reply(struct smtp_feed *f, enum smtp_command command, const struct smtp_tx *tx);

/* Bytes after a command are read in both ways until it is known whether the server accepts the command. */
/* The next bytes of the client follow such a command. 0, -ENOMEM, or -EINVAL: too many readings. */
int smtp_add_reading(struct smtp_feed *f);
/* Adds a reading in which the message does not end at the line that ends it in this reading. 0 or -errno, as
 * smtp_take_command(). */
int smtp_add_strict_reading(struct smtp_feed *f, const struct smtp_tx *tx);
/* The client's bytes that the reading of `f` has taken, for its alternative readings. 0 or -errno, as
 * smtp_take_command(). */
int smtp_feed_readings(struct smtp_feed *f, const uint8_t *bytes, uint32_t length);
/* The client's next bytes, behind those that the reading has not used. 0 or -errno, as smtp_take_command(). */
int smtp_feed_unread(struct smtp_feed *f, const uint8_t *bytes, uint32_t length);
/* Handles the server's reply to the oldest of these commands: the alternative reading ends, or replaces that of `f`. */
void smtp_resolve_reading(struct smtp_feed *f, bool accepted);
/* Ends all alternative readings of `f`. */
void smtp_end_readings(struct smtp_feed *f);
/* Frees everything that a state owns, but not the state itself. */
void smtp_clear_state(struct heap *heap, struct smtp_state *state);

/* --- message.c ------------------------------------------------------------------------------------ */

int smtp_begin_message(struct smtp_feed *f, struct smtp_tx *tx);
/* Starts the message of another reading at the place that `other` has reached. 0 or -ENOMEM. */
int smtp_copy_message(struct smtp_feed *f, struct smtp_tx *tx, const struct smtp_tx *other);
/* The server does not want it. */
void smtp_drop_message(struct smtp_feed *f, struct smtp_tx *tx);
/* How many of the bytes were taken; 0: more are needed. */
uint32_t smtp_take_data(struct smtp_feed *f, const uint8_t *bytes, uint32_t length, uint32_t seen, int *err);
uint32_t smtp_take_chunk(struct smtp_feed *f, const uint8_t *bytes, uint32_t length, int *err);
void smtp_end_chunk(struct smtp_feed *f);
void smtp_message_gap(struct smtp_feed *f, uint64_t length);
/* The connection ends within a message. */
void smtp_break_message(struct smtp_feed *f, struct smtp_tx *tx);

/* --- keywords.c, log.c, settings.c ---------------------------------------------------------------- */

extern const struct keyword keyword_smtp_helo, keyword_smtp_mail_from, keyword_smtp_rcpt_to, keyword_email_from,
    keyword_email_to, keyword_email_cc, keyword_email_subject, keyword_email_date, keyword_email_message_id,
    keyword_email_x_mailer, keyword_email_url, keyword_email_received, keyword_email_body_md5;
enum { SMTP_BUFFERS = 14 };
extern const struct app_buffer smtp_buffers[SMTP_BUFFERS];

void smtp_log(const struct app_tx *tx, const void *settings, struct fields *out);
void smtp_log_email(const struct app_tx *tx, const void *settings, struct fields *out);
uint32_t smtp_log_field(const char *name); /* its bit; 0: there is no such field */

extern const struct setting smtp_setting_rows[];
int smtp_configure(const struct config *config, struct diag *diag, void **out);
void smtp_unconfigure(void *settings);

#endif
