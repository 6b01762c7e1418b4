/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects that the rules for offloaded flows and for acknowledgments need: named counters of accepted flows, dropped
 * flows and acknowledgments, which keep their values when the rules are replaced, if configured a flowtable, and sets
 * of the lengths of segments without payload. Messages that create these objects can be sent again: the kernel accepts
 * them for existing objects, too.
 */
#include "firewall_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/common.h>
#include <libnftnl/flowtable.h>
#include <libnftnl/object.h>
#include <libnftnl/set.h>
#include <libnftnl/udata.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <string.h>

enum { COUNTERS = 3, FLOWTABLE_COUNTS = 2 /* NFT_FLOWTABLE_COUNTER: conntrack counts the packets of the flowtable */ };

static const char *const counter_names[COUNTERS] = { COUNTER_ACCEPTED, COUNTER_DROPPED, COUNTER_ACKNOWLEDGMENTS };

static bool is_needed(const struct firewall_offload *offload, unsigned counter)
{
    const bool needed[COUNTERS] = { offload->accept, offload->drop, offload->acknowledge };

    return needed[counter];
}

static bool has_flowtable(const struct firewall_options *options, uint32_t family)
{
    return options->offload.accept && options->offload.device_count > 0 && options->mode != ATTACH_CHAIN &&
           family != NFPROTO_BRIDGE;
}

/* --- Lengths of acknowledgments --------------------------------------------------------------------- */

static const struct {
    const char *name, *field;
    uint32_t header; /* nft's number of the IP header */
    bool of4;
} length_sets[] = {
    { SET_ACKNOWLEDGMENTS4, "ip length", 12, true },
    { SET_ACKNOWLEDGMENTS6, "ip6 length", 13, false },
};
enum { LENGTH_SETS = sizeof(length_sets) / sizeof(length_sets[0]) };

struct acknowledgment_length nft_acknowledgment_length(bool of4, unsigned index)
{
    enum { TCP_WORDS_MIN = 5, IPV4_HEADER = 20, FLAG_ACK = 0x10 };
    const unsigned words = TCP_WORDS_MIN + index;

    return (struct acknowledgment_length){ (uint16_t)((of4 ? IPV4_HEADER : 0) + 4 * words),
                                           (uint16_t)(words << 12 | FLAG_ACK) };
}

static bool has_length_set(const struct plan *plan, uint32_t family, bool of4)
{
    return plan->options->offload.acknowledge && nft_rule_fits(of4 ? RULE_ACKNOWLEDGE4 : RULE_ACKNOWLEDGE6, family);
}

/* --- Text ------------------------------------------------------------------------------------------- */

static void print_flowtable(struct text *out, const char *indent, const struct firewall_offload *offload)
{
    text_printf(out, "%sflowtable " FLOWTABLE " {\n%s\thook ingress priority 0\n%s\tdevices = { ", indent, indent,
                indent);
    for (unsigned i = 0; i < offload->device_count; i++)
        text_printf(out, "%s\"%s\"", i > 0 ? ", " : "", offload->devices[i]);
    text_printf(out, " }\n%s\tcounter\n%s}\n\n", indent, indent);
}

static void print_length_set(struct text *out, const char *indent, unsigned index)
{
    text_printf(out, "%sset %s {\n%s\ttypeof %s . @th,96,16\n%s\telements = { ", indent, length_sets[index].name,
                indent, length_sets[index].field, indent);
    for (unsigned i = 0; i < ACKNOWLEDGMENT_LENGTHS; i++) {
        struct acknowledgment_length length = nft_acknowledgment_length(length_sets[index].of4, i);

        text_printf(out, "%s%u . 0x%04x", i > 0 ? ", " : "", (unsigned)length.length, (unsigned)length.head);
    }
    text_printf(out, " }\n%s}\n\n", indent);
}

