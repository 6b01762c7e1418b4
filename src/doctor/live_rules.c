/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the live ruleset, and by libnftables the texts of nft rules as `nft list ruleset` prints them. */
#include <errno.h>
#include <fcntl.h>
#include <nftables/libnftables.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "rule_texts.h"
#include "sluice/doctor.h"
#include "sluice/nftables.h"
#include "sluice/xtables.h"

enum { TRIES = 32, RETRY_NS = 20 * 1000 * 1000 };

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
            doctor_set_rule_texts(report, nft_ctx_get_output_buffer(nft));
        dup2(saved, STDERR_FILENO);
    }
    if (null >= 0)
        close(null);
    if (saved >= 0)
        close(saved);
    if (nft)
        nft_ctx_free(nft);
}
