# shellcheck shell=bash
# What strangers and members do on purpose, against three real nodes beside a member who behaves. Sourced by run.sh.
#
# The attacker and the witness are programs of hostile/ (Python 3, its standard library); all of it stays on this machine.

# The most that a node may do while an attack goes on; see "Attacks" in docs/OPERATIONS.md. The attacker and the witness
# share the machine with the nodes, so a small machine measures them too.
hostile_p99_ms=${HOSTILE_P99_MS:-250}
hostile_memory_mb=${HOSTILE_MEMORY_MB:-400}
hostile_written_mb=${HOSTILE_WRITTEN_MB:-150}
# In 20 s. Sixty users within their rates change 20 MB in that time; each change stands in the log and in history, both
# with their write-ahead logs, and in a checkpoint every ten seconds.
hostile_results_written_mb=${HOSTILE_RESULTS_WRITTEN_MB:-300}
# In 20 s.
hostile_read_mb=${HOSTILE_READ_MB:-2000}
hostile_seconds=${HOSTILE_SECONDS:-20}
# The most that may be left of a node's growth, so long after an attack that has filled buffers.
hostile_left_mb=${HOSTILE_LEFT_MB:-100}
hostile_left_seconds=60
# While buffers are filled, nodes have this for all of them: what is offered is several times as much.
hostile_budget_mb=${HOSTILE_BUDGET_MB:-64}
# The most that a node may grow by then, with the connections themselves.
hostile_buffers_memory_mb=${HOSTILE_BUFFERS_MEMORY_MB:-160}
# So long results are to be remembered: three times what a room may remember (16 MB, `Limits.rememberedBytesPerRoom`).
hostile_results_seconds=${HOSTILE_RESULTS_SECONDS:-45}
# The most that each node may grow by then; before, the same has been done without anything to remember (changes).
hostile_results_memory_mb=${HOSTILE_RESULTS_MEMORY_MB:-32}
# How long one call of the server API may take meanwhile.
hostile_api_ms=${HOSTILE_API_MS:-2000}
# In this order; `link` is the last one, with a node that stands still for a while.
hostile_attacks=${HOSTILE_ATTACKS:-headers barrage requests history copies buffers changes results takeover api link}
witness_pid=''
hostile_failures=()

# of_node NODE FILE FIELD: a number of /proc/PID/FILE.
of_node() { awk -v field="$3:" '$1 == field { print $2; exit }' "/proc/$(running_pid "$1")/$2" 2>/dev/null || say 0; }
memory_mb() { say $(($(of_node "$1" status VmRSS) / 1024)); }
written_mb() { say $(($(of_node "$1" io write_bytes) / 1048576)); }
read_mb() { say $(($(of_node "$1" io rchar) / 1048576)); }

# Only in a subshell, which becomes the program: so whoever ends it by its ID ends the program.
run_hostile() { exec python3 "$root/tools/faults/hostile/$1.py" "${@:2}"; }

# held_for_dead: how often any node has held another for dead, as the logs say.
held_for_dead() { cat "$data"/n*/node.log | grep -c 'held for dead' || true; }

# others_held_for_dead NODE: the same of the other nodes among each other.
others_held_for_dead() {
    local id
    for id in $(cluster_nodes); do [[ $id == "$1" ]] || cat "$data/$id/node.log"; done \
        | grep 'held for dead' | grep -cvE "peer=$1( |\$)|peer[\": ]+$1\"" || true
}

# blame WHAT: notes a failure; the others are tried all the same.
blame() {
    say "NOT OK  $*"
    hostile_failures+=("$*")
}

