#!/usr/bin/env bash
# Fan-out: how many deliveries chatroomd makes of a second of CPU, compared with a bare C epoll loop (reference.c); and
# how much memory an idle connection takes.
#
# Servers on CPU 0, the load client on CPU 1. The two are measured in turn in short rounds, the order reversed every
# second round, and the ratio is taken within a round: a disturbance of the machine hits both. Case `one`: one message
# under way, so nothing can be coalesced; reference: one write per viewer and message. Case `max`: many under way;
# reference --tick: one write per viewer for all that one read brought. Messages have the same size in both.
#
# The reference stores nothing. What the node spends on delivery alone is told by the node itself, in CPU time of its
# loops' threads (chatroom_fan_out_cpu_seconds_total: the writes to viewers, the system's part included); the rest is the
# durable path: reading, consensus, log, sync, history, ack. As a check that does not rely on the node's word, each round
# also measures the same sends to a room without other viewers, whose CPU per message is subtracted. And with --gateway the
# node's gateway is measured alone: from a client's bytes to the viewers' bytes, with rooms that keep nothing.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

rounds=20 seconds=1 viewers=1000 text=200 outstanding=40 idle=10000 nap=200 payload='' reference_only='' subject=chatroomd
usage="usage: tools/benchmarks/fanout/run.sh [options]
  --rounds N        rounds of each case ($rounds)
  --seconds S       length of one measurement ($seconds)
  --viewers N       ($viewers)
  --text B          bytes of the text ($text)
  --outstanding K   messages under way in the case max ($outstanding)
  --nap U           the client looks for input every U microseconds, so that waking it is not charged to the server ($nap)
  --idle N          idle connections for the memory figure; 0: leave it out ($idle)
  --gateway         the node's gateway alone, with rooms that keep nothing, in the place of chatroomd
  --reference-only  without chatroomd (messages of --payload B bytes)
Raw results: .build/benchmarks/fanout.jsonl"
while (($# > 0)); do
    case $1 in
    --rounds) rounds=$2 ;;
    --seconds) seconds=$2 ;;
    --viewers) viewers=$2 ;;
    --text) text=$2 ;;
    --outstanding) outstanding=$2 ;;
    --nap) nap=$2 ;;
    --idle) idle=$2 ;;
    --payload) payload=$2 ;;
    --gateway)
        subject=gateway-alone
        shift
        continue
        ;;
    --reference-only)
        reference_only=1
        shift
        continue
        ;;
    -h | --help)
        say "$usage"
        exit 0
        ;;
    *) fail "unknown argument $1"$'\n'"$usage" 2 ;;
    esac
    shift 2
done
(($(nproc) >= 2)) || fail 'this needs two CPUs: one for the server, one for the client.'
build_clients "$root/tools/benchmarks/fanout"

reference_pids=()
finish() {
    ((${#reference_pids[@]} == 0)) || kill "${reference_pids[@]}" 2>/dev/null || true
    stop_node
}
trap finish EXIT
trap 'exit 130' INT TERM

raw=$bench_dir/fanout.jsonl
: >"$raw"
port=$(free_base_port)
taskset -c 0 "$bench_dir/reference" --port "$port" &
reference_pids+=($!)
taskset -c 0 "$bench_dir/reference" --tick --port $((port + 1)) &
reference_pids+=($!)
sleep 0.3

# measure SERVER CASE ROUND: one line of JSON into the raw results.
measure() {
    local server=$1 kind=$2 round=$3 line options before
    options=(--case "$kind" --subscribers "$viewers" --outstanding "$outstanding" --seconds "$seconds" --nap "$nap" --json)
    case $server-$kind in
    reference-one) options+=(--port "$port" --pid "${reference_pids[0]}" --payload "$payload") ;;
    reference-*) options+=(--port $((port + 1)) --pid "${reference_pids[1]}" --payload "$payload") ;;
    gateway-alone-*)
        options+=(--port $((port + 2)) --pid "${reference_pids[2]}" --room fanout --text "$text" --secret-file "$secret_file")
        ;;
    *)
        [[ $server != alone ]] || options+=(--subscribers 0)
        options+=(--port "${node_client##*:}" --pid "$node_pid" --room fanout --text "$text"
            --kid "$node_kid" --secret-file "$secret_file")
        ;;
    esac
    [[ $server != chatroomd ]] || before=$(fan_out_seconds)
    line=$(taskset -c 1 "$bench_dir/fanload" "${options[@]}") || fail "$server, case $kind: the load client failed. $line"
    if [[ $server == chatroomd ]]; then
        line=$(awk -v line="${line%\}}" -v before="$before" -v after="$(fan_out_seconds)" -v viewers="$viewers" \
            -v all="$(field allMessages <<<"$line")" -v per_message="$(field cpuMicrosPerMessage <<<"$line")" 'BEGIN {
                each = (after - before) * 1e6 / (all * viewers)
                printf "%s,\"deliveryMicros\":%.4f,\"durableMicrosPerMessage\":%.2f}", line, each,
                    per_message - each * viewers }')
    fi
    say "{\"server\":\"$server\",\"round\":$round,${line#\{}" >>"$raw"
}

# The CPU that the node has spent on writing to viewers, in seconds.
fan_out_seconds() {
    http GET "$node_api" /metrics '' "$node_admin_key"
    sed -n 's/^chatroom_fan_out_cpu_seconds_total //p' <<<"$http_body"
}

# spread: median (quartiles; least, most) of the numbers on standard input.
spread() {
    local numbers
    numbers=$(cat)
    printf '%s (%s-%s; %s, %s)' "$(quantile 0.5 <<<"$numbers")" "$(quantile 0.25 <<<"$numbers")" \
        "$(quantile 0.75 <<<"$numbers")" "$(quantile 0 <<<"$numbers")" "$(quantile 1 <<<"$numbers")"
}

