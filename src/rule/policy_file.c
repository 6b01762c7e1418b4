/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of the rule policy. A line is a decision about the rules that it matches:
 *
 *     disable 2019401, 1:2019402              by sid, gid:sid or gid:sid:rev
 *     enable  group:emerging-icmp.rules       by file name, with or without .rules
 *     drop    filename:rules/emerging-*       by path
 *     alert   re:heartbleed                   by a regular expression over the text of the rule
 *     reject  msg:^ET EXPLOIT                 by a regular expression over the message of the rule
 *     drop    classtype:trojan-activity
 *     alert-only metadata: deployment perimeter
 *     modify  2019401 "seconds \d+" "seconds 3600"
 *     metadata-add re:"ET SCAN" "triage" "later"
 *
 * The reader accepts suricata-update's disable.conf, enable.conf and drop.conf, whose lines are matchers without a
 * verb, and its modify.conf, with `MATCH "FROM" "TO"`, Oinkmaster's `modifysid MATCH "FROM" | "TO"`, and
 * `metadata-add`. Lines of modify.conf, and lines that begin with modify, modifysid or metadata-add, are split into
 * words as by a shell; in all other lines the matcher extends to the end of the line. A `#` after a space begins a
 * comment.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/array.h"

#include "policy_file.h"
#include "rule_priv.h"

enum { MAX_WORDS = 6 };

enum file_form { FORM_DISABLE, FORM_ENABLE, FORM_DROP, FORM_MODIFY, FORM_POLICY };

static const struct {
    const char *word;
    enum policy_verb verb;
    enum rule_action action;
} verbs[] = {
    { "disable", POLICY_DISABLE, ACTION_ALERT },
    { "enable", POLICY_ENABLE, ACTION_ALERT },
    { "drop", POLICY_ACTION, ACTION_DROP },
    { "alert", POLICY_ACTION, ACTION_ALERT },
    { "pass", POLICY_ACTION, ACTION_PASS },
    { "reject", POLICY_ACTION, ACTION_REJECT },
    { "rejectsrc", POLICY_ACTION, ACTION_REJECT },
    { "rejectdst", POLICY_ACTION, ACTION_REJECT_DESTINATION },
    { "rejectboth", POLICY_ACTION, ACTION_REJECT_BOTH },
    { "alert-only", POLICY_ALERT_ONLY, ACTION_ALERT },
    { "modify", POLICY_MODIFY, ACTION_ALERT },
    { "modifysid", POLICY_MODIFY, ACTION_ALERT },
    { "metadata-add", POLICY_ADD_METADATA, ACTION_ALERT },
};

struct reader {
    struct rule_list *list;
    struct policy_lines *lines; /* the preceding lines */
    struct rule_parser parser;  /* reports mistakes in the current line */
    struct policy_line line;
    size_t id_count; /* number of ids in the preceding lines */
};

/* --- Matchers ------------------------------------------------------------------------------------- */

/* A word of a line: `text` is the word without its quotes; mistakes are shown at `shown`, which is part of the line. */
struct word {
    struct span text, shown;
};

static char *copy_text(struct reader *reader, struct span text)
{
    char *copy = arena_strndup(reader->list->arena, text.at, text.length);

    reader->parser.out_of_memory |= !copy;
    return copy;
}

static pcre2_code *compile(struct reader *reader, struct word word, uint32_t flags)
{
    PCRE2_SIZE offset;
    int error;
    uint32_t groups = 0;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)word.text.at, word.text.length, flags, &error, &offset, NULL);

    if (!code) {
        PCRE2_UCHAR message[200];
        struct span where = word.shown;

        if (word.text.at == word.shown.at && offset <= word.shown.length)
            where = (struct span){ word.shown.at + offset, 1 };
        pcre2_get_error_message(error, message, sizeof(message));
        rule_parser_error(&reader->parser, where, "the regular expression is not valid: %s", (const char *)message);
        return NULL;
    }
    pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &groups);
    if (groups > POLICY_MAX_GROUPS) {
        rule_parser_error(&reader->parser, word.shown, "the regular expression has more than %d groups",
                          POLICY_MAX_GROUPS);
        pcre2_code_free(code);
        return NULL;
    }
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* if JIT is not available, pcre2_match() interprets the pattern */
    return code;
}