# judge NAME FROM-MS [NODE]: what the witness has seen since; not at that node, if it is given.
judge() {
    local kind count bad p99 worst
    for kind in send history; do
        awk -v from="$2" -v kind="$kind" -v but="${3:-}" '$1 >= from && $3 == kind && $2 != but' "$work/witness" \
            >"$work/seen"
        cut -d ' ' -f 4 "$work/seen" >"$work/took"
        count=$(wc -l <"$work/took")
        bad=$(awk '$5 != "ok"' "$work/seen" | wc -l)
        p99=$(quantile 0.99 <"$work/took") worst=$(quantile 1 <"$work/took")
        say "    witness: $count times $kind, median $(quantile 0.5 <"$work/took") ms, p99 $p99 ms, most $worst ms, $bad not ok"
        if [[ $kind == send ]]; then
            ((count > 0)) || blame "$1: the witness sent nothing"
            [[ $p99 == - ]] || ((${p99%.*} < hostile_p99_ms)) || blame "$1: the p99 of the witness's sends was $p99 ms"
        fi
        ((bad == 0)) || blame "$1: the witness failed $bad times at $kind: $(awk '$5 != "ok" { print $5 }' "$work/seen" | sort | uniq -c | sort -rn | head -n 3 | tr -s ' \n' ' ')"
    done
}

# under_attack NAME NODE [ROOM]: the attack goes on for hostile_seconds; the witness is judged meanwhile and for 5 s after.
under_attack() {
    local name=$1 node=$2 room=${3:-} began id dead status=0 peak=0 now attacker most_written=$hostile_written_mb
    local seconds=$hostile_seconds most_memory=$hostile_memory_mb most_read=$hostile_read_mb held=0 closed least=-1
    local -A memory=() written=() had=()
    case $name in
    buffers)
        most_memory=$hostile_buffers_memory_mb
        limit_buffers $((hostile_budget_mb << 20))
        closed=$(closed_for_memory "$node")
        ;;
    changes) most_written=$hostile_results_written_mb ;;
    results)
        seconds=$hostile_results_seconds
        most_written=$((hostile_results_written_mb * seconds / 20)) most_read=$((hostile_read_mb * seconds / 20))
        ;;
    esac
    say "$name, against $node"
    dead=$(held_for_dead)
    for id in $(alive_nodes); do memory[$id]=$(memory_mb "$id") written[$id]=$(written_mb "$id") had[$id]=$(read_mb "$id"); done
    began=$(now_ms)
    run_hostile attack "$cluster_file" "$node" "$name" "$seconds" "$room" >"$work/attack-$name.txt" 2>&1 &
    attacker=$!
    busy_pids+=("$attacker")
    while kill -0 "$attacker" 2>/dev/null; do
        for id in $(alive_nodes); do
            now=$(($(memory_mb "$id") - ${memory[$id]:-0}))
            ((now <= peak)) || peak=$now
        done
        if [[ $name == buffers ]]; then
            now=$(node_metric "$node" chatroom_buffer_bytes)
            ((now <= held)) || held=$now
        fi
        if [[ $name == api ]]; then
            # At the port that probes have for themselves; HOSTILE_READY_FIELD names another one of cluster.json.
            http GET "$(node_field "$node" "${HOSTILE_READY_FIELD:-probes}")" /readyz
            [[ $http_status == 200 ]] || blame "api: /readyz of $node was answered ${http_status:-nothing}"
            # The port that is attacked, too: at the attacker's own address, and at another one.
            api_answers "$node" /v1/stats 127.0.0.1
            api_answers "$node" /v1/stats 127.0.0.2
            api_answers "$node" /metrics 127.0.0.2
        fi
        sleep 0.5
    done
    wait "$attacker" || status=$?
    ((status == 0)) || fail "the attack $name ended with $status: $(tail -n 3 "$work/attack-$name.txt")"
    sleep 5
    say "    attacker: $(cat "$work/attack-$name.txt")"
    judge "$name" "$began"
    ((peak <= most_memory)) || blame "$name: a node grew by $peak MB"
    case $name in
    buffers)
        closed=$(($(closed_for_memory "$node") - closed))
        greediest_gave_way "$node" "$closed" "$held" "$peak"
        memory_is_back "$name" "$node" "${memory[$node]}"
        limit_buffers ''
        ;;
    results)
        # The one that grew least: what its replica of the room remembers is in all of them, and others do other things.
        for id in $(alive_nodes); do
            now=$(($(memory_mb "$id") - memory[$id]))
            ((least >= 0 && least <= now)) || least=$now
        done
        results_are_bounded "$least"
        ;;
    esac
    for id in $(alive_nodes); do
        now=$(($(written_mb "$id") - written[$id]))
        ((now <= most_written)) || blame "$name: $id wrote $now MB"
        now=$(($(read_mb "$id") - had[$id]))
        ((now <= most_read)) || blame "$name: $id read $now MB"
        say "    $id: +$(($(memory_mb "$id") - memory[$id])) MB memory, $(($(written_mb "$id") - written[$id])) MB written," \
            "$(($(read_mb "$id") - had[$id])) MB read"
    done
    (($(held_for_dead) == dead)) || blame "$name: a node that lives was held for dead"
    for id in $(alive_nodes); do
        [[ $(members "$id" alive) == 3 ]] || blame "$name: $id does not see three nodes"
    done
    # The work of one attack is not held against the next.
    wait_until 'everybody sees everybody again' all_see 3
    settle
}

