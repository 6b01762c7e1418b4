/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SMB 1 to 3 ([MS-CIFS], [MS-SMB], [MS-SMB2]) over NetBIOS sessions (RFC 1002) and directly over TCP.
 *
 * A request with its response is a transaction, as in Suricata: negotiation, session setup, tree connect, create,
 * ioctl, rename and others. All data read from one open file, or written to it, is one transaction until the file is
 * closed; DCE/RPC in a pipe has one transaction per call. Reads and writes themselves are not transactions.
 *
 * Responses do not repeat the parameters of their requests, so small tables store names of open files, trees and
 * offsets of reads under the ids in the headers. A full table drops its oldest entry. File data is passed to the file
 * engine as it is received; other records are parsed when they are complete, and only up to SMB_RECORD_MAX bytes.
 */
#ifndef SLUICE_APP_SMB_PRIV_H
#define SLUICE_APP_SMB_PRIV_H

#include "app/dcerpc/dce.h"
#include "sluice/app.h"
#include "sluice/bytes.h"

#include "table.h"
#include "tx.h"
#include "parser.h"
#include "messages.h"

#endif
