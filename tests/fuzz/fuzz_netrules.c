/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's rulesets as `sluice doctor` reads them. The first byte selects the kind of input: 0: a table, a set and
 * a rule of nf_tables; 1: messages of policy routing and links; 2: a legacy table of IPv4; 3: one of IPv6 (the result
 * of IPT_SO_GET_INFO, then the entries). libnftnl aborts on attributes that a kernel never sends, so this target builds
 * the messages of nf_tables with libnftnl, from any expressions in any order with any values. The contract: the model
 * is valid (every rule has a text and a chain; a range of queues is a range), and each finding has a text, a reason and
 * a remedy.
 */
#include <errno.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "default_options.h"
#include "sluice/doctor.h"
#include "sluice/nftables.h"
#include "sluice/text.h"
#include "sluice/xtables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MESSAGES = 4096, PADDING = 64, MESSAGE_SIZE = 32768, EXPRESSIONS = 24, DATA_MAX = 64 };

static void require(bool is)
{
    if (!is)
        abort();
}

/* --- Objects of nf_tables --------------------------------------------------------------------------- */

struct input {
    const uint8_t *at, *end;
};

static uint8_t next_byte(struct input *input)
{
    return input->at < input->end ? *input->at++ : 0;
}

/* Copies up to `length` bytes of the input, then zeros. */
static void next_bytes(struct input *input, void *out, size_t length)
{
    size_t left = (size_t)(input->end - input->at), copied = left < length ? left : length;

    memcpy(out, input->at, copied);
    memset((uint8_t *)out + copied, 0, length - copied);
    input->at += copied;
}

enum kind { END, REGISTER, SMALL, VALUE8, VALUE16, VALUE32, VALUE64, BYTES, CHAIN, SET, NAME, INFO };

