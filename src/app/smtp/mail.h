/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A message in a transaction of another mail protocol (POP3, IMAP): its MIME parser, its files and its object in
 * events. The settings are those of SMTP (app-layer.protocols.smtp.mime).
 */
#ifndef SMTP_MAIL_H
#define SMTP_MAIL_H

#include "mime.h"
#include "sluice/app.h"

struct mail {
    struct mime *mime;      /* owned; NULL: no message, or MIME is not parsed (decode-mime) */
    uint32_t reported_urls; /* URLs already reported as new content */
    uint8_t direction;      /* enum flow_direction: the direction of the message */
};

/* Starts a message; the previous one must have ended. Returns 0 or -ENOMEM. */
int mail_begin(struct app_context *context, struct mail *mail, enum flow_direction direction);
/* Parses the next line or piece. */
void mail_line(struct app_context *context, struct mail *mail, struct app_tx *tx, const struct mime_line *line);
/* Records lost bytes. */
void mail_gap(struct app_context *context, struct mail *mail, struct app_tx *tx, uint64_t length);
/* Ends the message; `complete`: all of it was received. The headers remain for events. */
void mail_end(struct app_context *context, struct mail *mail, struct app_tx *tx, bool complete);
void mail_clear(struct heap *heap, struct mail *mail);
/* Transfers an incomplete message to another process. */
void mail_transfer(struct app_context *context, struct transfer *t, struct mail *mail, struct app_tx *tx);
void mail_log(const struct mail *mail, const struct app_tx *tx, struct fields *out);

#endif
