# shellcheck shell=bash
# What the fault scenarios have in common: a cluster of their own, bots with a ledger, probes, waiting. Sourced by run.sh,
# which has set root, work (a directory of this scenario alone) and the sizes below.

: "${root:?}" "${work:?}"
export CLUSTER_RUN_DIR=$work/run
# shellcheck source=cluster/lib.sh
. "$root/cluster/lib.sh"

# Deadlines only end a run that hangs: nothing that is judged depends on the speed of the machine, except where a
# scenario says so. Seconds.
patience=${FAULTS_PATIENCE:-180}

data=$work/data
# Node -> the process that keeps its network namespace, in the scenarios of network.sh.
declare -A holder=()
swarm_pid='' probe_pid=''
quiet_rooms=()
admin_key=''

# ---------------------------------------------------------------------------------------------------------------------
# Waiting

# wait_until WHAT COMMAND...: fails when the command has not succeeded within the patience.
wait_until() {
    local what=$1 deadline=$((SECONDS + patience))
    shift
    until "$@"; do
        ((SECONDS < deadline)) || fail "after $patience s still not: $what"
        sleep 0.2
    done
}

now_ms() { printf '%s' $((${EPOCHREALTIME/[.,]/} / 1000)); }

# quantile FRACTION: of the numbers on standard input, one a line (nearest rank).
quantile() {
    sort -g | awk -v f="$1" '{ v[NR] = $1 } END { if (NR == 0) { print "-"; exit }
        i = int(f * (NR - 1) + 1.5); print v[i] }'
}

