/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internal interfaces of the SMTP parser:
 *
 *   smtp.c      descriptor and detection of the protocol, transactions, lines of both directions, gaps
 *   command.c   client commands
 *   reply.c     server replies
 *   message.c   message data of DATA and BDAT
 *   alternative.c   parser instances for client data whose interpretation depends on a pending reply
 *   mime*.c     MIME parser (mime.h)
 *   transfer*.c state transfer to another process
 *   mail.c      messages of other mail protocols (mail.h)
 *   log.c       the objects of events (log.h)
 */
#ifndef SMTP_PRIV_H
#define SMTP_PRIV_H

#include "log.h"
#include "mime.h"
#include "sluice/app.h"
#include "sluice/rule.h"

enum {
    SMTP_LINE_MAX = 4096,             /* longer lines are truncated, the rest is skipped */
    SMTP_RECIPIENTS_MAX = 4096,       /* recipients of a transaction; further ones are not stored */
    SMTP_RECIPIENT_BYTES = 256 << 10, /* bytes of all recipients of a transaction; further ones are not stored */
    SMTP_QUEUE_MAX = 8192,            /* commands with a pending reply */
    SMTP_TX_MAX = 128,                /* live transactions of a flow */
    SMTP_ALTERNATIVES_MAX = 4,        /* alternative instances that a parser instance has at once */
    SMTP_ALTERNATIVE_DEPTH_MAX = 3,   /* nesting of alternative instances */
};

/* The names are in smtp.c. */
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
    SMTP_TOO_MANY_RECIPIENTS,
    SMTP_EVENTS,
};

/* Progress of the client's direction (first enum) and of the server's direction (second enum). */
enum { SMTP_STARTED, SMTP_DATA, SMTP_HEADERS, SMTP_COMPLETE };
enum { SMTP_REPLIES_STARTED, SMTP_REPLIES_DATA, SMTP_REPLIES_COMPLETE };

struct smtp_text {
    uint32_t at, length;
};

struct smtp_tx {
    struct app_tx tx;
    struct buffer helo, mail_from;
    struct buffer other_helos, other_senders; /* arguments of later HELO and MAIL FROM commands, which servers may use
                                                 instead of the first ones; each is followed by LF */
    bool has_helo, has_mail_from;             /* helo and mail_from are set, even if they are empty */
    bool has_data;                            /* a DATA or BDAT command was received */
    bool request_complete;                    /* later commands belong to another transaction */
    struct buffer recipient_text;
    struct smtp_text *recipients;             /* locations in recipient_text; the array is owned */
    uint32_t recipient_count, recipient_room; /* used and allocated entries of `recipients` */
    struct mime *mime;                        /* NULL without a message, or with decode-mime off */
    struct file *raw;                         /* the whole message as an open file (raw-extraction); otherwise NULL */
    const struct smtp_state *alternative; /* the alternative parser instance that created it; NULL for the main one */
    unsigned reported_anomalies;          /* anomalies of the message already reported as events */
    uint32_t reported_urls;               /* URLs of the message already reported as new content */
};

enum smtp_command {
    SMTP_OTHER,
    SMTP_HELO,
    SMTP_HELO_AGAIN, /* HELO or EHLO after MAIL FROM or DATA: aborts the transaction if the server accepts it */
    SMTP_MAIL,
    SMTP_RCPT,
    SMTP_AUTH, /* AUTH, or the client's response to 334 */
    SMTP_STARTTLS,
    SMTP_DATA_COMMAND,
    SMTP_BDAT,
    SMTP_BDAT_LAST,
    SMTP_MESSAGE, /* pseudo-command: the end of a message after DATA, which the server replies to */
    SMTP_RSET,
    SMTP_QUIT,
};

/* A command with a pending reply. */
struct smtp_pending_reply {
    enum smtp_command command;
    uint64_t tx;          /* id + 1 of its transaction; 0 for none */
    bool has_alternative; /* the reply decides whether the oldest alternative instance ends or replaces this instance */
};

enum smtp_mode { SMTP_COMMANDS, SMTP_IN_DATA, SMTP_IN_CHUNK };

