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
usage="usage: tools/benchmarks/barrage/run.sh [options]
  --viewers N   ($viewers)
  --senders N   connections that send, and view too ($senders)
  --rate R      items a second in all ($rate)
  --text B      bytes of a text ($text)
  --seconds S   length of one measurement ($seconds)
  --rounds N    ($rounds)
Raw results: .build/benchmarks/barrage.jsonl"
while (($# > 0)); do
    case $1 in
    --viewers) viewers=$2 ;;
    --senders) senders=$2 ;;
    --rate) rate=$2 ;;
    --text) text=$2 ;;
    --seconds) seconds=$2 ;;
    --rounds) rounds=$2 ;;
    -h | --help)
        say "$usage"
        exit 0
        ;;
    *) fail "unknown argument $1"$'\n'"$usage" 2 ;;
    esac
    shift 2
done
build_clients "$root/tools/benchmarks/barrage"
trap stop_node EXIT
trap 'exit 130' INT TERM

# No admission may slow the viewers' coming down.
export CHATROOM_LIMITS_CONNECTS_PER_SECOND=1000000 CHATROOM_LIMITS_CONNECTIONS_PER_ADDRESS=1000000
raw=$bench_dir/barrage.jsonl
: >"$raw"
start_node
machine
say "$rate items of $text bytes a second from $senders senders, $seconds s."
say
say '| viewers | items/s | shown/s | most in a second | p50 ms | p99 ms | max ms | server, cores | CPU us/item |'
say '|---|---|---|---|---|---|---|---|---|'
room=0
measure() {
    local line
    room=$((room + 1))
    create_room "barrage-$room"
    line=$("$bench_dir/barrageload" --port "${node_client##*:}" --pid "$node_pid" --room "barrage-$room" \
        --senders "$senders" --viewers "$1" --rate "$rate" --text "$text" --seconds "$seconds" --sources 200 \
        --kid "$node_kid" --secret-file "$secret_file" --json) || fail "the load client failed. $line"
    say "$line" >>"$raw"
    printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$1" "$(thousands "$(field sentPerSecond <<<"$line")")" \
        "$(field shownPerSecond <<<"$line")" "$(field mostInASecond <<<"$line")" "$(field p50Ms <<<"$line")" \
        "$(field p99Ms <<<"$line")" "$(field maxMs <<<"$line")" "$(field cores <<<"$line")" \
        "$(field cpuMicrosPerItem <<<"$line")"
}
for ((round = 1; round <= rounds; round++)); do
    measure 0
    measure "$viewers"
done
