/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the options of file extraction and of the file store from the configuration. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

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

static unsigned read_digests(const struct config *config, const char *name)
{
    unsigned digests = 0;

    for (size_t i = 0; i < config_list_count(config, name); i++)
        digests |= digest_bit(config_list_get(config, name, i));
    return digests;
}

static bool store_is_wanted(const struct config *config)
{
    return config_bool(config, "file-store") && config_bool(config, "file-store.enabled");
}

void setup_file_options(const struct config *config, struct file_options *out)
{
    if (config_bool(config, "eve.types.files")) {
        out->digests = read_digests(config, "eve.types.files.force-hash");
        out->magic = config_bool(config, "eve.types.files.force-magic");
    }
    if (!store_is_wanted(config))
        return;
    out->digests |= read_digests(config, "file-store.force-hash");
    out->magic |= config_bool(config, "file-store.force-magic");
    out->store_all = config_bool(config, "file-store.force-filestore");
    out->store_limit = (uint64_t)config_number(config, "file-store.max-file-size");
}

/* Files to store may be larger than the data that rules inspect. */
void setup_file_depth(const struct config *config, struct stream_options *stream)
{
    int64_t depth = config_number_or(config, "file-store.stream-depth", 0);

    if (store_is_wanted(config) && stream->depth != 0 && depth > stream->depth)
        stream->depth = depth > UINT32_MAX ? 0 : (uint32_t)depth;
}

int setup_file_store(struct file_store **out, const struct config *config, const char *log_dir, unsigned workers,
                     bool lossless, char error[ENGINE_ERROR_SIZE])
{
    const char *folder = log_dir ? log_dir : config_string(config, "log-dir");
    const char *name = config_string(config, "file-store.dir");
    struct file_store_options options = { .workers = workers, .lossless = lossless };
    char path[PATH_MAX];
    int length;

    *out = NULL;
    if (!store_is_wanted(config))
        return 0;
    length =
        name[0] == '/' ? snprintf(path, sizeof(path), "%s", name) : snprintf(path, sizeof(path), "%s/%s", folder, name);
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
