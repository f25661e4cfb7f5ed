-- Creates rooms with ascending names; for wrk with one thread.
local key = os.getenv("CHATROOM_ADMIN_KEY")
local prefix = os.getenv("ROOM_PREFIX")
local number = 0

function request()
    number = number + 1
    local body = string.format('{"id":"%s-%d","creator":"bench","name":"Room %d"}', prefix, number, number)
    return wrk.format("POST", "/v1/rooms", {Authorization = "Bearer " .. key, ["Content-Type"] = "application/json"}, body)
end

-- One line for the script: how many rooms were created, how many requests failed.
function done(summary, latency, requests)
    local errors = summary.errors
    local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
    io.write(string.format("created=%d failed=%d\n", summary.requests - errors.status, failed))
end
