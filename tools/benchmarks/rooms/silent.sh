#!/usr/bin/env bash
# Rooms in memory where nothing happens: so many rooms with one silent member each. It measures the CPU and the longest
# turn of the node with these rooms, and without them.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

rooms=50000 rooms_each=10 seconds=30
option rooms N 'in memory'
option rooms_each N 'of one connection'
option seconds S 'length of each measurement'
quick rooms=2000 seconds=10
read_options "$@"
command -v wrk >/dev/null || fail 'rooms are created by wrk: apt-get install wrk'
connections=$(((rooms + rooms_each - 1) / rooms_each))
need_files $((connections + 500)) || fail "so many connections need more open files; or give --rooms-each more than $rooms_each."
build_clients rooms
begin silent

# The members do not ping, and nobody asks them to.
export CHATROOM_SESSION_HEARTBEAT_SECONDS=3600 CHATROOM_SESSION_ROOMS=$rooms_each
start_node

metric() {
    http GET "$node_api" /metrics '' "$node_admin_key"
    sed -n "s/^$1 //p" <<<"$http_body"
}

resident_kb() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$node_pid/status"; }

# measure WHAT: a line of the table.
measure() {
    local before turns cpu
    before=$(cpu_ms n1) turns=$(turn_counts chatroom_loop_turn_cpu_seconds)
    sleep "$seconds"
    cpu=$(awk -v a="$before" -v b="$(cpu_ms n1)" -v s="$seconds" 'BEGIN { printf "%.2f", (b - a) / s / 10 }')
    turns=$(longest_turn "$turns" "$(turn_counts chatroom_loop_turn_cpu_seconds)")
    say "| $1 | $(thousands "$(metric chatroom_rooms_active)") | $cpu | $turns | $(($(resident_kb) / 1000)) |"
    say "{\"what\":\"$1\",\"cpuPercent\":$cpu,\"longestTurnMs\":$turns}" >>"$raw"
}

machine
say "$(thousands "$rooms") rooms with a silent member each, on $(thousands "$connections") connections."
say
say '| | rooms in memory | CPU, % of a core | longest turn below, ms of CPU | resident, MB |'
say '|---|---|---|---|---|'
line=$(CHATROOM_ADMIN_KEY=$node_admin_key ROOM_PREFIX=silent wrk -t1 -c32 -d$((rooms / 900 + 5))s \
    -s "$root/tools/benchmarks/rooms/create.lua" "http://$node_api/" | grep '^created=')
[[ $line == *failed=0 ]] || fail "some rooms were refused: $line"
created=${line#created=}
((${created%% *} >= rooms)) || fail "only ${created%% *} rooms were created."
# The first request of the script is wrk's own, and is never sent.
http POST "$node_api" /v1/rooms '{"id":"silent-1","creator":"bench"}' "$node_admin_key"
# Until they have left memory.
for ((waited = 0; $(metric chatroom_rooms_active) > 0; waited++)); do
    ((waited < 120)) || fail 'the rooms do not leave memory.'
    sleep 1
done
measure 'nobody'
said=$bench_dir/silent.txt
background "$bench_dir/silentload" --port "$node_port" --prefix silent --rooms "$rooms" --rooms-each "$rooms_each" \
    --sources $((connections / 20000 + 1)) "${key_options[@]}" >"$said"
until grep -q inside "$said"; do
    kill -0 "$background_pid" 2>/dev/null || fail 'the load client has failed.'
    sleep 1
done
# The first counts have been told, and what the enters changed is written.
sleep 30
measure 'a silent member each'
