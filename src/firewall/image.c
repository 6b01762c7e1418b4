/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An image is the sluice tables as the kernel reports them: the attributes that define each object, without those that
 * change during operation (handles, use counts, counter values). Two images show the same rules if their bytes are
 * equal. The comparison needs no knowledge of expressions, because the reference is also an image: the kernel's
 * description of the rules after the installation.
 */
#include "firewall_priv.h"
#include "image.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <string.h>

#include "sluice/bytes.h"
#include "sluice/netlink.h"

#define BIT(number) (UINT32_C(1) << (number))

/* For each kind of object, the attributes that define it: bit 1 << type. */
enum {
    TABLE_ATTRIBUTES = BIT(NFTA_TABLE_NAME) | BIT(NFTA_TABLE_FLAGS) | BIT(NFTA_TABLE_USERDATA),
    CHAIN_ATTRIBUTES = BIT(NFTA_CHAIN_NAME) | BIT(NFTA_CHAIN_HOOK) | BIT(NFTA_CHAIN_POLICY) | BIT(NFTA_CHAIN_TYPE) |
                       BIT(10 /* NFTA_CHAIN_FLAGS */),
    SET_ATTRIBUTES = BIT(NFTA_SET_NAME) | BIT(NFTA_SET_FLAGS) | BIT(NFTA_SET_KEY_TYPE) | BIT(NFTA_SET_KEY_LEN) |
                     BIT(NFTA_SET_DESC) | BIT(NFTA_SET_TIMEOUT),
    TRIES = 8,
};

struct image_target {
    struct image *image;
    enum image_part part;
    const char *table;
};

static struct cursor attributes_of(const struct nlmsghdr *message)
{
    size_t head = MNL_ALIGN(sizeof(struct nfgenmsg)), length = mnl_nlmsg_get_payload_len(message);
    const uint8_t *bytes = mnl_nlmsg_get_payload(message);

    return length >= head ? cursor_of(bytes + head, length - head) : cursor_of(bytes, 0);
}

/* Appends one attribute to the image: type, length, value. */
static void append_attribute(struct text *out, uint16_t type, struct cursor value)
{
    uint16_t length = (uint16_t)cursor_remaining(&value);

    text_append(out, (const char *)&type, sizeof(type));
    text_append(out, (const char *)&length, sizeof(length));
    if (length > 0)
        text_append(out, (const char *)value.at, length);
}

static void append_listed(struct text *out, struct cursor attributes, uint32_t listed)
{
    struct cursor value;
    uint16_t type;

    while (netlink_read_attribute(&attributes, &type, &value))
        if (type < 32 && listed & BIT(type))
            append_attribute(out, type, value);
}

static bool is_string(struct cursor value, const char *string)
{
    size_t length = strlen(string) + 1;

    return cursor_remaining(&value) == length && memcmp(value.at, string, length) == 0;
}

/* --- Rules ------------------------------------------------------------------------------------------ */

/* The counter of one rule, and whether the rule looks up a set of blocked hosts or networks. */
struct rule_facts {
    bool blocks;
    uint64_t packets, bytes;
};

static uint64_t number_of(struct cursor value)
{
    return cursor_remaining(&value) == 8 ? load_be64(value.at) : 0;
}

static void read_counter(struct rule_facts *facts, struct cursor data)
{
    struct cursor value;
    uint16_t type;

    while (netlink_read_attribute(&data, &type, &value)) {
        if (type == NFTA_COUNTER_PACKETS)
            facts->packets = number_of(value);
        if (type == NFTA_COUNTER_BYTES)
            facts->bytes = number_of(value);
    }
}

static bool is_block_set(struct cursor value)
{
    /* The length includes the NUL. */
    return cursor_remaining(&value) > 0 && nft_is_block_set((const char *)value.at, cursor_remaining(&value) - 1);
}

static void read_lookup(struct rule_facts *facts, struct cursor data)
{
    struct cursor value;
    uint16_t type;

    while (netlink_read_attribute(&data, &type, &value))
        if (type == NFTA_LOOKUP_SET && is_block_set(value))
            facts->blocks = true;
}

static void append_expression(struct text *out, struct rule_facts *facts, struct cursor element)
{
    struct cursor value, name = cursor_of(NULL, 0), data = cursor_of(NULL, 0);
    uint16_t type;

    while (netlink_read_attribute(&element, &type, &value)) {
        if (type == NFTA_EXPR_NAME)
            name = value;
        if (type == NFTA_EXPR_DATA)
            data = value;
    }
    append_attribute(out, NFTA_EXPR_NAME, name);
    if (is_string(name, "counter")) {
        read_counter(facts, data);
        return;
    }
    if (is_string(name, "lookup"))
        read_lookup(facts, data);
    append_attribute(out, NFTA_EXPR_DATA, data);
}

static void append_expressions(struct text *out, struct rule_facts *facts, struct cursor list)
{
    struct cursor element;
    uint16_t type;

    while (netlink_read_attribute(&list, &type, &element))
        append_expression(out, facts, element);
}

static void append_rule(struct image *image, struct cursor attributes)
{
    struct text *out = &image->parts[IMAGE_RULES];
    struct rule_facts facts = { .blocks = false };
    struct cursor value;
    uint16_t type;

    while (netlink_read_attribute(&attributes, &type, &value)) {
        if (type == NFTA_RULE_CHAIN)
            append_attribute(out, type, value);
        if (type == NFTA_RULE_EXPRESSIONS)
            append_expressions(out, &facts, value);
    }
    if (!facts.blocks)
        return;
    image->blocked_packets += facts.packets;
    image->blocked_bytes += facts.bytes;
}

