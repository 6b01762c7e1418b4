-- SPDX-License-Identifier: GPL-2.0-or-later
-- Reads what the libraries have of a transaction, whatever its protocol is.
local names = {"http", "dns", "tls", "ssh", "smtp", "ja3"}
local libraries = {}

function init(sig)
    return {}
end

function thread_init()
    for _, name in ipairs(names) do
        libraries[name] = require("suricata." .. name)
    end
end

function match(args)
    local found = 0

    for _, name in ipairs(names) do
        local tx = libraries[name].get_tx()

        if tx then
            for method, call in pairs(tx) do
                if call(tx, "Host") ~= nil then
                    found = found + 1
                end
            end
        end
    end
    return found > 3 and 1 or 0
end
