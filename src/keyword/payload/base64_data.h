/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLUICE_KEYWORD_BASE64_DATA_H
#define SLUICE_KEYWORD_BASE64_DATA_H

#include "sluice/keyword.h"

extern const struct keyword keyword_base64_data, keyword_base64_decode;

#endif
