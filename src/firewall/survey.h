/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The live ruleset, as far as it decides where Sluice's chains go: tables, and base chains with their priorities.
 *
 * Ownership: nft_survey_clear() frees what nft_survey_read() has allocated.
 */
#ifndef SLUICE_FIREWALL_SURVEY_H
#define SLUICE_FIREWALL_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/firewall.h"

#include "session.h"

enum {
    NAME_SIZE = 256,    /* NFT_NAME_MAXLEN of the kernel */
    COMMENT_SIZE = 129, /* NFTNL_UDATA_COMMENT_MAXLEN and the NUL */
};

struct survey_table {
    uint32_t family;
    char name[NAME_SIZE];
    bool ours;             /* the table was created by Sluice, according to its comment */
    bool dormant;          /* the chains of the table are detached from their hooks */
    enum attach_mode mode; /* the mode that the comment of a sluice table names */
};

struct survey_chain {
    uint32_t family;
    char table[NAME_SIZE], name[NAME_SIZE];
    bool base, filter; /* `base`: attached to a hook; `filter`: of type filter */
    bool drops;        /* the policy of the chain is drop */
    uint32_t hook;
    int32_t priority;
};

struct survey {
    uint32_t generation;
    struct survey_table *tables;
    size_t table_count;
    struct survey_chain *chains;
    size_t chain_count;
};

int nft_survey_read(struct survey *survey, struct session *session); /* returns 0 or -errno */
void nft_survey_clear(struct survey *survey);
/* Returns the table of that family and name; NULL: there is none. */
const struct survey_table *nft_survey_find(const struct survey *survey, uint32_t family, const char *name);
/* nft_survey_handles_marks(): whether the chain handles marks of packets that have a verdict.
 * nft_survey_is_own_chain(): whether Sluice creates a chain of this name in its tables. */
bool nft_survey_handles_marks(const struct survey_chain *chain);
bool nft_survey_is_own_chain(const struct survey_chain *chain);

/* Returns the name of a chain that Sluice creates; `index` is less than NFT_OWN_CHAINS. */
enum { NFT_OWN_CHAINS = 12 };
const char *nft_own_chain(unsigned index);

/* Writes the comment that identifies a sluice table of the mode. */
void nft_comment(char out[COMMENT_SIZE], enum attach_mode mode);
/* Reads the mode from the comment of a table. Returns false, with *mode unchanged, if it is not the comment of a sluice
 * table. */
bool nft_comment_parse(const char *comment, enum attach_mode *mode);

#endif
