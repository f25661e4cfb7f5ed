#!/usr/bin/env bash
# Taps: sessions of two gateways tap in a room that a third node leads. A gateway adds taps up, so the leader's CPU follows
# neither the taps nor the requests: it is measured with few taps and with ten times as many, in turn. Each time the total
# that the room has on disk afterwards is compared with what the clients were answered. Nodes and load share the machine.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

sessions=1000 rate=20 few=5 many=50 seconds=10 rounds=3
option sessions N 'that tap'
option rate R 'requests a second of each'
option few D 'taps of a request'
option many D 'the same, the other time'
option seconds S 'length of one measurement'
option rounds N ''
quick sessions=200 rounds=1
read_options "$@"
need_files $((sessions + 1000)) || exit
build_clients taps
begin taps
bench_nodes=3
start_node
machine
say "$sessions sessions on two nodes, $rate requests a second each, $seconds s."
say
say '| sessions | taps of a request | requests/s | taps/s | leader, cores | the other two nodes, cores | pushes of totals/s to each |'
say '|---|---|---|---|---|---|---|'
room=0
# measure SESSIONS DELTA
measure() {
    local line leader ports='' others='' node total
    room=$((room + 1))
    create_room "taps-$room"
    until leader=$(leader_of "taps-$room") && [[ -n $leader ]]; do sleep 0.2; done
    for node in n1 n2 n3; do
        [[ $node != "$leader" ]] || continue
        ports+=,$(port_of "$node") others+=,$(node_field "$node" pid)
    done
    line=$("$bench_dir/tapload" --port "${ports#,}" --pid "$(node_field "$leader" pid)" --others "${others#,}" \
        --room "taps-$room" --sessions "$1" --rate "$rate" --delta "$2" --seconds "$seconds" \
        "${key_options[@]}" --json) || fail "the load client failed. $line"
    http GET "$node_api" "/v1/rooms/taps-$room/tallies" '' "$node_admin_key"
    total=$(sed -n 's/.*"key":"like","total":\([0-9]*\).*/\1/p' <<<"$http_body")
    [[ $total == "$(field answeredTaps <<<"$line")" ]] \
        || fail "the room has $total taps; answered were $(field answeredTaps <<<"$line")."
    say "${line%\}},\"delta\":$2}" >>"$raw"
    printf '| %s | %s | %s | %s | %s | %s | %s |\n' "$1" "$2" "$(thousands "$(field requestsPerSecond <<<"$line")")" \
        "$(thousands "$(field tapsPerSecond <<<"$line")")" "$(field cores <<<"$line")" \
        "$(field otherCores <<<"$line")" "$(field pushesPerSecond <<<"$line")"
}
for ((round = 1; round <= rounds; round++)); do
    measure "$((sessions / 10))" "$many"
    measure "$sessions" "$few"
    measure "$sessions" "$many"
done
median() { grep "\"sessions\":$1,.*\"delta\":$2}" "$raw" | field cores | quantile 0.5; }
say
say "The leader with ten times the taps, against few taps of as many requests: $(awk -v a="$(median "$sessions" "$many")" \
    -v b="$(median "$sessions" "$few")" 'BEGIN { printf "%.2f", a / b }'), against a tenth of the sessions: $(awk \
    -v a="$(median "$sessions" "$many")" -v b="$(median "$((sessions / 10))" "$many")" 'BEGIN { printf "%.2f", a / b }')."
