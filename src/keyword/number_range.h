/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The form of numbers is public: protocols have keywords of it, too. */
#include "sluice/number_range.h"
