/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See conversation.h. All checksums are 0; the pipeline of the test does not verify them. */
#include "conversation.h"

#include <dirent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sluice/app.h"
#include "sluice/bytes.h"
#include "sluice/capture.h"

enum {
    SEGMENT = 1400,
    CLIENT_PORT = 40000,
    OTHER_PORT = 8081, /* server port for protocols without a default port */
    CLIENT_ISN = 1000,
    SERVER_ISN = 0x7ffffff0,
    LINK_HEADER = 40, /* longest IP header that this file writes */
    STEP_NS = 1000000,
    INPUT_MAX = 1 << 20,
};

static void require(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "alloc_failures: %s\n", what);
    exit(2);
}

/* --- Lists ---------------------------------------------------------------------------------------- */

static struct conversation *add_conversation(struct conversations *all, const char *name, unsigned protocol)
{
    if (all->count == all->room) {
        all->room = all->room ? 2 * all->room : 64;
        all->list = realloc(all->list, all->room * sizeof(*all->list));
        require(all->list, "no memory");
    }
    struct conversation *one = &all->list[all->count++];

    *one = (struct conversation){ .protocol = protocol };
    snprintf(one->name, sizeof(one->name), "%s", name);
    return one;
}

static void add_frame(struct conversation *one, const void *bytes, uint32_t length, uint32_t wire_length,
                      enum link_type link, uint64_t delay_ns)
{
    uint8_t *copy = malloc(length ? length : 1); /* so that a sanitizer detects reads past the end */

    if (one->count == one->room) {
        one->room = one->room ? 2 * one->room : 32;
        one->frames = realloc(one->frames, one->room * sizeof(*one->frames));
    }
    require(copy && one->frames, "no memory");
    if (length > 0)
        memcpy(copy, bytes, length);
    one->frames[one->count++] = (struct frame){
        .bytes = copy, .length = length, .wire_length = wire_length, .link = link, .delay_ns = delay_ns
    };
}

void conversations_clear(struct conversations *all)
{
    for (size_t i = 0; i < all->count; i++) {
        for (size_t k = 0; k < all->list[i].count; k++)
            free(all->list[i].frames[k].bytes);
        free(all->list[i].frames);
    }
    free(all->list);
    *all = (struct conversations){ 0 };
}

/* --- Two hosts that talk -------------------------------------------------------------------------- */

struct talk {
    struct conversation *to;
    uint8_t protocol; /* IPPROTO_TCP, IPPROTO_UDP */
    bool ipv6;
    uint16_t client_port, server_port;
    uint32_t next[2]; /* TCP: stream offset of the next byte of each side */
};

static void put16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void put32(uint8_t *at, uint32_t value)
{
    put16(at, value >> 16);
    put16(at + 2, value);
}

/* Writes an IP header of a packet from the client (0) or server (1). Returns its length. */
static uint32_t put_ip(uint8_t *at, bool ipv6, int from, uint8_t protocol, uint32_t payload)
{
    memset(at, 0, LINK_HEADER);
    if (ipv6) {
        at[0] = 0x60;
        put16(at + 4, payload);
        at[6] = protocol;
        at[7] = 64;
        at[8] = at[24] = 0xfd;
        at[23] = from == 0 ? 1 : 2;
        at[39] = from == 0 ? 2 : 1;
        return 40;
    }
    at[0] = 0x45;
    put16(at + 2, 20 + payload);
    at[6] = 0x40;
    at[8] = 64;
    at[9] = protocol;
    at[12] = at[16] = 10;
    at[15] = from == 0 ? 1 : 2;
    at[19] = from == 0 ? 2 : 1;
    return 20;
}

static void send_bytes(const struct talk *talk, const uint8_t *bytes, uint32_t length)
{
    add_frame(talk->to, bytes, length, length, LINK_RAW, talk->to->count * (uint64_t)STEP_NS);
}

static void send_segment(struct talk *talk, int from, uint8_t flags, uint32_t offset, const void *data, uint32_t length)
{
    static uint8_t packet[LINK_HEADER + 20 + SEGMENT];
    uint8_t *tcp = packet + put_ip(packet, talk->ipv6, from, IPPROTO_TCP, 20 + length);

    require(length <= SEGMENT, "the segment is too long");
    memset(tcp, 0, 20);
    put16(tcp, from == 0 ? talk->client_port : talk->server_port);
    put16(tcp + 2, from == 0 ? talk->server_port : talk->client_port);
    put32(tcp + 4, (from == 0 ? CLIENT_ISN : SERVER_ISN) + offset);
    if (flags & TCP_ACK)
        put32(tcp + 8, (from == 0 ? SERVER_ISN : CLIENT_ISN) + 1 + talk->next[!from]);
    tcp[12] = 0x50;
    tcp[13] = flags;
    put16(tcp + 14, 65000);
    if (length > 0)
        memcpy(tcp + 20, data, length);
    send_bytes(talk, packet, (uint32_t)(tcp - packet) + 20 + length);
}