# one_of WORD...: one of them at random; a run is repeated by its seed (run.sh --seed).
one_of() {
    local words=("$@")
    picked=${words[RANDOM % ${#words[@]}]}
}

# ---------------------------------------------------------------------------------------------------------------------
# The cluster

# cluster_up [ARGUMENT...]: cluster/up on this scenario's data; starts what does not run.
cluster_up() {
    "$root/cluster/up" --data "$data" "$@" </dev/null >"$work/up.txt" 2>&1 || {
        cat "$work/up.txt" >&2
        fail 'cluster/up failed.'
    }
    admin_key=$(sed -n 's/.*"adminKey": *"\([^"]*\)".*/\1/p' "$cluster_file")
}

# fresh_cluster NODES
fresh_cluster() {
    cluster_up --nodes "$1" --base-port "$(free_base_port)"
    say "$1 node(s) run"
}

# runs NODE
runs() { [[ -n $(running_pid "$1") ]]; }

# alive_nodes: the IDs of the nodes that run, those that are stopped by SIGSTOP among them.
alive_nodes() {
    local id
    for id in $(cluster_nodes); do
        if runs "$id"; then say "$id"; fi
    done
}

# first_node: the first of them.
first_node() {
    local ids
    mapfile -t ids < <(alive_nodes)
    ((${#ids[@]} > 0)) || fail 'no node runs.'
    say "${ids[0]}"
}

# signal_node SIGNAL NODE
signal_node() {
    local pid
    pid=$(running_pid "$2")
    [[ -n $pid ]] || fail "$2 does not run."
    kill "-$1" "$pid"
}

# others_than NODE...: all other nodes, in one line.
others_than() {
    local id others=''
    for id in $(cluster_nodes); do
        [[ " $* " == *" $id "* ]] || others+="${others:+ }$id"
    done
    say "$others"
}

# gone NODE
gone() { ! runs "$1"; }

# kill_nodes NODE...: kill -9, all at once.
kill_nodes() {
    local id pids=()
    for id in "$@"; do pids+=("$(running_pid "$id")"); done
    kill -9 "${pids[@]}"
    for id in "$@"; do wait_until "$id is dead" gone "$id"; done
}

# stop_node NODE: SIGTERM, and its end.
stop_node() {
    signal_node TERM "$1"
    wait_until "$1 has stopped" gone "$1"
    tail -n 3 "$data/$1/node.log" | grep -q 'node has stopped' || fail "$1 did not stop cleanly: $data/$1/node.log"
}

# launch_node NODE: as cluster/up does, one node alone and without waiting for anything.
launch_node() {
    local pid log=$data/$1/node.log
    local enter=()
    [[ -z ${holder[$1]:-} ]] || enter=(nsenter --net --target "${holder[$1]}")
    (
        for path in "/proc/$BASHPID/fd/"*; do
            fd=${path##*/}
            ((fd <= 2)) || eval "exec $fd>&-"
        done
        exec setsid "${enter[@]}" "$bin_dir/chatroomd" --config "$data/$1/config.json" </dev/null >>"$log" 2>&1
    ) &
    pid=$!
    # The shell says nothing when it is killed.
    disown "$pid"
    sed -i -E "s/(\"id\": *\"$1\".*\"pid\": *)[0-9]+/\1$pid/" "$cluster_file"
}

# start_node NODE: the same, and waits until it runs.
start_node() {
    launch_node "$1"
    wait_until "$1 runs" runs "$1"
}

# api_of NODE
api_of() { node_field "$1" api; }

# other_than NODE...: a node that runs and is none of these.
other_than() {
    local id
    for id in $(alive_nodes); do
        [[ " $* " == *" $id "* ]] || {
            say "$id"
            return 0
        }
    done
    fail "no node but $* runs."
}

is_ready() {
    http GET "$(api_of "$1")" /readyz
    [[ $http_status == 200 ]]
}

# shards_at NODE: prints what it knows of the shards, one a line: SHARD LEADER REPLICA,REPLICA,...
shards_at() {
    local line leader replicas
    http GET "$(api_of "$1")" /v1/cluster/shards '' "$admin_key"
    while read -r line; do
        leader='' replicas=''
        [[ ! $line =~ \"leader\":\"([^\"]*)\" ]] || leader=${BASH_REMATCH[1]}
        [[ ! $line =~ \"replicas\":\[([^]]*)\] ]] || replicas=${BASH_REMATCH[1]//\"/}
        [[ $line =~ \"shard\":([0-9]+) ]] || continue
        say "${BASH_REMATCH[1]} ${leader:--} ${replicas:--}"
    done < <(grep -o '{[^{]*"replicas":\[[^]]*\][^}]*}' <<<"$http_body" || true)
}

# is_settled: every node that runs is ready, and every shard has a leader that runs and as many replicas, on nodes that
# run, as there can be.
is_settled() {
    local ids id shard leader replicas replica count=0 want
    mapfile -t ids < <(alive_nodes)
    want=$((${#ids[@]} >= 3 ? 3 : 1))
    for id in "${ids[@]}"; do is_ready "$id" || return 1; done
    while read -r shard leader replicas; do
        [[ " ${ids[*]} " == *" $leader "* ]] || return 1
        IFS=, read -r -a replicas <<<"$replicas"
        ((${#replicas[@]} == want)) || return 1
        for replica in "${replicas[@]}"; do
            [[ " ${ids[*]} " == *" $replica "* ]] || return 1
        done
        count=$((count + 1))
    done < <(shards_at "${ids[0]}")
    ((count > 0))
}

settle() {
    wait_until 'all nodes ready and every shard complete' is_settled
}

# cluster_call METHOD NODE PATH [BODY]: of a node's server API; fails unless it answers 2xx.
cluster_call() {
    http "$1" "$(api_of "$2")" "$3" "${4:-}" "$admin_key"
    [[ $http_status == 2?? ]] || fail "$1 $3 at $2 was answered $http_status: $http_body"
}

# ---------------------------------------------------------------------------------------------------------------------
# Rooms

# room_field ROOM FIELD NODE: prints that field of the room as the node answers it; empty while it has no answer.
room_field() {
    http GET "$(api_of "$3")" "/v1/rooms/$1" '' "$admin_key"
    [[ $http_status == 200 ]] || return 0
    sed -n "s/.*\"$2\":\"\{0,1\}\([^\",}]*\).*/\1/p" <<<"$http_body"
}

has_leader() {
    found_leader=$(room_field "$1" leader "$2")
    [[ -n $found_leader ]] && runs "$found_leader"
}

# leader_of ROOM: sets found_leader.
leader_of() {
    local id
    id=$(first_node)
    wait_until "$1 has a leader" has_leader "$1" "$id"
}

# seq_of ROOM NODE: sets found_seq; fails while that node has no answer.
seq_of() {
    http GET "$(api_of "$2")" "/v1/rooms/$1/explain" '' "$admin_key"
    found_seq=$(sed -n 's/.*"lastSeq":\([0-9]*\).*/\1/p' <<<"$http_body")
    [[ -n $found_seq ]]
}

# has_passed ROOM SEQ NODE
has_passed() { seq_of "$1" "$3" && ((found_seq > $2)); }

# go_on NODE ROOM...: as this node answers, each of these rooms gets further messages of the bots.
go_on() {
    local id=$1 room
    shift
    for room in "$@"; do
        wait_until "$room answers at $id" seq_of "$room" "$id"
        wait_until "$room goes on at $id" has_passed "$room" $((found_seq + 2)) "$id"
    done
}

# all_go_on [NODE]: every room of the bots goes on.
all_go_on() {
    go_on "${1:-$(first_node)}" "${swarm_rooms[@]}"
    say 'ok  every room goes on'
}

# try_send NODE ROOM TEXT: one message by the server API of that node; sets http_status.
try_send() {
    http POST "$(api_of "$1")" "/v1/rooms/$2/messages" "{\"type\":\"TEXT\",\"text\":\"$3\"}" "$admin_key"
}

# make_quiet_rooms COUNT: rooms without bots, for sends of the scenario itself: what is refused to it is in doubt.
make_quiet_rooms() {
    local k tag
    tag=$(new_secret | head -c 8)
    quiet_rooms=()
    for ((k = 0; k < $1; k++)); do
        quiet_rooms+=("quiet-$tag-$k")
        cluster_call POST n1 /v1/rooms "{\"id\":\"quiet-$tag-$k\",\"creator\":\"ann\"}"
    done
}

# acks_nothing NODE SECONDS: for that long this node acks no send to the quiet rooms.
acks_nothing() {
    local until=$((SECONDS + $2)) k=0 room
    while ((SECONDS < until)); do
        room=${quiet_rooms[k++ % ${#quiet_rooms[@]}]}
        try_send "$1" "$room" 'a minority'
        [[ $http_status != 2?? ]] || fail "$1 has no majority and acked a message to $room."
        [[ $http_status == 503 ]] || fail "$1 has no majority and answered $http_status instead of 503: $http_body"
    done
    say "ok  $1 acked nothing for $2 s and answered 503 ($k sends)"
}

# learn_places NODE: notes where the shards' replicas are.
declare -A place_of=()
learn_places() {
    local shard replicas
    place_of=()
    while read -r shard _ replicas; do place_of[$shard]=,$replicas,; done < <(shards_at "$1")
    # Shards of rooms do not change: asked while all answer.
    for room in "${swarm_rooms[@]}" "${quiet_rooms[@]}"; do shard_of[$room]=$(room_field "$room" shard "$1"); done
}
declare -A shard_of=()

# rooms_with_majority_in NODES ROOM...: those of which two voters are among these nodes, by what learn_places has noted.
rooms_with_majority_in() {
    local nodes=$1 room id count
    shift
    for room in "$@"; do
        count=0
        for id in $nodes; do
            [[ ${place_of[${shard_of[$room]}]} != *",$id,"* ]] || count=$((count + 1))
        done
        ((count < 2)) || say "$room"
    done
}

# read_history NODE ROOM FILE [SEQ]: writes its pages behind that seq (0), one a line, as the node answers them.
read_history() {
    local after=${4:-0} last
    : >"$3"
    while true; do
        http GET "$(api_of "$1")" "/v1/rooms/$2/messages?order=ASC&limit=100&afterSeq=$after" '' "$admin_key"
        [[ $http_status == 200 ]] || return 1
        say "$http_body" >>"$3"
        last=$(grep -o '"seq":[0-9]*' <<<"$http_body" | tail -n 1 | cut -d : -f 2)
        [[ $http_body == *'"more":true'* && -n $last ]] || return 0
        after=$last
    done
}

hand_over() {
    local shard
    found_leader=$(room_field "$2" leader "$1")
    [[ $found_leader != "$1" ]] || return 0
    shard=$(room_field "$2" shard "$1")
    [[ -n $shard ]] || return 1
    http POST "$(api_of "$1")" "/v1/cluster/shards/$shard/transfer" "{\"to\":\"$1\"}" "$admin_key"
    found_leader=$(room_field "$2" leader "$1")
    [[ $found_leader == "$1" ]]
}

# history_from NODE ROOM FILE: reads the newest 500 messages of the history while the node itself leads the room, which it
# may do for some seconds only: leadership goes back to where it belongs.
history_from() {
    hand_over "$1" "$2" || return 1
    seq_of "$2" "$1" || return 1
    read_history "$1" "$2" "$3" $((found_seq > 500 ? found_seq - 500 : 0)) || return 1
    # It may have been taken from it meanwhile.
    [[ $(room_field "$2" leader "$1") == "$1" ]]
}

# replicas_are_equal ROOM...: nobody sends any more; each node that has a replica is made the leader in its turn, which
# only a replica that has everything can become, and must give the same history.
replicas_are_equal() {
    local room shard replicas id first file ids
    for room in "$@"; do
        id=$(first_node)
        wait_until "$room has a shard" has_leader "$room" "$id"
        shard=$(room_field "$room" shard "$id")
        replicas=$(shards_at "$id" | awk -v s="$shard" '$1 == s { print $3 }')
        IFS=, read -r -a ids <<<"$replicas"
        first=''
        for id in "${ids[@]}"; do
            file=$work/history-$room-$id
            wait_until "$id leads $room and gives its history" history_from "$id" "$room" "$file"
            if [[ -z $first ]]; then
                first=$file
            else
                cmp -s "$first" "$file" || fail "the history of $room is not the same on ${ids[0]} and $id: $first, $file"
            fi
        done
    done
    say "ok  each replica has led $# room(s) and given the same history"
}

# ---------------------------------------------------------------------------------------------------------------------
# Bots

# swarm_begin ROOMS [CLUSTER FILE] [OPTION...]: bots chat until swarm_end. Returns when they do. Bot k connects to node
# k modulo their number, and is in room k modulo ROOMS: with 7 rooms (not 6) the two senders of a room are at two nodes.
swarm_begin() {
    local rooms=$1 file=${2:-$cluster_file} k
    shift $(($# >= 2 ? 2 : 1))
    swarm_tag=$(new_secret | head -c 8)
    swarm_rooms=()
    for ((k = 0; k < rooms; k++)); do swarm_rooms+=("swarm-$swarm_tag-$k"); done
    : >"$work/swarm.txt"
    # They are told to stop, the duration is only a bound.
    "$bin_dir/botswarm" chat --keys "$file" --run "$swarm_tag" --bots "$bots" --rooms "$rooms" \
        --senders $((2 * rooms)) --rate "$rate" --size 100 --duration 86400 --ramp 50 --reconnect-max-ms 2000 \
        --drain "$patience" --json "$@" </dev/null >"$work/report.json" 2>"$work/swarm.txt" &
    swarm_pid=$!
    wait_until 'the bots chat' swarm_sends
    all_go_on >/dev/null
    say "$bots bots chat in $rooms room(s), the ledger is on"
}

swarm_sends() {
    kill -0 "$swarm_pid" 2>/dev/null || fail "the bots have ended: $(tail -n 3 "$work/swarm.txt")"
    grep -q '^chat:' "$work/swarm.txt"
}

# report NAME: a number of the bots' report.
report() { sed -n "s/.*\"$1\":\([-0-9.]*\).*/\1/p" "$work/report.json"; }

# slowest KIND: of a latency of the bots' report, in milliseconds; 0 when there was none.
slowest() {
    local found
    found=$(sed -n "s/.*\"$1Microseconds\":{[^}]*\"max\":\([0-9]*\).*/\1/p" "$work/report.json")
    echo $((${found:-0} / 1000))
}

# swarm_end: the bots stop sending; all that they were acked has to be there, once and in order.
swarm_end() {
    local status=0
    kill -INT "$swarm_pid"
    wait "$swarm_pid" || status=$?
    swarm_pid=''
    if ((status != 0)); then
        cat "$work/report.json" >&2
        tail -n 5 "$work/swarm.txt" >&2
        fail "the ledger of the bots does not balance (exit code $status)."
    fi
    say "ok  the ledger balances: $(sed -n 's/.*"kept":{\([^}]*\)}.*/\1/p' "$work/report.json" | tr -d '"' | tr ',' ' ')," \
        "connections lost $(report lost), without a hint $(report unannounced)," \
        "slowest ack $(slowest ack) ms, slowest receipt $(slowest receipt) ms, longest silence $(slowest comeback) ms"
}

# ---------------------------------------------------------------------------------------------------------------------
# Probes: one sender that repeats each message at the next node until it is acked, and how long that took

# probe_begin ROOMS
probe_begin() {
    local k id
    id=$(first_node)
    probe_tag=$(new_secret | head -c 8) probe_rooms=$1
    for ((k = 0; k < probe_rooms; k++)); do
        cluster_call POST "$id" /v1/rooms "{\"id\":\"probe-$probe_tag-$k\",\"creator\":\"probe\",\"idleCloseSeconds\":0}"
    done
    : >"$work/probes"
    : >"$work/probing"
    probe_loop &
    probe_pid=$!
}

probe_loop() {
    local n=0 k tries began ids
    trap - EXIT
    while [[ -e $work/probing ]]; do
        n=$((n + 1)) tries=0
        began=$(now_ms)
        mapfile -t ids < <(cluster_nodes)
        while true; do
            k=$(((n + tries) % ${#ids[@]}))
            try_send "${ids[k]}" "probe-$probe_tag-$((n % probe_rooms))" "p-$n"
            [[ $http_status != 2?? ]] || break
            tries=$((tries + 1))
            [[ -e $work/probing ]] || return 0
            sleep 0.05
        done
        say "$n $(($(now_ms) - began)) $tries" >>"$work/probes"
        sleep 0.02
    done
}

# probe_end: the last probe is waited for; sets probe_worst_ms.
probe_end() {
    rm -f "$work/probing"
    wait "$probe_pid" || true
    probe_pid=''
    probe_worst_ms=$(cut -d ' ' -f 2 "$work/probes" | quantile 1)
    say "probes: $(wc -l <"$work/probes") acked, $(awk '$3 > 0' "$work/probes" | wc -l) of them not at the first try;" \
        "until acked ms: median $(cut -d ' ' -f 2 "$work/probes" | quantile 0.5)," \
        "99 % $(cut -d ' ' -f 2 "$work/probes" | quantile 0.99), worst $probe_worst_ms"
}

# probes_are_kept [COUNT]: the first COUNT probes that were acked (all, without) are in history.
probes_are_kept() {
    local k id missing
    id=$(first_node)
    : >"$work/probes.history"
    for ((k = 0; k < probe_rooms; k++)); do
        wait_until "the history of probe room $k" read_history "$id" "probe-$probe_tag-$k" "$work/page"
        grep -o '"text":"p-[0-9]*"' "$work/page" | tr -dc '0-9\n' >>"$work/probes.history" || true
    done
    missing=$(comm -23 <(head -n "${1:-1000000000}" "$work/probes" | cut -d ' ' -f 1 | sort -u) \
        <(sort -u "$work/probes.history") | tr '\n' ' ')
    [[ -z $missing ]] || fail "acked probes are missing in history: $missing"
    say "ok  all ${1:-$(wc -l <"$work/probes")} acked probes are in history"
}

# ---------------------------------------------------------------------------------------------------------------------
# The end

# leave: ends what this scenario has started, whatever its state.
leave() {
    local id pid
    # Nobody needs to be told of the processes that are killed here.
    exec 2>/dev/null
    rm -f "$work/probing"
    [[ -z $probe_pid ]] || kill "$probe_pid" 2>/dev/null || true
    [[ -z $swarm_pid ]] || kill -9 "$swarm_pid" 2>/dev/null || true
    for pid in "${busy_pids[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
    for id in $(cluster_nodes); do
        pid=$(running_pid "$id")
        [[ -z $pid ]] || kill -9 "$pid" 2>/dev/null || true
    done
    wait || true
}
busy_pids=()
