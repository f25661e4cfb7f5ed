#!/usr/bin/env bash
# How long a room is without a leader: kills the node that leads it with kill -9, and takes the time until another node
# has acked the next message to it; again and again, with a new leader each time.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

trials=30 nodes=3
option trials T ''
option nodes N ''
quick trials=3
read_options "$@"
begin failover

now_ms() { printf '%s' $((${EPOCHREALTIME/[.,]/} / 1000)); }

bench_nodes=$nodes
start_node
create_room failover
machine
lost=0 sent=0
for ((trial = 1; trial <= trials; trial++)); do
    victim=$(leader_of failover "$(node_field n1 api)")
    [[ -n $victim ]] || fail 'the room has no leader.'
    other=n1
    [[ $victim != n1 ]] || other=n2
    api=$(node_field "$other" api)
    kill -9 "$(node_field "$victim" pid)"
    began=$(now_ms)
    while true; do
        http POST "$api" /v1/rooms/failover/messages "{\"type\":\"TEXT\",\"text\":\"$trial\"}" "$node_admin_key"
        [[ $http_status != 2?? ]] || break
        (($(now_ms) - began < 30000)) || fail "no leader for 30 s after $victim was killed ($http_status): $http_body"
    done
    took=$(($(now_ms) - began))
    sent=$((sent + 1))
    say "$took" >>"$raw"
    # The dead node is started again, and all three replicas are there before the next one dies.
    start_again --nodes "$nodes"
done
http GET "$(node_field n1 api)" "/v1/rooms/failover/messages?limit=100" '' "$node_admin_key"
for ((trial = 1; trial <= trials && trial <= 100; trial++)); do
    [[ $http_body == *"\"text\":\"$trial\""* ]] || lost=$((lost + 1))
done
say "$trials times kill -9 of the room's leader, $nodes nodes. Milliseconds until the next message was acked, by the server API"
say "of another node: least $(quantile 0 <"$raw"), median $(quantile 0.5 <"$raw"), 90 % $(quantile 0.9 <"$raw"), most $(quantile 1 <"$raw")."
say "Messages acked $sent, of which $lost are missing in history."
((lost == 0)) || fail 'acked messages are lost.'
