/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings of the capture from interfaces (AF_PACKET). */
#include "sluice/capture.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sluice/config.h"

static const char *const methods[] = { [CAPTURE_NFQUEUE] = "nfqueue", [CAPTURE_AF_PACKET] = "af-packet", NULL };
static const char *const clusters[] = {
    [AF_PACKET_CLUSTER_ADDRESSES] = "cluster_addresses",
    [AF_PACKET_CLUSTER_FLOW] = "cluster_flow",
    [AF_PACKET_CLUSTER_CPU] = "cluster_cpu",
    [AF_PACKET_CLUSTER_QM] = "cluster_qm",
    NULL,
};
static const char *const checksum_choices[] = {
    [AF_PACKET_CHECKSUMS_KERNEL] = "kernel",
    [AF_PACKET_CHECKSUMS_YES] = "yes",
    [AF_PACKET_CHECKSUMS_NO] = "no",
    NULL,
};

const struct setting af_packet_settings[] = {
    { .name = "capture.method",
      SETTING_FIELD(af_packet_options, method),
      .type = SETTING_ENUM,
      .default_value = "nfqueue",
      .choices = methods,
      .help = "Source of the packets: nfqueue (Netfilter queues, inline), or af-packet (a copy of the packets of "
              "af-packet.interfaces; nothing is dropped). `sluice sensor` sets it to af-packet" },
    { .name = "af-packet.interfaces",
      SETTING_FIELD(af_packet_options, interfaces),
      .type = SETTING_LIST,
      .help = "Interfaces to capture from, such as [eth1, eth2]" },
    { .name = "af-packet.workers",
      .alias = "af-packet.threads",
      SETTING_FIELD(af_packet_options, workers),
      .type = SETTING_NUMBER,
      .default_value = "1",
      .low = 1,
      .high = CAPTURE_MAX_QUEUES,
      .help = "Number of rings of each interface, with one worker thread each; at most 256 for all interfaces" },
    { .name = "af-packet.cluster-type",
      SETTING_FIELD(af_packet_options, cluster),
      .type = SETTING_ENUM,
      .default_value = "cluster_addresses",
      .choices = clusters,
      .help =
          "Distribution of the packets to the rings of an interface: cluster_addresses (by the two addresses, so that "
          "fragments and related connections such as those of FTP stay together), cluster_flow (by addresses and "
          "ports), cluster_cpu (by the CPU that received the packet), cluster_qm (by the receive queue of the "
          "network card). The last two need a network card that sends both directions of a connection to the same "
          "CPU or queue" },
    { .name = "af-packet.cluster-id",
      SETTING_FIELD(af_packet_options, cluster_id),
      .type = SETTING_NUMBER,
      .default_value = "0",
      .low = 0,
      .high = 65535,
      .help = "Number of the fanout group of the first interface; each further interface uses the next number. 0: the "
              "kernel chooses unused numbers" },
    { .name = "af-packet.defrag",
      SETTING_FIELD(af_packet_options, defrag),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "With a cluster type other than cluster_addresses, let the kernel reassemble IPv4 fragments before it "
              "chooses a ring, because only the first fragment has the ports" },
    { .name = "af-packet.rollover",
      SETTING_FIELD(af_packet_options, rollover),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help =
          "Deliver packets for a full ring to another ring of the interface. Several workers may then get the packets "
          "of a flow, and each of them sees gaps in its streams" },
    { .name = "af-packet.ring-size",
      SETTING_FIELD(af_packet_options, ring_size),
      .type = SETTING_SIZE,
      .default_value = "32 MiB",
      .low = 1 << 20,
      .high = INT64_C(16) << 30,
      .help = "Kernel memory of each ring, in which packets wait for the worker; a number without unit is in bytes" },
    { .name = "af-packet.memcap",
      SETTING_FIELD(af_packet_options, memcap),
      .type = SETTING_SIZE,
      .default_value = "1 GiB",
      .low = 1 << 20,
      .high = INT64_C(1) << 40,
      .help = "Maximum memory of all rings together; the sensor does not start if they need more" },
    { .name = "af-packet.block-size",
      SETTING_FIELD(af_packet_options, block_size),
      .type = SETTING_SIZE,
      .default_value = "1 MiB",
      .low = 128 << 10,
      .high = 64 << 20,
      .help = "Size of a block of the ring, the unit in which the kernel delivers packets; no packet may be larger. "
              "Rounded up to a multiple of the page size" },
    { .name = "af-packet.block-timeout",
      SETTING_FIELD(af_packet_options, block_timeout_ms),
      .type = SETTING_NUMBER,
      .default_value = "10",
      .low = 1,
      .high = 1000,
      .help = "Milliseconds after which the kernel delivers a block that is not full: the maximum delay of an event at "
              "low load" },
    { .name = "af-packet.mmap-locked",
      SETTING_FIELD(af_packet_options, locked),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Map the rings with MAP_LOCKED; needs CAP_IPC_LOCK or a sufficient limit of locked memory (ulimit -l)" },
    { .name = "af-packet.bpf-filter",
      SETTING_FIELD(af_packet_options, filter),
      .type = SETTING_STRING,
      .help = "Capture only packets that match this filter in the syntax of pcap-filter(7), such as \"not port 22\"; "
              "unset: all packets" },
    { .name = "af-packet.snap-length",
      SETTING_FIELD(af_packet_options, snap_length),
      .type = SETTING_NUMBER,
      .default_value = "0",
      .low = 0,
      .high = 262144,
      .help = "Maximum number of bytes captured of each packet; 0: no limit. Longer packets are truncated and have the "
              "decoder event for truncated packets; rules on their payload do not match" },
    { .name = "af-packet.promiscuous",
      SETTING_FIELD(af_packet_options, promiscuous),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Receive frames for other hosts as well (promiscuous mode), as a mirror port needs" },
    { .name = "af-packet.checksum-checks",
      SETTING_FIELD(af_packet_options, checksums),
      .type = SETTING_ENUM,
      .default_value = "kernel",
      .choices = checksum_choices,
      .help = "Verify checksums: kernel (those that neither the kernel nor the network card has verified), yes (all "
              "except those that the network card of this host is still to compute), no (none)" },
    { .name = NULL },
};

void af_packet_options_read(const struct config *config, struct af_packet_options *out)
{
    *out = (struct af_packet_options){ .method = CAPTURE_NFQUEUE };
    config_fill(config, af_packet_settings, NULL, out);
}
