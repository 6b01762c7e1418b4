-- SPDX-License-Identifier: GPL-2.0-or-later
-- Reads everything that the libraries have of a packet and its flow.
local packets = require("suricata.packet")
local flows = require("suricata.flow")
local hashing = require("suricata.hashing")
local ints = require("suricata.flowint")
local vars = require("suricata.flowvar")

function init(sig)
    ints.register("script_packets")
    return {payload = true}
end

function thread_init()
    count = ints.get("script_packets")
    last = vars.get("script_last")
end

function match(args)
    local p = packets.get()
    local f = flows.get()
    local digest = hashing.md5_hex_digest(p:payload())

    p:tuple()
    if f then
        f:tuple()
        f:app_layer_proto()
        last:set(digest, #digest)
        count:incr()
    end
    for word in args.payload:gmatch("%a+[%d_]-%s") do
        if #word > 20 then
            return 1
        end
    end
    return digest:find("^0") and 1 or 0
end
