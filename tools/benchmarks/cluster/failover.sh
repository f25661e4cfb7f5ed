#!/usr/bin/env bash
# How long a room is without a leader: kills the node that leads it with kill -9, or stops it with SIGSTOP, and takes the
# time until another node has acked the next message to it; again and again, with a new leader each time.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

trials=30 nodes=3 stand_still=''
option trials T ''
option nodes N ''
flag stand_still 'the leader is not killed, but stands still until the message was acked'
quick trials=3
read_options "$@"
begin failover

now_ms() { printf '%s' $((${EPOCHREALTIME/[.,]/} / 1000)); }

bench_nodes=$nodes
start_node
create_room failover
machine
lost=0 sent=0 refused=0
for ((trial = 1; trial <= trials; trial++)); do
    victim=$(leader_of failover "$(node_field n1 api)")
    [[ -n $victim ]] || fail 'the room has no leader.'
    other=n1
    [[ $victim != n1 ]] || other=n2
    api=$(node_field "$other" api)
    pid=$(node_field "$victim" pid)
    if [[ -n $stand_still ]]; then kill -STOP "$pid"; else kill -9 "$pid"; fi
    began=$(now_ms)
    while true; do
        http POST "$api" /v1/rooms/failover/messages "{\"type\":\"TEXT\",\"text\":\"$trial\"}" "$node_admin_key"
        [[ $http_status != 2?? ]] || break
        refused=$((refused + 1))
        (($(now_ms) - began < 30000)) || fail "no leader for 30 s after $victim was killed ($http_status): $http_body"
    done
    took=$(($(now_ms) - began))
    sent=$((sent + 1))
    say "$took" >>"$raw"
    # All three replicas are there before the next node is lost.
    if [[ -n $stand_still ]]; then
        kill -CONT "$pid"
        for ((waited = 0; ; waited++)); do
            http GET "$(node_field "$victim" api)" /readyz '' "$node_admin_key"
            [[ $http_status != 200 ]] || break
            ((waited < 300)) || fail "$victim does not become ready: $http_body"
            sleep 0.1
        done
    else
        start_again --nodes "$nodes"
    fi
done
http GET "$(node_field n1 api)" "/v1/rooms/failover/messages?limit=100" '' "$node_admin_key"
for ((trial = 1; trial <= trials && trial <= 100; trial++)); do
    [[ $http_body == *"\"text\":\"$trial\""* ]] || lost=$((lost + 1))
done
how='kill -9'
[[ -z $stand_still ]] || how=SIGSTOP
say "$trials times $how of the room's leader, $nodes nodes. Milliseconds until the next message was acked, by the server API"
say "of another node: least $(quantile 0 <"$raw"), median $(quantile 0.5 <"$raw"), 90 % $(quantile 0.9 <"$raw"), most $(quantile 1 <"$raw")."
say "Refused, mostly with 503, and asked again: $refused. Messages acked $sent, of which $lost are missing in history."
((lost == 0)) || fail 'acked messages are lost.'