/* Parses `2019401`, `1:2019401`, `1:2019401:2`, or a comma-separated list of these, into lines->ids. Returns 0 or
 * -errno. */
static int parse_ids(struct reader *reader, struct word word)
{
    struct policy_lines *lines = reader->lines;
    bool in_place = word.text.at == word.shown.at;

    reader->line.match = POLICY_MATCH_IDS;
    for (struct span rest = word.text, entry; span_next(&rest, ',', &entry);) {
        struct policy_id id = { .gid = 1, .line = (uint32_t)lines->count };
        struct span numbers = entry, part;
        uint64_t number[3];
        size_t count = 0;

        while (span_next(&numbers, ':', &part)) {
            if (count == 3 || !span_to_uint(part, 0, UINT32_MAX, &number[count]))
                return rule_parser_error(&reader->parser, in_place ? entry : word.shown,
                                         "expected SID, GID:SID or GID:SID:REV, got '" SPAN_FORMAT "'",
                                         SPAN_ARGS(span_shown(entry)));
            count++;
        }
        if (count > 1)
            id.gid = (uint32_t)number[0];
        id.sid = (uint32_t)number[count > 1];
        id.has_revision = count == 3;
        if (id.has_revision)
            id.revision = (uint32_t)number[2];
        if (array_grow(&lines->ids, lines->id_count, &lines->id_capacity, sizeof(id))) {
            reader->parser.out_of_memory = true;
            return -ENOMEM;
        }
        lines->ids[lines->id_count++] = id;
    }
    return 0;
}

static bool cut_prefix(struct word *word, const char *prefix)
{
    size_t length = strlen(prefix);
    struct span text = word->text;

    if (text.length < length || memcmp(text.at, prefix, length) != 0)
        return false;
    word->text = span_trim((struct span){ text.at + length, text.length - length });
    if (text.at == word->shown.at && word->text.length > 0)
        word->shown = word->text;
    return true;
}

static bool ends_with(struct span text, const char *end)
{
    size_t length = strlen(end);

    return text.length >= length && memcmp(text.at + text.length - length, end, length) == 0;
}

static int parse_named_matcher(struct reader *reader, enum policy_match match, struct word word)
{
    struct policy_line *line = &reader->line;
    struct span text = word.text;

    if ((match == POLICY_MATCH_MESSAGE || match == POLICY_MATCH_CLASS) && text.length >= 2 && text.at[0] == '"' &&
        text.at[text.length - 1] == '"') { /* the value was copied from a rule together with its quotes */
        word.text = (struct span){ text.at + 1, text.length - 2 };
        if (word.shown.at == text.at)
            word.shown = word.text;
    }
    if (word.text.length == 0)
        return rule_parser_error(&reader->parser, word.shown, "the matcher is empty");
    line->match = match;
    if (match == POLICY_MATCH_METADATA) {
        const char *space = memchr(word.text.at, ' ', word.text.length);
        size_t length = space ? (size_t)(space - word.text.at) : 0;

        if (!space)
            return rule_parser_error(&reader->parser, word.shown,
                                     "'metadata:' needs a key and a value, as in 'metadata: deployment perimeter'");
        line->name = copy_text(reader, (struct span){ word.text.at, length });
        line->value = copy_text(reader, span_trim((struct span){ space + 1, word.text.length - length - 1 }));
        return 0;
    }
    if (match == POLICY_MATCH_TEXT || match == POLICY_MATCH_MESSAGE) {
        line->pattern = compile(reader, word, PCRE2_CASELESS);
        return line->pattern ? 0 : -EINVAL;
    }
    line->name = copy_text(reader, word.text);
    return 0;
}

