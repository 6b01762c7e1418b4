/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads files and single assignments into a configuration.
 *
 * The text of a file stays in the arena of the configuration, because positions refer to its lines. The value of
 * `--set key=value` is a plain string, not YAML, unless it begins with [ or { and the setting can be a list or a
 * mapping.
 */
#include "config_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Applies a tree that has been read with the result `err`. */
static int apply_parsed(struct walk *walk, const struct node *tree, int err)
{
    if (err == -EINVAL)
        return 0; /* yaml_read() has reported the mistake; the file is ignored */
    return err ? err : apply_tree(walk, tree);
}

const char *folder_of(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return "";
    return slash == path ? "/" : arena_strndup(arena, path, (size_t)(slash - path));
}

/* A file with this number of Suricata's settings gets a note that it looks like a suricata.yaml. */
enum { MANY_SURICATA_KEYS = 3 };

static int read_all(struct arena *arena, int fd, size_t size, char **out, size_t *length)
{
    char *text = arena_alloc(arena, size + 1);
    size_t done = 0;

    if (!text)
        return -ENOMEM;
    while (done < size) {
        ssize_t got = read(fd, text + done, size - done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    *out = text;
    *length = done;
    return 0;
}

static int read_file(struct arena *arena, const char *path, char **out, size_t *length)
{
    struct stat st;
    int err = 0, fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    if (fstat(fd, &st))
        err = -errno;
    else if (S_ISDIR(st.st_mode))
        err = -EISDIR;
    else if (st.st_size > CONFIG_MAX_FILE_SIZE)
        err = -EFBIG;
    else /* a file that is not regular (a pipe) has no size: read up to the limit */
        err = read_all(arena, fd, S_ISREG(st.st_mode) ? (size_t)st.st_size : CONFIG_MAX_FILE_SIZE, out, length);
    close(fd);
    return err;
}

int load_tree(struct walk *walk, const char *path, struct position at, struct node **out)
{
    struct arena *arena = walk->config->arena;
    const char *folder = folder_of(arena, path), *name = arena_strdup(arena, path);
    char *text = NULL;
    size_t length = 0;

    if (!folder || !name)
        return -ENOMEM;
    if (walk->includes > CONFIG_MAX_INCLUDES || walk->config->files >= CONFIG_MAX_FILES) {
        diag_error(
            walk->diag, at,
            "more than %d files, or includes nested more than %d levels deep; check whether a file includes itself",
            CONFIG_MAX_FILES, CONFIG_MAX_INCLUDES);
        return -ELOOP;
    }
    int err = read_file(arena, path, &text, &length);

    if (err && at.file)
        diag_error(walk->diag, at, "cannot read '%s': %s", name, strerror(-err));
    else if (err)
        diag_error(walk->diag, (struct position){ .file = name }, "cannot be read: %s", strerror(-err));
    if (err)
        return err;
    walk->config->file_names[walk->config->files++] = name;
    walk->folder = folder;
    *out = NULL;
    return yaml_read(walk->config, out, name, text, length, walk->diag);
}

int load_file(struct walk *walk, const char *path, struct position at)
{
    size_t read_before = walk->config->files;
    struct node *tree = NULL;
    int err = load_tree(walk, path, at, &tree);

    if (walk->config->files == read_before)
        return err;
    err = apply_parsed(walk, tree, err);
    if (walk->includes == 0 && walk->config->suricata_keys >= MANY_SURICATA_KEYS)
        diag_note(walk->diag, (struct position){ .file = path },
                  "this looks like a configuration of Suricata: `sluice import %s` converts it", path);
    return err;
}

int config_load(struct config *config, const char *path, enum config_strictness strictness, struct diag *diag)
{
    struct walk walk = { .config = config, .diag = diag, .strictness = strictness, .folder = "" };

    return load_file(&walk, path, (struct position){ .file = NULL });
}

const char *config_file(const struct config *config, size_t index)
{
    return index < config->files ? config->file_names[index] : NULL;
}

int config_parse(struct config *config, const char *name, const char *text, size_t length,
                 enum config_strictness strictness, struct diag *diag)
{
    struct walk walk = { .config = config, .diag = diag, .strictness = strictness };
    const char *own_name = arena_strdup(config->arena, name);
    char *own_text;

    if (length > CONFIG_MAX_FILE_SIZE)
        return -EFBIG;
    own_text = arena_strndup(config->arena, text, length);
    walk.folder = folder_of(config->arena, name);
    if (!own_name || !own_text || !walk.folder)
        return -ENOMEM;

    struct node *tree = NULL;
    int err = yaml_read(config, &tree, own_name, own_text, length, diag);

    return apply_parsed(&walk, tree, err);
}

/* --- key=value ------------------------------------------------------------------------------------ */

static int parse_value(struct config *config, const struct setting *setting, const char *value, struct position at,
                       struct node **out, struct diag *diag)
{
    bool may_be_yaml = setting->type == SETTING_LIST || setting->type == SETTING_PATHS ||
                       setting->type == SETTING_SECTION || setting->type == SETTING_ANY;

    if (may_be_yaml && (value[0] == '[' || value[0] == '{'))
        return yaml_read(config, out, at.file, value, strlen(value), diag);
    *out = node_new(config, value[0] ? NODE_SCALAR : NODE_NULL);
    if (!*out)
        return -ENOMEM;
    (*out)->at = at;
    (*out)->value = value[0] ? value : NULL;
    return 0;
}

/* Sets one setting: applies a tree of one member whose key is the full path, which apply_tree() splits at the dots. */
static int assign(struct walk *walk, const char *key, const char *value, struct position key_at,
                  struct position value_at)
{
    struct node *root, *member = NULL;
    const struct schema_row *row = schema_find(walk->config, key);
    const struct setting any = { .type = SETTING_STRING };
    int err = parse_value(walk->config, row ? row->setting : &any, value, value_at, &member, walk->diag);

    if (err || !member)
        return err;
    root = node_new(walk->config, NODE_MAP);
    if (!root)
        return -ENOMEM;
    member->key = key;
    member->key_at = key_at;
    node_add(root, member);
    return apply_tree(walk, root);
}

int config_set(struct config *config, const char *assignment, struct diag *diag)
{
    struct walk walk = { .config = config, .diag = diag, .strictness = CONFIG_STRICT, .folder = "" };
    char *text = arena_strdup(config->arena, assignment), *file = arena_strdup(config->arena, "command line");
    const char *equals = strchr(assignment, '=');
    size_t errors = diag_errors(diag);

    if (!text || !file)
        return -ENOMEM;

    struct position at = { .file = file, .line_text = text, .line = 1, .column = 1, .width = (uint32_t)strlen(text) };

    if (!equals || equals == assignment || equals - assignment > CONFIG_MAX_KEY) {
        diag_error(diag, at, "the format of a setting is NAME=VALUE");
        return -EINVAL;
    }
    size_t length = (size_t)(equals - assignment);
    const char *key = arena_strndup(config->arena, text, length);
    struct position value_at = at;

    if (!key)
        return -ENOMEM;
    at.width = (uint32_t)length;
    value_at.column = (uint32_t)length + 2;
    value_at.width = (uint32_t)strlen(text + length + 1);

    int err = assign(&walk, key, text + length + 1, at, value_at);

    return err ? err : diag_errors(diag) > errors ? -EINVAL : 0;
}
