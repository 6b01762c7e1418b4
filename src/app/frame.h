/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of frames (frame.c), for the application framework; parsers use the functions in sluice/app.h.
 */
#ifndef SLUICE_APP_FRAME_H
#define SLUICE_APP_FRAME_H

#include "app_priv.h"

/* Announces the frame of the whole direction, and ends it with the direction. Called before the parser. */
void app_frame_stream(struct app_context *context, const struct app_input *in);
/* Ends the frames whose length is not known, because another protocol follows. */
void app_end_frames(struct app_flow *af);
void app_free_frames(struct app *app, struct app_flow *af);

#endif
