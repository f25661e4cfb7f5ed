#!/usr/bin/env bash
# The cost of a compressed stream: CPU of a delivery to viewers that read their room's compressed stream (`connect {prime:
# true}`), to that of plain ones on the same node.
#
# Server on CPU 0, load client on CPU 1; plain and compressed viewers take turns in short rounds, the order reversed every
# second round, and the ratio is taken within a round. Messages are words by chance: what is compressed is no single letter.
# Every viewer inflates all that it gets, and checks that nothing is missing, doubled or out of order.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

rounds=20 seconds=2 viewers=2000 text=200 outstanding=40 nap=200
option rounds N 'rounds of each case'
option seconds S 'length of one measurement'
option viewers N ''
option text B 'bytes of the text'
option outstanding K 'messages under way in the case max'
option nap U 'the client looks for input every U microseconds, so that waking it is not charged to the server'
quick rounds=3 seconds=1
read_options "$@"
need_two_cpus
need_files $((viewers + 500)) || exit
build_clients fanout
begin compressed

export CHATROOM_LOOPS=1 CHATROOM_CLIENT_COMPRESSION=true
start_node
on_cpu 0 "$node_pid"
create_room compressed

# measure KIND CASE ROUND: one line of JSON into the raw results.
measure() {
    local viewing=$1 kind=$2 round=$3 line before options
    options=(--case "$kind" --subscribers "$viewers" --outstanding "$outstanding" --seconds "$seconds" --nap "$nap"
        --port "$node_port" --pid "$node_pid" --room compressed --text "$text" --words --json "${key_options[@]}")
    [[ $viewing == plain ]] || options+=(--prime)
    before=$(fan_out_seconds)
    line=$(taskset -c 1 "$bench_dir/fanload" "${options[@]}") || fail "$viewing, case $kind: the load client failed. $line"
    line=$(awk -v line="${line%\}}" -v before="$before" -v after="$(fan_out_seconds)" \
        -v all="$(field allMessages <<<"$line")" -v viewers="$viewers" \
        'BEGIN { printf "%s,\"deliveryMicros\":%.4f}", line, (after - before) * 1e6 / (all * viewers) }')
    say "{\"viewers\":\"$viewing\",\"round\":$round,${line#\{}" >>"$raw"
}

of() { { grep "\"viewers\":\"$1\".*\"case\":\"$2\"" "$raw" || true; } | field "$3"; }

for viewing in plain compressed; do measure "$viewing" one 0; done
: >"$raw"
machine
say "$viewers viewers of one room, text of $text bytes; $rounds rounds of $seconds s."
for kind in one max; do
    for ((round = 1; round <= rounds; round++)); do
        order=(plain compressed)
        ((round % 2 == 1)) || order=(compressed plain)
        for viewing in "${order[@]}"; do measure "$viewing" "$kind" "$round"; done
        progress "$kind: round $round of $rounds"
    done
    progress
done

# ratio CASE FIGURE: of compressed viewers to plain ones, in each round.
ratio() {
    paste <(of plain "$1" "$2") <(of compressed "$1" "$2") | awk '{ printf "%.3f\n", $2 / $1 }' | spread
}

say
say '| case | viewers | deliveries/s | CPU us/delivery, whole node | of it the writes, by the node'"'"'s own count | bytes of a message | on the wire | compressed to plain, whole node: median (quartiles; least, most) | the writes alone |'
say '|---|---|---|---|---|---|---|---|---|'
for kind in one max; do
    for viewing in plain compressed; do
        ratios='1 | 1'
        [[ $viewing == plain ]] || ratios="$(ratio "$kind" cpuMicrosPerDelivery) | $(ratio "$kind" deliveryMicros)"
        wire=$(paste <(of "$viewing" "$kind" compressedBytes) <(of "$viewing" "$kind" deliveries) \
            | awk '{ printf "%.0f\n", $1 / $2 }' | quantile 0.5)
        bytes=$(of "$viewing" "$kind" objectBytes | quantile 0.5)
        [[ $viewing == compressed ]] || wire=$bytes
        printf '| %s | %s | %s | %s | %s | %s | %s | %s |\n' "$kind" "$viewing" \
            "$(thousands "$(of "$viewing" "$kind" deliveriesPerSecond | quantile 0.5)")" \
            "$(of "$viewing" "$kind" cpuMicrosPerDelivery | quantile 0.5)" \
            "$(of "$viewing" "$kind" deliveryMicros | quantile 0.5)" "$bytes" "$wire" "$ratios"
    done
done
