/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A survey is the part of the live ruleset that the firewall module needs: all tables, whether Sluice created them, and
 * all chains with their hooks.
 *
 * A survey contains the kernel's generation number. A transaction with this number fails if any program changed the
 * ruleset in between, so the survey is valid until the commit.
 */
#include "firewall_priv.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/table.h>
#include <libnftnl/udata.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OBJECTS = 1 << 20, FIRST_ROOM = 16, TRIES = 16 };

/* The comment of a sluice table: this prefix and the name of the mode. `nft list` shows it. */
static const char comment_prefix[] = "made by sluice: ";

void nft_comment(char out[COMMENT_SIZE], enum attach_mode mode)
{
    snprintf(out, COMMENT_SIZE, "%s%s", comment_prefix, firewall_mode_name(mode));
}

bool nft_comment_parse(const char *comment, enum attach_mode *mode)
{
    size_t length = sizeof(comment_prefix) - 1;
    bool found;

    if (strncmp(comment, comment_prefix, length) != 0)
        return false;

    enum attach_mode named = firewall_mode_find(comment + length, &found);

    if (found)
        *mode = named;
    return found;
}

/* Returns the array with room for one more element, reallocated if it is full; NULL when out of memory or at
 * MAX_OBJECTS. */
static void *grow(void *array, size_t count, size_t size)
{
    bool full = count == 0 || (count >= FIRST_ROOM && (count & (count - 1)) == 0);

    if (count >= MAX_OBJECTS)
        return NULL;
    return full ? reallocarray(array, count ? 2 * count : FIRST_ROOM, size) : array;
}

static void copy_name(char out[NAME_SIZE], const char *name)
{
    snprintf(out, NAME_SIZE, "%s", name ? name : "");
}

/* --- Tables ----------------------------------------------------------------------------------------- */

static int read_comment(const struct nftnl_udata *item, void *user)
{
    struct survey_table *table = user;
    const char *text = nftnl_udata_get(item);
    size_t length = nftnl_udata_len(item);

    if (nftnl_udata_type(item) == NFTNL_UDATA_TABLE_COMMENT && length > 0 && text[length - 1] == '\0')
        table->ours = nft_comment_parse(text, &table->mode);
    return 0;
}

static void read_table(struct survey_table *out, const struct nftnl_table *table)
{
    uint32_t length = 0;
    const void *data = nftnl_table_get_data(table, NFTNL_TABLE_USERDATA, &length);

    out->family = nftnl_table_get_u32(table, NFTNL_TABLE_FAMILY);
    copy_name(out->name, nftnl_table_get_str(table, NFTNL_TABLE_NAME));
    out->dormant = nftnl_table_get_u32(table, NFTNL_TABLE_FLAGS) & NFT_TABLE_F_DORMANT;
    if (data && length > 0)
        nftnl_udata_parse(data, length, read_comment, out);
}

static int add_table(const struct nlmsghdr *message, void *user)
{
    struct survey *survey = user;
    struct nftnl_table *table = nftnl_table_alloc();
    struct survey_table *tables = grow(survey->tables, survey->table_count, sizeof(*tables));
    int err = -ENOMEM;

    if (tables)
        survey->tables = tables;
    if (tables && table) {
        tables[survey->table_count] = (struct survey_table){ .family = NFPROTO_UNSPEC };
        err = 0;
        if (nftnl_table_nlmsg_parse(message, table) == 0)
            read_table(&tables[survey->table_count++], table);
    }
    nftnl_table_free(table);
    return err;
}

/* --- Chains ----------------------------------------------------------------------------------------- */