static const struct {
    const char *name;
    struct {
        uint16_t type;
        enum kind kind;
    } attributes[7];
} shapes[] = {
    { "meta",
      { { NFTNL_EXPR_META_KEY, SMALL }, { NFTNL_EXPR_META_DREG, REGISTER }, { NFTNL_EXPR_META_SREG, REGISTER } } },
    { "ct",
      { { NFTNL_EXPR_CT_KEY, SMALL },
        { NFTNL_EXPR_CT_DREG, REGISTER },
        { NFTNL_EXPR_CT_DIR, VALUE8 },
        { NFTNL_EXPR_CT_SREG, REGISTER } } },
    { "payload",
      { { NFTNL_EXPR_PAYLOAD_BASE, SMALL },
        { NFTNL_EXPR_PAYLOAD_OFFSET, SMALL },
        { NFTNL_EXPR_PAYLOAD_LEN, SMALL },
        { NFTNL_EXPR_PAYLOAD_DREG, REGISTER },
        { NFTNL_EXPR_PAYLOAD_SREG, REGISTER } } },
    { "hash",
      { { NFTNL_EXPR_HASH_SREG, REGISTER },
        { NFTNL_EXPR_HASH_DREG, REGISTER },
        { NFTNL_EXPR_HASH_LEN, SMALL },
        { NFTNL_EXPR_HASH_TYPE, SMALL },
        { NFTNL_EXPR_HASH_MODULUS, VALUE32 },
        { NFTNL_EXPR_HASH_OFFSET, VALUE32 } } },
    { "numgen",
      { { NFTNL_EXPR_NG_DREG, REGISTER },
        { NFTNL_EXPR_NG_MODULUS, VALUE32 },
        { NFTNL_EXPR_NG_TYPE, SMALL },
        { NFTNL_EXPR_NG_OFFSET, VALUE32 } } },
    { "fib",
      { { NFTNL_EXPR_FIB_DREG, REGISTER }, { NFTNL_EXPR_FIB_RESULT, SMALL }, { NFTNL_EXPR_FIB_FLAGS, VALUE32 } } },
    { "exthdr",
      { { NFTNL_EXPR_EXTHDR_DREG, REGISTER },
        { NFTNL_EXPR_EXTHDR_TYPE, VALUE8 },
        { NFTNL_EXPR_EXTHDR_OP, SMALL },
        { NFTNL_EXPR_EXTHDR_SREG, REGISTER } } },
    { "rt", { { NFTNL_EXPR_RT_DREG, REGISTER } } },
    { "cmp", { { NFTNL_EXPR_CMP_SREG, REGISTER }, { NFTNL_EXPR_CMP_OP, SMALL }, { NFTNL_EXPR_CMP_DATA, BYTES } } },
    { "range",
      { { NFTNL_EXPR_RANGE_SREG, REGISTER },
        { NFTNL_EXPR_RANGE_OP, SMALL },
        { NFTNL_EXPR_RANGE_FROM_DATA, BYTES },
        { NFTNL_EXPR_RANGE_TO_DATA, BYTES } } },
    { "bitwise",
      { { NFTNL_EXPR_BITWISE_SREG, REGISTER },
        { NFTNL_EXPR_BITWISE_DREG, REGISTER },
        { NFTNL_EXPR_BITWISE_LEN, SMALL },
        { NFTNL_EXPR_BITWISE_MASK, BYTES },
        { NFTNL_EXPR_BITWISE_XOR, BYTES } } },
    { "byteorder", { { NFTNL_EXPR_BYTEORDER_SREG, REGISTER }, { NFTNL_EXPR_BYTEORDER_DREG, REGISTER } } },
    { "lookup",
      { { NFTNL_EXPR_LOOKUP_SREG, REGISTER },
        { NFTNL_EXPR_LOOKUP_SET, SET },
        { NFTNL_EXPR_LOOKUP_DREG, REGISTER },
        { NFTNL_EXPR_LOOKUP_FLAGS, SMALL } } },
    { "dynset", { { NFTNL_EXPR_DYNSET_SREG_KEY, REGISTER }, { NFTNL_EXPR_DYNSET_SET_NAME, SET } } },
    { "immediate", { { NFTNL_EXPR_IMM_DREG, REGISTER }, { NFTNL_EXPR_IMM_DATA, BYTES } } },
    { "immediate",
      { { NFTNL_EXPR_IMM_DREG, REGISTER }, { NFTNL_EXPR_IMM_VERDICT, VALUE32 }, { NFTNL_EXPR_IMM_CHAIN, CHAIN } } },
    { "queue",
      { { NFTNL_EXPR_QUEUE_NUM, VALUE16 },
        { NFTNL_EXPR_QUEUE_TOTAL, VALUE16 },
        { NFTNL_EXPR_QUEUE_FLAGS, VALUE16 },
        { NFTNL_EXPR_QUEUE_SREG_QNUM, REGISTER } } },
    { "counter", { { NFTNL_EXPR_CTR_PACKETS, VALUE64 } } },
    { "reject", { { NFTNL_EXPR_REJECT_TYPE, SMALL } } },
    { "log", { { NFTNL_EXPR_LOG_PREFIX, NAME } } },
    { "flow_offload", { { NFTNL_EXPR_FLOW_TABLE_NAME, NAME } } },
    { "limit", { { NFTNL_EXPR_LIMIT_RATE, VALUE64 }, { NFTNL_EXPR_LIMIT_UNIT, VALUE64 } } },
    { "objref", { { NFTNL_EXPR_OBJREF_IMM_TYPE, SMALL }, { NFTNL_EXPR_OBJREF_IMM_NAME, NAME } } },
    { "nat", { { NFTNL_EXPR_NAT_TYPE, SMALL } } },
    { "notrack", { { 0, END } } },
    { "fwd", { { 0, END } } },
    { "match", { { NFTNL_EXPR_MT_NAME, NAME }, { NFTNL_EXPR_MT_REV, SMALL }, { NFTNL_EXPR_MT_INFO, INFO } } },
    { "target", { { NFTNL_EXPR_TG_NAME, NAME }, { NFTNL_EXPR_TG_REV, SMALL }, { NFTNL_EXPR_TG_INFO, INFO } } },
};

