-- SPDX-License-Identifier: GPL-2.0-or-later
function transform(input, args)
    local out = input:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end) .. args[1]

    return out, #out
end