static void send_datagram(struct talk *talk, int from, const void *data, uint32_t length)
{
    static uint8_t packet[LINK_HEADER + 8 + UINT16_MAX];
    uint8_t *udp = packet + put_ip(packet, talk->ipv6, from, IPPROTO_UDP, 8 + length);

    put16(udp, from == 0 ? talk->client_port : talk->server_port);
    put16(udp + 2, from == 0 ? talk->server_port : talk->client_port);
    put16(udp + 4, 8 + length);
    put16(udp + 6, 0);
    memcpy(udp + 8, data, length);
    send_bytes(talk, packet, (uint32_t)(udp - packet) + 8 + length);
}

static void begin_talk(struct talk *talk)
{
    if (talk->protocol != IPPROTO_TCP)
        return;
    send_segment(talk, 0, TCP_SYN, 0, NULL, 0);
    send_segment(talk, 1, TCP_SYN | TCP_ACK, 0, NULL, 0);
    send_segment(talk, 0, TCP_ACK, 1, NULL, 0);
}

static void send_data(struct talk *talk, int from, const void *data, uint32_t length)
{
    const uint8_t *at = data;

    if (talk->protocol == IPPROTO_UDP) {
        send_datagram(talk, from, data, length < UINT16_MAX - 100 ? length : UINT16_MAX - 100);
        return;
    }
    while (length > 0) {
        uint32_t size = length < SEGMENT ? length : SEGMENT;

        send_segment(talk, from, TCP_ACK | TCP_PSH, 1 + talk->next[from], at, size);
        talk->next[from] += size;
        at += size;
        length -= size;
    }
    send_segment(talk, !from, TCP_ACK, 1 + talk->next[!from], NULL, 0);
}

static void send_text(struct talk *talk, int from, const char *text)
{
    send_data(talk, from, text, (uint32_t)strlen(text));
}

static void end_direction(struct talk *talk, int from)
{
    if (talk->protocol != IPPROTO_TCP)
        return;
    send_segment(talk, from, TCP_ACK | TCP_FIN, 1 + talk->next[from], NULL, 0);
    talk->next[from]++;
    send_segment(talk, !from, TCP_ACK, 1 + talk->next[!from], NULL, 0);
}

/* --- The corpora of fuzz_app ---------------------------------------------------------------------- */

static size_t read_file(const char *path, uint8_t *out)
{
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(out, 1, INPUT_MAX, file) : 0;

    require(file != NULL, path);
    fclose(file);
    return size;
}

/* Adds the pieces of a fuzz input; fuzz_app.c describes the format. `is_upgraded`: after the change from HTTP to
 * WebSocket. */