of() { { grep "\"server\":\"$1\".*\"case\":\"$2\"" "$raw" || true; } | field "$3"; }

if [[ -z $reference_only ]]; then
    if [[ $subject == gateway-alone ]]; then
        build_programs gateway-alone
        secret_file=$bench_dir/secret
        (umask 077 && say any >"$secret_file")
        taskset -c 0 "$bin_dir/gateway-alone" $((port + 2)) &
        reference_pids+=($!)
        sleep 1
    else
        export CHATROOM_LOOPS=1
        start_node
        taskset -a -cp 0 "$node_pid" >/dev/null
        create_room fanout
    fi
    # The first run tells how large a delivered message is, and warms everything up.
    measure "$subject" one 0
    payload=$(of "$subject" one objectBytes | head -n 1)
    : >"$raw"
fi
payload=${payload:-400}

machine
say "$viewers viewers, text of $text bytes, delivered as $payload bytes; $rounds rounds of $seconds s."
for kind in one max; do
    for ((round = 1; round <= rounds; round++)); do
        servers=(reference "$subject")
        ((round % 2 == 1)) || servers=("$subject" reference)
        [[ $subject != chatroomd ]] || servers+=(alone)
        [[ -z $reference_only ]] || servers=(reference)
        for server in "${servers[@]}"; do measure "$server" "$kind" "$round"; done
        [[ ! -t 2 ]] || printf '\r%s: round %d of %d ' "$kind" "$round" "$rounds" >&2
    done
    [[ ! -t 2 ]] || printf '\r\033[K' >&2
done

say
say '| case | server | deliveries/s | per server CPU second | ratio within a round: median (quartiles; least, most) | CPU us/delivery | user us/delivery | p50 ms | p99 ms |'
say '|---|---|---|---|---|---|---|---|---|'
for kind in one max; do
    for server in reference "$subject"; do
        [[ -n $(of "$server" "$kind" round) ]] || continue
        ratio=1
        if [[ $server == "$subject" ]]; then
            ratio=$(paste <(of reference "$kind" deliveriesPerCpuSecond) <(of "$subject" "$kind" deliveriesPerCpuSecond) \
                | awk '{ printf "%.3f\n", $2 / $1 }' | spread)
        fi
        printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$kind" "$server" \
            "$(thousands "$(of "$server" "$kind" deliveriesPerSecond | quantile 0.5)")" \
            "$(thousands "$(of "$server" "$kind" deliveriesPerCpuSecond | quantile 0.5)")" "$ratio" \
            "$(of "$server" "$kind" cpuMicrosPerDelivery | quantile 0.5)" \
            "$(of "$server" "$kind" userMicrosPerDelivery | mean)" \
            "$(of "$server" "$kind" p50Ms | quantile 0.5)" "$(of "$server" "$kind" p99Ms | quantile 0.5)"
    done
done

if [[ -z $reference_only && $subject == chatroomd ]]; then
    say
    say 'The delivery path apart; ratios within a round as above.'
    say
    say '| case | delivery path to reference | by subtraction | delivery us each | durable path us a message | alone us a message |'
    say '|---|---|---|---|---|---|'
    for kind in one max; do
        reference=$(of reference "$kind" cpuMicrosPerDelivery)
        printf '| %s | %s | %s | %s | %s | %s |\n' "$kind" \
            "$(paste <(say "$reference") <(of chatroomd "$kind" deliveryMicros) \
                | awk '{ printf "%.3f\n", $1 / $2 }' | spread)" \
            "$(paste <(say "$reference") <(of chatroomd "$kind" cpuMicrosPerMessage) <(of alone "$kind" cpuMicrosPerMessage) \
                | awk -v n="$viewers" '{ printf "%.3f\n", $1 * n / ($2 - $3) }' | spread)" \
            "$(of chatroomd "$kind" deliveryMicros | quantile 0.5)" \
            "$(of chatroomd "$kind" durableMicrosPerMessage | spread)" \
            "$(of alone "$kind" cpuMicrosPerMessage | spread)"
    done
fi

[[ $subject == chatroomd ]] && ((idle > 0)) || exit 0
say
say "| $(thousands "$idle") idle connections to | resident before, KB | resident, KB | bytes a connection | CPU us to connect |"
say '|---|---|---|---|---|'
idle_row() {
    local line
    line=$(taskset -c 1 "$bench_dir/fanload" --case idle --subscribers "$idle" --seconds 2 --json "${@:2}") \
        || fail "$1, case idle: the load client failed."
    say "{\"server\":\"$1\",${line#\{}" >>"$raw"
    printf '| %s | %s | %s | %s | %s |\n' "$1" "$(thousands "$(field residentBeforeKB <<<"$line")")" \
        "$(thousands "$(field residentKB <<<"$line")")" "$(thousands "$(field bytesPerConnection <<<"$line")")" \
        "$(field cpuMicrosPerConnection <<<"$line")"
}
kill "${reference_pids[@]}"
wait "${reference_pids[@]}" 2>/dev/null || true
taskset -c 0 "$bench_dir/reference" --port "$port" &
reference_pids=($!)
sleep 0.3
idle_row reference --port "$port" --pid "${reference_pids[0]}"
if [[ -z $reference_only ]]; then
    # A node that has carried no load: memory that earlier rounds had freed would hide what the connections take.
    start_node
    taskset -a -cp 0 "$node_pid" >/dev/null
    idle_row chatroomd --port "${node_client##*:}" --pid "$node_pid" --room none
fi