/* Whether the rule is in a chain that Sluice fills. Rules in the chain of exceptions and in other chains of the table
 * belong to the user. */
static bool is_our_rule(struct cursor attributes, const char *table)
{
    bool ours = false, in_table = false;
    struct cursor value;
    uint16_t type;

    while (netlink_read_attribute(&attributes, &type, &value)) {
        if (type == NFTA_RULE_TABLE)
            in_table = is_string(value, table);
        for (unsigned i = 0; type == NFTA_RULE_CHAIN && i < NFT_OWN_CHAINS; i++)
            ours |= is_string(value, nft_own_chain(i)) && !is_string(value, CHAIN_EXCEPTIONS);
    }
    return ours && in_table;
}

/* --- Objects ---------------------------------------------------------------------------------------- */

static void read_policy(struct image *image, struct cursor attributes)
{
    struct cursor value;
    uint16_t type;

    while (netlink_read_attribute(&attributes, &type, &value))
        if (type == NFTA_CHAIN_POLICY && cursor_remaining(&value) == 4 && load_be32(value.at) == NF_DROP)
            image->drops = true;
}

static int add_object(const struct nlmsghdr *message, void *user)
{
    static const uint32_t listed[] = {
        [IMAGE_TABLE] = TABLE_ATTRIBUTES,
        [IMAGE_CHAINS] = CHAIN_ATTRIBUTES,
        [IMAGE_SETS] = SET_ATTRIBUTES,
    };
    struct image_target *image_target = user;
    struct cursor attributes = attributes_of(message);

    if (image_target->part == IMAGE_RULES) {
        if (is_our_rule(attributes, image_target->table))
            append_rule(image_target->image, attributes);
        return 0;
    }
    if (image_target->part == IMAGE_CHAINS)
        read_policy(image_target->image, attributes);
    append_listed(&image_target->image->parts[image_target->part], attributes, listed[image_target->part]);
    return 0;
}

void nft_image_add(struct image *image, enum image_part part, const char *table, const struct nlmsghdr *message)
{
    struct image_target image_target = { .image = image, .part = part, .table = table };

    add_object(message, &image_target);
}

/* Requests an object and adds it to the image. An object that does not exist adds no bytes. Returns 0 or -errno. */
static int query_object(struct session *session, struct image_target *image_target, uint32_t family,
                        const struct session_query *about)
{
    struct session_query query = *about;
    int err;

    query.family = (uint16_t)family;
    query.table = image_target->table;
    err = nft_session_query(session, &query, add_object, image_target);
    return err == -ENOENT ? 0 : err;
}

static int query_family(struct session *session, struct image *image, const char *table, uint32_t family)
{
    struct image_target image_target = { .image = image, .part = IMAGE_TABLE, .table = table };
    int err = query_object(session, &image_target, family, &(struct session_query){ .type = NFT_MSG_GETTABLE });

    image_target.part = IMAGE_CHAINS;
    for (unsigned i = 0; i < NFT_OWN_CHAINS && !err; i++)
        err = query_object(session, &image_target, family,
                           &(struct session_query){
                               .type = NFT_MSG_GETCHAIN, .name_attribute = NFTA_CHAIN_NAME, .name = nft_own_chain(i) });
    image_target.part = IMAGE_SETS;
    for (unsigned i = 0; i < BLOCK_SETS && !err; i++)
        err = query_object(session, &image_target, family,
                           &(struct session_query){
                               .type = NFT_MSG_GETSET, .name_attribute = NFTA_SET_NAME, .name = nft_set_name(i) });
    image_target.part = IMAGE_RULES;
    if (!err)
        err = query_object(session, &image_target, family,
                           &(struct session_query){ .type = NFT_MSG_GETRULE, .dump = true });
    return err;
}

/* --- Images ----------------------------------------------------------------------------------------- */

static int read_once(struct image *out, struct session *session, const char *table, const uint32_t *families,
                     unsigned count)
{
    int err = 0;

    for (unsigned i = 0; i < count && !err; i++)
        err = query_family(session, out, table, families[i]);
    if (!err)
        err = nft_offload_counts(session, table, families, count, &out->offload);
    for (unsigned i = 0; i < IMAGE_PARTS && !err; i++)
        err = out->parts[i].failed ? -ENOMEM : 0;
    return err;
}

int nft_image_read(struct image *out, struct session *session, const char *table, const uint32_t *families,
                   unsigned count)
{
    int err = -EINTR;

    for (int try = 0; try < TRIES && err == -EINTR; try++) { /* EINTR: the ruleset changed during a dump */
        struct image image = { .drops = false };

        err = read_once(&image, session, table, families, count);
        if (err)
            nft_image_clear(&image);
        else
            *out = image;
    }
    return err;
}

void nft_image_clear(struct image *image)
{
    for (unsigned i = 0; i < IMAGE_PARTS; i++)
        text_clear(&image->parts[i]);
    *image = (struct image){ .drops = false };
}

unsigned nft_image_differs(const struct image *a, const struct image *b)
{
    unsigned parts = 0;

    for (unsigned i = 0; i < IMAGE_PARTS; i++) {
        const struct text *left = &a->parts[i], *right = &b->parts[i];

        if (left->length != right->length || (left->length > 0 && memcmp(left->bytes, right->bytes, left->length) != 0))
            parts |= 1u << i;
    }
    return parts;
}