static void read_chain(struct survey_chain *out, const struct nftnl_chain *chain)
{
    const char *type = nftnl_chain_get_str(chain, NFTNL_CHAIN_TYPE);

    *out = (struct survey_chain){ .family = nftnl_chain_get_u32(chain, NFTNL_CHAIN_FAMILY) };
    copy_name(out->table, nftnl_chain_get_str(chain, NFTNL_CHAIN_TABLE));
    copy_name(out->name, nftnl_chain_get_str(chain, NFTNL_CHAIN_NAME));
    out->base = nftnl_chain_is_set(chain, NFTNL_CHAIN_HOOKNUM);
    if (!out->base)
        return;
    out->hook = nftnl_chain_get_u32(chain, NFTNL_CHAIN_HOOKNUM);
    out->priority = nftnl_chain_get_s32(chain, NFTNL_CHAIN_PRIO);
    out->filter = type && strcmp(type, "filter") == 0;
    out->drops = nftnl_chain_get_u32(chain, NFTNL_CHAIN_POLICY) == NF_DROP;
}

static int add_chain(const struct nlmsghdr *message, void *user)
{
    struct survey *survey = user;
    struct nftnl_chain *chain = nftnl_chain_alloc();
    struct survey_chain *chains = grow(survey->chains, survey->chain_count, sizeof(*chains));
    int err = -ENOMEM;

    if (chains)
        survey->chains = chains;
    if (chains && chain) {
        err = 0;
        if (nftnl_chain_nlmsg_parse(message, chain) == 0)
            read_chain(&chains[survey->chain_count++], chain);
    }
    nftnl_chain_free(chain);
    return err;
}

bool nft_survey_handles_marks(const struct survey_chain *chain)
{
    static const char *const names[] = { CHAIN_UNMARK,      CHAIN_UNMARK_INPUT, CHAIN_SAVE_FORWARD, CHAIN_SAVE_INPUT,
                                         CHAIN_SAVE_OUTPUT, CHAIN_SAVE,         CHAIN_SAVE_LOCAL };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(chain->name, names[i]) == 0)
            return true;
    return false;
}

const char *nft_own_chain(unsigned index)
{
    static const char *const names[NFT_OWN_CHAINS] = {
        "forward",        "input",           "output",           CHAIN_IPS,
        CHAIN_EXCEPTIONS, CHAIN_UNMARK,      CHAIN_UNMARK_INPUT, CHAIN_SAVE_FORWARD,
        CHAIN_SAVE_INPUT, CHAIN_SAVE_OUTPUT, CHAIN_SAVE,         CHAIN_SAVE_LOCAL
    };

    return names[index];
}

bool nft_survey_is_own_chain(const struct survey_chain *chain)
{
    for (unsigned i = 0; i < NFT_OWN_CHAINS; i++)
        if (strcmp(chain->name, nft_own_chain(i)) == 0)
            return true;
    return false;
}

/* --- Survey ----------------------------------------------------------------------------------------- */

static int read_once(struct survey *out, struct session *session)
{
    struct survey survey = { .table_count = 0 };
    uint32_t after = 0;
    int err = nft_session_generation(session, &survey.generation);

    if (!err)
        err = nft_session_get(session, NFT_MSG_GETTABLE, NFPROTO_UNSPEC, true, add_table, &survey);
    if (!err)
        err = nft_session_get(session, NFT_MSG_GETCHAIN, NFPROTO_UNSPEC, true, add_chain, &survey);
    if (!err)
        err = nft_session_generation(session, &after);
    if (!err && after != survey.generation)
        err = -EINTR;
    if (err)
        nft_survey_clear(&survey);
    else
        *out = survey;
    return err;
}

int nft_survey_read(struct survey *survey, struct session *session)
{
    int err = -EINTR;

    for (int i = 0; i < TRIES && err == -EINTR; i++)
        err = read_once(survey, session);
    return err;
}

void nft_survey_clear(struct survey *survey)
{
    free(survey->tables);
    free(survey->chains);
    *survey = (struct survey){ .table_count = 0 };
}

const struct survey_table *nft_survey_find(const struct survey *survey, uint32_t family, const char *name)
{
    for (size_t i = 0; i < survey->table_count; i++)
        if (survey->tables[i].family == family && strcmp(survey->tables[i].name, name) == 0)
            return &survey->tables[i];
    return NULL;
}
