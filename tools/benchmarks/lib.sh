# shellcheck shell=bash
# What the benchmark scripts have in common: options, programs, a node of their own, figures out of JSON lines. Sourced.
# The caller has set root to the top of the repository.

: "${root:?}"
# Where the benchmarks put programs, data and raw results. The data must be on a real disk: a sync costs nothing in memory.
bench_dir=${BENCHMARK_DIR:-$root/.build/benchmarks}
mkdir -p "$bench_dir"
export CLUSTER_RUN_DIR=$bench_dir/run
# shellcheck source=cluster/lib.sh
. "$root/cluster/lib.sh"

# No rate and no admission may stand between the load and what is measured, nor a heartbeat that a load client misses.
export CHATROOM_SESSION_CHANGES_PER_SECOND=1000000 CHATROOM_SESSION_CHANGES_BURST=1000000
export CHATROOM_SESSION_CHANGE_BYTES_PER_SECOND=1000000000 CHATROOM_SESSION_CHANGE_BYTES_BURST=1000000000
export CHATROOM_ROOMS_VIEWER_BUDGET=1000000
export CHATROOM_LIMITS_CONNECTIONS=200000 CHATROOM_LIMITS_CONNECTIONS_PER_ADDRESS=200000
export CHATROOM_LIMITS_HANDSHAKES_PER_SECOND=1000000 CHATROOM_LIMITS_CONNECTS_PER_SECOND=1000000
export CHATROOM_LIMITS_ENTERS_PER_SECOND=1000000 CHATROOM_LIMITS_ROOM_ENTERS_PER_SECOND=1000000

# ---------------------------------------------------------------------------------------------------------------------
# Options

option_names=() flag_names=() option_help='' quick_values=()

# option VARIABLE VALUE TEXT: --variable VALUE sets a variable that has its default already.
option() {
    local line
    option_names+=("$1")
    printf -v line '  --%-18s%s (%s)\n' "${1//_/-} $2" "$3" "${!1}"
    option_help+=$line
}

# flag VARIABLE TEXT: --variable sets it to 1.
flag() {
    local line
    flag_names+=("$1")
    printf -v line '  --%-18s%s\n' "${1//_/-}" "$2"
    option_help+=$line
}

# quick VARIABLE=VALUE...: what --quick sets.
quick() { quick_values=("$@"); }

