/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A conversation between a client and a server, played through two pipelines with an engine hand-over before one of its
 * steps. */
#ifndef SLUICE_TEST_HANDOVER_TALK_H
#define SLUICE_TEST_HANDOVER_TALK_H

#include "handover_rig.h"

enum { NEXT = -2, TOLD = 16384, UDP = 0x100 };

struct step {
    int from;       /* RIG_CLIENT or RIG_SERVER */
    unsigned flags; /* TCP flags, or UDP; 0: TCP data */
    int64_t offset; /* stream offset, or NEXT for the next byte in order */
    const char *text;
    size_t length; /* 0: length of the text */
};

struct conversation {
    const char *name, *rules, *yaml;
    bool passive, no_handshake;
    struct step steps[32];
};

#define SAY(who, at, data)                                                                                             \
    {                                                                                                                  \
        who, 0, at, data, 0                                                                                            \
    }
#define CLIENT(data) SAY(RIG_CLIENT, NEXT, data)
#define SERVER(data) SAY(RIG_SERVER, NEXT, data)
#define CLIENT_AT(at, data) SAY(RIG_CLIENT, at, data)
#define FINISH(who)                                                                                                    \
    {                                                                                                                  \
        who, TCP_ACK | TCP_FIN, NEXT, "", 0                                                                            \
    }
#define DATAGRAM(who, data)                                                                                            \
    {                                                                                                                  \
        who, UDP, 0, data, 0                                                                                           \
    }
#define ALERT(sid, options) "alert tcp any any -> any any (" options "; sid:" #sid ";)\n"

/* The text that describes alerts, verdicts and events: at most TOLD bytes. */
struct teller {
    char *out;
    size_t at;
};

/* Writes the result of the last packet: its hits, the number of alerts, verdict and events. Returns the length. */
size_t talk_tell_packet(char *out, size_t size, const char *hits, uint64_t reported);
/* Appends the state of a flow; `user` is a struct teller. For flow_table_each(). */
void talk_tell_flow(struct flow *flow, void *user);

/* Hands over to a pipeline with the rules and settings of the conversation. With HANDOVER_CORPUS, stores the written
 * files in that folder; tests/fuzz/corpus/handover is made in this way. */
void talk_hand_over(const struct conversation *talk, int cut);
/* Plays the conversation with a hand-over before step `cut` (step 0 follows the handshake; -1: none); writes alerts,
 * verdicts and events to `out`. */
void talk_play(const struct conversation *talk, int cut, char out[TOLD]);
/* Fails if a hand-over before any step changes the result. */
void talk_check_all_cuts(const struct conversation *talk);

#endif
