#!/usr/bin/env bash
# The cost of a cluster that nobody uses: CPU and memory of its nodes.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

nodes=3 seconds=25
option nodes N ''
option seconds S 'length of the measurement'
quick seconds=10
read_options "$@"
begin cluster-idle

bench_nodes=$nodes
start_node
# Leaderships are handed over once more when all nodes have been there for a while.
sleep 15
all=()
for ((i = 1; i <= nodes; i++)); do all+=("n$i"); done
machine
before=$(cpu_ms "${all[@]}")
sleep "$seconds"
after=$(cpu_ms "${all[@]}")
say
say '| nodes | CPU of all, % of a core | resident, MB each |'
say '|---|---|---|'
resident=()
for node in "${all[@]}"; do
    resident+=("$(awk '/^VmRSS/ { printf "%.0f", $2 / 1000 }' "/proc/$(node_field "$node" pid)/status")")
done
cpu=$(awk -v a="$before" -v b="$after" -v s="$seconds" 'BEGIN { printf "%.2f", (b - a) / s / 10 }')
say "{\"nodes\":$nodes,\"cpuPercent\":$cpu}" >>"$raw"
say "| $nodes | $cpu | ${resident[*]} |"
