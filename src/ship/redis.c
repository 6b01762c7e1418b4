/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Redis and Valkey servers, through hiredis. Commands are pipelined: redis.batch-size commands are sent before their
 * replies are read. An error reply (no memory, a replica, a key of another type) does not lose the event: it is sent
 * again, after a delay.
 */
#include "ship_priv.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { LENGTH_SIZE = 24 };

struct carrier {
    redisContext *context;
    const struct output_settings *settings;
    const char *command;
    struct text text; /* an event with its prefix */
    char max_length[LENGTH_SIZE];
};

/* In the order of the choices of outputs.*.redis.mode. */
static const char *const modes[] = { "LPUSH", "LPUSH", "RPUSH", "PUBLISH", "PUBLISH", "XADD", "XADD" };

static int fail(const struct output_settings *settings, char error[SHIP_ERROR_SIZE], const char *what)
{
    if (settings->redis.socket)
        snprintf(error, SHIP_ERROR_SIZE, "Redis server %.100s: %.120s", settings->redis.socket, what);
    else
        snprintf(error, SHIP_ERROR_SIZE, "Redis server %.100s port %u: %.120s", settings->redis.server,
                 settings->redis.port, what);
    return -EIO;
}

static void close_redis(struct carrier *carrier)
{
    if (carrier->context)
        redisFree(carrier->context);
    text_clear(&carrier->text);
    free(carrier);
}

/* Sends a command and reads its reply. Returns 0, or -errno with a line in `error`. */
static int command(struct carrier *carrier, int count, const char *const *words, char error[SHIP_ERROR_SIZE])
{
    redisReply *reply = redisCommandArgv(carrier->context, count, (const char **)words, NULL);
    int err = 0;

    if (!reply)
        err = fail(carrier->settings, error, carrier->context->errstr);
    else if (reply->type == REDIS_REPLY_ERROR)
        err = fail(carrier->settings, error, reply->str);
    freeReplyObject(reply);
    return err;
}

static int open_redis(struct carrier **out, const struct output_settings *settings, char error[SHIP_ERROR_SIZE])
{
    const struct timeval limit = { .tv_sec = SHIP_TIMEOUT_MS / 1000 };
    struct carrier *carrier = calloc(1, sizeof(*carrier));
    char database[LENGTH_SIZE];
    int err = 0;

    if (!carrier)
        return fail(settings, error, strerror(ENOMEM));
    carrier->settings = settings;
    carrier->command = modes[settings->redis.mode];
    text_init(&carrier->text);
    snprintf(carrier->max_length, sizeof(carrier->max_length), "%llu", (unsigned long long)settings->redis.max_length);
    snprintf(database, sizeof(database), "%u", (unsigned)settings->redis.database);
    carrier->context = settings->redis.socket
                           ? redisConnectUnixWithTimeout(settings->redis.socket, limit)
                           : redisConnectWithTimeout(settings->redis.server, settings->redis.port, limit);
    if (!carrier->context)
        err = fail(settings, error, strerror(ENOMEM));
    else if (carrier->context->err)
        err = fail(settings, error, carrier->context->errstr);
    else
        redisSetTimeout(carrier->context, limit);
    if (!err && settings->redis.password && settings->redis.username)
        err =
            command(carrier, 3, (const char *[]){ "AUTH", settings->redis.username, settings->redis.password }, error);
    else if (!err && settings->redis.password)
        err = command(carrier, 2, (const char *[]){ "AUTH", settings->redis.password }, error);
    if (!err && settings->redis.database > 0)
        err = command(carrier, 2, (const char *[]){ "SELECT", database }, error);
    if (!err) /* a server that loads its data or requires a password accepts connections, but no commands */
        err = command(carrier, 1, (const char *[]){ "PING" }, error);
    if (err) {
        close_redis(carrier);
        return err;
    }
    *out = carrier;
    return 0;
}

/* Adds the command of one event to the output buffer. Returns 0, or -ENOMEM. */
static int append_command(struct carrier *carrier, const struct spool_event *event)
{
    const struct output_settings *settings = carrier->settings;
    const char *words[8] = { carrier->command, settings->redis.key };
    size_t lengths[8] = { strlen(carrier->command), strlen(settings->redis.key) };
    int count = 2;

    if (strcmp(carrier->command, "XADD") == 0) {
        static const char *const limited[] = { "MAXLEN", "~" };

        for (int i = 0; i < 2 && settings->redis.max_length > 0; i++)
            words[count++] = limited[i];
        if (settings->redis.max_length > 0)
            words[count++] = carrier->max_length;
        words[count++] = "*";
        words[count++] = "eve";
        for (int i = 2; i < count; i++)
            lengths[i] = strlen(words[i]);
    }
    if (settings->prefix) {
        text_reset(&carrier->text);
        text_puts(&carrier->text, settings->prefix);
        text_append(&carrier->text, event->bytes, event->length);
        if (carrier->text.failed)
            return -ENOMEM;
    }
    words[count] = settings->prefix ? carrier->text.bytes : event->bytes;
    lengths[count++] = settings->prefix ? carrier->text.length : event->length;
    return redisAppendCommandArgv(carrier->context, count, words, lengths) == REDIS_OK ? 0 : -ENOMEM;
}

static int send_to_redis(struct carrier *carrier, const struct spool_event *events, size_t count,
                         const atomic_bool *stop, struct ship_result *out, char error[SHIP_ERROR_SIZE])
{
    const struct output_settings *settings = carrier->settings;
    const bool publishes = strcmp(carrier->command, "PUBLISH") == 0;
    size_t begun = 0, done = 0;

    *out = (struct ship_result){ 0 };
    while (done < count && !atomic_load(stop)) {
        void *answer = NULL;
        int err = 0;

        for (; begun < count && begun < done + settings->redis.batch_size; begun++)
            if (append_command(carrier, &events[begun]))
                return fail(settings, error, strerror(ENOMEM));
        for (; done < begun && !err; done += err == 0) {
            redisReply *reply;

            if (redisGetReply(carrier->context, &answer) != REDIS_OK || !answer)
                return fail(settings, error, carrier->context->errstr);
            reply = answer;
            if (reply->type == REDIS_REPLY_ERROR)
                err = fail(settings, error, reply->str);
            else if (publishes && reply->integer == 0) /* the channel has no subscriber: nobody gets the event */
                out->rejected++;
            else
                out->delivered++;
            freeReplyObject(reply);
        }
        if (err)
            return err;
    }
    return 0;
}

const struct carrier_type redis_carrier = { .open = open_redis, .send = send_to_redis, .close = close_redis };
