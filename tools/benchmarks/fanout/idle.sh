#!/usr/bin/env bash
# How much memory an idle connection takes, one that has sent `connect` and nothing else: of chatroomd and, for
# comparison, of the reference (reference.c), which keeps nothing of it. Memory of the kernel is not counted. With --tls it
# says as well what OpenSSL holds of it by itself (tlsbytes.c).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

connections=10000 tls=''
option connections N ''
flag tls 'both by TLS, the node by its gateway alone'
quick connections=2000
read_options "$@"
need_two_cpus
need_files $((connections + 500)) || exit
build_clients fanout
begin idle

port=$(free_base_port)
tls_options=()
if [[ -n $tls ]]; then
    make_certificate
    tls_options=(--tls "$tls_file")
    build gateway-alone
    background taskset -c 0 "$bin_dir/gateway-alone" $((port + 1)) tls "$tls_file"
    gateway_pid=$background_pid
fi
background taskset -c 0 "$bench_dir/reference" --port "$port" "${tls_options[@]}"
sleep 1
if [[ -z $tls ]]; then
    export CHATROOM_LOOPS=1
    # One that has carried no load: memory that was freed before would hide what the connections take.
    start_node
    on_cpu 0 "$node_pid"
fi

machine
say
say "| $(thousands "$connections") idle connections to | resident before, KB | resident, KB | bytes a connection | CPU us to connect |"
say '|---|---|---|---|---|'
row() {
    local line
    line=$(taskset -c 1 "$bench_dir/fanload" --case idle --subscribers "$connections" --seconds 2 --json ${tls:+--tls} "${@:2}") \
        || fail "$1: the load client failed."
    say "{\"server\":\"$1\",${line#\{}" >>"$raw"
    printf '| %s | %s | %s | %s | %s |\n' "$1" "$(thousands "$(field residentBeforeKB <<<"$line")")" \
        "$(thousands "$(field residentKB <<<"$line")")" "$(thousands "$(field bytesPerConnection <<<"$line")")" \
        "$(field cpuMicrosPerConnection <<<"$line")"
}
row reference --port "$port" --pid "$background_pid"
if [[ -n $tls ]]; then
    row 'gateway-alone' --port $((port + 1)) --pid "$gateway_pid" --room none
    say
    "$bench_dir/tlsbytes" "$tls_file" "$connections"
else
    row chatroomd --port "$node_port" --pid "$node_pid" --room none
fi
