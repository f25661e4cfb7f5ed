#!/usr/bin/env bash
# Fan-out: how many deliveries chatroomd makes of a second of CPU, compared with a bare C epoll loop (reference.c).
#
# Servers on CPU 0, the load client on CPU 1. The two are measured in turn in short rounds, the order reversed every
# second round, and the ratio is taken within a round: a disturbance of the machine hits both. Case `one`: one message
# under way, so nothing can be coalesced; reference: one write per viewer and message. Case `max`: many under way;
# reference --tick: one write per viewer for all that one read brought. Messages have the same size in both.
#
# The ratio is that of the whole node, although the reference stores nothing: the whole node is what somebody runs. A
# footnote has what delivery alone costs by the node's own word, in CPU time of its loops' threads
# (chatroom_fan_out_cpu_seconds_total: the writes to viewers, the system's part included). The rest is the durable path:
# reading, consensus, log, sync, history, ack. As a check that does not rely on the node's word, each round also measures
# the same sends to a room without other viewers, whose CPU per message is subtracted. And with --gateway the node's
# gateway is measured alone: from a client's bytes to the viewers' bytes, with rooms that keep nothing.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

rounds=20 seconds=1 viewers=1000 text=200 outstanding=40 nap=200 payload=400 reference_only='' gateway='' tls=''
option rounds N 'rounds of each case'
option seconds S 'length of one measurement'
option viewers N ''
option text B 'bytes of the text'
option outstanding K 'messages under way in the case max'
option nap U 'the client looks for input every U microseconds, so that waking it is not charged to the server'
flag gateway "the node's gateway alone, with rooms that keep nothing, in the place of chatroomd"
flag tls 'both by TLS, the node by its gateway alone'
flag reference_only 'without chatroomd, messages of --payload B bytes'
option payload B 'with --reference-only'
quick rounds=3
read_options "$@"
need_two_cpus
build_clients fanout
begin fanout
subject=chatroomd
[[ -z $tls ]] || gateway=1
[[ -z $gateway ]] || subject='gateway-alone'

port=$(free_base_port)
tls_options=() tls_words=()
if [[ -n $tls ]]; then
    make_certificate
    tls_options=(--tls "$tls_file") tls_words=(tls "$tls_file")
fi
background taskset -c 0 "$bench_dir/reference" --port "$port" "${tls_options[@]}"
reference_pid=$background_pid
background taskset -c 0 "$bench_dir/reference" --tick --port $((port + 1)) "${tls_options[@]}"
tick_pid=$background_pid
sleep 0.3

# measure SERVER CASE ROUND: one line of JSON into the raw results.
measure() {
    local server=$1 kind=$2 round=$3 line options before
    options=(--case "$kind" --subscribers "$viewers" --outstanding "$outstanding" --seconds "$seconds" --nap "$nap" --json ${tls:+--tls})
    case $server-$kind in
    reference-one) options+=(--port "$port" --pid "$reference_pid" --payload "$payload") ;;
    reference-*) options+=(--port $((port + 1)) --pid "$tick_pid" --payload "$payload") ;;
    gateway-alone-*)
        options+=(--port $((port + 2)) --pid "$gateway_pid" --room fanout --text "$text" --secret-file "$secret_file")
        ;;
    *)
        [[ $server != alone ]] || options+=(--subscribers 0)
        options+=(--port "$node_port" --pid "$node_pid" --room fanout --text "$text" "${key_options[@]}")
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

of() { { grep "\"server\":\"$1\".*\"case\":\"$2\"" "$raw" || true; } | field "$3"; }

if [[ -z $reference_only ]]; then
    if [[ $subject == gateway-alone ]]; then
        build gateway-alone
        secret_file=$bench_dir/secret
        (umask 077 && say any >"$secret_file")
        background taskset -c 0 "$bin_dir/gateway-alone" $((port + 2)) "${tls_words[@]}"
        gateway_pid=$background_pid
        sleep 1
    else
        export CHATROOM_LOOPS=1
        start_node
        on_cpu 0 "$node_pid"
        create_room fanout
    fi
    # The first run tells how large a delivered message is, and warms everything up.
    measure "$subject" one 0
    payload=$(of "$subject" one objectBytes | head -n 1)
    : >"$raw"
fi

machine
say "$viewers viewers, text of $text bytes, delivered as $payload bytes; $rounds rounds of $seconds s."
for kind in one max; do
    for ((round = 1; round <= rounds; round++)); do
        servers=(reference "$subject")
        ((round % 2 == 1)) || servers=("$subject" reference)
        [[ $subject != chatroomd ]] || servers+=(alone)
        [[ -z $reference_only ]] || servers=(reference)
        for server in "${servers[@]}"; do measure "$server" "$kind" "$round"; done
        progress "$kind: round $round of $rounds"
    done
    progress
done
say
say '| case | server | deliveries/s | per server CPU second | whole server to the reference within a round: median (quartiles; least, most) | CPU us/delivery | user us/delivery | p50 ms | p99 ms |'
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
    say 'Footnote: the durable path, which the reference does not have, is part of these ratios. The delivery path alone (ratio as above):'
    say
    for kind in one max; do
        reference=$(of reference "$kind" cpuMicrosPerDelivery)
        printf -- '- case %s: %s by the node'"'"'s own count, %s us a delivery; %s by subtraction. Durable path: %s us a message, %s us in a room without viewers.\n' \
            "$kind" "$(paste <(say "$reference") <(of chatroomd "$kind" deliveryMicros) \
                | awk '{ printf "%.3f\n", $1 / $2 }' | spread)" \
            "$(of chatroomd "$kind" deliveryMicros | quantile 0.5)" \
            "$(paste <(say "$reference") <(of chatroomd "$kind" cpuMicrosPerMessage) <(of alone "$kind" cpuMicrosPerMessage) \
                | awk -v n="$viewers" '{ printf "%.3f\n", $1 * n / ($2 - $3) }' | spread)" \
            "$(of chatroomd "$kind" durableMicrosPerMessage | spread)" \
            "$(of alone "$kind" cpuMicrosPerMessage | spread)"
    done
fi