static int parse_matcher(struct reader *reader, struct word word)
{
    static const struct {
        const char *prefix;
        enum policy_match match;
    } prefixes[] = {
        { "re:", POLICY_MATCH_TEXT },       { "msg:", POLICY_MATCH_MESSAGE }, { "classtype:", POLICY_MATCH_CLASS },
        { "filename:", POLICY_MATCH_PATH }, { "group:", POLICY_MATCH_GROUP }, { "metadata:", POLICY_MATCH_METADATA },
    };

    if (word.text.length == 0)
        return rule_parser_error(&reader->parser, word.shown, "the line does not select any rules");
    if (span_equal(word.text, "*")) {
        reader->line.match = POLICY_MATCH_ALL;
        return 0;
    }
    if (word.text.at[0] >= '0' && word.text.at[0] <= '9' && !ends_with(word.text, ".rules"))
        return parse_ids(reader, word);
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (cut_prefix(&word, prefixes[i].prefix))
            return parse_named_matcher(reader, prefixes[i].match, word);
    }
    if (ends_with(word.text, ".rules"))
        return parse_named_matcher(reader, POLICY_MATCH_GROUP, word);
    return rule_parser_error(
        &reader->parser, word.shown,
        "expected SID, GID:SID, re:, msg:, classtype:, group:, filename:, metadata: or *, got '" SPAN_FORMAT "'",
        SPAN_ARGS(span_shown(word.text)));
}

/* --- Words of modify lines ------------------------------------------------------------------------ */

/*
 * Removes the next word from `rest`, split as by a shell: quotes may begin anywhere in the word; outside of quotes a
 * backslash escapes any character, and between double quotes it escapes `"` and `\`. Returns 1, 0 at the end of the
 * line, or -errno after an error was reported.
 */
static int next_word(struct reader *reader, struct span *rest, struct word *word)
{
    *rest = span_trim(*rest);
    if (rest->length == 0 || rest->at[0] == '#')
        return 0;

    char *text = arena_alloc(reader->list->arena, rest->length + 1);
    size_t used = 0, i = 0;
    char quote = '\0';

    if (!text) {
        reader->parser.out_of_memory = true;
        return -ENOMEM;
    }
    for (; i < rest->length; i++) {
        char c = rest->at[i];
        bool more = i + 1 < rest->length;

        if (!quote && (c == ' ' || c == '\t'))
            break;
        if (!quote && (c == '"' || c == '\''))
            quote = c;
        else if (c == quote)
            quote = '\0';
        else if (c == '\\' && more && (!quote || (quote == '"' && (rest->at[i + 1] == '"' || rest->at[i + 1] == '\\'))))
            text[used++] = rest->at[++i];
        else
            text[used++] = c;
    }
    word->text = (struct span){ text, used };
    word->shown = (struct span){ rest->at, i };
    rest->at += i;
    rest->length -= i;
    if (quote)
        return rule_parser_error(&reader->parser, word->shown, "the closing quote is missing");
    return 1;
}

/* Parses `\1`, `\g<1>`, `\g<name>` or `${1}` at the start of `text`. Returns the length of the reference and sets
 * *group; returns 0 if the text begins with none of these forms. */
static size_t parse_reference(const struct policy_line *line, struct span text, int *group)
{
    bool dollar = text.at[0] == '$';
    uint64_t number;

    if (text.length < 2)
        return 0;
    if (!dollar && text.at[1] >= '0' && text.at[1] <= '9') {
        size_t length = text.length > 2 && text.at[2] >= '0' && text.at[2] <= '9' ? 3 : 2;

        *group =
            span_to_uint((struct span){ text.at + 1, length - 1 }, 0, POLICY_MAX_GROUPS, &number) ? (int)number : -1;
        return length;
    }

    size_t start = dollar ? 2 : 3; /* offset of the group's name in `text` */
    const char *end = text.length > start ? memchr(text.at + start, dollar ? '}' : '>', text.length - start) : NULL;
    char name[64];

    if (!end || memcmp(text.at, dollar ? "${" : "\\g<", start) != 0)
        return 0;

    struct span inside = { text.at + start, (size_t)(end - text.at) - start };

    if (dollar && !span_to_uint(inside, 0, POLICY_MAX_GROUPS, &number))
        return 0;
    *group = -1;
    if (span_to_uint(inside, 0, POLICY_MAX_GROUPS, &number)) {
        *group = (int)number;
    } else if (inside.length > 0 && inside.length < sizeof(name)) {
        memcpy(name, inside.at, inside.length);
        name[inside.length] = '\0';
        *group = pcre2_substring_number_from_name(line->from, (PCRE2_SPTR)name);
    }
    return (size_t)(end - text.at) + 1;
}

