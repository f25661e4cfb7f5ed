#!/usr/bin/env bash
# How long a message takes to many viewers in one room: from when it is due to be sent until each of them has it; and
# whether viewers that read nothing make others wait.
#
# Server on CPU 0, load client on CPU 1; chatroomd and the reference (reference.c) take turns, with the same bytes. With
# --stalled the rounds are doubled: without and with that share of viewers that read nothing, whose sockets are full
# before the measurement begins.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

rounds=5 seconds=8 viewers=10000 rate=10 text=200 stalled=1
option rounds N ''
option seconds S 'length of one measurement; at most 12, because who reads nothing is dropped in time'
option viewers N ''
option rate R 'messages a second'
option text B 'bytes of the text'
option stalled P 'percent of viewers that read nothing; 0: leave this out'
quick rounds=1 seconds=4 viewers=2000
read_options "$@"
need_two_cpus
need_files $((viewers + 500)) || exit
build_clients fanout
begin latency

port=$(free_base_port)
background taskset -c 0 "$bench_dir/reference" --port "$port"
reference_pid=$background_pid
export CHATROOM_LOOPS=1
start_node
on_cpu 0 "$node_pid"
payload=400 room_number=0

# turn_fields NAME BEFORE METRIC: the longest turn since then and how many took longer than 10 ms.
turn_fields() {
    local now
    now=$(turn_counts "$3")
    printf '"longest%sMs":%s,"longer%s":%s,' "$1" "$(longest_turn "$2" "$now")" "$1" "$(turns_above 0.01 "$2" "$now")"
}

# measure SERVER ROUND STALLED
measure() {
    local server=$1 round=$2 share=$3 line options turns turns_cpu
    options=(--case lat --subscribers "$viewers" --rate "$rate" --seconds "$seconds" --warmup 1 --stalled "$share" --json)
    if [[ $server == reference ]]; then
        options+=(--port "$port" --pid "$reference_pid" --payload "$payload")
    else
        # A room of its own: who reads nothing does not leave in time for the next.
        room_number=$((room_number + 1))
        create_room "latency-$room_number"
        options+=(--port "$node_port" --pid "$node_pid" --room "latency-$room_number" --text "$text"
            "${key_options[@]}")
        turns=$(turn_counts chatroom_loop_turn_seconds)
        turns_cpu=$(turn_counts chatroom_loop_turn_cpu_seconds)
    fi
    line=$(taskset -c 1 "$bench_dir/fanload" "${options[@]}") || fail "$server, $share % stalled: the load client failed. $line"
    [[ $server == reference ]] || line="{$(turn_fields Turn "$turns" chatroom_loop_turn_seconds)$(
        turn_fields TurnCpu "$turns_cpu" chatroom_loop_turn_cpu_seconds
    )${line#\{}"
    say "{\"server\":\"$server\",\"share\":$share,\"round\":$round,${line#\{}" >>"$raw"
}

of() { { grep "\"server\":\"$1\",\"share\":$2," "$raw" || true; } | field "$3"; }

viewers_wanted=$viewers viewers=100
measure chatroomd 0 0
payload=$(of chatroomd 0 objectBytes | head -n 1)
viewers=$viewers_wanted
: >"$raw"

shares=(0)
[[ $stalled == 0 ]] || shares+=("$stalled")
machine
say "$viewers viewers in one room, $rate messages/s of $payload bytes; $rounds rounds of $seconds s."
for ((round = 1; round <= rounds; round++)); do
    servers=(reference chatroomd)
    ((round % 2 == 1)) || servers=(chatroomd reference)
    for share in "${shares[@]}"; do
        for server in "${servers[@]}"; do measure "$server" "$round" "$share"; done
    done
    progress "round $round of $rounds"
done
progress

# row SERVER SHARE
row() {
    printf '| %s | %s %% | %s | %s (%s, %s) | %s | %s | %s | %s |\n' "$1" "$2" "$(of "$1" "$2" p50Ms | quantile 0.5)" \
        "$(of "$1" "$2" p99Ms | quantile 0.5)" "$(of "$1" "$2" p99Ms | quantile 0)" "$(of "$1" "$2" p99Ms | quantile 1)" \
        "$(of "$1" "$2" maxMs | quantile 0.5)" "$(of "$1" "$2" serverBusy | quantile 0.5)" \
        "$(of "$1" "$2" clientBusy | quantile 0.5)" "$(of "$1" "$2" cpuMicrosPerDelivery | quantile 0.5)"
}

# ratio OF TO: of two lists of numbers, line by line: the median (least, most).
ratio() {
    local ratios
    ratios=$(paste <(say "$1") <(say "$2") | awk '{ printf "%.3f\n", $1 / $2 }')
    printf '%s (%s, %s)' "$(quantile 0.5 <<<"$ratios")" "$(quantile 0 <<<"$ratios")" "$(quantile 1 <<<"$ratios")"
}

say
say '| server | read nothing | p50 ms | p99 ms: median (least, most) | worst ms | server, cores | client, cores | server us/delivery |'
say '|---|---|---|---|---|---|---|---|'
for share in "${shares[@]}"; do
    for server in reference chatroomd; do row "$server" "$share"; done
done
say
say "p99 of chatroomd to the reference's in the same round: $(ratio "$(of chatroomd 0 p99Ms)" "$(of reference 0 p99Ms)")"
all() { field "$1" <"$raw" | sort -g | tr '\n' ' '; }
say "The longest turn of a loop, all viewers' coming and going included, in each measurement: at most $(all longestTurnMs)ms by the clock," \
    "$(all longestTurnCpuMs)ms of CPU (upper ends of buckets). Turns above 10 ms: $(all longerTurn)by the clock, $(all longerTurnCpu)by CPU."
[[ $stalled == 0 ]] || for server in reference chatroomd; do
    say "p99 of $server with $stalled % that read nothing to that without: $(ratio "$(of "$server" "$stalled" p99Ms)" "$(of "$server" 0 p99Ms)")"
done
