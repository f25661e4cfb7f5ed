-- Posts messages of 200 bytes into one room, or reads its newest page of history, as METHOD says.
local key = os.getenv("CHATROOM_ADMIN_KEY")
local room = os.getenv("ROOM")
local method = os.getenv("METHOD")
local headers = { ["Authorization"] = "Bearer " .. key, ["Content-Type"] = "application/json" }
local body = method == "POST" and '{"type":"TEXT","sender":"ann","text":"' .. string.rep("x", 200) .. '"}' or nil
local target = "/v1/rooms/" .. room .. "/messages" .. (method == "GET" and "?limit=50" or "")

request = function() return wrk.format(method, target, headers, body) end

done = function(summary, latency)
    local errors = summary.errors
    local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
    io.write(string.format("%d %.0f %.2f %.2f %d\n", summary.requests, summary.requests / summary.duration * 1e6,
        latency:percentile(50) / 1000, latency:percentile(99) / 1000, failed))
end