static int parse_replacement(struct reader *reader, struct word word)
{
    struct policy_line *line = &reader->line;
    struct span rest = word.text;
    uint32_t groups = 0;

    line->to = arena_alloc(reader->list->arena, (rest.length + 1) * sizeof(*line->to));
    if (!line->to) {
        reader->parser.out_of_memory = true;
        return -ENOMEM;
    }
    pcre2_pattern_info(line->from, PCRE2_INFO_CAPTURECOUNT, &groups);
    while (rest.length > 0) {
        struct policy_piece *piece = &line->to[line->piece_count++];
        bool special = rest.at[0] == '\\' || rest.at[0] == '$';
        int group;
        size_t length = special ? parse_reference(line, rest, &group) : 0;

        if (length > 0) {
            if (group < 0 || (uint32_t)group > groups)
                return rule_parser_error(&reader->parser, word.shown,
                                         "the regular expression has no group '" SPAN_FORMAT "'", (int)length, rest.at);
            *piece = (struct policy_piece){ .group = (uint32_t)group };
        } else {
            size_t skipped = rest.at[0] == '\\' && rest.length > 1 && (rest.at[1] == '\\' || rest.at[1] == '$');

            length = 1 + skipped;
            while (length < rest.length && rest.at[length] != '\\' && rest.at[length] != '$')
                length++;
            *piece = (struct policy_piece){ .text = { rest.at + skipped, length - skipped } };
        }
        rest.at += length;
        rest.length -= length;
    }
    return 0;
}

/* Parses the words after the verb. A modify line has `MATCH "FROM" "TO"` (if `oinkmaster`, a `|` may precede TO), a
 * metadata-add line has `MATCH KEY VALUE`. Returns 0 or -errno. */
static int parse_modification(struct reader *reader, struct span rest, bool oinkmaster)
{
    struct policy_line *line = &reader->line;
    bool metadata = line->verb == POLICY_ADD_METADATA;
    struct word words[MAX_WORDS];
    size_t count = 0;
    int more;

    while (count < MAX_WORDS && (more = next_word(reader, &rest, &words[count])) != 0) {
        if (more < 0)
            return more;
        count++;
    }
    if (oinkmaster && count == 4 && span_equal(words[2].text, "|")) {
        words[2] = words[3];
        count = 3;
    }
    if (count != 3)
        return rule_parser_error(&reader->parser, reader->parser.statement->text,
                                 metadata ? "'metadata-add' needs three words: MATCH KEY VALUE"
                                          : "a modification needs three words: MATCH \"FROM\" \"TO\"");
    if (parse_matcher(reader, words[0]))
        return -EINVAL;
    if (metadata) {
        line->metadata = arena_printf(reader->list->arena, SPAN_FORMAT " " SPAN_FORMAT, SPAN_ARGS(words[1].text),
                                      SPAN_ARGS(words[2].text));
        reader->parser.out_of_memory |= !line->metadata;
        return 0;
    }
    line->from = compile(reader, words[1], 0);
    return line->from ? parse_replacement(reader, words[2]) : -EINVAL;
}

/* --- Lines ---------------------------------------------------------------------------------------- */

static struct span cut_word(struct span *rest)
{
    struct span word = *rest;

    for (word.length = 0; word.length < rest->length && !strchr(" \t", rest->at[word.length]);)
        word.length++;
    rest->at += word.length;
    rest->length -= word.length;
    *rest = span_trim(*rest);
    return word;
}

static struct span cut_comment(struct span text)
{
    for (size_t i = 1; i < text.length; i++) {
        if (text.at[i] == '#' && strchr(" \t", text.at[i - 1]))
            return span_trim((struct span){ text.at, i });
    }
    return text;
}

