#!/usr/bin/env bash
# How many calls of the server API one node answers: messages of 200 bytes posted into one room, and pages of 50 messages
# of its history read, over connections that are kept. CPU is all of the node's; wrk shares the machine with it.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

seconds=5 counts='1 32' rounds=3
option seconds S 'length of one measurement'
option counts LIST 'connections'
option rounds N 'how often each is measured'
quick seconds=2 rounds=1
read_options "$@"
command -v wrk >/dev/null || fail 'the load client is wrk: apt-get install wrk'
begin api

machine
start_node
http POST "$node_api" /v1/rooms '{"id":"calls","creator":"ann"}' "$node_admin_key"
[[ $http_status == 2?? ]] || fail "the room is not made ($http_status): $http_body"
# Pages are whole from the beginning on.
for ((i = 0; i < 60; i++)); do
    http POST "$node_api" /v1/rooms/calls/messages "{\"type\":\"TEXT\",\"text\":\"$(printf '%0200d' "$i")\"}" "$node_admin_key"
done
say '| call | connections | calls/s | p50 ms | p99 ms | CPU of the node, us a call |'
say '|---|---|---|---|---|---|'
for method in POST GET; do
    for connections in $counts; do
        for ((round = 1; round <= rounds; round++)); do
            before=$(cpu_ms n1)
            line=$(CHATROOM_ADMIN_KEY=$node_admin_key ROOM=calls METHOD=$method wrk -t1 -c"$connections" -d"${seconds}s" \
                -s "$root/tools/benchmarks/api/post.lua" "http://$node_api/" | tail -n 1)
            read -r requests rate p50 p99 failed <<<"$line"
            ((failed == 0)) || fail "$failed calls of $method failed."
            cpu=$(awk -v a="$before" -v b="$(cpu_ms n1)" -v n="$requests" 'BEGIN { printf "%.0f", (b - a) * 1000 / n }')
            say "{\"method\":\"$method\",\"connections\":$connections,\"rate\":$rate,\"cpu\":$cpu}" >>"$raw"
            say "| $method messages | $connections | $(thousands "$rate") | $p50 | $p99 | $cpu |"
        done
    done
done
