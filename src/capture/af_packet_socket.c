/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens the sockets of AF_PACKET. A filter that drops all packets is attached before the socket is bound, and replaced
 * when all rings of the interface are in the fanout group. So no packet that the filter of the configuration excludes
 * gets into a ring, and no ring gets packets before the group distributes them.
 *
 * The filter is compiled with a temporary capture of libpcap on the interface, not with a handle without interface:
 * the kernel removes VLAN tags from frames, and only for an interface does libpcap compile `vlan` to tests of the
 * kernel's metadata.
 */
#include "af_packet_socket.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if_arp.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "af_packet_ring.h"

enum { FRAME_SIZE = 2048, WHOLE_PACKET = 262144 };

static int fail(char error[CAPTURE_ERROR_SIZE], int err, const char *name, const char *what, const char *remedy)
{
    snprintf(error, CAPTURE_ERROR_SIZE, "cannot capture from %s: %s: %s%s", name, what, strerror(-err), remedy);
    return err;
}

/* --- Filter --------------------------------------------------------------------------------------- */

/* Copies a compiled filter. Returns 0 or -ENOMEM. */
static int copy_filter(struct sock_fprog *out, const struct bpf_program *program)
{
    struct sock_filter *code = calloc(program->bf_len, sizeof(*code));

    if (!code)
        return -ENOMEM;
    for (unsigned i = 0; i < program->bf_len; i++) {
        const struct bpf_insn *from = &program->bf_insns[i];

        code[i] = (struct sock_filter){ .code = from->code, .jt = from->jt, .jf = from->jf, .k = from->k };
    }
    *out = (struct sock_fprog){ .len = (unsigned short)program->bf_len, .filter = code };
    return 0;
}

/* Opens a handle for which libpcap compiles filters: of the interface; or, if that is missing or down, of the loopback
 * interface, which is Ethernet for libpcap; or else of no interface, where `vlan` does not find tags that the kernel
 * has removed. NULL: out of memory. */
static pcap_t *open_compiler(const char *name, int snap_length)
{
    const char *const names[] = { name, "lo" };
    char ignored[PCAP_ERRBUF_SIZE];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        pcap_t *live = pcap_create(names[i], ignored);

        if (live && pcap_set_snaplen(live, snap_length) == 0 && pcap_set_buffer_size(live, 1 << 20) == 0 &&
            pcap_activate(live) >= 0)
            return live;
        if (live)
            pcap_close(live);
    }
    return pcap_open_dead(DLT_EN10MB, snap_length);
}

static int compile_filter(struct af_packet_interface *interface, char error[CAPTURE_ERROR_SIZE])
{
    const struct af_packet_options *options = &interface->options;
    const int snap_length = options->snap_length > 0 ? (int)options->snap_length : WHOLE_PACKET;
    struct bpf_program program;
    pcap_t *compiler;
    int err = 0;

    if (!options->filter && options->snap_length == 0)
        return 0;
    compiler = open_compiler(interface->name, snap_length);
    if (!compiler) {
        snprintf(error, CAPTURE_ERROR_SIZE, "out of memory");
        return -ENOMEM;
    }
    if (pcap_compile(compiler, &program, options->filter ? options->filter : "", 1, PCAP_NETMASK_UNKNOWN) == 0) {
        err = copy_filter(&interface->filter, &program);
        pcap_freecode(&program);
        if (err)
            snprintf(error, CAPTURE_ERROR_SIZE, "out of memory");
    } else {
        snprintf(error, CAPTURE_ERROR_SIZE, "af-packet.bpf-filter \"%.80s\" is wrong: %.120s; see pcap-filter(7)",
                 options->filter, pcap_geterr(compiler));
        err = -EINVAL;
    }
    pcap_close(compiler);
    return err;
}

int ring_socket_start(const struct ring_socket *socket, const struct af_packet_interface *interface,
                      char error[CAPTURE_ERROR_SIZE])
{
    const int unused = 0;
    int err;

    if (socket->fd < 0)
        return 0;
    if (interface->filter.len > 0)
        err = setsockopt(socket->fd, SOL_SOCKET, SO_ATTACH_FILTER, &interface->filter, sizeof(interface->filter));
    else
        err = setsockopt(socket->fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused));
    return err ? fail(error, -errno, interface->name, "cannot attach the filter", "; simplify af-packet.bpf-filter")
               : 0;
}

/* --- Socket --------------------------------------------------------------------------------------- */

