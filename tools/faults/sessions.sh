# shellcheck shell=bash
# Sessions that outlive their node (docs/PROTOCOL.md, "Resume"). Sourced by run.sh.

sessions_each=${FAULTS_SESSIONS:-25}

# sessions_begin NODE [--comes-back]: opens the sessions, and returns when all are there.
sessions_begin() {
    command -v python3 >/dev/null || fail 'python3 is not installed.'
    coproc sessions { exec python3 "$here/sessions.py" "$cluster_file" "$1" "$sessions_each" "${@:2}" 2>&1; }
    sessions_process=$!
    busy_pids+=("$sessions_process")
    sessions_wait ready
}

# sessions_wait WORD: until the program says it.
sessions_wait() {
    local line
    while IFS= read -r -t 120 line <&"${sessions[0]}"; do
        [[ $line != "$1" ]] || return 0
        say "$line"
    done
    fail "the sessions are not $1."
}

# sessions_end: their report; fails when a session did not go on as the same one.
sessions_end() {
    local line status=0
    echo >&"${sessions[1]}"
    while IFS= read -r line <&"${sessions[0]}"; do say "    $line"; done
    wait "$sessions_process" || status=$?
    ((status == 0)) || fail 'not every session went on as the same one.'
    say "ok  $((4 * sessions_each)) of $((4 * sessions_each)) sessions went on as the same ones, and nobody saw them go"
}

# sessions_over NODE WORDS BREAK MEND: BREAK and MEND are commands that take the node.
sessions_over() {
    sessions_begin "$1" --comes-back
    say "$1 $2"
    $3 "$1"
    echo >&"${sessions[1]}"
    sessions_wait back
    $4 "$1"
    sessions_end
}

scenario sessions-kill 'three nodes, kill -9 of one: its sessions go on at the others as the same ones'
sessions_kill() {
    local round id
    fresh_cluster 3
    for ((round = 1; round <= rounds; round++)); do
        settle
        id=n$((round % 3 + 1))
        sessions_begin "$id"
        say "kill -9 of $id"
        kill_nodes "$id"
        sessions_end
        start_node "$id"
    done
}

scenario sessions-freeze 'three nodes, one stands still: its sessions go on at the others, and its copies end'
sessions_freeze() {
    local round id
    fresh_cluster 3
    for ((round = 1; round <= rounds; round++)); do
        settle
        id=n$((round % 3 + 1))
        sessions_over "$id" 'stands still' 'signal_node STOP' 'signal_node CONT'
    done
}
