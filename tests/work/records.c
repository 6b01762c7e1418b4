/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Floods of records: TLS, DNS, SMB, DCE/RPC, NFS, Kerberos, IKE. */
#include "work.h"

const struct flood record_floods[] = { { 0 } };
const size_t record_flood_count = 0;