static int open_socket(struct ring_socket *out, const char *name, char error[CAPTURE_ERROR_SIZE])
{
    int err;

    *out = (struct ring_socket){ .fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) };
    if (out->fd >= 0)
        return 0;
    err = -errno;
    return fail(error, err, name, "cannot open a packet socket",
                err == -EPERM || err == -EACCES ? "; run as root or with CAP_NET_RAW"
                : err == -EAFNOSUPPORT          ? "; add AF_PACKET to RestrictAddressFamilies= of the systemd unit"
                                                : "");
}

/* Gets number, link type and state of the interface. */
static int find_interface(struct ring_socket *out, const char *name, char error[CAPTURE_ERROR_SIZE])
{
    struct ifreq request = { .ifr_ifindex = 0 };

    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
    if (ioctl(out->fd, SIOCGIFINDEX, &request))
        return fail(error, -errno, name, "no such interface", "; `ip link` lists the interfaces");
    out->ifindex = request.ifr_ifindex;
    if (ioctl(out->fd, SIOCGIFHWADDR, &request))
        return fail(error, -errno, name, "cannot read its type", "");
    switch (request.ifr_hwaddr.sa_family) {
    case ARPHRD_ETHER:
    case ARPHRD_LOOPBACK:
        out->link = LINK_ETHERNET;
        break;
    case ARPHRD_NONE:
    case ARPHRD_TUNNEL:
    case ARPHRD_TUNNEL6:
    case ARPHRD_SIT:
        out->link = LINK_RAW;
        break;
    default:
        snprintf(error, CAPTURE_ERROR_SIZE,
                 "cannot capture from %s: its link type (ARPHRD %u) is not supported; capture from an Ethernet or IP "
                 "interface",
                 name, (unsigned)request.ifr_hwaddr.sa_family);
        return -EOPNOTSUPP;
    }
    if (ioctl(out->fd, SIOCGIFFLAGS, &request))
        return fail(error, -errno, name, "cannot read its state", "");
    if (!(request.ifr_flags & IFF_UP))
        return fail(error, -ENETDOWN, name, "the interface is down", "");
    return 0;
}

static int open_ring(struct ring_socket *out, const struct af_packet_interface *interface,
                     char error[CAPTURE_ERROR_SIZE])
{
    const struct af_packet_options *options = &interface->options;
    const uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE);
    const int version = TPACKET_V3, reserve = RING_VLAN_SIZE;
    struct tpacket_req3 request = { .tp_frame_size = FRAME_SIZE, .tp_retire_blk_tov = options->block_timeout_ms };
    char what[64];

    out->block_size = (options->block_size + page - 1) / page * page;
    out->block_count = (uint32_t)(options->ring_size / out->block_size);
    out->map_size = (uint64_t)out->block_size * out->block_count;
    request.tp_block_size = out->block_size;
    request.tp_block_nr = out->block_count;
    request.tp_frame_nr = out->block_size / FRAME_SIZE * out->block_count;
    if (setsockopt(out->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) ||
        setsockopt(out->fd, SOL_PACKET, PACKET_RESERVE, &reserve, sizeof(reserve)))
        return fail(error, -errno, interface->name, "the kernel has no TPACKET_V3", "");
    snprintf(what, sizeof(what), "no memory for a ring of %" PRIu64 " MiB", out->map_size >> 20);
    if (setsockopt(out->fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof(request)))
        return fail(error, -errno, interface->name, what, "; lower af-packet.ring-size or af-packet.workers");
    out->map =
        mmap(NULL, out->map_size, PROT_READ | PROT_WRITE, MAP_SHARED | (options->locked ? MAP_LOCKED : 0), out->fd, 0);
    if (out->map != MAP_FAILED)
        return 0;
    out->map = NULL;
    return fail(error, -errno, interface->name, what,
                options->locked ? "; raise the limit of locked memory (ulimit -l, LimitMEMLOCK=), or set "
                                  "af-packet.mmap-locked: no"
                                : "; lower af-packet.ring-size or af-packet.workers");
}

/* Sets the program that chooses the ring by the two addresses of a packet: equal for both directions. It reads from the
 * network header on; behind a second VLAN tag, which the kernel does not remove, the IP header is four bytes later. */
