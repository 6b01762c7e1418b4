/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private declarations of HTTP/1:
 *
 *   http.c         the protocol descriptor: detection, state, transactions
 *   feed.c         lines and gaps; calls the steps below until the bytes are consumed
 *   request.c      steps of the client's direction
 *   response.c     steps of the server's direction
 *   framing.c      the length of a request's body, as each dialect (a group of servers) determines it
 *   reading.c      alternative readings of requests on which the dialects differ
 *   alternative.c  alternative readings of responses on which clients differ
 *   head.c         header lines and trailers
 *   name.c         header names
 *   uri.c          the parts of the URI, normalised as by the server in the settings
 *   host.c         host names, ports, numbers
 *   body.c         bodies: limits, files
 *   disposition.c  file names
 *   decode.c       content encodings
 *   multipart.c    files in forms
 *   content.c      the buffers for rules
 *   buffers.c      their keywords and the table of buffers
 *   urilen.c, common.c   conditions on lengths; common texts for the prefilter
 *   transfer.c     state transfer to another process
 *   log.c          the object "http" of events
 *   settings.c     settings
 *   events.c       anomalies in messages
 *
 * A reading is one interpretation of the bytes, with a parser and transactions of its own. The main reading of requests
 * is that of lenient servers, the main reading of responses that of browsers. Alternative readings exist only while a
 * flow has bytes that other servers or clients interpret in a different way.
 *
 * A message stores its first line and headers once, as received, in `head`; texts refer to them by offset, because the
 * buffer moves when it grows. Texts that are not contiguous in `head` (folded, repeated or normalised ones) are stored
 * in `extra`.
 *
 * Ownership: the buffers belong to the message, which belongs to its transaction. The state refers to open transactions
 * only.
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
