/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands of Suricata that Sluice does not have: the answer says why, and what to use instead. */
#include "service.h"

void service_refuse_tenant(void *user, struct control_request *request)
{
    (void)user;
    control_fail(request,
                 "multi-tenant support not enabled: Sluice has one ruleset; give rules the addresses of a tenant "
                 "by address groups, or run one daemon per tenant with queues of its own");
}

void service_refuse_json_dataset(void *user, struct control_request *request)
{
    (void)user;
    control_fail(request,
                 "datasets have no JSON values in Sluice: use dataset-add, and datarep for a number per value");
}

void service_refuse_pcap(void *user, struct control_request *request)
{
    (void)user;
    control_fail(request, "this daemon reads queues: capture files are inspected by `sluice replay FILE`, and by "
                          "`sluice replay --unix-socket=PATH`, whose socket has the pcap commands");
}
