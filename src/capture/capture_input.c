/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compressed data is a sequence of frames (members in gzip's terms). A step of a decompressor consumes bytes of `in`
 * and produces bytes of the capture. Data that ends within a frame is an error, which is reported after the bytes
 * before it, so that all complete packets are inspected.
 */
#include "capture_input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#ifdef SLUICE_LZ4
#include <lz4frame.h>
#endif

#include "sluice/bytes.h"

enum {
    IN_SIZE = 64 * 1024,
    ERROR_SIZE = 160,
    MAGIC_SIZE = 4,
    GZIP_WINDOW_BITS = 15 + 16, /* 16: zlib expects the header of a gzip member */
    ZSTD_WINDOW_LOG = 27,
};

struct decompressor;

struct capture_input {
    int fd, stop_fd;
    bool is_regular;
    bool is_live; /* the file is a pipe, a socket or a terminal */
    bool ended;   /* the file has no further bytes */
    bool stopped;
    const struct decompressor *decompressor; /* NULL: the file is not compressed */
    bool in_frame;                           /* a frame has begun and not ended */
    bool is_full; /* the decompressor may have more bytes or an error: the next step needs no input */
    z_stream gzip;
    ZSTD_DStream *zstd;
#ifdef SLUICE_LZ4
    LZ4F_dctx *lz4;
#endif
    uint8_t magic[MAGIC_SIZE];  /* the first bytes of the capture */
    size_t magic_at, magic_end; /* the bytes of `magic` that were not read yet */
    size_t at, end;             /* the bytes of `in` that were not consumed yet */
    uint8_t in[IN_SIZE];
    char error[ERROR_SIZE]; /* "": none */
};

static int fail(struct capture_input *input, int err, const char *reason)
{
    snprintf(input->error, sizeof(input->error), "%s", reason);
    return err;
}

/* --- Decompressors ---------------------------------------------------------------------------------- */

/* A compressed format. `step` decompresses from `in` to at most `size` bytes at `out`, and returns their number or
 * -errno. */
struct decompressor {
    const char *name;
    uint32_t magic, mask; /* the first four bytes, big-endian */
    int (*open)(struct capture_input *input);
    ssize_t (*step)(struct capture_input *input, void *out, size_t size);
};

static int damaged(struct capture_input *input, const char *reason)
{
    snprintf(input->error, sizeof(input->error), "the %s data is damaged: %s", input->decompressor->name, reason);
    return -EBADMSG;
}

static int gzip_open(struct capture_input *input)
{
    return inflateInit2(&input->gzip, GZIP_WINDOW_BITS) == Z_OK ? 0 : -ENOMEM;
}

static ssize_t gzip_step(struct capture_input *input, void *out, size_t size)
{
    z_stream *gzip = &input->gzip;
    uInt room = size < IN_SIZE ? (uInt)size : IN_SIZE;
    int result;

    if (!input->in_frame)
        inflateReset(gzip);
    gzip->next_in = input->in + input->at;
    gzip->avail_in = (uInt)(input->end - input->at);
    gzip->next_out = out;
    gzip->avail_out = room;
    result = inflate(gzip, Z_NO_FLUSH);
    input->at = input->end - gzip->avail_in;
    input->in_frame = result != Z_STREAM_END;
    input->is_full = gzip->avail_out == 0;
    if (result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR)
        return (ssize_t)(room - gzip->avail_out);
    if (gzip->avail_out < room)
        input->is_full = true; /* return the bytes before the error; the next step returns the error again */
    else if (result == Z_MEM_ERROR)
        return fail(input, -ENOMEM, "out of memory");
    else
        return damaged(input, gzip->msg ? gzip->msg : zError(result));
    return (ssize_t)(room - gzip->avail_out);
}

static int zstd_open(struct capture_input *input)
{
    input->zstd = ZSTD_createDStream();
    if (!input->zstd || ZSTD_isError(ZSTD_DCtx_setParameter(input->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG)))
        return -ENOMEM;
    return 0;
}

static ssize_t zstd_step(struct capture_input *input, void *out, size_t size)
{
    ZSTD_inBuffer from = { .src = input->in + input->at, .size = input->end - input->at };
    ZSTD_outBuffer to = { .dst = out, .size = size };
    size_t result = ZSTD_decompressStream(input->zstd, &to, &from);

    if (ZSTD_isError(result))
        return damaged(input, ZSTD_getErrorName(result));
    input->at += from.pos;
    input->in_frame = result != 0;
    input->is_full = to.pos == size;
    return (ssize_t)to.pos;
}

#ifdef SLUICE_LZ4
static int lz4_open(struct capture_input *input)
{
    return LZ4F_isError(LZ4F_createDecompressionContext(&input->lz4, LZ4F_VERSION)) ? -ENOMEM : 0;
}

static ssize_t lz4_step(struct capture_input *input, void *out, size_t size)
{
    size_t consumed = input->end - input->at, produced = size;
    size_t result = LZ4F_decompress(input->lz4, out, &produced, input->in + input->at, &consumed, NULL);

    if (LZ4F_isError(result))
        return damaged(input, LZ4F_getErrorName(result));
    input->at += consumed;
    input->in_frame = result != 0;
    input->is_full = produced == size;
    return (ssize_t)produced;
}
#endif

static int unsupported_open(struct capture_input *input)
{
    snprintf(input->error, sizeof(input->error),
             "%s compression is not supported: decompress the file and pipe it to `sluice replay -`",
             input->decompressor->name);
    return -ENOTSUP;
}

static const struct decompressor decompressors[] = {
    { "gzip", 0x1f8b0800, 0xffffff00, gzip_open, gzip_step },
    { "zstd", 0x28b52ffd, 0xffffffff, zstd_open, zstd_step },
    { "zstd", 0x502a4d18, 0xf0ffffff, zstd_open, zstd_step }, /* skippable frame */
#ifdef SLUICE_LZ4
    { "LZ4", 0x04224d18, 0xffffffff, lz4_open, lz4_step },
#else
    { "LZ4", 0x04224d18, 0xffffffff, unsupported_open, NULL },
#endif
    { "xz", 0xfd377a58, 0xffffffff, unsupported_open, NULL },
    { "bzip2", 0x425a6800, 0xffffff00, unsupported_open, NULL },
};

/* --- Reading ---------------------------------------------------------------------------------------- */

/* Reads from the file. Returns the number of bytes, 0 at the end or when stop_fd has ended the read, or -errno. */
static ssize_t read_file(struct capture_input *input, void *buffer, size_t size)
{
    ssize_t length;

    if (input->ended || input->stopped)
        return 0;
    do {
        if (input->is_live && input->stop_fd > 0) {
            struct pollfd wait[] = { { .fd = input->stop_fd, .events = POLLIN },
                                     { .fd = input->fd, .events = POLLIN } };

            input->stopped = poll(wait, 2, -1) > 0 && wait[0].revents;
            if (input->stopped)
                return 0;
        }
        length = read(input->fd, buffer, size);
    } while (length < 0 && (errno == EINTR || errno == EAGAIN));
    if (length < 0)
        return fail(input, -errno, strerror(errno));
    input->ended = length == 0;
    return length;
}

/* Adds bytes of the file to `in`, which has to have room. Returns as read_file(). */
static ssize_t fill(struct capture_input *input)
{
    ssize_t length = read_file(input, input->in + input->end, IN_SIZE - input->end);

    if (length > 0)
        input->end += (size_t)length;
    return length;
}

static ssize_t read_compressed(struct capture_input *input, void *buffer, size_t size)
{
    ssize_t length = 0;

    while (length == 0) {
        if (input->at == input->end && !input->is_full) {
            input->at = input->end = 0;
            length = fill(input);
            if (length < 0 || input->stopped)
                return length < 0 ? length : 0;
            if (length == 0 && !input->in_frame)
                return 0;
            if (length == 0) {
                snprintf(input->error, sizeof(input->error), "the %s data is incomplete", input->decompressor->name);
                return -EBADMSG;
            }
        }
        length = input->decompressor->step(input, buffer, size);
    }
    return length;
}

ssize_t capture_input_read(struct capture_input *input, void *buffer, size_t size)
{
    size_t buffered = input->end - input->at, known = input->magic_end - input->magic_at;

    if (known > 0) {
        if (known > size)
            known = size;
        memcpy(buffer, input->magic + input->magic_at, known);
        input->magic_at += known;
        return (ssize_t)known;
    }
    if (input->error[0])
        return -EBADMSG;
    if (input->decompressor)
        return read_compressed(input, buffer, size);
    if (buffered == 0)
        return read_file(input, buffer, size);
    if (buffered > size)
        buffered = size;
    memcpy(buffer, input->in + input->at, buffered);
    input->at += buffered;
    return (ssize_t)buffered;
}

uint32_t capture_input_magic(struct capture_input *input)
{
    size_t length = 0;
    ssize_t count;

    if (capture_input_fd(input) >= 0) { /* the position of the file must stay at its beginning */
        count = pread(input->fd, input->magic, MAGIC_SIZE, 0);
        return count == MAGIC_SIZE ? load_be32(input->magic) : 0;
    }
    while (length < MAGIC_SIZE && (count = capture_input_read(input, input->magic + length, MAGIC_SIZE - length)) > 0)
        length += (size_t)count;
    input->magic_end = length;
    return length == MAGIC_SIZE ? load_be32(input->magic) : 0;
}

/* --- Life cycle ------------------------------------------------------------------------------------- */

/* Reads the magic number of the file and opens its decompressor. */
static int recognise(struct capture_input *input)
{
    ssize_t length = 1;
    uint32_t magic;

    while (input->end < MAGIC_SIZE && length > 0) {
        length = fill(input);
        if (length < 0)
            return (int)length;
    }
    if (input->stopped)
        return -ECANCELED;
    if (input->end < MAGIC_SIZE)
        return 0;
    magic = load_be32(input->in);
    for (size_t i = 0; i < sizeof(decompressors) / sizeof(decompressors[0]); i++) {
        if ((magic & decompressors[i].mask) != decompressors[i].magic)
            continue;
        input->decompressor = &decompressors[i];
        int err = decompressors[i].open(input);

        return err == -ENOMEM ? fail(input, err, "out of memory") : err;
    }
    if (input->is_regular) { /* libpcap and pcap_records.c read the file by its descriptor, from the beginning */
        input->at = input->end = 0;
        if (lseek(input->fd, 0, SEEK_SET) != 0)
            return fail(input, -errno, strerror(errno));
    }
    return 0;
}

int capture_input_open(struct capture_input **out, const char *path, int stop_fd)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : open(path, O_RDONLY | O_CLOEXEC);
    int err = errno;
    struct capture_input *input = calloc(1, sizeof(*input));
    struct stat status;

    if (!input) {
        if (fd >= 0)
            close(fd);
        return -ENOMEM;
    }
    *out = input;
    input->fd = fd;
    input->stop_fd = stop_fd;
    if (fd < 0)
        return fail(input, -err, strerror(err));
    if (fstat(fd, &status))
        return fail(input, -errno, strerror(errno));
    /* Standard input that was read in part begins at its current position, like a pipe. */
    input->is_regular = S_ISREG(status.st_mode) && lseek(fd, 0, SEEK_CUR) == 0;
    input->is_live = !S_ISREG(status.st_mode);
    if (is_stdin && isatty(fd))
        return fail(input, -EINVAL, "this is a terminal: redirect a capture file or a pipe to standard input");
    return recognise(input);
}