static int set_address_hash(int fd)
{
    enum { NETWORK = SKF_NET_OFF, PROTOCOL = SKF_AD_OFF + SKF_AD_PROTOCOL, LOAD = BPF_LD | BPF_W | BPF_ABS };
    enum { EQUAL = BPF_JMP | BPF_JEQ | BPF_K, XOR = BPF_ALU | BPF_XOR | BPF_X, KEEP = BPF_MISC | BPF_TAX };
    enum { IPV4_SOURCE = 12, IPV6_SOURCE = 8, IPV6_WORDS = 8, MIX = 0x9e3779b1, CODE_SIZE = 84 };
    struct sock_filter code[CODE_SIZE];
    struct sock_fprog program = { .filter = code };
    unsigned count = 0;

    for (uint32_t tag = 0; tag <= RING_VLAN_SIZE; tag += RING_VLAN_SIZE) {
        if (tag == 0) {
            code[count++] = (struct sock_filter)BPF_STMT(LOAD, (uint32_t)PROTOCOL);
        } else { /* the register still has the EtherType: continue with that behind the tag */
            code[count++] = (struct sock_filter)BPF_JUMP(EQUAL, ETH_P_8021Q, 2, 0);
            code[count++] = (struct sock_filter)BPF_JUMP(EQUAL, ETH_P_8021AD, 1, 0);
            code[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
            code[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_H | BPF_ABS, (uint32_t)NETWORK + 2);
        }
        code[count++] = (struct sock_filter)BPF_JUMP(EQUAL, ETH_P_IP, 0, 7);
        code[count++] = (struct sock_filter)BPF_STMT(LOAD, (uint32_t)NETWORK + tag + IPV4_SOURCE);
        code[count++] = (struct sock_filter)BPF_STMT(KEEP, 0);
        code[count++] = (struct sock_filter)BPF_STMT(LOAD, (uint32_t)NETWORK + tag + IPV4_SOURCE + 4);
        code[count++] = (struct sock_filter)BPF_STMT(XOR, 0);
        code[count++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, MIX);
        code[count++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 16);
        code[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_A, 0);
        code[count++] = (struct sock_filter)BPF_JUMP(EQUAL, ETH_P_IPV6, 0, 3 * IPV6_WORDS + 4);
        code[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, 0);
        for (uint32_t word = 0; word < IPV6_WORDS; word++) {
            code[count++] = (struct sock_filter)BPF_STMT(KEEP, 0);
            code[count++] = (struct sock_filter)BPF_STMT(LOAD, (uint32_t)NETWORK + tag + IPV6_SOURCE + 4 * word);
            code[count++] = (struct sock_filter)BPF_STMT(XOR, 0);
        }
        code[count++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, MIX);
        code[count++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 16);
        code[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_A, 0);
    }
    code[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
    program.len = (unsigned short)count;
    return setsockopt(fd, SOL_PACKET, PACKET_FANOUT_DATA, &program, sizeof(program)) ? -errno : 0;
}

/* Joins the fanout group of the interface. The kernel chooses the number of the group when the first ring joins. */
static int join_group(const struct ring_socket *out, struct af_packet_interface *interface,
                      char error[CAPTURE_ERROR_SIZE])
{
    static const int types[] = {
        [AF_PACKET_CLUSTER_ADDRESSES] = PACKET_FANOUT_CBPF,
        [AF_PACKET_CLUSTER_FLOW] = PACKET_FANOUT_HASH,
        [AF_PACKET_CLUSTER_CPU] = PACKET_FANOUT_CPU,
        [AF_PACKET_CLUSTER_QM] = PACKET_FANOUT_QM,
    };
    const struct af_packet_options *options = &interface->options;
    const uint32_t id = atomic_load(&interface->fanout_id);
    uint32_t type = (uint32_t)types[options->cluster], group;
    socklen_t size = sizeof(group);
    int err;

    if (options->workers < 2)
        return 0;
    type |= options->defrag && options->cluster != AF_PACKET_CLUSTER_ADDRESSES ? PACKET_FANOUT_FLAG_DEFRAG : 0;
    type |= options->rollover ? PACKET_FANOUT_FLAG_ROLLOVER : 0;
    type |= id == 0 ? PACKET_FANOUT_FLAG_UNIQUEID : 0;
    group = (id & 0xffff) | type << 16;
    if (setsockopt(out->fd, SOL_PACKET, PACKET_FANOUT, &group, sizeof(group)))
        return fail(error, -errno, interface->name, "cannot join the fanout group",
                    options->cluster_id == 0
                        ? ""
                        : "; another program may use it: set af-packet.cluster-id to 0 or to an unused number");
    if (id == 0 && getsockopt(out->fd, SOL_PACKET, PACKET_FANOUT, &group, &size))
        return fail(error, -errno, interface->name, "cannot read the fanout group", "");
    if (id == 0)
        atomic_store(&interface->fanout_id, FANOUT_CHOSEN | (group & 0xffff));
    err = options->cluster == AF_PACKET_CLUSTER_ADDRESSES ? set_address_hash(out->fd) : 0;
    return err ? fail(error, err, interface->name, "cannot distribute packets by addresses",
                      "; set another af-packet.cluster-type")
               : 0;
}

static int bind_ring(const struct ring_socket *out, struct af_packet_interface *interface,
                     char error[CAPTURE_ERROR_SIZE])
{
    const struct sockaddr_ll address = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ETH_P_ALL),
        .sll_ifindex = out->ifindex,
    };
    const struct packet_mreq membership = { .mr_ifindex = out->ifindex, .mr_type = PACKET_MR_PROMISC };
    struct ifreq request = { .ifr_ifindex = 0 };
    const int on = 1;

    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", interface->name);
    if (ioctl(out->fd, SIOCGIFFLAGS, &request))
        return fail(error, -errno, interface->name, "cannot read its state", "");
    /* On the loopback interface each packet passes twice, as outgoing and as incoming. */
    if (request.ifr_flags & IFF_LOOPBACK && setsockopt(out->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)))
        return fail(error, -errno, interface->name, "the kernel cannot ignore outgoing packets", "");
    if (bind(out->fd, (const struct sockaddr *)&address, sizeof(address)))
        return fail(error, -errno, interface->name, "cannot bind", "");
    if (interface->options.promiscuous &&
        setsockopt(out->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &membership, sizeof(membership)))
        return fail(error, -errno, interface->name, "cannot set promiscuous mode",
                    "; set af-packet.promiscuous: no to capture without it");
    return join_group(out, interface, error);
}