struct smtp_state {
    struct buffer helo; /* first HELO name of the session */
    bool has_helo;      /* `helo` is set, even if it is empty */
    uint64_t current;   /* id + 1 of the current transaction; 0 for none */
    uint64_t tx_count;  /* number of transactions so far */
    enum smtp_mode mode;
    bool pipelining, chunking;        /* extensions announced by the server */
    bool is_ambiguous;                /* the reply to DATA or BDAT is pending: a message or commands may follow */
    bool greeted;                     /* the greeting is complete */
    bool replies_lost;                /* after a gap: messages start without the reply to DATA */
    bool in_auth;                     /* the next line is a response to 334, not a command */
    bool after_chunk;                 /* the next line directly follows a BDAT chunk */
    bool awaits_tls;                  /* STARTTLS was accepted; further SMTP data means that no TLS followed */
    bool skip[FLOW_DIRECTIONS];       /* bytes up to the end of the line are skipped */
    bool mid_line[FLOW_DIRECTIONS];   /* in a message: the MIME parser has got the first pieces of the current line */
    bool after_lf;                    /* in a message: the previous line ended with a bare LF */
    bool strict;                      /* alternative instance in which only CRLF ends a line of a message */
    uint64_t chunk_left;              /* bytes of the current BDAT chunk that have not been received */
    bool in_data_frame;               /* the frame of the current message was announced */
    bool chunk_is_last;               /* the current BDAT chunk ends the message (LAST) */
    struct buffer partial;            /* incomplete line at the end of a chunk */
    bool partial_begins;              /* unused; part of the format of the state transfer */
    struct smtp_pending_reply *queue; /* commands with a pending reply, oldest first */
    uint32_t data_pending;            /* number of DATA commands in the queue */
    uint32_t queue_first, queue_count, queue_room; /* index of the oldest entry; used and allocated entries */
    /* Alternative instances (alternative.c), in the order of the commands whose replies decide about them. */
    struct smtp_state *alternatives[SMTP_ALTERNATIVES_MAX];
    uint8_t alternative_count, depth; /* depth 0: the main parser instance */
    struct buffer unread;             /* alternative instances: received bytes that the instance has not consumed */
};

/* In the order of setting_auto_choices. */
enum smtp_md5 { SMTP_MD5_AUTO, SMTP_MD5_ALWAYS, SMTP_MD5_NEVER };

struct smtp_settings {
    bool decode, raw; /* decode: MIME is parsed; raw, without decode: each message is a file named rawmsg */
    enum smtp_md5 body_md5;
    struct mime_options mime;
    char **schemes;                                                   /* mime.schemes; owned */
    const char *const *scheme_names, *const *custom, *const *digests; /* values of the settings; valid in configure() */
    bool log_extended, log_body_md5, log_subject_md5;
    uint32_t log_fields; /* bit set of rows of the table in log.c: fields that eve.types.smtp.custom lists */
};

/* Context of one call of the parser. */
struct smtp_feed {
    struct app_context *context;
    struct smtp_state *state;
    const struct smtp_settings *settings;
    struct smtp_tx *current;       /* transaction of smtp_state.current; NULL for none */
    const struct smtp_tx *replied; /* transaction of the command that the last reply line answers; NULL: unknown */
};

/* --- smtp.c --------------------------------------------------------------------------------------- */

/* Consumes the next line, or a piece of a long line. Returns the number of bytes consumed; 0 when more are needed, or
 * on an error (*err: -errno). The first `seen` bytes contain no line end. */
uint32_t smtp_consume(struct smtp_feed *f, enum flow_direction direction, const uint8_t *bytes, uint32_t length,
                      uint32_t seen, int *err);
/* Returns a transaction by its id + 1; NULL if it was freed, or for 0. */
struct smtp_tx *smtp_find_tx(const struct smtp_feed *f, uint64_t number);

/* --- transfer.c ----------------------------------------------------------------------------------- */

void smtp_transfer(struct app_context *context, void *data, struct transfer *t);
/* transfer_mime.c: transfers an incomplete message; mime_transfer(): its parser, headers and files. */
void mime_transfer(struct app_context *context, struct transfer *t, struct mime *mime, struct file_list *files);
void smtp_transfer_message(struct smtp_feed *f, struct transfer *t, struct smtp_tx *tx);
struct smtp_tx *smtp_new_tx(struct smtp_feed *f); /* NULL without memory */
void smtp_complete_tx(struct smtp_feed *f, struct smtp_tx *tx);
/* Sets an event on a transaction; no effect without one. */
void smtp_event(const struct smtp_feed *f, struct smtp_tx *tx, enum smtp_event event);

