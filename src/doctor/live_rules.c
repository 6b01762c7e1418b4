/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the live ruleset, and by libnftables the texts of nft rules as `nft list ruleset` prints them. */
#include <errno.h>
#include <fcntl.h>
#include <linux/netfilter.h>
#include <nftables/libnftables.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "doctor_priv.h"
#include "sluice/nftables.h"
#include "sluice/xtables.h"

enum { TRIES = 32, RETRY_NS = 20 * 1000 * 1000, LINE_START_SIZE = 512, LINE_END_SIZE = 64 };

int doctor_read_ruleset(struct netrules **out)
{
    static const struct timespec pause = { .tv_nsec = RETRY_NS };
    int err = -EINTR;

    for (int i = 0; i < TRIES && err == -EINTR; i++) {
        struct netrules *ruleset = netrules_new();

        if (i > 0)
            nanosleep(&pause, NULL);
        err = ruleset ? nftables_read(ruleset) : -ENOMEM;
        if (!err)
            err = xtables_read(ruleset);
        if (err)
            netrules_free(ruleset);
        else
            *out = ruleset;
    }
    return err;
}

/* Searches the listing for the line of the rule in its table: "<tab><tab>TEXT # handle N". Returns the start of TEXT
 * and sets *length, or returns NULL. */
static const char *find_text(const char *listing, const struct netrules_rule *rule, size_t *length)
{
    const struct netrules_table *table = rule->chain->table;
    char start[LINE_START_SIZE], end[LINE_END_SIZE];
    size_t line_length, end_length;
    bool inside = false;

    snprintf(start, sizeof(start), "table %s %s {", netrules_family_name(table->family), table->name);
    end_length = (size_t)snprintf(end, sizeof(end), " # handle %llu", (unsigned long long)rule->handle);
    for (const char *line = listing; *line; line += line_length + (line[line_length] == '\n')) {
        line_length = strcspn(line, "\n");
        if (line_length > 0 && line[0] != '\t')
            inside = strncmp(line, start, strlen(start)) == 0;
        if (!inside || line_length < 2 + end_length || memcmp(line, "\t\t", 2) != 0 ||
            memcmp(line + line_length - end_length, end, end_length) != 0)
            continue;
        *length = line_length - 2 - end_length;
        return line + 2;
    }
    return NULL;
}

void set_rule_texts(struct doctor_report *report, const char *listing)
{
    for (struct doctor_finding *finding = report->findings; finding; finding = finding->next) {
        const char *found, *copy = NULL;
        struct text text;
        size_t length;

        if (!finding->rule || finding->rule->chain->table->legacy)
            continue;
        found = find_text(listing, finding->rule, &length);
        if (!found)
            continue;
        text_init(&text);
        text_printable(&text, found, length);
        if (text.bytes && !text.failed)
            copy = arena_strdup(report->arena, text.bytes);
        text_clear(&text);
        if (copy)
            finding->text = copy;
    }
}

void doctor_read_rule_texts(struct doctor_report *report)
{
    const struct doctor_finding *finding = report->findings;
    struct nft_ctx *nft;
    int saved, null;

    while (finding && !(finding->rule && !finding->rule->chain->table->legacy))
        finding = finding->next;
    if (!finding) /* no finding needs a text: listing a large ruleset would take seconds */
        return;
    nft = nft_ctx_new(NFT_CTX_DEFAULT);
    saved = dup(STDERR_FILENO);
    null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nft && saved >= 0 && null >= 0 && nft_ctx_buffer_output(nft) == 0 && nft_ctx_buffer_error(nft) == 0) {
        nft_ctx_output_set_flags(nft, NFT_CTX_OUTPUT_HANDLE | NFT_CTX_OUTPUT_STATELESS);
        /* Discard stderr: libxtables, which translates iptables extensions, writes messages to it. */
        fflush(stderr);
        dup2(null, STDERR_FILENO);
        if (nft_run_cmd_from_buffer(nft, "list ruleset") == 0)
            set_rule_texts(report, nft_ctx_get_output_buffer(nft));
        dup2(saved, STDERR_FILENO);
    }
    if (null >= 0)
        close(null);
    if (saved >= 0)
        close(saved);
    if (nft)
        nft_ctx_free(nft);
}
