#!/usr/bin/env bash
# Barrage: items at a fixed rate into one room. Once without viewers, which leaves what an item costs on its way in,
# sampling and the senders' own items; and once with viewers, which adds the delivery. The client checks that all viewers
# see the same sample, that what they saw and what they were told as skipped is what was sent, and that each sender gets
# all of its own. Node and load share the machine.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

viewers=5000 senders=50 rate=20000 text=20 seconds=5 rounds=3
option viewers N ''
option senders N 'connections that send, and view too'
option rate R 'items a second in all'
option text B 'bytes of a text'
option seconds S 'length of one measurement'
option rounds N ''
quick viewers=1000 rounds=1
read_options "$@"
need_files $((viewers + senders + 500)) || exit
build_clients barrage
begin barrage

start_node
machine
say "$rate items of $text bytes a second from $senders senders, $seconds s."
say
say '| viewers | items/s | shown/s | most in a second | p50 ms | p99 ms | max ms | server, cores | of it writing to viewers | without that, us/item |'
say '|---|---|---|---|---|---|---|---|---|---|'
room=0
measure() {
    local line before
    room=$((room + 1))
    create_room "barrage-$room"
    before=$(fan_out_seconds)
    line=$("$bench_dir/barrageload" --port "$node_port" --pid "$node_pid" --room "barrage-$room" \
        --senders "$senders" --viewers "$1" --rate "$rate" --text "$text" --seconds "$seconds" --sources 200 \
        "${key_options[@]}" --json) || fail "the load client failed. $line"
    # The node's own count covers the whole run, of which the measurement is a part.
    line=$(awk -v line="${line%\}}" -v before="$before" -v after="$(fan_out_seconds)" \
        -v items="$(field itemsInAll <<<"$line")" -v sent="$(field sentPerSecond <<<"$line")" \
        -v cores="$(field cores <<<"$line")" 'BEGIN {
            writing = (after - before) / items * sent
            printf "%s,\"writingCores\":%.3f,\"otherMicrosPerItem\":%.2f}", line, writing, (cores - writing) * 1e6 / sent }')
    say "$line" >>"$raw"
    printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$1" "$(thousands "$(field sentPerSecond <<<"$line")")" \
        "$(field shownPerSecond <<<"$line")" "$(field mostInASecond <<<"$line")" "$(field p50Ms <<<"$line")" \
        "$(field p99Ms <<<"$line")" "$(field maxMs <<<"$line")" "$(field cores <<<"$line")" \
        "$(field writingCores <<<"$line")" "$(field otherMicrosPerItem <<<"$line")"
}
for ((round = 1; round <= rounds; round++)); do
    measure 0
    measure "$viewers"
done
