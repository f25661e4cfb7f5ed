#!/usr/bin/env bash
# How much memory an idle connection takes, one that has sent `connect` and nothing else: of chatroomd and, for
# comparison, of the reference (reference.c), which keeps nothing of it. Memory of the kernel is not counted.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

connections=10000
option connections N ''
quick connections=2000
read_options "$@"
need_two_cpus
need_files $((connections + 500)) || exit
build_clients fanout
begin idle

port=$(free_base_port)
background taskset -c 0 "$bench_dir/reference" --port "$port"
sleep 0.3
export CHATROOM_LOOPS=1
# One that has carried no load: memory that was freed before would hide what the connections take.
start_node
on_cpu 0 "$node_pid"

machine
say
say "| $(thousands "$connections") idle connections to | resident before, KB | resident, KB | bytes a connection | CPU us to connect |"
say '|---|---|---|---|---|'
row() {
    local line
    line=$(taskset -c 1 "$bench_dir/fanload" --case idle --subscribers "$connections" --seconds 2 --json "${@:2}") \
        || fail "$1: the load client failed."
    say "{\"server\":\"$1\",${line#\{}" >>"$raw"
    printf '| %s | %s | %s | %s | %s |\n' "$1" "$(thousands "$(field residentBeforeKB <<<"$line")")" \
        "$(thousands "$(field residentKB <<<"$line")")" "$(thousands "$(field bytesPerConnection <<<"$line")")" \
        "$(field cpuMicrosPerConnection <<<"$line")"
}
row reference --port "$port" --pid "$background_pid"
row chatroomd --port "$node_port" --pid "$node_pid" --room none
