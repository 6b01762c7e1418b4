-- SPDX-License-Identifier: GPL-2.0-or-later
-- Handler of Apache's mod_lua: answers with the parts of the request that Apache has read.
function handle(r)
    local body = r:requestbody() or ""
    local h = r.headers_in
    r:write("S=<served>\nU=<" .. r.unparsed_uri .. " " .. r.uri .. " " .. (r.args or "") .. ">\nM=<" .. r.method .. ">\nH=<" .. (h["X-M"] or "") ..
        ">\nC=<" .. (h["Cookie"] or "") .. ">\nA=<" .. (h["User-Agent"] or "") .. ">\nB=<" .. body .. ">\n")
    return apache2.OK
end