void nft_offload_print(struct text *out, const char *indent, const struct plan *plan)
{
    for (unsigned i = 0; i < COUNTERS; i++)
        if (is_needed(&plan->options->offload, i))
            text_printf(out, "%scounter %s {\n%s}\n\n", indent, counter_names[i], indent);
    if (has_flowtable(plan->options, plan->families[0]))
        print_flowtable(out, indent, &plan->options->offload);
    for (unsigned i = 0; i < LENGTH_SETS; i++)
        if (has_length_set(plan, plan->families[0], length_sets[i].of4))
            print_length_set(out, indent, i);
}

/* --- Messages --------------------------------------------------------------------------------------- */

static int put_counter(struct batch *batch, uint32_t family, const char *table, const char *name)
{
    struct nftnl_obj *counter = nftnl_obj_alloc();
    struct nlmsghdr *message;

    if (!counter)
        return -ENOMEM;
    nftnl_obj_set_u32(counter, NFTNL_OBJ_FAMILY, family);
    nftnl_obj_set_str(counter, NFTNL_OBJ_TABLE, table);
    nftnl_obj_set_str(counter, NFTNL_OBJ_NAME, name);
    nftnl_obj_set_u32(counter, NFTNL_OBJ_TYPE, NFT_OBJECT_COUNTER);
    nftnl_obj_set_u64(counter, NFTNL_OBJ_CTR_PKTS, 0);
    nftnl_obj_set_u64(counter, NFTNL_OBJ_CTR_BYTES, 0);
    message = nft_batch_open(batch, SUBJECT_COUNTER, NFT_MSG_NEWOBJ, (uint16_t)family, NLM_F_CREATE);
    nftnl_obj_nlmsg_build_payload(message, counter);
    nft_batch_close(batch, message);
    nftnl_obj_free(counter);
    return 0;
}

static int put_flowtable(struct batch *batch, uint32_t family, const struct firewall_options *options)
{
    struct nftnl_flowtable *flowtable = nftnl_flowtable_alloc();
    const char *devices[FIREWALL_MAX_DEVICES + 1] = { NULL };
    struct nlmsghdr *message;

    if (!flowtable)
        return -ENOMEM;
    memcpy(devices, options->offload.devices, options->offload.device_count * sizeof(devices[0]));
    nftnl_flowtable_set_u32(flowtable, NFTNL_FLOWTABLE_FAMILY, family);
    nftnl_flowtable_set_str(flowtable, NFTNL_FLOWTABLE_TABLE, options->table);
    nftnl_flowtable_set_str(flowtable, NFTNL_FLOWTABLE_NAME, FLOWTABLE);
    nftnl_flowtable_set_u32(flowtable, NFTNL_FLOWTABLE_HOOKNUM, 0 /* NF_NETDEV_INGRESS */);
    nftnl_flowtable_set_u32(flowtable, NFTNL_FLOWTABLE_PRIO, 0);
    nftnl_flowtable_set_u32(flowtable, NFTNL_FLOWTABLE_FLAGS, FLOWTABLE_COUNTS);
    nftnl_flowtable_set_array(flowtable, NFTNL_FLOWTABLE_DEVICES, devices);
    message = nft_batch_open(batch, SUBJECT_FLOWTABLE, NFT_MSG_NEWFLOWTABLE, (uint16_t)family, NLM_F_CREATE);
    nftnl_flowtable_nlmsg_build_payload(message, flowtable);
    nft_batch_close(batch, message);
    nftnl_flowtable_free(flowtable);
    return 0;
}

/* Attributes and numbers in the user data of sets, from which nft lists a set as `typeof EXPRESSION`. They are part of
 * nft's ABI, because the kernel keeps them. */
enum {
    TYPEOF_PAYLOAD = 7,
    TYPEOF_CONCATENATION = 13,
    LENGTH_FIELD = 5, /* of both IP headers */
    PAYLOAD_HEADER = 0,
    PAYLOAD_FIELD = 1,
    PAYLOAD_BASE = 2,
    PAYLOAD_OFFSET = 3, /* in bits, as PAYLOAD_LENGTH */
    PAYLOAD_LENGTH = 4,
    BASE_TRANSPORT = 3,
    HEAD_OFFSET = 96,
    FIELD_BITS = 16,
};

