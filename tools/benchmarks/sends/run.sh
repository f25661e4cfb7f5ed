#!/usr/bin/env bash
# Durable sends: senders each alone in a room of its own, several sends under way each. At full speed, at half of that,
# and at a fixed rate; with the sync of the disk as it is and made slower by 1 and 5 ms. Node and senders share the
# machine. A send counts when its ack has come; the client checks that the acks of each room have dense seqs.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

nodes=1 senders=100 in_flight=16 text=200 seconds=10 delays='0 1000 5000' fixed_rate=10000 trials=1
option nodes N 'of the cluster; the senders are at the first one'
option senders M ''
option in_flight W 'sends of one sender without an ack'
option text B 'bytes of a text'
option seconds S 'length of one measurement'
option delays LIST 'microseconds by which a sync is made slower'
option fixed_rate R 'sends a second; 0: leave it out'
option trials T 'of the fixed rate, one after the other'
quick delays=0 seconds=3
read_options "$@"
build_clients sends
begin sends

failed='' summaries=()

# measure DELAY NAME RATE: one row of the table; sets line to the client's JSON.
measure() {
    local errors
    line=$("$bench_dir/sendload" --port "$node_port" --pid "$(node_pids "$nodes")" --room-prefix sends --senders "$senders" \
        --in-flight "$in_flight" --text "$text" --seconds "$seconds" --rate "$3" \
        "${key_options[@]}" --json) || failed=1
    # Refused sends are counted in the row; anything worse leaves no row.
    [[ -n $line ]] || fail 'the load client failed.'
    say "{\"syncDelayMicroseconds\":$1,\"load\":\"$2\",${line#\{}" >>"$raw"
    errors=${line#*'"errors":'}
    printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$1" "$2" "$(thousands "$(field ackedPerSecond <<<"$line")")" \
        "$(field p50Ms <<<"$line")" "$(field p99Ms <<<"$line")" "$(field p999Ms <<<"$line")" "$(field maxMs <<<"$line")" \
        "$(field cpuMicrosPerSend <<<"$line")" "${errors%%\}*}}"
}

machine
# The time of a sync of this disk without us.
disk=$(LC_ALL=C dd if=/dev/zero of="$bench_dir/sync.tmp" bs=4k count=500 oflag=dsync 2>&1 \
    | sed -n 's/.*, \([0-9.e-]*\) s, .*/\1/p')
rm -f "$bench_dir/sync.tmp"
say "Disk: $(stat -f -c %T "$bench_dir"), a synced write of 4 KB takes $(awk -v s="${disk:-0}" 'BEGIN { printf "%.3f", s * 2 }') ms."
say "$nodes node(s), $senders senders, $in_flight in flight each, texts of $text bytes, $seconds s each."
say
say '| sync made slower by, us | load | acked/s | p50 ms | p99 ms | p99.9 ms | max ms | CPU of all nodes, us/send | errors |'
say '|---|---|---|---|---|---|---|---|---|'
for delay in $delays; do
    export CHATROOM_LOG_SYNC_DELAY_MICROSECONDS=$delay
    bench_nodes=$nodes
    start_node
    for ((i = 1; i <= senders; i++)); do create_room "sends-$i"; done
    # Until leaderships are where they belong: ten seconds after a node can lead.
    ((nodes == 1)) || sleep 20
    measure "$delay" full 0
    measure "$delay" half "$(awk -v r="$(field ackedPerSecond <<<"$line")" 'BEGIN { printf "%.0f", r / 2 }')"
    ((fixed_rate > 0)) || continue
    for ((trial = 1; trial <= trials; trial++)); do measure "$delay" "$fixed_rate/s" "$fixed_rate"; done
    ((trials == 1)) || summaries+=("sync slower by $delay us, $fixed_rate/s, $trials trials: p99 ms $(
        grep "^{\"syncDelayMicroseconds\":$delay,\"load\":\"$fixed_rate/s\"" "$raw" | field p99Ms | spread)")
done
((${#summaries[@]} == 0)) || printf '\n%s' "${summaries[@]}" ''
[[ -z $failed ]] || fail 'some sends were refused: see the column errors.'
