#!/usr/bin/env bash
# Rooms at rest: creates many rooms over the server API, then reads what the node's memory has grown by, kills it with
# kill -9 and times how long it takes until it is ready again with the same data.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

rooms=1000000 connections=32
option rooms N 'create at least so many'
option connections C 'connections to the server API'
quick rooms=20000
read_options "$@"
command -v wrk >/dev/null || fail 'the load client is wrk: apt-get install wrk'
begin rooms

resident_kb() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$node_pid/status"; }
megabytes() { awk -v kb="$1" 'BEGIN { printf "%.1f", kb / 1000 }'; }

machine
start_node
before=$(resident_kb)
say "Resident before: $(megabytes "$before") MB"
created=0 round=0
while ((created < rooms)); do
    round=$((round + 1))
    line=$(CHATROOM_ADMIN_KEY=$node_admin_key ROOM_PREFIX=rest-$round wrk -t1 -c"$connections" -d20s \
        -s "$root/tools/benchmarks/rooms/create.lua" "http://$node_api/" | grep '^created=')
    [[ $line == *failed=0 ]] || fail "some rooms were refused: $line"
    some=${line#created=}
    created=$((created + ${some%% *}))
    say "$(thousands "$created") rooms: $(megabytes "$(resident_kb)") MB resident"
done
after=$(resident_kb)
say "Memory has grown by $(megabytes $((after - before))) MB."

kill -9 "$node_pid"
while kill -0 "$node_pid" 2>/dev/null; do sleep 0.01; done
began=$(date +%s.%N)
start_again
say "After kill -9 ready again in $(awk -v a="$began" -v b="$(date +%s.%N)" 'BEGIN { printf "%.2f", b - a }') s, the script included."
say "Resident then: $(megabytes "$(resident_kb)") MB"
http GET "$node_api" "/v1/rooms/rest-$round-$((${some%% *} - connections))" '' "$node_admin_key"
[[ $http_status == 200 ]] || fail "one of the last rooms is missing ($http_status): $http_body"