static void talk_pieces(struct talk *talk, bool is_upgraded, const uint8_t *data, size_t size)
{
    bool ended[2] = { false, false };

    begin_talk(talk);
    if (is_upgraded) {
        send_text(talk, 0, "GET /chat HTTP/1.1\r\nHost: example.test\r\nUpgrade: websocket\r\n\r\n");
        send_text(talk, 1, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n");
    }
    while (size >= 3) {
        int from = data[0] & 1;
        uint32_t length = (uint32_t)data[1] << 8 | data[2];

        if (data[0] & 2)
            talk->next[from] += 10;
        if (length > size - 3)
            length = (uint32_t)size - 3;
        if (length > 0 && !ended[from])
            send_data(talk, from, data + 3, length);
        if (data[0] & 4 && !ended[from]) {
            end_direction(talk, from);
            ended[from] = true;
        }
        data += 3 + length;
        size -= 3 + length;
    }
    for (int from = 0; from < 2; from++)
        if (!ended[from])
            end_direction(talk, from);
}

static void add_input(struct conversations *all, const char *name, const struct app_proto *proto, const char *path,
                      bool passive)
{
    static uint8_t data[INPUT_MAX];
    size_t size = read_file(path, data);
    bool udp = !(proto->transports & APP_TCP) || (size > 0 && data[0] & 1 && proto->transports & APP_UDP);
    const char *ports = udp ? proto->udp_ports : proto->tcp_ports;
    struct conversation *one = add_conversation(all, name, app_id_by_name(proto->name));
    struct talk talk = {
        .to = one,
        .protocol = udp ? IPPROTO_UDP : IPPROTO_TCP,
        .client_port = CLIENT_PORT,
        .server_port = ports ? (uint16_t)atoi(ports) : OTHER_PORT,
    };

    one->passive = passive;
    if (size > 0)
        talk_pieces(&talk, strcmp(proto->name, "websocket") == 0, data + 1, size - 1);
}

static void add_corpus(struct conversations *all, const char *source, const struct app_proto *proto)
{
    char folder[4096], constant[64], path[8192], name[512];
    struct dirent **entries;

    snprintf(constant, sizeof(constant), "%s", proto->name);
    for (char *c = constant; *c; c++)
        *c = *c == '-' ? '_' : *c;
    snprintf(folder, sizeof(folder), "%s/tests/fuzz/corpus/app_%s", source, constant);
    int count = scandir(folder, &entries, NULL, alphasort);

    require(count > 0, folder);
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.') {
            snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
            snprintf(name, sizeof(name), "%s: %s", proto->name, entries[i]->d_name);
            add_input(all, name, proto, path, false);
            if (strstr(entries[i]->d_name, "gap")) /* gaps occur only in passive mode */
                add_input(all, name, proto, path, true);
        }
        free(entries[i]);
    }
    free(entries);
}

/* --- Conversations without corpus ----------------------------------------------------------------- */

static const char post[] =
    "POST /upload/report.php?id=1%2e5 HTTP/1.1\r\nHost: www.example.test\r\nUser-Agent: curl/8.5\r\n"
    "Cookie: a=b\r\nX-Forwarded-For: 192.0.2.7\r\nX-One: 1\r\nX-One: 2\r\n"
    "Content-Type: text/plain\r\nContent-Length: 60\r\n\r\n"
    "abcdefghijklmnopqrstuvwxyz the body is sixty bytes long 01234";
static const char answer[] = "HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: text/html\r\nContent-Length: 53\r\n\r\n"
                             "<html><body>answer of fifty-three bytes</body></html>";

static struct talk http_talk(struct conversation *one, bool ipv6)
{
    return (
        struct talk){ .to = one, .protocol = IPPROTO_TCP, .ipv6 = ipv6, .client_port = CLIENT_PORT, .server_port = 80 };
}

static void add_http(struct conversations *all, const char *name, bool ipv6, bool passive)
{
    struct conversation *one = add_conversation(all, name, app_id_by_name("http"));
    struct talk talk = http_talk(one, ipv6);

    one->passive = passive;
    begin_talk(&talk);
    send_text(&talk, 0, post);
    send_text(&talk, 1, answer);
    end_direction(&talk, 0);
    end_direction(&talk, 1);
}

/* An FTP control connection, and the data connection that it announces. */
static void add_ftp_data(struct conversations *all)
{
    struct conversation *one = add_conversation(all, "ftp-data: passive mode", app_id_by_name("ftp-data"));
    struct talk control = { .to = one, .protocol = IPPROTO_TCP, .client_port = CLIENT_PORT, .server_port = 21 };
    struct talk data = {
        .to = one, .protocol = IPPROTO_TCP, .client_port = CLIENT_PORT + 1, .server_port = 200 * 256 + 10
    };

    begin_talk(&control);
    send_text(&control, 1, "220 ftp.example.test FTP server\r\n");
    send_text(&control, 0, "USER anonymous\r\n");
    send_text(&control, 1, "331 Please specify the password.\r\n");
    send_text(&control, 0, "PASV\r\n");
    send_text(&control, 1, "227 Entering Passive Mode (10,0,0,2,200,10).\r\n");
    send_text(&control, 0, "RETR report.txt\r\n");
    begin_talk(&data);
    send_text(&control, 1, "150 Opening connection.\r\n");
    send_text(&data, 1, answer);
    end_direction(&data, 1);
    end_direction(&data, 0);
    send_text(&control, 1, "226 Transfer complete.\r\n");
    end_direction(&control, 0);
    end_direction(&control, 1);
}

