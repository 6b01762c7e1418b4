/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands of `sluice blocklist` for the lists of hosts and networks to block. */
#include "service.h"

#include "daemon/attachment.h"
#include "sluice/text.h"

void service_list_blocklists(void *user, struct control_request *request)
{
    const struct service *service = user;

    if (!attachment_describe_lists(service->options.attachment, control_answer(request)))
        control_fail(request, "there is no blocklist: set nft.attach, and nft.blocklist.enabled: yes");
}

void service_reread_blocklists(void *user, struct control_request *request)
{
    const struct service *service = user;
    uint64_t reading = attachment_reread_lists(service->options.attachment, NULL);

    if (reading > 0)
        json_uint(control_answer(request), NULL, reading);
    else
        control_fail(request, "there is no blocklist: set nft.attach, and nft.blocklist.enabled: yes");
}
