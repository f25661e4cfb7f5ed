# shellcheck shell=bash
# What the benchmark scripts have in common: programs, a node of their own, figures out of JSON lines. Sourced.
# The caller has set root to the top of the repository.

: "${root:?}"
# Where the benchmarks put programs, data and raw results. The data must be on a real disk: a sync costs nothing in memory.
bench_dir=${BENCHMARK_DIR:-$root/.build/benchmarks}
mkdir -p "$bench_dir"
export CLUSTER_RUN_DIR=$bench_dir/run
# shellcheck source=cluster/lib.sh
. "$root/cluster/lib.sh"

# No rate may stand between the load and what is measured.
export CHATROOM_SESSION_CHANGES_PER_SECOND=1000000 CHATROOM_SESSION_CHANGES_BURST=1000000
export CHATROOM_ROOMS_VIEWER_BUDGET=1000000

build_clients() {
    local tool
    for tool in make "${CC:-cc}"; do
        command -v "$tool" >/dev/null || fail "the load clients need $tool: apt-get install make gcc libc6-dev"
    done
    make -s -C "$1" "OUT=$bench_dir"
}

# start_node: a fresh cluster of bench_nodes (1) nodes with the settings in the environment; sets, of its first, node_pid, node_client, node_api, node_admin_key,
# node_kid and secret_file.
# shellcheck disable=SC2034 # for the scripts that source this file
start_node() {
    stop_node
    rm -rf "$bench_dir/data"
    (umask 077 && mkdir -p "$bench_dir/data")
    "$root/cluster/up" --nodes "${bench_nodes:-1}" --base-port "$(free_base_port)" --data "$bench_dir/data" </dev/null >"$bench_dir/up.txt" 2>&1 || {
        cat "$bench_dir/up.txt" >&2
        fail 'the node did not start.'
    }
    node_pid=$(node_field n1 pid) node_client=$(node_field n1 client) node_api=$(node_field n1 api)
    node_admin_key=$(sed -n 's/.*"adminKey": *"\([^"]*\)".*/\1/p' "$cluster_file")
    node_kid=$(sed -n 's/.*"tokenKey".*"kid": *"\([^"]*\)".*/\1/p' "$cluster_file")
    secret_file=$bench_dir/secret
    (umask 077 && sed -n 's/.*"tokenKey".*"secret": *"\([^"]*\)".*/\1/p' "$cluster_file" >"$secret_file")
}

stop_node() { "$root/cluster/down" >/dev/null 2>&1 || true; }

# create_room ID
create_room() {
    http POST "$node_api" /v1/rooms "{\"id\":\"$1\",\"creator\":\"bench\",\"enterExitNotify\":\"NONE\"}" "$node_admin_key"
    [[ $http_status == 2?? ]] || fail "the room $1 was not created ($http_status): $http_body"
}

# field NAME: that number out of each JSON line on standard input.
field() { sed -n "s/.*\"$1\":\([-0-9.e+]*\).*/\1/p"; }

# quantile FRACTION: of the numbers on standard input, one a line (nearest rank).
quantile() {
    sort -g | awk -v f="$1" '{ v[NR] = $1 } END { if (NR == 0) { print "-"; exit }
        i = int(f * (NR - 1) + 1.5); print v[i] }'
}

# mean: of the numbers on standard input.
mean() { awk '{ sum += $1 } END { if (NR == 0) print "-"; else printf "%.4f\n", sum / NR }'; }

# thousands NUMBER: 1234567 as 1,234,567
thousands() { awk -v n="$1" 'BEGIN { s = sprintf("%.0f", n); while (match(s, /^[0-9]+[0-9][0-9][0-9]/)) {
    i = match(s, /[0-9][0-9][0-9](,|$)/); s = substr(s, 1, i - 1) "," substr(s, i) } print s }'; }

# Says on what the figures were taken.
machine() {
    local model
    model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
    say "Machine: $(nproc) x ${model:-unknown CPU}, Linux $(uname -r), load $(cut -d ' ' -f 1 /proc/loadavg) when it began."
}
