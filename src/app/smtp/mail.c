/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mail.h"

#include <errno.h>

#include "sluice/transfer.h"
#include "smtp_priv.h"

extern const struct app_proto app_smtp;

static uint32_t next_file_id(void *user)
{
    return app_next_file_id(user);
}

static struct mime_target get_target(struct app_context *context, const struct mail *mail, struct app_tx *tx)
{
    return (struct mime_target){
        .heap = app_heap(context),
        .files = app_files(context),
        .list = &tx->files[mail->direction],
        .next_id = next_file_id,
        .user = context,
    };
}

/* Reports new content to the framework. */
static void report(struct mail *mail, struct app_tx *tx, const struct mime_target *target)
{
    if (target->grown || mail->mime->urls.count > mail->reported_urls)
        app_tx_mark_changed(tx, (enum flow_direction)mail->direction);
    mail->reported_urls = mail->mime->urls.count;
}

int mail_begin(struct app_context *context, struct mail *mail, enum flow_direction direction)
{
    const struct smtp_settings *settings = app_get_settings_of(context, &app_smtp);

    mail_clear(app_heap(context), mail);
    mail->direction = (uint8_t)direction;
    if (!settings->decode)
        return 0;
    mail->mime = heap_alloc(app_heap(context), sizeof(*mail->mime));
    if (!mail->mime)
        return -ENOMEM;
    mime_init(mail->mime, &settings->mime, false);
    return 0;
}

void mail_line(struct app_context *context, struct mail *mail, struct app_tx *tx, const struct mime_line *line)
{
    struct mime_target target = get_target(context, mail, tx);

    if (!mail->mime)
        return;
    mime_line(mail->mime, &target, line);
    report(mail, tx, &target);
}

void mail_gap(struct app_context *context, struct mail *mail, struct app_tx *tx, uint64_t length)
{
    struct mime_target target = get_target(context, mail, tx);

    if (!mail->mime)
        return;
    mime_gap(mail->mime, &target, length);
    report(mail, tx, &target);
}

void mail_end(struct app_context *context, struct mail *mail, struct app_tx *tx, bool complete)
{
    struct mime_target target = get_target(context, mail, tx);

    if (!mail->mime)
        return;
    mime_end(mail->mime, &target, complete);
    report(mail, tx, &target);
}

void mail_clear(struct heap *heap, struct mail *mail)
{
    if (mail->mime)
        mime_clear(heap, mail->mime);
    heap_release(heap, mail->mime);
    *mail = (struct mail){ .mime = NULL };
}

void mail_transfer(struct app_context *context, struct transfer *t, struct mail *mail, struct app_tx *tx)
{
    bool decoded = mail->mime != NULL && !mail->mime->ended;
    uint8_t direction = mail->direction;
    struct transfer part;
    uint16_t kind = 0;
    size_t start;

    transfer_bool(t, &decoded);
    transfer_u8(t, &direction);
    transfer_require(t, direction < FLOW_DIRECTIONS);
    if (t->error || !decoded)
        return;
    /* A separate part, because a process that does not decode messages must be able to skip it. */
    if (!t->reading) {
        start = transfer_part_start(t, 0);
        transfer_u32(t, &mail->reported_urls);
        mime_transfer(context, t, mail->mime, &tx->files[mail->direction]);
        transfer_part_end(t, start);
        return;
    }
    transfer_require(t, transfer_next_part(t, &kind, &part));
    if (!t->error && mail_begin(context, mail, (enum flow_direction)direction))
        t->error = -ENOMEM;
    if (t->error || !mail->mime)
        return;
    transfer_u32(&part, &mail->reported_urls);
    mime_transfer(context, &part, mail->mime, &tx->files[mail->direction]);
    t->error = part.error;
}

void mail_log(const struct mail *mail, const struct app_tx *tx, struct fields *out)
{
    static const struct smtp_settings extended = { .log_extended = true };

    smtp_log_message(mail->mime, &tx->files[mail->direction], &extended, out);
}