static int parse_line(struct reader *reader, enum file_form form)
{
    static const enum policy_verb verb_of[] = {
        [FORM_DISABLE] = POLICY_DISABLE,
        [FORM_ENABLE] = POLICY_ENABLE,
        [FORM_DROP] = POLICY_ACTION,
    };
    struct policy_line *line = &reader->line;
    struct span text = reader->parser.statement->text, rest = text, word;
    size_t i = 0;

    /* disable.conf, enable.conf, drop.conf: the whole line is a matcher */
    if (form != FORM_POLICY && form != FORM_MODIFY) {
        text = cut_comment(text);
        line->verb = verb_of[form];
        line->action = ACTION_DROP;
        return parse_matcher(reader, (struct word){ text, text });
    }
    word = cut_word(&rest);
    if (form == FORM_MODIFY) { /* a line without a verb is a modify line */
        bool oinkmaster = span_equal(word, "modifysid");

        line->verb = span_equal(word, "metadata-add") ? POLICY_ADD_METADATA : POLICY_MODIFY;
        return parse_modification(reader, oinkmaster || line->verb == POLICY_ADD_METADATA ? rest : text, oinkmaster);
    }
    while (i < sizeof(verbs) / sizeof(verbs[0]) && !span_equal_nocase(word, verbs[i].word))
        i++;
    if (i == sizeof(verbs) / sizeof(verbs[0]))
        return rule_parser_error(&reader->parser, word,
                                 "a line must begin with disable, enable, drop, alert, reject, pass, alert-only, "
                                 "modify or metadata-add, got '" SPAN_FORMAT "'",
                                 SPAN_ARGS(span_shown(word)));
    line->verb = verbs[i].verb;
    line->action = verbs[i].action;
    if (line->verb == POLICY_MODIFY || line->verb == POLICY_ADD_METADATA)
        return parse_modification(reader, rest, strcmp(verbs[i].word, "modifysid") == 0);
    rest = cut_comment(rest);
    return parse_matcher(reader, (struct word){ rest, rest.length > 0 ? rest : word });
}

static int read_file(struct rule_list *list, const char *path, enum file_form form, struct policy_lines *lines,
                     struct diag *diag)
{
    const struct source *source;
    struct statement statement;
    struct scanner scanner;
    int more, err = source_read(list->arena, path, &source, diag);

    if (err)
        return err == -ENOMEM ? err : 0; /* source_read() has reported the file; the rules load without it */
    scanner_init(&scanner, source);
    while ((more = scanner_next(&scanner, list->arena, &statement)) > 0) {
        struct statement *kept = arena_copy(list->arena, &statement, sizeof(statement));
        struct reader reader = {
            .list = list, .lines = lines, .line = { .statement = kept }, .id_count = lines->id_count
        };

        if (!kept)
            return -ENOMEM;
        rule_parser_init(&reader.parser, list, kept, diag);
        err = parse_line(&reader, form);
        if (!err && !reader.parser.out_of_memory)
            err = array_grow(&lines->line, lines->count, &lines->capacity, sizeof(*lines->line));
        if (!err && !reader.parser.out_of_memory)
            lines->line[lines->count++] = reader.line;
        if (err || reader.parser.out_of_memory) {
            lines->id_count = reader.id_count;
            pcre2_code_free(reader.line.pattern);
            pcre2_code_free(reader.line.from);
        }
        if (err == -ENOMEM || reader.parser.out_of_memory)
            return -ENOMEM;
    }
    return more;
}

void policy_lines_clear(struct policy_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        pcre2_code_free(lines->line[i].pattern);
        pcre2_code_free(lines->line[i].from);
    }
    free(lines->line);
    free(lines->ids);
    *lines = (struct policy_lines){ 0 };
}

int policy_files_read(struct rule_list *list, const struct rule_policy_files *files, struct policy_lines *out,
                      struct diag *diag)
{
    const struct {
        const char *path;
        enum file_form form;
    } ordered[] = {
        { files->disable, FORM_DISABLE }, { files->enable, FORM_ENABLE },    { files->drop, FORM_DROP },
        { files->modify, FORM_MODIFY },   { files->decisions, FORM_POLICY },
    };
    int err = 0;

    for (size_t i = 0; !err && i < sizeof(ordered) / sizeof(ordered[0]); i++) {
        if (ordered[i].path)
            err = read_file(list, ordered[i].path, ordered[i].form, out, diag);
    }
    return err;
}
