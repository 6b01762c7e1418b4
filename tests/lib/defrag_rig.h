/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions for tests of defragmentation: send fragments of text to a defragmenter, and check the whole packet. */
#ifndef DEFRAG_RIG_H
#define DEFRAG_RIG_H

#include "fragments.h"
#include "sluice/decode_event.h"
#include "sluice/defrag.h"

static const int versions[] = { 4, 6 };

extern struct defragging defrag_rig; /* the defragmenter of the running test */

void defrag_rig_open_with(bool inline_mode, enum host_os (*of)(const void *, int, const struct address *),
                          const void *user);

void defrag_rig_open_inline(void);
void defrag_rig_open_passive(void);
void defrag_rig_close(void);
enum defrag_result defrag_rig_send_text(int version, uint32_t id, uint32_t offset, bool more, const char *text);

/* Sends a fragment that contains the letter `length` times. */
enum defrag_result defrag_rig_send_letter(int version, uint32_t id, char letter, uint32_t offset, size_t length,
                                          bool more);

bool defrag_rig_has_event(int version, enum decode_event ipv4, enum decode_event ipv6);
bool defrag_rig_overlapped(int version);

/* Checks the header of the reassembled packet, and that its payload is the text. */
void defrag_rig_check_whole(int version, const char *text);

enum { MODEL_UNITS = 40 };

struct defrag_model {
    int letter[MODEL_UNITS]; /* 0: missing */
    unsigned start[MODEL_UNITS];
};

extern uint64_t defrag_rig_random_state;

unsigned defrag_rig_random(unsigned bound);
bool defrag_model_complete(const struct defrag_model *model, unsigned units);
void defrag_model_check(const struct defrag_model *model, int version, unsigned units);

#endif
