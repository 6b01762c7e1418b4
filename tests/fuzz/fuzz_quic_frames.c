/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of QUIC's Initial packets, which app_quic cannot reach: an input that is changed does not decrypt. Here the
 * input is the plaintext, and each packet is encrypted before the parser gets it.
 *
 * Input: the first byte selects version 1 or 2. Then follow packets: a byte of flags (1: from the server), two bytes of
 * length in network order, and the frames.
 *
 * Contract: no crash; all memory is freed; logs are well-formed; and the result is the same when each packet arrives
 * twice.
 */
#include "../lib/app_rig.h"
#include "../lib/quic_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void send_packet(struct app_rig *rig, uint32_t version, bool from_server, const struct bytes *frames,
                        unsigned copies)
{
    static struct bytes datagram;
    const struct quic_initial initial = {
        .version = version,
        .destination = from_server ? "clientid" : "firstkey",
        .source = from_server ? "serverid" : "clientid",
        .key_id = "firstkey",
        .from_server = from_server,
    };

    datagram.length = 0;
    put_initial(&datagram, &initial, frames);
    for (unsigned i = 0; i < copies; i++)
        app_rig_send(rig, from_server ? FLOW_TO_CLIENT : FLOW_TO_SERVER, datagram.at, datagram.length);
}

static bool run(const uint8_t *data, size_t size, unsigned copies, struct text *out)
{
    struct app_rig *rig = app_rig_new_alone("quic", 8 << 20);
    uint32_t version = size > 0 && data[0] & 1 ? 0x6b3343cf : 1;
    static struct bytes frames;
    bool failed;

    rig->tidy = true;
    rig->flow.server_port = 443;
    frames.length = 0;
    put_u8(&frames, 0x01); /* PING: the connection exists before the first packet of the input */
    send_packet(rig, version, false, &frames, 1);
    if (size > 0) {
        data++;
        size--;
    }
    while (size >= 3) {
        size_t length = (size_t)data[1] << 8 | data[2];

        if (length > size - 3)
            length = size - 3;
        frames.length = 0;
        put_bytes(&frames, data + 3, length);
        send_packet(rig, version, data[0] & 1, &frames, copies);
        data += 3 + length;
        size -= 3 + length;
    }
    failed = rig->failed;
    app_rig_close(rig);
    for (uint64_t id = 0; id < rig->json_count && rig->json[id].bytes; id++)
        text_printf(out, "%s\n", app_rig_json(rig, id));
    app_rig_free(rig);
    return failed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text once = { 0 }, twice = { 0 };
    bool failed = run(data, size, 1, &once);

    if (run(data, size, 2, &twice) != failed || once.length != twice.length ||
        (once.length > 0 && memcmp(once.bytes, twice.bytes, once.length) != 0)) {
        fprintf(stderr, "once:\n%s\ntwice:\n%s\n", once.bytes, twice.bytes);
        abort();
    }
    text_clear(&once);
    text_clear(&twice);
    return 0;
}