static void set_attribute(struct nftnl_expr *expression, uint16_t type, enum kind kind, struct input *input)
{
    static const char *const names[] = { "comment",  "mark",  "connmark",  "state",   "conntrack",
                                         "tcp",      "udp",   "multiport", "NFQUEUE", "MARK",
                                         "CONNMARK", "HMARK", "CT",        "REJECT",  "x" };
    uint8_t bytes[DATA_MAX];
    uint64_t value = 0;
    void *info;
    size_t length;

    switch (kind) {
    case REGISTER: /* the verdict register, registers of 16 and of 4 bytes, unknown registers */
        nftnl_expr_set_u32(expression, type, next_byte(input) % 28);
        break;
    case SMALL:
        nftnl_expr_set_u32(expression, type, next_byte(input) % 40);
        break;
    case VALUE8:
        nftnl_expr_set_u8(expression, type, next_byte(input));
        break;
    case VALUE16:
        next_bytes(input, &value, 2);
        nftnl_expr_set_u16(expression, type, (uint16_t)value);
        break;
    case VALUE32: /* small, negative and large numbers */
        length = next_byte(input) % 4;
        next_bytes(input, &value, length ? length : 1);
        nftnl_expr_set_u32(expression, type, length ? (uint32_t)value : 0 - (uint32_t)(value % 8));
        break;
    case VALUE64:
        next_bytes(input, &value, 8);
        nftnl_expr_set_u64(expression, type, value);
        break;
    case BYTES:
        length = 1 + next_byte(input) % DATA_MAX;
        next_bytes(input, bytes, length);
        nftnl_expr_set(expression, type, bytes, (uint32_t)length);
        break;
    case CHAIN: /* libnftnl frees the name only with these verdicts */
        value = nftnl_expr_get_u32(expression, NFTNL_EXPR_IMM_VERDICT);
        if (value == (uint32_t)NFT_JUMP || value == (uint32_t)NFT_GOTO)
            nftnl_expr_set_str(expression, type, next_byte(input) % 8 ? "g" : "none");
        break;
    case SET:
        nftnl_expr_set_str(expression, type, next_byte(input) % 8 ? "s" : "none");
        break;
    case NAME:
        nftnl_expr_set_str(expression, type, names[next_byte(input) % (sizeof(names) / sizeof(names[0]))]);
        break;
    case INFO: /* libnftnl takes ownership */
        length = 1 + next_byte(input) % DATA_MAX;
        info = malloc(length);
        require(info != NULL);
        next_bytes(input, info, length);
        nftnl_expr_set(expression, type, info, (uint32_t)length);
        break;
    case END:
        break;
    }
}

/* Errors are allowed, because libnftnl cannot parse everything that it builds, such as a chain without verdict. */
static void add(struct netrules *ruleset, const struct nlmsghdr *message)
{
    int err = nftables_add_message(ruleset, message, message->nlmsg_len);

    require(err == 0 || err == -EBADMSG);
}