/* --- command.c, reply.c: parse a line without its end; 0, or -errno to end parsing ---------------- */

int smtp_parse_command(struct smtp_feed *f, const uint8_t *line, uint32_t length);
int smtp_parse_reply(struct smtp_feed *f, const uint8_t *line, uint32_t length, uint32_t end_length);
bool smtp_is_reply(const uint8_t *line, uint32_t length); /* whether the line starts with a known reply code */
/* Clears the reply queue after a gap: replies can no longer be assigned to commands. */
void smtp_clear_queue(struct smtp_feed *f);
/* Adds a command to the queue of pending replies. Returns 0, -ENOMEM, or -EINVAL when the queue is full. */
int smtp_queue_command(struct smtp_feed *f, enum smtp_command command, const struct smtp_tx *tx);

/* --- alternative.c ------------------------------------------------------------------------------------ */

/* Adds an alternative instance that parses the bytes after the last queued command (DATA or BDAT, with a pending reply)
 * as commands. Returns 0, -ENOMEM, or -EINVAL when there are too many. */
int smtp_add_alternative(struct smtp_feed *f);
/* Adds an alternative instance in which the message of `tx` does not end at the current line. Returns 0 or -errno, like
 * smtp_parse_command(). */
int smtp_add_strict_alternative(struct smtp_feed *f, const struct smtp_tx *tx);
/* Passes client bytes that the instance of `f` has consumed to its alternative instances. Returns 0 or -errno, like
 * smtp_parse_command(). */
int smtp_feed_alternatives(struct smtp_feed *f, const uint8_t *bytes, uint32_t length);
/* Appends client bytes to `unread` and parses the complete lines in it. Returns 0 or -errno, like smtp_parse_command().
 */
int smtp_feed_unread(struct smtp_feed *f, const uint8_t *bytes, uint32_t length);
/* Handles the reply that decides about the oldest alternative instance. `accepted`: the interpretation of `f` was
 * correct, and the alternative instance ends; otherwise it replaces the instance of `f`. */
void smtp_resolve_alternative(struct smtp_feed *f, bool accepted);
/* Ends all alternative parser instances of `f`. */
void smtp_end_alternatives(struct smtp_feed *f);
/* Frees the memory owned by a state, but not the state itself. */
void smtp_clear_state(struct heap *heap, struct smtp_state *state);

/* --- message.c ------------------------------------------------------------------------------------ */

/* Prepares the transaction for message data; has no effect if it was called before. Returns 0 or -ENOMEM. */
int smtp_start_message(struct smtp_feed *f, struct smtp_tx *tx);
/* Starts a message in `tx` as a copy of the incomplete message of `other`. Returns 0 or -ENOMEM. */
int smtp_copy_message(struct smtp_feed *f, struct smtp_tx *tx, const struct smtp_tx *other);
/* Ends a message whose DATA the server refused. */
void smtp_drop_message(struct smtp_feed *f, struct smtp_tx *tx);
/* Consume bytes of a message after DATA, or of a BDAT chunk. Return values and *err are those of smtp_consume(). */
uint32_t smtp_consume_data(struct smtp_feed *f, const uint8_t *bytes, uint32_t length, uint32_t seen, int *err);
uint32_t smtp_consume_chunk(struct smtp_feed *f, const uint8_t *bytes, uint32_t length, int *err);
/* Handles the end of a BDAT chunk, which ends the message if it is the last one. */
void smtp_end_chunk(struct smtp_feed *f);
/* Records lost bytes of a message. */
void smtp_message_gap(struct smtp_feed *f, uint64_t length);
/* Ends an incomplete message; its files are truncated. */
void smtp_abort_message(struct smtp_feed *f, struct smtp_tx *tx);

/* --- keywords.c, log.c, settings.c ---------------------------------------------------------------- */

extern const struct keyword keyword_email_body_md5;
enum { SMTP_BUFFERS = 14 };
extern const struct app_buffer smtp_buffers[SMTP_BUFFERS];

extern const struct setting smtp_setting_rows[];
int smtp_configure(const struct config *config, void *settings);
void smtp_unconfigure(void *settings);

#endif
