#!/usr/bin/env bash
# A room with a long history is exported while its shard takes messages. The time to the ack is measured without an export
# and with one that reads without a pause, in turn. All rooms are in one shard; node and load share the machine.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

messages=10000000 rounds=6 seconds=10 senders=10 rate=200
option messages N 'in the room that is exported'
option rounds N 'without and with an export, in turn'
option seconds S 'length of one measurement'
option senders M 'each alone in a room of its own'
option rate R 'messages a second'
quick messages=100000 rounds=1 seconds=3
read_options "$@"
build_clients sends
begin export
export CHATROOM_SHARDS=1
start_node

resident_mb() { awk '/^VmRSS:/ { printf "%.1f", $2 / 1024 }' "/proc/$node_pid/status"; }

machine
create_room exported
for ((i = 1; i <= senders; i++)); do create_room "sends-$i"; done
ctl() { "$bin_dir/chatroomctl" "$@" --server "$node_api" --key-file "$bench_dir/key"; }
(umask 077 && say "$node_admin_key" >"$bench_dir/key")

# Messages of 190 bytes over eight days.
begun=$(date +%s)
awk -v n="$messages" -v end="$(date +%s)" 'BEGIN {
    text = "the quick brown fox jumps over the lazy dog and says a few words more so that this line has some length"
    first = (end - 8 * 86400 - 3600) * 1000
    for (i = 0; i < n; i++)
        printf "{\"message\":{\"messageId\":\"m%d\",\"time\":%.0f,\"from\":{\"user\":\"user-%d\",\"nick\":\"User\"},\"type\":\"TEXT\",\"text\":\"%s %d\"}}\n",
            i, first + i * (8 * 86400000 / n), i % 1000, text, i
}' | ctl import - --room exported >"$bench_dir/import.txt" || fail "the import failed: $(tail -n 1 "$bench_dir/import.txt")"
taken=$(($(date +%s) - begun + 1))
say "$(thousands "$messages") messages were imported, $(thousands $((messages / taken))) a second; then $rate sends a second into $senders rooms of the same shard."
say
say '| round | export | acked/s | ack p50 ms | p99 ms | max ms | lines/s exported | resident, MB |'
say '|---|---|---|---|---|---|---|---|'

# exports: reads the room again and again, and counts.
exports() {
    while :; do
        curl -sN -H "Authorization: Bearer $node_admin_key" "http://$node_api/v1/rooms/exported/export"
    done | awk 'NR % 1000 == 0 { printf "%d\n", NR; fflush() }' >"$bench_dir/lines.txt"
}

# measure ROUND WHAT: a row of the table.
measure() {
    local line errors lines=-
    if [[ $2 == with ]]; then
        background setsid bash -c "$(declare -f exports); node_admin_key=$node_admin_key node_api=$node_api bench_dir=$bench_dir; exports"
        sleep 2
    fi
    line=$("$bench_dir/sendload" --port "$node_port" --pid "$node_pid" --room-prefix sends --senders "$senders" \
        --rate "$rate" --seconds "$seconds" "${key_options[@]}" --json) || fail "the load client failed. $line"
    if [[ $2 == with ]]; then
        # With all that it has started.
        kill -- "-$background_pid" 2>/dev/null || fail 'the export has failed.'
        wait "$background_pid" 2>/dev/null || true
        background_pids=()
        lines=$(($(tail -n 1 "$bench_dir/lines.txt") / (seconds + 2)))
        ((lines > 0)) || fail 'nothing was exported.'
    fi
    errors=${line#*'"errors":'}
    [[ ${errors%%\}*} == '{' ]] || fail "sends were refused: ${errors%%\}*}}"
    say "{\"round\":$1,\"what\":\"$2\",${line#\{}" >>"$raw"
    printf '| %s | %s | %s | %s | %s | %s | %s | %s |\n' "$1" "$2" "$(field ackedPerSecond <<<"$line")" \
        "$(field p50Ms <<<"$line")" "$(field p99Ms <<<"$line")" "$(field maxMs <<<"$line")" "$lines" "$(resident_mb)"
}

for ((round = 1; round <= rounds; round++)); do
    measure "$round" without
    measure "$round" with
done
say
for what in without with; do
    say "$what an export: p99 ms $(grep "\"what\":\"$what\"" "$raw" | field p99Ms | spread)"
done
say "p99 beside an export to without, each round: $(paste -d ' ' <(grep '"what":"with"' "$raw" | field p99Ms) \
    <(grep '"what":"without"' "$raw" | field p99Ms) | awk '{ printf "%.2f\n", $1 / $2 }' | spread)"
