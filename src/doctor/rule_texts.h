/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of rules in the findings of a report, from a listing of nft. */
#ifndef SLUICE_DOCTOR_RULE_TEXTS_H
#define SLUICE_DOCTOR_RULE_TEXTS_H

#include "sluice/doctor.h"

/* Sets the text of each finding with an nft rule that `listing` has; the texts of other findings stay. `listing` is the
 * output of `nft --handle --stateless list ruleset`. Unprintable bytes of it are replaced. */
void doctor_set_rule_texts(struct doctor_report *report, const char *listing);

#endif
