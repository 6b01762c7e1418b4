/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private declarations of HTTP/1:
 *
 *   http.c         the protocol descriptor: detection, state, transactions
 *   feed.c         lines and gaps; calls the steps below until the bytes are consumed
 *   request.c      steps of the client's direction
 *   response.c     steps of the server's direction
 *   framing.c      the end of a request's body, by the dialects of servers
 *   reading.c      alternative readings of requests on which the dialects differ
 *   alternative.c  alternative readings of responses that clients read in different ways
 *   head.c         parsing of the lines before a body into texts and headers
 *   name.c         header names
 *   uri.c          the parts of the URI and their normalisation by server type
 *   host.c         host names, ports, numbers
 *   body.c         bodies: limits, files
 *   disposition.c  file names
 *   decode.c       content encodings
 *   multipart.c    files in forms
 *   content.c      the buffers for rules
 *   buffers.c      their keywords and the table of buffers
 *   urilen.c, common.c   conditions on lengths; common texts for the prefilter
 *   transfer.c     transfer of open messages to another process
 *   log.c          the object "http" of events
 *   settings.c     settings
 *   events.c       anomalies in messages
 *
 * The line and the headers of a message are copied once, as received, into its `head`; everything else refers to a
 * position in it. Texts that are not contiguous there (folded, repeated, or normalised ones) are stored in `extra`.
 * Positions are offsets, because both buffers move when they grow.
 *
 * Ownership: the buffers belong to the message, which belongs to its transaction. A state refers only to open
 * transactions.
 */
#ifndef APP_HTTP_PRIV_H
#define APP_HTTP_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/app.h"
#include "sluice/fields.h"
#include "sluice/file.h"
#include "sluice/heap.h"
#include "sluice/keyword.h"

#include "names.h"
#include "message.h"
#include "state.h"
#include "parse.h"
#include "content.h"

#endif