# limit_buffers BYTES: what the buffers of all connections of a node may hold; '' for what is usual.
limit_buffers() {
    local id times
    for id in $(alive_nodes); do
        times=$(log_lines "$id" 'have been read again')
        sed -i -E '/^  "limits":/d' "$data/$id/config.json"
        [[ -z $1 ]] || sed -i "2i \\  \"limits\": {\"bufferBytes\": $1}," "$data/$id/config.json"
        signal_node HUP "$id"
        wait_until "$id has read its settings again" has_logged "$id" 'have been read again' $((times + 1))
    done
}

# node_metric NODE SERIES: a whole number.
node_metric() {
    http GET "$(node_field "$1" probes)" /metrics
    awk -v series="$2" '$1 == series { printf "%.0f", $2; found = 1; exit } END { if (!found) print 0 }' <<<"$http_body"
}

closed_for_memory() { node_metric "$1" 'chatroom_dropped_total{class="connection",cause="memory"}'; }

# attack_count ATTACK WHAT: a number that the attacker has told.
attack_count() { tr ',' '\n' <"$work/attack-$1.txt" | sed -n "s/^ *$2: \([0-9]*\)\$/\1/p" | head -n 1; }

# greediest_gave_way NODE CLOSED HELD-BYTES GROWN-MB: that the witness was not among them is seen by his requests.
greediest_gave_way() {
    local offered wanted
    offered=$(attack_count buffers 'MB offered')
    ((${offered:-0} >= 3 * hostile_budget_mb)) \
        || blame "buffers: only ${offered:-0} MB were offered, with a budget of $hostile_budget_mb MB"
    # Each connection that is closed frees 244 KB at most.
    wanted=$(((${offered:-0} - hostile_budget_mb) * 4))
    (($2 >= wanted)) || blame "buffers: $1 has closed $2 connections, and $wanted were too many"
    # A loop looks for the greediest every 50 ms, in which this attacker sends tens of MB.
    (($3 <= hostile_budget_mb * 2 << 20)) || blame "buffers: $1 held $(($3 >> 20)) MB in buffers"
    say "    $1: $offered MB were offered, $(($3 >> 20)) MB held at most, $4 MB grown at most, $2 connections gave way"
}

# results_are_bounded GROWN-MB
results_are_bounded() {
    local remembered
    remembered=$(attack_count results 'MB to remember')
    ((${remembered:-0} >= 45)) || blame "results: only ${remembered:-0} MB were to be remembered"
    (($1 <= hostile_results_memory_mb)) || blame "results: each node grew by $1 MB or more"
    say "    $remembered MB were to be remembered, each node grew by $1 MB or more"
}

# api_answers NODE PATH SOURCE
api_answers() {
    local status took
    read -r status took < <(run_hostile ask "$cluster_file" "$@")
    [[ $status == 200 ]] || blame "api: $2 of $1 was answered $status from $3"
    ((took < hostile_api_ms)) || blame "api: $2 of $1 took $took ms from $3"
}