static void add_objects(struct netrules *ruleset, const uint8_t *data, size_t size)
{
    static const uint8_t families[] = { NFPROTO_INET, NFPROTO_IPV4, NFPROTO_IPV6, NFPROTO_BRIDGE, NFPROTO_NETDEV };
    struct input input = { data, data + size };
    uint8_t family = families[next_byte(&input) % sizeof(families)], kinds = next_byte(&input);
    char *buffer = calloc(1, MESSAGE_SIZE);
    struct nftnl_table *table = nftnl_table_alloc();
    struct nftnl_set *set = nftnl_set_alloc();
    struct nftnl_rule *rule = nftnl_rule_alloc();
    struct nlmsghdr *message;

    require(buffer && table && set && rule);
    nftnl_table_set_str(table, NFTNL_TABLE_NAME, "t");
    message = nftnl_nlmsg_build_hdr(buffer, NFT_MSG_NEWTABLE, family, 0, 1);
    nftnl_table_nlmsg_build_payload(message, table);
    add(ruleset, message);
    for (int i = 0; i < 2; i++) {
        struct nftnl_chain *chain = nftnl_chain_alloc();

        require(chain != NULL);
        nftnl_chain_set_str(chain, NFTNL_CHAIN_TABLE, "t");
        nftnl_chain_set_str(chain, NFTNL_CHAIN_NAME, i ? "g" : "f");
        if (i == 0) {
            nftnl_chain_set_u32(chain, NFTNL_CHAIN_HOOKNUM, next_byte(&input) % 8);
            nftnl_chain_set_s32(chain, NFTNL_CHAIN_PRIO, (int8_t)next_byte(&input));
        }
        message = nftnl_nlmsg_build_hdr(buffer, NFT_MSG_NEWCHAIN, family, 0, 1);
        nftnl_chain_nlmsg_build_payload(message, chain);
        add(ruleset, message);
        nftnl_chain_free(chain);
    }
    nftnl_set_set_str(set, NFTNL_SET_TABLE, "t");
    nftnl_set_set_str(set, NFTNL_SET_NAME, "s");
    nftnl_set_set_u32(set, NFTNL_SET_FLAGS, (kinds & 1 ? NFT_SET_ANONYMOUS : 0) | (kinds & 2 ? NFT_SET_MAP : 0));
    nftnl_set_set_u32(set, NFTNL_SET_KEY_LEN, kinds >> 3);
    nftnl_set_set_u32(set, NFTNL_SET_DATA_TYPE, kinds & 4 ? 0xffffff00 : 4);
    message = nftnl_nlmsg_build_hdr(buffer, NFT_MSG_NEWSET, family, 0, 1);
    nftnl_set_nlmsg_build_payload(message, set);
    add(ruleset, message);
    for (int count = next_byte(&input) % 12; count > 0; count--) {
        struct nftnl_set_elem *element = nftnl_set_elem_alloc();
        uint8_t key[DATA_MAX], length = 1 + next_byte(&input) % 20, verdict = next_byte(&input);

        require(element != NULL);
        next_bytes(&input, key, length);
        nftnl_set_elem_set(element, NFTNL_SET_ELEM_KEY, key, length);
        if (verdict & 1)
            nftnl_set_elem_set_u32(element, NFTNL_SET_ELEM_VERDICT, (uint32_t)(int8_t)verdict);
        if (verdict & 2)
            nftnl_set_elem_set_str(element, NFTNL_SET_ELEM_CHAIN, verdict & 4 ? "f" : "g");
        nftnl_set_elem_add(set, element);
    }
    message = nftnl_nlmsg_build_hdr(buffer, NFT_MSG_NEWSETELEM, family, 0, 1);
    nftnl_set_elems_nlmsg_build_payload(message, set);
    add(ruleset, message);

    nftnl_rule_set_str(rule, NFTNL_RULE_TABLE, "t");
    nftnl_rule_set_str(rule, NFTNL_RULE_CHAIN, next_byte(&input) & 1 ? "g" : "f");
    for (int count = 0; count < EXPRESSIONS && input.at < input.end; count++) {
        size_t which = next_byte(&input) % (sizeof(shapes) / sizeof(shapes[0]));
        struct nftnl_expr *expression = nftnl_expr_alloc(shapes[which].name);
        uint8_t present = next_byte(&input);

        require(expression != NULL);
        for (size_t i = 0; shapes[which].attributes[i].kind != END; i++)
            if (!(present >> i & 1)) /* a 0 bit sets the attribute, so that most expressions are complete */
                set_attribute(expression, shapes[which].attributes[i].type, shapes[which].attributes[i].kind, &input);
        nftnl_rule_add_expr(rule, expression);
    }
    message = nftnl_nlmsg_build_hdr(buffer, NFT_MSG_NEWRULE, family, 0, 1);
    nftnl_rule_nlmsg_build_payload(message, rule);
    add(ruleset, message);
    nftnl_rule_free(rule);
    nftnl_set_free(set);
    nftnl_table_free(table);
    free(buffer);
}

