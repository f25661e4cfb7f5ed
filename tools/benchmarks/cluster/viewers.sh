#!/usr/bin/env bash
# The cost of viewers at other nodes for a room's leader: its CPU while messages are shown to viewers who are all at one
# other node, or spread over several. It should grow with the nodes and not with the viewers.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

viewers='1000 2000 4000' seconds=10 rate=50
option viewers LIST 'how many in all'
option rate R 'messages a second'
option seconds S 'length of one measurement'
quick viewers='500 1000' seconds=4
read_options "$@"
need_files 5000 || exit
build_clients fanout
begin viewers

bench_nodes=3
start_node
create_room viewers
# Placement hands leaderships over once more when all nodes have been there for a while.
sleep 15
leader=$(leader_of viewers)
[[ -n $leader ]] || fail "the room has no leader ($http_status): $http_body"
others=()
for node in n1 n2 n3; do [[ $node == "$leader" ]] || others+=("$node"); done

machine
say "3 nodes, the room is led by $leader, the publisher at another one; $rate messages a second, $seconds s. CPU in ms a second."
say
say '| viewers | at | messages | CPU of the leader | CPU of the nodes with viewers | deliveries |'
say '|---|---|---|---|---|---|'

# measure VIEWERS NODE...: all viewers at these nodes.
measure() {
    local count=$1 ports='' node line before
    shift
    for node in "$@"; do ports+=${ports:+,}$(port_of "$node"); done
    before=$(cpu_ms "$@")
    line=$("$bench_dir/fanload" --case lat --port "$ports" --room viewers --pid "$(node_field "$leader" pid)" \
        --subscribers "$count" --rate "$rate" --seconds "$seconds" --warmup 2 "${key_options[@]}" --json) \
        || fail "the load client failed. $line"
    say "{\"nodes\":$#,${line#\{}" >>"$raw"
    # CPU of the whole run, with entering and leaving: enough to see that it grows with the viewers.
    printf '| %s | %s | %s | %s | %s (whole run) | %s |\n' "$(thousands "$count")" "${*/$leader/the leader}" \
        "$(field messages <<<"$line")" \
        "$(awk -v c="$(field cpuSeconds <<<"$line")" -v s="$(field seconds <<<"$line")" 'BEGIN { printf "%.1f", 1000 * c / s }')" \
        "$(awk -v a="$before" -v b="$(cpu_ms "$@")" -v s="$seconds" 'BEGIN { printf "%.0f", (b - a) / (s + 2) }')" \
        "$(thousands "$(field deliveries <<<"$line")")"
}
for count in $viewers; do
    measure "$count" "${others[0]}"
    measure "$count" "${others[@]}"
    measure "$count" "${others[@]}" "$leader"
done