/* Segments out of order, repeated, overlapping, and of one byte. */
static void add_reassembly(struct conversations *all, bool passive)
{
    struct conversation *one = add_conversation(all, "reassembly", 0);
    struct talk talk = http_talk(one, false);
    uint32_t length = sizeof(post) - 1, step = 24;

    one->passive = passive;
    begin_talk(&talk);
    for (uint32_t at = step; at + 2 * step < length; at += 2 * step) { /* every second piece, with gaps between */
        send_segment(&talk, 0, TCP_ACK, 1 + at, post + at, step);
        send_segment(&talk, 0, TCP_ACK, 1 + at + step / 2, post + at + step / 2, step);
    }
    for (uint32_t at = 0; at < length; at++) {
        talk.next[0] = at;
        send_segment(&talk, 0, TCP_ACK, 1 + at, post + at, 1);
        if (at % 64 == 0)
            send_segment(&talk, 1, TCP_ACK, 1, NULL, 0);
    }
    talk.next[0] = length;
    send_text(&talk, 1, answer);
    end_direction(&talk, 1);
    end_direction(&talk, 0);
}

/* --- The same in fragments and tunnels ------------------------------------------------------------ */

static void fragment4(struct conversation *to, const uint8_t *packet, uint32_t length, uint16_t id, uint64_t delay_ns)
{
    static uint8_t out[UINT16_MAX + 64];
    uint32_t payload = length - 20, step = (payload / 3 + 7) / 8 * 8;
    uint32_t order[] = { 2 * step, 0, step, 0 }; /* last fragment first, and one duplicate */

    for (unsigned i = 0; i < 4; i++) {
        uint32_t at = order[i], size = at + step < payload ? step : payload - at;

        if (at >= payload)
            continue;
        memcpy(out, packet, 20);
        put16(out + 2, 20 + size);
        put16(out + 4, id);
        put16(out + 6, (at + size < payload ? 0x2000 : 0) | at / 8);
        memcpy(out + 20, packet + 20 + at, size);
        add_frame(to, out, 20 + size, 20 + size, LINK_RAW, delay_ns + i);
    }
}

static void fragment6(struct conversation *to, const uint8_t *packet, uint32_t length, uint16_t id, uint64_t delay_ns)
{
    static uint8_t out[UINT16_MAX + 64];
    uint32_t payload = length - 40, step = (payload / 3 + 7) / 8 * 8;
    uint32_t order[] = { 2 * step, 0, step };

    for (unsigned i = 0; i < 3; i++) {
        uint32_t at = order[i], size = at + step < payload ? step : payload - at;

        if (at >= payload)
            continue;
        memcpy(out, packet, 40);
        out[6] = IPPROTO_FRAGMENT;
        put16(out + 4, 8 + size);
        out[40] = packet[6];
        out[41] = 0;
        put16(out + 42, at | (at + size < payload));
        put32(out + 44, id);
        memcpy(out + 48, packet + 40 + at, size);
        add_frame(to, out, 48 + size, 48 + size, LINK_RAW, delay_ns + i);
    }
}

static void fragment(struct conversation *to, const uint8_t *packet, uint32_t length, uint16_t id, uint64_t delay_ns)
{
    if (packet[0] >> 4 == 6)
        fragment6(to, packet, length, id, delay_ns);
    else
        fragment4(to, packet, length, id, delay_ns);
}

enum tunnel { TUNNEL_IP, TUNNEL_GRE, TUNNEL_VXLAN, TUNNEL_TEREDO, TUNNELS };

static uint32_t put_tunnel(uint8_t *out, enum tunnel tunnel, const uint8_t *packet, uint32_t length)
{
    static const uint8_t ethernet[14] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0 };
    uint32_t head = tunnel == TUNNEL_IP ? 0 : tunnel == TUNNEL_GRE ? 4 : tunnel == TUNNEL_VXLAN ? 8 + 8 + 14 : 8;
    bool ipv6 = packet[0] >> 4 == 6;
    uint8_t protocol =
        tunnel == TUNNEL_IP ? (ipv6 ? IPPROTO_IPV6 : IPPROTO_IPIP) : (tunnel == TUNNEL_GRE ? IPPROTO_GRE : IPPROTO_UDP);
    uint8_t *at = out + put_ip(out, false, 0, protocol, head + length);

    out[15] = 101; /* addresses that differ from the inner ones */
    out[19] = 102;
    memset(at, 0, head);
    if (tunnel == TUNNEL_GRE)
        put16(at + 2, ipv6 ? 0x86dd : 0x0800);
    if (tunnel == TUNNEL_VXLAN || tunnel == TUNNEL_TEREDO) {
        uint16_t port = tunnel == TUNNEL_VXLAN ? 4789 : 3544;

        put16(at, port);
        put16(at + 2, port);
        put16(at + 4, head + length);
    }
    if (tunnel == TUNNEL_VXLAN) {
        at[8] = 8;
        at[14] = 7;
        memcpy(at + 16, ethernet, sizeof(ethernet));
        if (ipv6)
            put16(at + 28, 0x86dd);
    }
    memcpy(at + head, packet, length);
    return (uint32_t)(at - out) + head + length;
}

