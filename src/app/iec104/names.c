/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the types of ASDUs (IEC 60870-5-101 7.2.1, IEC 60870-5-104 8) and of the functions of U messages. */
#include <string.h>
#include <strings.h>

#include "iec104_priv.h"

static const char *const types[] = {
    [1] = "M_SP_NA_1",   [2] = "M_SP_TA_1",   [3] = "M_DP_NA_1",   [4] = "M_DP_TA_1",   [5] = "M_ST_NA_1",
    [6] = "M_ST_TA_1",   [7] = "M_BO_NA_1",   [8] = "M_BO_TA_1",   [9] = "M_ME_NA_1",   [10] = "M_ME_TA_1",
    [11] = "M_ME_NB_1",  [12] = "M_ME_TB_1",  [13] = "M_ME_NC_1",  [14] = "M_ME_TC_1",  [15] = "M_IT_NA_1",
    [16] = "M_IT_TA_1",  [17] = "M_EP_TA_1",  [18] = "M_EP_TB_1",  [19] = "M_EP_TC_1",  [20] = "M_PS_NA_1",
    [21] = "M_ME_ND_1",  [30] = "M_SP_TB_1",  [31] = "M_DP_TB_1",  [32] = "M_ST_TB_1",  [33] = "M_BO_TB_1",
    [34] = "M_ME_TD_1",  [35] = "M_ME_TE_1",  [36] = "M_ME_TF_1",  [37] = "M_IT_TB_1",  [38] = "M_EP_TD_1",
    [39] = "M_EP_TE_1",  [40] = "M_EP_TF_1",  [45] = "C_SC_NA_1",  [46] = "C_DC_NA_1",  [47] = "C_RC_NA_1",
    [48] = "C_SE_NA_1",  [49] = "C_SE_NB_1",  [50] = "C_SE_NC_1",  [51] = "C_BO_NA_1",  [58] = "C_SC_TA_1",
    [59] = "C_DC_TA_1",  [60] = "C_RC_TA_1",  [61] = "C_SE_TA_1",  [62] = "C_SE_TB_1",  [63] = "C_SE_TC_1",
    [64] = "C_BO_TA_1",  [70] = "M_EI_NA_1",  [100] = "C_IC_NA_1", [101] = "C_CI_NA_1", [102] = "C_RD_NA_1",
    [103] = "C_CS_NA_1", [104] = "C_TS_NA_1", [105] = "C_RP_NA_1", [106] = "C_CD_NA_1", [107] = "C_TS_TA_1",
    [110] = "P_ME_NA_1", [111] = "P_ME_NB_1", [112] = "P_ME_NC_1", [113] = "P_AC_NA_1", [120] = "F_FR_NA_1",
    [121] = "F_SR_NA_1", [122] = "F_SC_NA_1", [123] = "F_LS_NA_1", [124] = "F_AF_NA_1", [125] = "F_SG_NA_1",
    [126] = "F_DR_TA_1", [127] = "F_SC_NB_1",
};
enum { TYPES = sizeof(types) / sizeof(types[0]) };

const char *iec104_type_name(uint8_t type)
{
    return type < TYPES ? types[type] : NULL;
}

uint8_t iec104_find_type(const char *name, size_t length)
{
    for (unsigned i = 0; i < TYPES; i++)
        if (types[i] && strlen(types[i]) == length && strncasecmp(types[i], name, length) == 0)
            return (uint8_t)i;
    return 0;
}

const char *iec104_function_name(uint8_t function)
{
    switch (function) {
    case 0x07:
        return "startdt_act";
    case 0x0b:
        return "startdt_con";
    case 0x13:
        return "stopdt_act";
    case 0x23:
        return "stopdt_con";
    case 0x43:
        return "testfr_act";
    case 0x83:
        return "testfr_con";
    default:
        return NULL;
    }
}