# memory_is_back NAME NODE MB: what it had before.
memory_is_back() {
    local until=$((SECONDS + hostile_left_seconds)) left
    while left=$(($(memory_mb "$2") - $3)); ((left > hostile_left_mb)); do
        ((SECONDS < until)) || {
            blame "$1: $left MB of what $2 has taken are not given back after $hostile_left_seconds s"
            return 0
        }
        sleep 1
    done
    say "    $2 has given back all but $left MB"
}

scenario hostile 'three nodes, what strangers and members can do to cost much, one thing after the other, beside a member who behaves'
hostile() {
    local name began victim room
    command -v python3 >/dev/null || fail 'the attacker needs python3.'
    ulimit -n "$(ulimit -Hn)"
    fresh_cluster 3
    settle
    wait_until 'everybody sees everybody' all_see 3
    make_quiet_rooms 2
    room=${quiet_rooms[0]}
    : >"$work/witness"
    run_hostile witness "$cluster_file" "${quiet_rooms[1]}" "$work/witness" 1800 >"$work/witness.txt" 2>&1 &
    witness_pid=$!
    busy_pids+=("$witness_pid")
    wait_until 'the witness sends' witness_has_sent 60
    began=$(now_ms)
    sleep 5
    say 'nobody does anything'
    judge quiet "$began"
    # The node that leads the attacked room, and so has most to do.
    leader_of "$room"
    victim=$found_leader
    for name in $hostile_attacks; do
        if [[ $name == link ]]; then silent_links "$victim"; else under_attack "$name" "$victim" "$room"; fi
    done

    : >"$work/witness.stop"
    kill "$witness_pid" 2>/dev/null || true
    ((${#hostile_failures[@]} == 0)) || {
        printf '    %s\n' "${hostile_failures[@]}" >&2
        fail "${#hostile_failures[@]} things that must not be."
    }
    say 'ok  the witness was served all the time, and nobody was held for dead'
}

# silent_links NODE: the link ports of all nodes are full of connections that say nothing, while this node stands still for
# so long that the others hold it for dead. Its own clients are not judged, who lose it; those of the other two are: before,
# from when every shard has a leader again, and when it comes back. In between who leads is found out, which takes its time
# without an attack, too.
silent_links() {
    local id began took count dead attackers=()
    say "link, against all, while $1 stands still"
    dead=$(others_held_for_dead "$1")
    began=$(now_ms)
    for id in n1 n2 n3; do
        run_hostile attack "$cluster_file" "$id" link 60 >"$work/attack-link-$id.txt" 2>&1 &
        attackers+=("$!")
    done
    busy_pids+=("${attackers[@]}")
    sleep 10
    judge 'link, before' "$began"
    signal_node STOP "$1"
    wait_until "$1 is held for dead" is_missed "$1"
    wait_until "every shard is led by another one than $1" leads_nothing "$1" "$(other_than "$1")"
    began=$(now_ms)
    sleep 10
    judge "link, without $1" "$began" "$1"
    began=$(now_ms)
    signal_node CONT "$1"
    wait_until "$1 is back in its cluster" all_see 3
    wait_until 'every shard has all its replicas again' is_settled
    took=$(($(now_ms) - began))
    count=$(cat "$data"/n*/node.log | grep -c 'link is up' || true)
    say "    $1 was back after $took ms ($count links were made since the start)"
    ((took < 20000)) || blame "link: $1 was back after $took ms only"
    sleep 5
    judge "link, with $1 again" "$began" "$1"
    (($(others_held_for_dead "$1") == dead)) || blame 'link: one of the two others was held for dead'
    for id in "${attackers[@]}"; do kill "$id" 2>/dev/null || true; done
}

# is_missed NODE: another one holds it for dead.
is_missed() { [[ $(members "$(other_than "$1")" dead) == 1 ]]; }

# witness_has_sent COUNT
witness_has_sent() { (($(grep -c ' ok$' "$work/witness") >= $1)); }
