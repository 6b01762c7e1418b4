/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Floods of lines: SMTP with its messages, FTP, SSH. */
#include "work.h"

const struct flood mail_floods[] = { { 0 } };
const size_t mail_flood_count = 0;