static void add_carried(struct conversations *all, bool ipv6)
{
    static const char *const names[] = { "tunnel: IP in IP", "tunnel: GRE", "tunnel: VXLAN", "tunnel: Teredo" };
    static uint8_t out[UINT16_MAX];
    struct conversations plain = { 0 };

    add_http(&plain, "", ipv6, false);
    const struct conversation *from = &plain.list[0];
    struct conversation *fragments = add_conversation(all, ipv6 ? "fragments: IPv6" : "fragments: IPv4", 0);

    for (size_t i = 0; i < from->count; i++)
        fragment(fragments, from->frames[i].bytes, from->frames[i].length, (uint16_t)(i + 1), from->frames[i].delay_ns);
    for (enum tunnel tunnel = 0; tunnel < TUNNELS; tunnel++) {
        if (tunnel == TUNNEL_TEREDO && !ipv6)
            continue;
        struct conversation *one = add_conversation(all, names[tunnel], 0);

        for (size_t i = 0; i < from->count; i++) {
            uint32_t length = put_tunnel(out, tunnel, from->frames[i].bytes, from->frames[i].length);

            add_frame(one, out, length, length, LINK_RAW, from->frames[i].delay_ns);
        }
    }
    conversations_clear(&plain);
}

/* A datagram, and an ICMP error that quotes it. */
static void add_icmp(struct conversations *all)
{
    struct conversation *one = add_conversation(all, "icmp error", 0);
    struct talk talk = { .to = one, .protocol = IPPROTO_UDP, .client_port = CLIENT_PORT, .server_port = 9999 };
    uint8_t packet[LINK_HEADER + 64];

    send_text(&talk, 0, "to a port where nobody listens");
    uint8_t *icmp = packet + put_ip(packet, false, 1, IPPROTO_ICMP, 8 + 28);

    memset(icmp, 0, 8);
    icmp[0] = icmp[1] = 3;
    memcpy(icmp + 8, one->frames[0].bytes, 28);
    send_bytes(&talk, packet, 20 + 8 + 28);
}

void conversations_add_built_in(struct conversations *all, const char *source)
{
    for (size_t i = 0; i < app_list_count; i++)
        add_corpus(all, source, app_list[i]);
    add_ftp_data(all);
    add_http(all, "http: post", false, false);
    add_http(all, "http: post, passive", false, true);
    add_reassembly(all, false);
    add_reassembly(all, true);
    add_carried(all, false);
    add_carried(all, true);
    add_icmp(all);
}

/* --- Captures ------------------------------------------------------------------------------------- */

static void add_capture(struct conversations *all, const char *path)
{
    struct packet *batch[CAPTURE_MAX_BATCH];
    char error[CAPTURE_ERROR_SIZE];
    struct capture *capture = NULL;
    uint64_t first_ns = 0;
    int count;

    if (pcap_file_open(&capture, path, 0, error))
        return;
    struct conversation *one = add_conversation(all, strrchr(path, '/') ? strrchr(path, '/') + 1 : path, 0);

    one->sampled = true;
    while ((count = capture_receive(capture, batch, CAPTURE_MAX_BATCH, 0)) >= 0)
        for (int i = 0; i < count; i++) {
            const struct packet *pkt = batch[i];

            if (first_ns == 0)
                first_ns = pkt->time_ns;
            add_frame(one, pkt->data, pkt->length, pkt->wire_length, pkt->link,
                      pkt->time_ns > first_ns ? pkt->time_ns - first_ns : 0);
        }
    capture_close(capture);
}

void conversations_add_captures(struct conversations *all, const char *path, uint64_t largest)
{
    struct dirent **entries;
    struct stat status;
    char inside[8192];

    require(stat(path, &status) == 0, path);
    if (S_ISREG(status.st_mode) && (uint64_t)status.st_size <= largest)
        add_capture(all, path);
    if (!S_ISDIR(status.st_mode))
        return;
    int count = scandir(path, &entries, NULL, alphasort);

    for (int i = 0; i < count; i++) {
        snprintf(inside, sizeof(inside), "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            conversations_add_captures(all, inside, largest);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}