/* Adds a part of the concatenation: a field of a header, or without `header` 16 bits of the TCP header. */
static bool put_part(struct nftnl_udata_buf *data, uint8_t index, uint32_t header, uint32_t field)
{
    struct nftnl_udata *part = nftnl_udata_nest_start(data, index), *payload;
    bool fits = nftnl_udata_put_u32(data, NFTNL_UDATA_SET_TYPEOF_EXPR, TYPEOF_PAYLOAD);

    payload = nftnl_udata_nest_start(data, NFTNL_UDATA_SET_TYPEOF_DATA);
    fits = fits && nftnl_udata_put_u32(data, PAYLOAD_HEADER, header) && nftnl_udata_put_u32(data, PAYLOAD_FIELD, field);
    if (header == 0)
        fits = fits && nftnl_udata_put_u32(data, PAYLOAD_BASE, BASE_TRANSPORT) &&
               nftnl_udata_put_u32(data, PAYLOAD_OFFSET, HEAD_OFFSET);
    fits = fits && nftnl_udata_put_u32(data, PAYLOAD_LENGTH, FIELD_BITS);
    nftnl_udata_nest_end(data, payload);
    nftnl_udata_nest_end(data, part);
    return fits;
}

/* Sets the user data, without which nft cannot list the set. Returns 0 or -ENOMEM. */
static int set_typeof(struct nftnl_set *set, unsigned index)
{
    enum { SIZE = 128 };
    struct nftnl_udata_buf *data = nftnl_udata_buf_alloc(SIZE);
    struct nftnl_udata *type, *parts;
    bool fits;

    if (!data)
        return -ENOMEM;
    fits = nftnl_udata_put_u32(data, NFTNL_UDATA_SET_KEYBYTEORDER, 0);
    type = nftnl_udata_nest_start(data, NFTNL_UDATA_SET_KEY_TYPEOF);
    fits = fits && nftnl_udata_put_u32(data, NFTNL_UDATA_SET_TYPEOF_EXPR, TYPEOF_CONCATENATION);
    parts = nftnl_udata_nest_start(data, NFTNL_UDATA_SET_TYPEOF_DATA);
    fits = fits && put_part(data, 0, length_sets[index].header, LENGTH_FIELD) && put_part(data, 1, 0, 0);
    nftnl_udata_nest_end(data, parts);
    nftnl_udata_nest_end(data, type);
    fits =
        fits && nftnl_set_set_data(set, NFTNL_SET_USERDATA, nftnl_udata_buf_data(data), nftnl_udata_buf_len(data)) == 0;
    nftnl_udata_buf_free(data);
    return fits ? 0 : -ENOMEM;
}

/* Adds the messages for a set of lengths and its elements. */
static int put_length_set(struct batch *batch, uint32_t family, const char *table, unsigned index)
{
    enum { FIRST_ID = 100, INTEGER = 4, TYPE_BITS = 6 }; /* types of nft: a concatenation of two integers */
    const uint32_t id = FIRST_ID + index;
    struct nftnl_set *set = nftnl_set_alloc();
    struct nlmsghdr *message;
    int err = 0;

    if (!set)
        return -ENOMEM;
    nftnl_set_set_u32(set, NFTNL_SET_FAMILY, family);
    nftnl_set_set_str(set, NFTNL_SET_TABLE, table);
    nftnl_set_set_str(set, NFTNL_SET_NAME, length_sets[index].name);
    nftnl_set_set_u32(set, NFTNL_SET_ID, id);
    nftnl_set_set_u32(set, NFTNL_SET_KEY_TYPE, INTEGER << TYPE_BITS | INTEGER);
    nftnl_set_set_u32(set, NFTNL_SET_KEY_LEN, sizeof(uint32_t[2]));
    err = set_typeof(set, index);
    for (unsigned i = 0; i < ACKNOWLEDGMENT_LENGTHS && !err; i++) {
        struct acknowledgment_length length = nft_acknowledgment_length(length_sets[index].of4, i);
        const uint16_t key[4] = { htons(length.length), 0, htons(length.head), 0 }; /* each in its own register */
        struct nftnl_set_elem *element = nftnl_set_elem_alloc();

        if (element && nftnl_set_elem_set(element, NFTNL_SET_ELEM_KEY, key, sizeof(key)) == 0) {
            nftnl_set_elem_add(set, element);
        } else {
            nftnl_set_elem_free(element);
            err = -ENOMEM;
        }
    }
    if (!err) {
        message = nft_batch_open(batch, SUBJECT_SET, NFT_MSG_NEWSET, (uint16_t)family, NLM_F_CREATE);
        nftnl_set_nlmsg_build_payload(message, set);
        nft_batch_close(batch, message);
        message = nft_batch_open(batch, SUBJECT_SET, NFT_MSG_NEWSETELEM, (uint16_t)family, NLM_F_CREATE);
        nftnl_set_elems_nlmsg_build_payload(message, set);
        nft_batch_close(batch, message);
    }
    nftnl_set_free(set);
    return err;
}

