/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the options of file extraction and of the file store from the configuration. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "setup_priv.h"

#include "sluice/config.h"
#include "sluice/file.h"
#include "sluice/file_store.h"
#include "sluice/setup.h"
#include "sluice/engine_limits.h"
#include "sluice/stream.h"

static unsigned digest_bit(const char *name)
{
    static const char *const names[FILE_DIGESTS] = {
        [FILE_MD5] = "md5", [FILE_SHA1] = "sha1", [FILE_SHA256] = "sha256"
    };

    for (unsigned kind = 0; kind < FILE_DIGESTS; kind++)
        if (strcmp(names[kind], name) == 0)
            return 1u << kind;
    return 0;
}

static unsigned digest_bits(const char *const *names)
{
    unsigned digests = 0;

    for (; *names; names++)
        digests |= digest_bit(*names);
    return digests;
}

/* Reads the settings of files. Returns whether the file store is enabled. */
static bool read_settings(const struct config *config, struct file_store_settings *out)
{
    memset(out, 0, sizeof(*out));
    config_fill(config, file_settings, NULL, out);
    return out->store_section && out->store_enabled;
}

void setup_file_options(const struct config *config, struct file_options *out)
{
    struct file_store_settings settings;
    struct eve_options events = { .types = false };
    bool stores = read_settings(config, &settings);

    config_fill(config, eve_settings, NULL, &events);
    if (events.enabled[OUTPUT_FILE]) {
        out->digests = digest_bits(settings.event_digests);
        out->magic = settings.event_magic;
    }
    if (!stores)
        return;
    out->digests |= digest_bits(settings.store_digests);
    out->magic |= settings.store_magic;
    out->store_all = settings.store_all;
    out->store_limit = settings.store_limit;
}

/* Raises the stream depth to the depth of the file store, because files to store may be larger than the data that rules
 * inspect. */
void setup_file_depth(const struct config *config, struct stream_options *stream)
{
    struct file_store_settings settings;

    if (read_settings(config, &settings) && stream->depth != 0 && settings.stream_depth > stream->depth)
        stream->depth = settings.stream_depth > UINT32_MAX ? 0 : (uint32_t)settings.stream_depth;
}

int setup_file_store(struct file_store **out, const struct config *config, const char *log_dir, unsigned workers,
                     bool lossless, char error[ENGINE_ERROR_SIZE])
{
    struct file_store_settings settings;
    struct log_options log;
    struct file_store_options options = { .workers = workers, .lossless = lossless };
    char path[PATH_MAX];
    int length;

    *out = NULL;
    if (!read_settings(config, &settings))
        return 0;
    config_fill(config, output_settings, NULL, &log);
    length = settings.store_dir[0] == '/'
                 ? snprintf(path, sizeof(path), "%s", settings.store_dir)
                 : snprintf(path, sizeof(path), "%s/%s", log_dir ? log_dir : log.dir, settings.store_dir);
    if (length < 0 || (size_t)length >= sizeof(path)) {
        snprintf(error, ENGINE_ERROR_SIZE, "the path of the file store is too long");
        return -ENAMETOOLONG;
    }
    options.dir = path;
    int err = file_store_new(out, &options);

    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "cannot open the file store %.200s: %s", path, strerror(-err));
    return err;
}
