#!/usr/bin/env bash
# What a room's leader pays for viewers at other nodes: its CPU while messages are shown to viewers who are all at one
# other node, or spread over several. It should grow with the nodes and not with the viewers.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

viewers='1000 2000 4000' seconds=10 rate=50
usage="usage: tools/benchmarks/cluster/viewers.sh [options]
  --viewers LIST   how many in all ('$viewers')
  --rate R         messages a second ($rate)
  --seconds S      length of one measurement ($seconds)
Raw results: .build/benchmarks/viewers.jsonl"
while (($# > 0)); do
    case $1 in
    --viewers) viewers=$2 ;;
    --rate) rate=$2 ;;
    --seconds) seconds=$2 ;;
    -h | --help)
        say "$usage"
        exit 0
        ;;
    *) fail "unknown argument $1"$'\n'"$usage" 2 ;;
    esac
    shift 2
done
build_clients "$root/tools/benchmarks/fanout"
trap stop_node EXIT
trap 'exit 130' INT TERM

raw=$bench_dir/viewers.jsonl
: >"$raw"
machine
export CHATROOM_LIMITS_HANDSHAKES_PER_SECOND=1000000 CHATROOM_LIMITS_CONNECTS_PER_SECOND=1000000
export CHATROOM_ALLOW_ANONYMOUS=true
bench_nodes=3
start_node
create_room viewers
# Placement hands leaderships over once more when all nodes have been there for a while.
sleep 15
http GET "$node_api" /v1/rooms/viewers '' "$node_admin_key"
leader=$(sed -n 's/.*"leader":"\([^"]*\)".*/\1/p' <<<"$http_body")
[[ -n $leader ]] || fail "the room has no leader ($http_status): $http_body"
others=()
for node in n1 n2 n3; do [[ $node == "$leader" ]] || others+=("$node"); done

port() {
    local address
    address=$(node_field "$1" client)
    printf '%s' "${address##*:}"
}

say "3 nodes, the room is led by $leader, the publisher and the viewers at others; $rate messages a second, $seconds s."
say
say '| viewers | at | messages | CPU of the leader, ms a second | deliveries |'
say '|---|---|---|---|---|'
for count in $viewers; do
    for spread in 1 2; do
        second=()
        ((spread == 1)) || second=(--second-port "$(port "${others[1]}")")
        line=$("$bench_dir/fanload" --case lat --port "$(port "${others[0]}")" "${second[@]}" --room viewers \
            --pid "$(node_field "$leader" pid)" --subscribers "$count" --rate "$rate" --seconds "$seconds" --warmup 2 \
            --kid "$node_kid" --secret-file "$secret_file" --json)
        say "{\"nodes\":$spread,${line#\{}" >>"$raw"
        cpu=$(awk -v c="$(field cpuSeconds <<<"$line")" -v s="$(field seconds <<<"$line")" \
            'BEGIN { printf "%.1f", 1000 * c / s }')
        printf '| %s | %s other node(s) | %s | %s | %s |\n' "$(thousands "$count")" "$spread" \
            "$(field messages <<<"$line")" "$cpu" "$(thousands "$(field deliveries <<<"$line")")"
    done
done
