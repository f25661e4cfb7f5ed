# shellcheck shell=bash
# What cluster/up, cluster/down, cluster/smoke, tools/test and .ci/run have in common. Sourced, never run.
# Uses only bash, coreutils, sed and util-linux, so that it works on a fresh Debian machine: no curl, jq or python.
# The caller has set root to the top of the repository.

: "${root:?}"

# Where the running cluster is described, and the programs if they are built elsewhere (then nothing is built here).
# Named without the prefix CHATROOM_, which belongs to the settings of the node.
run_dir=${CLUSTER_RUN_DIR:-$root/.run}
bin_dir=${CLUSTER_BIN_DIR:-$root/.build/release}
cluster_file=$run_dir/cluster.json

# How the caller calls a script of this directory on this cluster again, from where the caller is.
again_command() {
    local command=$root/$1
    [[ $PWD != "$root" ]] || command=$1
    [[ -z ${CLUSTER_BIN_DIR:-} || $1 == cluster/down ]] || command="CLUSTER_BIN_DIR=${CLUSTER_BIN_DIR@Q} $command"
    [[ -z ${CLUSTER_RUN_DIR:-} ]] || command="CLUSTER_RUN_DIR=${CLUSTER_RUN_DIR@Q} $command"
    printf '%s' "$command"
}