int ring_socket_open(struct ring_socket *out, struct af_packet_interface *interface, char error[CAPTURE_ERROR_SIZE])
{
    struct sock_filter drop_all = { .code = BPF_RET | BPF_K };
    const struct sock_fprog closed = { .len = 1, .filter = &drop_all };
    struct ring_socket ring;
    int err = open_socket(&ring, interface->name, error);

    if (!err)
        err = find_interface(&ring, interface->name, error);
    if (!err && setsockopt(ring.fd, SOL_SOCKET, SO_ATTACH_FILTER, &closed, sizeof(closed)))
        err = fail(error, -errno, interface->name, "cannot attach a filter", "");
    if (!err)
        err = open_ring(&ring, interface, error);
    if (!err)
        err = bind_ring(&ring, interface, error);
    if (err) {
        ring_socket_close(&ring);
        return err;
    }
    *out = ring;
    return 0;
}

void ring_socket_close(struct ring_socket *socket)
{
    if (socket->map)
        munmap(socket->map, socket->map_size);
    if (socket->fd >= 0)
        close(socket->fd);
    *socket = (struct ring_socket){ .fd = -1 };
}

/* --- Interface ------------------------------------------------------------------------------------ */

/* Checks that packets of the interface can be captured, before rules are loaded, which takes time. */
static int probe_interface(const char *name, char error[CAPTURE_ERROR_SIZE])
{
    struct ring_socket probe;
    int err = open_socket(&probe, name, error);

    if (!err)
        err = find_interface(&probe, name, error);
    ring_socket_close(&probe);
    return err == -ENETDOWN ? 0 : err;
}

int af_packet_interface_new(struct af_packet_interface **out, const struct af_packet_options *options, unsigned number,
                            bool missing, char error[CAPTURE_ERROR_SIZE])
{
    struct af_packet_interface *interface = calloc(1, sizeof(*interface));
    int err;

    if (!interface) {
        snprintf(error, CAPTURE_ERROR_SIZE, "out of memory");
        return -ENOMEM;
    }
    interface->options = *options;
    interface->missing = missing;
    snprintf(interface->name, sizeof(interface->name), "%s", options->interfaces[number]);
    err = missing ? 0 : probe_interface(interface->name, error);
    if (err) {
        af_packet_interface_free(interface);
        return err;
    }
    if (options->cluster_id > 0)
        atomic_store(&interface->fanout_id, FANOUT_CHOSEN | ((options->cluster_id + number) & 0xffff));
    err = compile_filter(interface, error);
    if (err) {
        af_packet_interface_free(interface);
        return err;
    }
    *out = interface;
    return 0;
}

void af_packet_interface_free(struct af_packet_interface *interface)
{
    if (!interface)
        return;
    free(interface->filter.filter);
    free(interface);
}

const char *af_packet_interface_name(const struct af_packet_interface *interface)
{
    return interface->name;
}
