/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects that the rules for offloaded flows need: one named counter for accepted and one for dropped flows, which keep
 * their values when the rules are replaced, and if configured a flowtable. Messages that create these objects can be
 * sent again: the kernel accepts them for existing objects, too.
 */
#include "firewall_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/common.h>
#include <libnftnl/flowtable.h>
#include <libnftnl/object.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <string.h>

enum { COUNTERS = 2, FLOWTABLE_COUNTS = 2 /* NFT_FLOWTABLE_COUNTER: conntrack counts the packets of the flowtable */ };

static const char *const counter_names[COUNTERS] = { COUNTER_ACCEPTED, COUNTER_DROPPED };

static bool is_needed(const struct firewall_offload *offload, unsigned counter)
{
    return counter == 0 ? offload->accept : offload->drop;
}

static bool has_flowtable(const struct firewall_options *options, uint32_t family)
{
    return options->offload.accept && options->offload.device_count > 0 && options->mode != ATTACH_CHAIN &&
           family != NFPROTO_BRIDGE;
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

void nft_offload_print(struct text *out, const char *indent, const struct plan *plan)
{
    for (unsigned i = 0; i < COUNTERS; i++)
        if (is_needed(&plan->options->offload, i))
            text_printf(out, "%scounter %s {\n%s}\n\n", indent, counter_names[i], indent);
    if (has_flowtable(plan->options, plan->families[0]))
        print_flowtable(out, indent, &plan->options->offload);
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

int nft_build_offload(struct batch *batch, unsigned family_index, const struct plan *plan)
{
    uint32_t family = plan->families[family_index];
    int err = 0;

    for (unsigned i = 0; i < COUNTERS && !err; i++)
        if (is_needed(&plan->options->offload, i))
            err = put_counter(batch, family, plan->options->table, counter_names[i]);
    if (!err && has_flowtable(plan->options, family))
        err = put_flowtable(batch, family, plan->options);
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

        counter_reader->counts->accepted_packets += accepted ? packets : 0;
        counter_reader->counts->accepted_bytes += accepted ? bytes : 0;
        counter_reader->counts->dropped_packets += dropped ? packets : 0;
        counter_reader->counts->dropped_bytes += dropped ? bytes : 0;
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