int nft_build_offload(struct batch *batch, unsigned family_index, const struct plan *plan)
{
    uint32_t family = plan->families[family_index];
    int err = 0;

    for (unsigned i = 0; i < COUNTERS && !err; i++)
        if (is_needed(&plan->options->offload, i))
            err = put_counter(batch, family, plan->options->table, counter_names[i]);
    if (!err && has_flowtable(plan->options, family))
        err = put_flowtable(batch, family, plan->options);
    for (unsigned i = 0; i < LENGTH_SETS && !err; i++)
        if (has_length_set(plan, family, length_sets[i].of4))
            err = put_length_set(batch, family, plan->options->table, i);
    return err;
}

/* --- Reading ---------------------------------------------------------------------------------------- */

struct counter_reader {
    const char *table;
    struct offload_counts *counts;
};

static int read_counter(const struct nlmsghdr *message, void *user)
{
    const struct counter_reader *counter_reader = user;
    struct nftnl_obj *counter = nftnl_obj_alloc();
    const char *table, *name;

    if (!counter)
        return -ENOMEM;
    if (nftnl_obj_nlmsg_parse(message, counter) == 0 &&
        nftnl_obj_get_u32(counter, NFTNL_OBJ_TYPE) == NFT_OBJECT_COUNTER &&
        (table = nftnl_obj_get_str(counter, NFTNL_OBJ_TABLE)) && strcmp(table, counter_reader->table) == 0 &&
        (name = nftnl_obj_get_str(counter, NFTNL_OBJ_NAME))) {
        uint64_t packets = nftnl_obj_get_u64(counter, NFTNL_OBJ_CTR_PKTS);
        uint64_t bytes = nftnl_obj_get_u64(counter, NFTNL_OBJ_CTR_BYTES);
        bool accepted = strcmp(name, COUNTER_ACCEPTED) == 0, dropped = strcmp(name, COUNTER_DROPPED) == 0;
        bool acknowledgments = strcmp(name, COUNTER_ACKNOWLEDGMENTS) == 0;

        counter_reader->counts->accepted_packets += accepted ? packets : 0;
        counter_reader->counts->accepted_bytes += accepted ? bytes : 0;
        counter_reader->counts->dropped_packets += dropped ? packets : 0;
        counter_reader->counts->dropped_bytes += dropped ? bytes : 0;
        counter_reader->counts->acknowledgment_packets += acknowledgments ? packets : 0;
        counter_reader->counts->acknowledgment_bytes += acknowledgments ? bytes : 0;
    }
    nftnl_obj_free(counter);
    return 0;
}

int nft_offload_counts(struct session *session, const char *table, const uint32_t *families, unsigned count,
                       struct offload_counts *out)
{
    struct counter_reader counter_reader = { .table = table, .counts = out };
    int err = 0;

    *out = (struct offload_counts){ .accepted_packets = 0 };
    for (unsigned i = 0; i < count && !err; i++) {
        const struct session_query query = {
            .type = NFT_MSG_GETOBJ, .family = (uint16_t)families[i], .dump = true, .table = table
        };

        err = nft_session_query(session, &query, read_counter, &counter_reader);
        if (err == -ENOENT)
            err = 0;
    }
    return err;
}
