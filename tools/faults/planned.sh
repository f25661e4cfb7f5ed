# shellcheck shell=bash
# What an operator does on purpose, under load. Sourced by run.sh.

# A send that fails is mended by a retry within this time, whatever one planned step does.
mended_ms=2000

# judge_planned: at the end of a scenario in which nothing was broken, only asked to go.
judge_planned() {
    probe_end
    ((probe_worst_ms <= mended_ms)) || fail "a send was not mended within $mended_ms ms, but after $probe_worst_ms ms."
    say "ok  every send was acked within $mended_ms ms, repetitions included"
    swarm_end
    (($(report unannounced) == 0)) || fail "$(report unannounced) sessions were dropped without a reconnect hint."
    say 'ok  no session was dropped without a reconnect hint'
    probes_are_kept
    replicas_are_equal "${swarm_rooms[@]}"
}

# A viewer waits no longer than this for any message, whatever one planned stop does.
silence_ms=1000

scenario rolling-restart 'three nodes, SIGTERM and start of every one in turn'
rolling_restart() {
    local id
    fresh_cluster 3
    swarm_begin 7
    probe_begin 8
    for id in n1 n2 n3; do
        say "SIGTERM of $id"
        stop_node "$id"
        all_go_on
        start_node "$id"
        settle
        all_go_on "$id"
    done
    judge_planned
    say "    moved before their connection ended: $(report moved) of $(report sentAway) that were sent away"
    (($(slowest receipt) <= silence_ms)) || fail "a viewer waited $(slowest receipt) ms for a message."
    (($(slowest comeback) <= silence_ms)) || fail "a viewer heard nothing for $(slowest comeback) ms."
    (($(report refused) == 0)) || fail "$(report refused) sends were refused."
    say "ok  nobody waited longer than $silence_ms ms for any message, and no send was refused"
}

# leads_nothing NODE: as another node sees it; and no shard has a replica there.
holds_nothing() {
    local list
    list=$(shards_at "$(other_than "$1")")
    [[ -n $list ]] && ! awk '{ print "," $3 "," }' <<<"$list" | grep -q ",$1,"
}

# drain NODE: until nothing is on it; then it is stopped, removed, and its data is gone.
drain_and_remove() {
    local other
    other=$(other_than "$1")
    say "drain $1"
    cluster_call POST "$other" "/v1/cluster/nodes/$1/drain"
    wait_until "$1 holds nothing" holds_nothing "$1"
    stop_node "$1"
    cluster_call POST "$other" "/v1/cluster/nodes/$1/remove"
    rm -rf "${data:?}/$1/store"
    all_go_on "$other"
}

scenario drain 'four nodes, every one in turn is drained, removed, and joins again without data'
drain() {
    local id
    fresh_cluster 4
    settle
    swarm_begin 7
    probe_begin 8
    for id in n1 n2 n3 n4; do
        drain_and_remove "$id"
        cluster_call POST "$(other_than "$id")" "/v1/cluster/nodes/$id/readmit"
        start_node "$id"
        settle
        all_go_on "$id"
    done
    judge_planned
}

scenario grow 'one node becomes three, then five'
grow() {
    fresh_cluster 1
    # The bots know from the start of the nodes that come.
    list_nodes 5 >"$work/five.json"
    swarm_begin 7 "$work/five.json"
    probe_begin 8
    cluster_up --nodes 3
    settle
    say 'three nodes'
    all_go_on n3
    cluster_up --nodes 5
    settle
    say 'five nodes'
    all_go_on n5
    judge_planned
}

# list_nodes COUNT: cluster.json as it will be with that many nodes.
list_nodes() {
    local k port separator=''
    port=$(node_field n1 client)
    port=${port##*:}
    sed -n '1,/"nodes"/p' "$cluster_file"
    for ((k = 1; k <= $1; k++)); do
        printf '%s\n{"id": "n%d", "client": "127.0.0.1:%d", "api": "127.0.0.1:%d"}' "$separator" "$k" \
            $((port + 10 * (k - 1))) $((port + 10 * (k - 1) + 1))
        separator=','
    done
    printf ']}\n'
}

scenario shrink 'five nodes become three: drain, stop, remove'
shrink() {
    local id
    fresh_cluster 5
    settle
    swarm_begin 7
    probe_begin 8
    for id in n5 n4; do
        drain_and_remove "$id"
        settle
    done
    say 'three nodes'
    all_go_on
    judge_planned
}