void capture_input_close(struct capture_input *input)
{
    if (!input)
        return;
    if (input->decompressor && input->decompressor->step == gzip_step)
        inflateEnd(&input->gzip);
    ZSTD_freeDStream(input->zstd);
#ifdef SLUICE_LZ4
    LZ4F_freeDecompressionContext(input->lz4);
#endif
    if (input->fd >= 0)
        close(input->fd);
    free(input);
}

static ssize_t read_stream(void *cookie, char *buffer, size_t size)
{
    ssize_t length = capture_input_read(cookie, buffer, size);

    if (length >= 0)
        return length;
    errno = EIO; /* the caller reports capture_input_error() */
    return -1;
}

FILE *capture_input_stream(struct capture_input *input)
{
    if (capture_input_fd(input) >= 0) { /* the user can set the position of this stream */
        int fd = fcntl(input->fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        FILE *stream = fd >= 0 ? fdopen(fd, "rb") : NULL;

        if (!stream && fd >= 0)
            close(fd);
        return stream;
    }
    return fopencookie(input, "r", (cookie_io_functions_t){ .read = read_stream });
}

int capture_input_fd(const struct capture_input *input)
{
    return input->is_regular && !input->decompressor ? input->fd : -1;
}

bool capture_input_is_live(const struct capture_input *input)
{
    return input->is_live;
}

const char *capture_input_error(const struct capture_input *input)
{
    return input->error[0] ? input->error : NULL;
}

bool capture_input_stopped(const struct capture_input *input)
{
    return input->stopped;
}