# Whether chatroomctl and botswarm find this cluster: they take the nearest .run/cluster.json at or above the current
# directory, and know nothing of CLUSTER_RUN_DIR.
tools_find_cluster() {
    local directory=$PWD
    while [[ ! -e $directory/.run/cluster.json ]]; do
        [[ -n $directory ]] || return 1
        directory=${directory%/*}
    done
    [[ $directory/.run/cluster.json -ef $cluster_file ]]
}

# One set of options for programs and tests, so that they share one .build and nothing is built twice.
# shellcheck disable=SC2034 # used by the scripts that source this file
swift_build_options=(-c release --static-swift-stdlib -Xswiftc -use-ld=lld)

say() { printf '%s\n' "$*"; }

# Prints a section heading.
section() { printf '\n== %s ==\n' "$*"; }

# fail MESSAGE [EXIT CODE = 1]
fail() {
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    exit "${2:-1}"
}

# ---------------------------------------------------------------------------------------------------------------------
# Requirements of the machine

# Fails with a sentence unless a Swift compiler of at least 6.2 is in PATH.
require_swift() {
    local where='install Swift 6.2 or later (https://www.swift.org/install/linux/) and put its usr/bin into PATH.'
    command -v swift >/dev/null || fail "no Swift compiler found: $where"
    local version
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9]*\.[0-9][0-9]*\).*/\1/p' | head -n 1) || true
    [[ $version =~ ^([0-9]+)\.([0-9]+)$ ]] || fail "'swift --version' does not tell a version: $where"
    if ((BASH_REMATCH[1] < 6 || (BASH_REMATCH[1] == 6 && BASH_REMATCH[2] < 2))); then
        fail "Swift $version is too old: $where"
    fi
}

# Prints the Debian packages that are missing for a build. A library counts as present when pkg-config or the
# compiler finds it, so that a copy which did not come from a package is accepted as well.
missing_packages() {
    command -v pkg-config >/dev/null || say pkg-config
    pkg-config --exists sqlite3 2>/dev/null || [[ -e /usr/include/sqlite3.h ]] || say libsqlite3-dev
    pkg-config --exists libuv 2>/dev/null || [[ -e /usr/include/uv.h ]] || say libuv1-dev
    pkg-config --exists zlib 2>/dev/null || [[ -e /usr/include/zlib.h ]] || say zlib1g-dev
    pkg-config --exists jemalloc 2>/dev/null || [[ -e /usr/include/jemalloc/jemalloc.h ]] || say libjemalloc-dev
    pkg-config --exists 'libcurl >= 7.87' 2>/dev/null || [[ -e /usr/include/curl/curl.h ]] \
        || [[ -e /usr/include/$(uname -m)-linux-gnu/curl/curl.h ]] || say libcurl4-openssl-dev
    pkg-config --exists 'openssl >= 3' 2>/dev/null || [[ -e /usr/include/openssl/ssl.h ]] || say libssl-dev
}

# Installs the missing Debian packages, as root or with sudo; otherwise says exactly what to install and fails.
require_packages() {
    local missing
    mapfile -t missing < <(missing_packages)
    ((${#missing[@]} > 0)) || return 0

    local by_hand="apt-get update && apt-get install ${missing[*]}" as_root=()
    command -v apt-get >/dev/null \
        || fail "these libraries are missing, and there is no apt-get to install them: ${missing[*]} (names of Debian)."
    if ((EUID != 0)); then
        command -v sudo >/dev/null || fail "packages are missing. Run as root: $by_hand"
        # Without a terminal nobody can type a password.
        if [[ -t 0 ]]; then as_root=(sudo); else as_root=(sudo -n); fi
        "${as_root[@]}" true 2>/dev/null || fail "packages are missing, and sudo is refused. Run as root: $by_hand"
    fi

    say "Installing ${missing[*]}"
    local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
        apt-get install -y -q --no-install-recommends "${missing[@]}")
    # The package lists of a fresh machine are empty or old: the second try fetches them.
    "${install[@]}" </dev/null >/dev/null 2>&1 && return 0
    "${as_root[@]}" apt-get update -q </dev/null >/dev/null || true
    "${install[@]}" </dev/null || fail "the packages could not be installed. Run as root: $by_hand"
}

# build_programs NAME...: builds release products, more than one of the package's programs in one call, unless CLUSTER_BIN_DIR says where built ones are.
build_programs() {
    local program
    if [[ -n ${CLUSTER_BIN_DIR:-} ]]; then
        for program in "$@"; do
            [[ -x $bin_dir/$program ]] || fail "there is no program $bin_dir/$program (CLUSTER_BIN_DIR)."
        done
        return 0
    fi
    require_swift
    require_packages
    local products=("$@")
    # Three calls would plan three times and leave CPUs idle at the end of each.
    [[ "$*" != 'chatroomd chatroomctl botswarm' ]] || products=(programs)
    for program in "${products[@]}"; do
        say "Building $program"
        (cd "$root" && swift build "${swift_build_options[@]}" --product "$program" </dev/null) \
            || fail "the build of $program failed."
    done
}

# ---------------------------------------------------------------------------------------------------------------------
# Ports and HTTP

# port_taken tcp|udp PORT: true when a socket holds that port on 127.0.0.1 or on all addresses.
# Read from /proc and not tried by binding: a listener with SO_REUSEPORT would let a second one in unnoticed.
port_taken() {
    local table hex local_address state address
    printf -v hex '%04X' "$2"
    for table in "/proc/net/$1" "/proc/net/${1}6"; do
        [[ -r $table ]] || continue
        while read -r _ local_address _ state _; do
            [[ ${local_address##*:} == "$hex" ]] || continue
            [[ $1 == udp || $state == 0A ]] || continue # 0A: listening
            address=${local_address%%:*}
            case $address in
            00000000 | 0100007F) return 0 ;;                                  # 0.0.0.0, 127.0.0.1
            00000000000000000000000000000000) return 0 ;;                     # ::
            0000000000000000FFFF00000100007F) return 0 ;;                     # ::ffff:127.0.0.1
            esac
        done < <(grep -i ":$hex " "$table" || true) # with many sockets bash alone takes minutes
    done
    return 1
}

# free_base_port: prints a base port whose ten ports are all free.
free_base_port() {
    local base port
    for ((base = 17400; base < 30000; base += 10)); do
        for ((port = base; port < base + 10; port++)); do
            if port_taken tcp "$port" || port_taken udp "$port"; then continue 2; fi
        done
        say "$base"
        return 0
    done
    fail 'no free ports between 17400 and 30000.'
}

# http METHOD HOST:PORT PATH [BODY [ADMIN KEY]]: one request; sets http_status (000: no answer) and http_body.
# The descriptor is closed by the subshell's end, whatever happens; an answer may take 10 s.
# shellcheck disable=SC2034 # http_body is for the scripts that source this file
http() {
    local method=$1 host=${2%:*} port=${2##*:} path=$3 body=${4:-} key=${5:-} answer
    http_refused=
    answer=$(
        exec 2>/dev/null
        exec 3<>"/dev/tcp/$host/$port" || exit 1
        {
            printf '%s %s HTTP/1.1\r\nHost: %s:%s\r\nConnection: close\r\n' "$method" "$path" "$host" "$port"
            [[ -z $key ]] || printf 'Authorization: Bearer %s\r\n' "$key"
            # Counted in bytes: ${#body} counts characters unless the locale is C.
            [[ -z $body ]] || printf 'Content-Type: application/json\r\n'
            LC_ALL=C
            printf 'Content-Length: %d\r\n\r\n%s' "${#body}" "$body"
        } >&3
        timeout 10 cat <&3
    ) || { [[ $? != 1 ]] || http_refused=1; answer=''; }
    answer=${answer//$'\r'/}
    http_status=000 http_body=''
    if [[ $answer =~ ^HTTP/1\.[01]\ ([0-9]{3}) ]]; then
        http_status=${BASH_REMATCH[1]}
        http_body=${answer#*$'\n\n'}
    fi
}

# ---------------------------------------------------------------------------------------------------------------------
# The cluster file and the nodes it names

# Prints 32 random bytes in hex.
new_secret() { od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n'; }

# node_field NODE FIELD: a field of a node in cluster.json, which has one line for each node; empty if there is none.
node_field() {
    [[ -r $cluster_file ]] || return 0
    sed -n "s/.*\"id\": *\"$1\".*\"$2\": *\"\{0,1\}\([^\",}]*\).*/\1/p" "$cluster_file" | head -n 1
}

# Prints the IDs of the nodes in cluster.json.
cluster_nodes() {
    [[ -r $cluster_file ]] || return 0
    sed -n 's/.*{"id": *"\([^"]*\)".*/\1/p' "$cluster_file"
}

# is_node PID NODE-DIRECTORY: true when that process runs and is the node of that directory.
# A process ID alone proves nothing: it may belong to another program by now.
is_node() {
    [[ $1 =~ ^[1-9][0-9]*$ && -r /proc/$1/cmdline ]] || return 1
    local arguments
    mapfile -t -d '' arguments 2>/dev/null <"/proc/$1/cmdline" || return 1
    [[ ${arguments[0]:-} == *chatroomd && " ${arguments[*]} " == *" --config $2/config.json "* ]]
}

# running_pid NODE: the process ID of a node that cluster.json names and that runs; empty otherwise.
running_pid() {
    local pid data
    pid=$(node_field "$1" pid)
    data=$(node_field "$1" data)
    if [[ -n $pid && -n $data ]] && is_node "$pid" "$data"; then say "$pid"; fi
}

# One cluster/up or cluster/down at a time; the nodes must not inherit the descriptor (9>&-).
take_lock() {
    mkdir -p "$run_dir"
    exec 9>"$run_dir/lock"
    flock -n 9 || fail 'another cluster/up or cluster/down is at work in this directory.'
}

# ---------------------------------------------------------------------------------------------------------------------
# Nodes, and what runs beside them

# The node must not hold the lock, nor a pipe of whoever called this script and waits for its end.
close_inherited_descriptors() {
    local path fd
    for path in "/proc/$BASHPID/fd/"*; do
        fd=${path##*/}
        ((fd <= 2)) || eval "exec $fd>&-"
    done
}

# Whether nodes of this machine serve the demo: nobody else's browser reaches them, and no proxy brings one.
demo_is_on() {
    case ${CHATROOM_DEMO:-true} in true | 1 | yes | on) ;; *) return 1 ;; esac
    case ${CHATROOM_PROXY_TERMINATES_TLS:-false} in true | 1 | yes | on) return 1 ;; esac
    [[ -z ${CHATROOM_TRUSTED_PROXIES:-}${CHATROOM_ADVERTISE_URL:-} ]] || return 1
    case ${CHATROOM_CLIENT_HOST:-127.0.0.1} in 127.* | localhost | ::1) ;; *) return 1 ;; esac
}

# spawn_node DIRECTORY: starts the node with the configuration there; started_pid is the node itself.
spawn_node() {
    local demo=false
    ! demo_is_on || demo=true
    # A gateway needs a descriptor for each client: take all that are allowed.
    ulimit -n "$(ulimit -Hn)" 2>/dev/null || true
    rm -f "$1/demo-kill"
    # setsid makes it survive the terminal. It executes the node in place, so that $! is the node itself.
    # (nohup would make it deaf to SIGHUP, by which it reloads keys and limits.)
    (
        close_inherited_descriptors
        # By the environment: programs of before know no such settings.
        export CHATROOM_DEMO=$demo CHATROOM_DEMO_KILL_FILE=$1/demo-kill
        exec setsid "$bin_dir/chatroomd" --config "$1/config.json" </dev/null >>"$1/node.log" 2>&1
    ) &
    # shellcheck disable=SC2034 # read by the scripts that source this file
    started_pid=$!
}

# Starts cluster/keep beside the nodes, unless it runs.
start_keeper() {
    demo_is_on || return 0
    local pid=''
    [[ ! -r $run_dir/keeper.pid ]] || read -r pid <"$run_dir/keeper.pid" || true
    if [[ $pid =~ ^[1-9][0-9]*$ ]] && grep -qs cluster/keep "/proc/$pid/cmdline"; then return 0; fi
    (
        close_inherited_descriptors
        exec setsid env CLUSTER_RUN_DIR="$run_dir" CLUSTER_BIN_DIR="$bin_dir" "$root/cluster/keep" </dev/null >>"$run_dir/keeper.log" 2>&1
    ) &
    printf '%s\n' "$!" >"$run_dir/keeper.pid"
}

# The crowds of start_crowd leave.
stop_crowds() {
    local pid
    [[ -r $run_dir/crowd.pids ]] || return 0
    while read -r pid; do
        if [[ $pid =~ ^[1-9][0-9]*$ ]] && grep -qs "crowd" "/proc/$pid/cmdline"; then kill "$pid" 2>/dev/null || true; fi
    done <"$run_dir/crowd.pids"
    rm -f "$run_dir/crowd.pids"
}

# new_demo_room: prints the ID of a room that the first who opens it makes, and hosts.
new_demo_room() {
    local digits
    digits=$(new_secret)
    printf 'demo-%s' "${digits:0:8}"
}

# start_crowd ROOM N: N bots, which come in when somebody has opened the room.
start_crowd() {
    demo_is_on || fail '--crowd fills a room of the demo, which is off.'
    local room=$1
    (
        close_inherited_descriptors
        exec setsid "$bin_dir/botswarm" crowd --room "$room" --members "$2" --keys "$cluster_file" \
            </dev/null >>"$run_dir/crowd.log" 2>&1
    ) &
    printf '%s\n' "$!" >>"$run_dir/crowd.pids"
}