/* --- Other messages --------------------------------------------------------------------------------- */

static size_t length_at(const uint8_t *data, size_t size)
{
    struct nlmsghdr header;

    if (size < sizeof(header))
        return 0;
    memcpy(&header, data, sizeof(header));
    return header.nlmsg_len < sizeof(header) || header.nlmsg_len > size ? size : header.nlmsg_len;
}

static void add_messages(struct doctor_host *host, const uint8_t *data, size_t size)
{
    for (int i = 0; i < MESSAGES && size > 0; i++) {
        size_t length = length_at(data, size), next = NLMSG_ALIGN(length) < size ? NLMSG_ALIGN(length) : size;
        uint8_t *message = calloc(1, length + PADDING);
        int err;

        require(message != NULL);
        memcpy(message, data, length);
        err = length == 0 ? -1 : doctor_host_add_message(host, message, length);
        free(message);
        require(err <= 0);
        if (length == 0)
            break;
        data += next;
        size -= next;
    }
}

static void add_legacy(struct netrules *ruleset, bool ipv6, const uint8_t *data, size_t size)
{
    size_t info = sizeof(struct ipt_getinfo) < size ? sizeof(struct ipt_getinfo) : size;

    xtables_add_table(ruleset, ipv6, data, info, data + info, size - info);
}

static void check_rule(const struct netrules_chain *chain, const struct netrules_rule *rule)
{
    require(rule->chain == chain && rule->text);
    if (rule->verdict == NETRULES_QUEUE)
        require(rule->queue.first <= rule->queue.last);
    if (rule->established || rule->only_loopback || rule->matches_connection_mark)
        require(rule->conditional);
}

static void check_model(const struct netrules *ruleset)
{
    unsigned chains = 0;

    for (const struct netrules_table *table = ruleset->tables; table; table = table->next) {
        require(table->name != NULL);
        for (const struct netrules_chain *chain = table->chains; chain; chain = chain->next, chains++) {
            size_t rules = 0;

            require(chain->table == table && chain->name && chain->type && chain->number < ruleset->chain_count);
            for (const struct netrules_rule *rule = chain->rules; rule; rule = rule->next, rules++)
                check_rule(chain, rule);
            require(rules == chain->rule_count);
        }
    }
    require(chains == ruleset->chain_count);
}

static void check_report(const struct netrules *ruleset, const struct doctor_host *host)
{
    struct doctor_input input = { .repeats = false };
    struct doctor_report *report;
    struct text out;

    firewall_options_default(&input.options);
    input.options.queue_last = 3;
    require(doctor_examine(&report, ruleset, host, &input) == 0);
    for (const struct doctor_finding *finding = report->findings; finding; finding = finding->next) {
        require(finding->id && finding->what && finding->why && finding->remedy);
        require(!finding->next || finding->next->severity <= finding->severity);
        require(!finding->rule || finding->chain == finding->rule->chain);
    }
    text_init(&out);
    doctor_print(&out, report);
    doctor_print_json(&out, report);
    require(!out.failed);
    text_clear(&out);
    doctor_report_free(report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct netrules *ruleset = netrules_new();
    struct doctor_host *host = doctor_host_new();

    require(ruleset && host);
    if (size > 0 && data[0] == 0)
        add_objects(ruleset, data + 1, size - 1);
    else if (size > 0 && data[0] == 1)
        add_messages(host, data + 1, size - 1);
    else if (size > 0)
        add_legacy(ruleset, data[0] & 1, data + 1, size - 1);
    check_model(ruleset);
    check_report(ruleset, host);
    doctor_host_free(host);
    netrules_free(ruleset);
    return 0;
}