# read_options ARGUMENT...: sets the variables; what is no option goes into the array arguments.
arguments=()
read_options() {
    local name pair
    while (($# > 0)); do
        name=${1#--} name=${name//-/_}
        if [[ $1 == -h || $1 == --help ]]; then
            say "usage: ${0##*/} [options]${arguments_help:+ $arguments_help}"
            printf '%s' "$option_help"
            ((${#quick_values[@]} == 0)) || say "  --quick             a short run: ${quick_values[*]}"
            exit 0
        elif [[ $1 == --quick ]] && ((${#quick_values[@]} > 0)); then
            for pair in "${quick_values[@]}"; do printf -v "${pair%%=*}" '%s' "${pair#*=}"; done
        elif [[ $1 == --* && " ${flag_names[*]} " == *" $name "* ]]; then
            printf -v "$name" 1
        elif [[ $1 == --* && " ${option_names[*]} " == *" $name "* ]]; then
            (($# > 1)) || fail "$1 needs a value." 2
            printf -v "$name" '%s' "$2"
            shift
        elif [[ $1 != -* && -n ${arguments_help:-} ]]; then
            arguments+=("$1")
        else
            fail "unknown argument $1; ${0##*/} --help shows what there is." 2
        fi
        shift
    done
}

# ---------------------------------------------------------------------------------------------------------------------
# Programs, nodes and their end

# begin NAME: empties the raw results, .build/benchmarks/NAME.jsonl, whose path is then in raw; what was started ends
# with the script.
begin() {
    raw=$bench_dir/$1.jsonl
    : >"$raw"
    trap end_all EXIT
    trap 'exit 130' INT TERM
}

background_pids=()

# background COMMAND...: starts it; background_pid is its process.
background() {
    "$@" &
    background_pid=$!
    background_pids+=("$background_pid")
}

end_background() {
    ((${#background_pids[@]} > 0)) || return 0
    kill "${background_pids[@]}" 2>/dev/null || true
    wait "${background_pids[@]}" 2>/dev/null || true
    background_pids=()
}

end_all() {
    end_background
    stop_node
}

# need_files N: every process started from here on may have so many open files. False, with a word, where that is too many.
need_files() {
    # The hard limit is for whoever may raise it.
    (($(ulimit -n) >= $1)) || ulimit -n "$1" 2>/dev/null || ulimit -n "$(ulimit -H -n)"
    (($(ulimit -n) >= $1)) && return
    printf "%s wants %s open files of one process, and may have %s here (ulimit -n).\n" "${0##*/}" "$1" "$(ulimit -n)" >&2
    return 1
}

# For measurements with the server on one CPU and the load on another.
need_two_cpus() { (($(nproc) >= 2)) || fail 'this needs two CPUs: one for the server, one for the client.'; }

build_clients() {
    local tool
    for tool in make "${CC:-cc}"; do
        command -v "$tool" >/dev/null || fail "the load clients need $tool: apt-get install make gcc libc6-dev libssl-dev"
    done
    make -s -C "$root/tools/benchmarks/$1" "OUT=$bench_dir"
}

# build PROGRAM...: quietly, unless it fails.
build() {
    build_programs "$@" >"$bench_dir/build.txt" 2>&1 || {
        cat "$bench_dir/build.txt" >&2
        fail 'the build failed.'
    }
}

# start_node: a fresh cluster of bench_nodes (1) nodes with the settings in the environment; sets, of its first, node_pid,
# node_client, node_port, node_api, node_admin_key, node_kid and secret_file, and key_options for the load clients.
# shellcheck disable=SC2034 # for the scripts that source this file
start_node() {
    stop_node
    [[ -n ${has_built_node:-} ]] || build chatroomd chatroomctl botswarm
    has_built_node=1
    rm -rf "$bench_dir/data"
    (umask 077 && mkdir -p "$bench_dir/data")
    start_again --nodes "${bench_nodes:-1}" --base-port "$(free_base_port)"
    node_admin_key=$(sed -n 's/.*"adminKey": *"\([^"]*\)".*/\1/p' "$cluster_file")
    node_kid=$(sed -n 's/.*"tokenKey".*"kid": *"\([^"]*\)".*/\1/p' "$cluster_file")
    secret_file=$bench_dir/secret
    (umask 077 && sed -n 's/.*"tokenKey".*"secret": *"\([^"]*\)".*/\1/p' "$cluster_file" >"$secret_file")
    key_options=(--kid "$node_kid" --secret-file "$secret_file")
}

# start_again OPTION...: cluster/up with the data that there is.
start_again() {
    CLUSTER_BIN_DIR=$bin_dir "$root/cluster/up" "$@" --data "$bench_dir/data" </dev/null >"$bench_dir/up.txt" 2>&1 || {
        cat "$bench_dir/up.txt" >&2
        fail 'the node did not start.'
    }
    # shellcheck disable=SC2034 # for the scripts that source this file
    node_pid=$(node_field n1 pid) node_client=$(node_field n1 client) node_api=$(node_field n1 api)
    # shellcheck disable=SC2034
    node_port=${node_client##*:}
}

stop_node() { "$root/cluster/down" >/dev/null 2>&1 || true; }

# make_certificate: a certificate of its own and its key, in tls_file.
make_certificate() {
    command -v openssl >/dev/null || fail 'a certificate is made by openssl: apt-get install openssl'
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost \
        -keyout "$bench_dir/key.pem" -out "$bench_dir/certificate.pem" 2>/dev/null
    # shellcheck disable=SC2034 # for the scripts that source this file
    tls_file=$bench_dir/tls.pem
    cat "$bench_dir/certificate.pem" "$bench_dir/key.pem" >"$tls_file"
}

# on_cpu CPU PID: all threads of a process.
on_cpu() { taskset -a -cp "$1" "$2" >/dev/null; }

# port_of NODE: where its clients connect.
port_of() {
    local address
    address=$(node_field "$1" client)
    printf '%s' "${address##*:}"
}

# node_pids N: the processes of the first N nodes, with a comma between, as the load clients take them.
node_pids() {
    local i list=''
    for ((i = 1; i <= $1; i++)); do list+=,$(node_field "n$i" pid); done
    printf '%s' "${list#,}"
}

# create_room ID [enterExitNotify = NONE]
create_room() {
    http POST "$node_api" /v1/rooms "{\"id\":\"$1\",\"creator\":\"bench\",\"enterExitNotify\":\"${2:-NONE}\"}" "$node_admin_key"
    [[ $http_status == 2?? ]] || fail "the room $1 was not created ($http_status): $http_body"
}

# leader_of ROOM [API]: the node that leads it; empty while none does, and with one node.
leader_of() {
    http GET "${2:-$node_api}" "/v1/rooms/$1" '' "$node_admin_key"
    sed -n 's/.*"leader":"\([^"]*\)".*/\1/p' <<<"$http_body"
}

# fan_out_seconds: the CPU that the node has spent on writing to viewers, by its own count.
fan_out_seconds() {
    http GET "$node_api" /metrics '' "$node_admin_key"
    sed -n 's/^chatroom_fan_out_cpu_seconds_total //p' <<<"$http_body"
}

# turn_counts METRIC: how many turns of the node's loops have taken at most so many seconds, by its own count; a line each.
turn_counts() {
    http GET "$node_api" /metrics '' "$node_admin_key"
    sed -n "s/^$1_bucket{le=\"\([^\"]*\)\"} /\1 /p" <<<"$http_body"
}

# longest_turn BEFORE AFTER: of what turn_counts said, the bucket of the longest turn in between, as its upper end in ms.
longest_turn() {
    paste -d ' ' <(say "$1") <(say "$2") | awk '{ le[NR] = $1; n[NR] = $4 - $2 }
        END { for (i = NR; i > 1 && n[i - 1] == n[NR]; i--); print le[i] == "+Inf" ? "1e9" : le[i] * 1000 }'
}

# turns_above SECONDS BEFORE AFTER: of what turn_counts said, how many turns in between took longer than a bucket's end.
turns_above() {
    paste -d ' ' <(say "$2") <(say "$3") | awk -v end="$1" '$1 == end { most = $4 - $2 } { all = $4 - $2 } END { print all - most }'
}

# cpu_ms NODE...: the CPU that all living threads of these nodes have used, from schedstat: exact.
cpu_ms() {
    local node
    for node in "$@"; do cat "/proc/$(node_field "$node" pid)/task/"*/schedstat; done \
        | awk '{ sum += $1 } END { printf "%.1f", sum / 1e6 }'
}

# ---------------------------------------------------------------------------------------------------------------------
# Figures

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

# spread: median (quartiles; least, most) of the numbers on standard input.
spread() {
    local numbers
    numbers=$(cat)
    printf '%s (%s-%s; %s, %s)' "$(quantile 0.5 <<<"$numbers")" "$(quantile 0.25 <<<"$numbers")" \
        "$(quantile 0.75 <<<"$numbers")" "$(quantile 0 <<<"$numbers")" "$(quantile 1 <<<"$numbers")"
}

# progress TEXT: on a terminal, in one line; without a text it is wiped.
progress() {
    [[ -t 2 ]] || return 0
    if (($# > 0)); then printf '\r%s ' "$*" >&2; else printf '\r\033[K' >&2; fi
}

# Says on what the figures were taken.
machine() {
    local model load
    model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
    load=$(cut -d ' ' -f 1 /proc/loadavg)
    say "Machine: $(nproc) x ${model:-unknown CPU}, Linux $(uname -r), load $load when it began."
    # The load in hundredths; not octal for a zero in front.
    ((10#${load/./} < 150)) || say '**The machine was busy with something else: not figures to keep.**'
}
