/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notifications of nf_tables, and the same messages as a dump of the sluice table. The first byte selects the
 * attachment: bit 0: before instead of after; bit 1: families ip and ip6; bit 2: hooks input and output, too. The
 * contract: reported changes are valid (strings are terminated; a misplaced chain is on a hook of Sluice); messages
 * with Sluice's own port are ignored; the result does not depend on how the messages are split over calls; and images
 * of the same bytes are equal.
 */
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>

#include "default_options.h"
#include "firewall/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OWN_PORT = 4711 };

static void require(bool is)
{
    if (!is)
        abort();
}

static struct firewall_options options_of(uint8_t byte)
{
    struct firewall_options options;

    firewall_options_default(&options);
    options.mode = byte & 1 ? ATTACH_BEFORE : ATTACH_AFTER;
    options.family = byte & 2 ? FIREWALL_IPV4 : FIREWALL_INET;
    options.hooks = byte & 4 ? FIREWALL_FORWARD | FIREWALL_INPUT | FIREWALL_OUTPUT : FIREWALL_FORWARD;
    options.expression = QUEUE_EXPRESSION_NATIVE;
    return options;
}

/* --- Images --------------------------------------------------------------------------------------- */

static enum image_part part_of(const struct nlmsghdr *message)
{
    switch (message->nlmsg_type & 0xff) {
    case NFT_MSG_NEWTABLE:
        return IMAGE_TABLE;
    case NFT_MSG_NEWCHAIN:
        return IMAGE_CHAINS;
    case NFT_MSG_NEWSET:
        return IMAGE_SETS;
    default:
        return IMAGE_RULES;
    }
}

static int add_to_image(void *user, const void *bytes, size_t length)
{
    (void)length;
    nft_image_add(user, part_of(bytes), "sluice", bytes);
    return 0;
}

/* Returns the length of the first message with its padding, or `size` if the message is not valid. */
static size_t first_length(const uint8_t *bytes, size_t size)
{
    struct nlmsghdr message;

    if (size < sizeof(message))
        return size;
    memcpy(&message, bytes, sizeof(message));
    if (message.nlmsg_len < sizeof(message) || message.nlmsg_len > size)
        return size;
    return NLMSG_ALIGN(message.nlmsg_len) < size ? NLMSG_ALIGN(message.nlmsg_len) : size;
}

/* Adds the valid messages only, because the kernel sends no others. */
static void add_all(struct image *image, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        size_t length = first_length(bytes, size);
        struct nlmsghdr *message = calloc(1, length + sizeof(*message)); /* an aligned copy */

        require(message != NULL);
        memcpy(message, bytes, length);
        if (message->nlmsg_len >= sizeof(*message) && message->nlmsg_len <= length)
            add_to_image(image, message, message->nlmsg_len);
        free(message);
        bytes += length;
        size -= length;
    }
}

static void check_images(const struct image *ours, const uint8_t *bytes, size_t size)
{
    struct image first = { .drops = false }, second = { .drops = false };

    add_all(&first, bytes, size);
    add_all(&second, bytes, size);
    require(nft_image_differs(&first, &second) == 0 && first.drops == second.drops);
    require(first.blocked_packets == second.blocked_packets && first.blocked_bytes == second.blocked_bytes);
    require(nft_image_differs(ours, &first) == nft_image_differs(&first, ours));
    nft_image_clear(&first);
    nft_image_clear(&second);
}

/* --- Notifications -------------------------------------------------------------------------------- */

static bool ends(const char *string, size_t size)
{
    return memchr(string, '\0', size) != NULL;
}

static void check_change(const struct firewall_options *options, const struct firewall_change *change)
{
    const struct firewall_misplaced_chain *chain = &change->intruder;

    require(ends(change->process, sizeof(change->process)));
    require(ends(chain->table, sizeof(chain->table)) && ends(chain->chain, sizeof(chain->chain)));
    if (!chain->found)
        return;
    require(chain->family && chain->hook);
    require(strcmp(chain->hook, "forward") == 0 ||
            (options->hooks & FIREWALL_INPUT && strcmp(chain->hook, "input") == 0) ||
            (options->hooks & FIREWALL_OUTPUT && strcmp(chain->hook, "output") == 0));
    require(strcmp(chain->family, "ip6") != 0 || options->family != FIREWALL_IPV4);
    require(strcmp(chain->family, "bridge") != 0);
}

/* Reads the messages one by one, in separate calls. */
static void read_in_pieces(const struct notifications *notifications, const uint8_t *bytes, size_t size,
                           struct firewall_change *out)
{
    while (size > 0) {
        size_t length = first_length(bytes, size);

        nft_read_notifications(notifications, bytes, length, out);
        bytes += length;
        size -= length;
    }
}

static bool same_change(const struct firewall_change *a, const struct firewall_change *b)
{
    return a->transactions == b->transactions && a->ours == b->ours && a->elements == b->elements &&
           a->removals == b->removals && a->generation == b->generation && a->pid == b->pid &&
           strcmp(a->process, b->process) == 0 && a->intruder.found == b->intruder.found &&
           a->intruder.priority == b->intruder.priority && strcmp(a->intruder.chain, b->intruder.chain) == 0;
}

/* A message whose port is Sluice's own must report nothing. */
static void check_own(const struct notifications *notifications, const uint8_t *bytes, size_t size)
{
    struct firewall_change pending = { .transactions = 0 }, out = { .transactions = 0 };
    struct notifications own = *notifications;
    struct nlmsghdr message;
    size_t length = first_length(bytes, size);

    if (length < sizeof(message))
        return;
    memcpy(&message, bytes, sizeof(message));
    own.own_port = message.nlmsg_pid;
    own.pending = &pending;
    nft_read_notifications(&own, bytes, length, &out);
    require(out.transactions == 0 && !pending.ours && !pending.removals && !pending.elements &&
            !pending.intruder.found);
}

static void check_hearing(const struct firewall_options *options, const struct image *ours, const uint8_t *bytes,
                          size_t size)
{
    struct firewall_change pending = { .transactions = 0 }, again = pending, out = pending, pieces = pending;
    uint32_t generation = 0, generation_again = 0;
    struct notifications notifications = { options, ours, OWN_PORT, &pending, &generation };
    struct notifications second = { options, ours, OWN_PORT, &again, &generation_again };

    nft_read_notifications(&notifications, bytes, size, &out);
    check_change(options, &out);
    check_change(options, &pending);
    require(out.transactions <= size / sizeof(struct nlmsghdr));
    read_in_pieces(&second, bytes, size, &pieces);
    require(same_change(&out, &pieces) && same_change(&pending, &again) && generation == generation_again);
    check_own(&notifications, bytes, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct firewall_options options = options_of(size > 0 ? data[0] : 0);
    struct image ours = { .drops = false };

    require(firewall_expect(&options, false, add_to_image, &ours) == 0);
    require(ours.parts[IMAGE_CHAINS].length > 0 && ours.parts[IMAGE_RULES].length > 0);
    if (size > 0) {
        check_images(&ours, data + 1, size - 1);
        check_hearing(&options, &ours, data + 1, size - 1);
    }
    nft_image_clear(&ours);
    return 0;
}
