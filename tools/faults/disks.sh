# shellcheck shell=bash
# Disks that are gone, older or copied. Sourced by run.sh.

scenario empty-disk 'three nodes, one loses its disk and comes back empty; empty, it has no vote'
empty_disk() {
    local id other
    fresh_cluster 3
    make_quiet_rooms 16
    swarm_begin 7
    leader_of "${swarm_rooms[0]}"
    id=$found_leader
    say "$id is killed and loses its disk"
    kill_nodes "$id"
    rm -rf "${data:?}/$id/store"
    all_go_on
    start_node "$id"
    settle
    all_go_on "$id"

    # Only one of the former voters runs beside the empty one: together they are no majority.
    other=$(other_than "$id")
    say "again, while $other is down"
    kill_nodes "$id" "$other"
    rm -rf "${data:?}/$id/store"
    start_node "$id"
    acks_nothing "$(other_than "$id")" 10
    start_node "$other"
    settle
    all_go_on "$id"
    swarm_end
    replicas_are_equal "${swarm_rooms[@]}"
}

scenario older-disk 'three nodes, one comes back with an older copy of its disk'
older_disk() {
    local round id
    fresh_cluster 3
    swarm_begin 7
    for ((round = 1; round <= rounds; round++)); do
        leader_of "${swarm_rooms[0]}"
        id=$found_leader
        stop_node "$id"
        rm -rf "$work/older"
        cp -a "$data/$id/store" "$work/older"
        start_node "$id"
        settle
        all_go_on "$id"
        say "$id is killed and comes back with an older copy of its disk"
        kill_nodes "$id"
        all_go_on
        rm -rf "${data:?}/$id/store"
        mv "$work/older" "$data/$id/store"
        start_node "$id"
        settle
        all_go_on "$id"
    done
    swarm_end
    replicas_are_equal "${swarm_rooms[@]}"
}

scenario backup 'three nodes are backed up under load, and restored into one node and into five'
backup() {
    local acked copies nodes id room epochs
    fresh_cluster 3
    swarm_begin 7
    probe_begin 8
    all_go_on
    acked=$(wc -l <"$work/probes")
    CHATROOM_API=$(api_of n2) CHATROOM_ADMIN_KEY=$admin_key "$bin_dir/chatroomctl" backup --json \
        </dev/null >"$work/backup.json" || fail 'chatroomctl backup failed.'
    mapfile -t copies < <(grep -o '"directory" *: *"[^"]*"' "$work/backup.json" | sed 's/.*: *"//; s/"$//; s,\\/,/,g')
    say "backed up while $acked probes had been acked: ${#copies[@]} directories"
    all_go_on
    probe_end
    swarm_end
    replicas_are_equal "${swarm_rooms[@]}"
    room=${swarm_rooms[0]}
    epochs=$(epoch_of n1 "$room")
    for id in n1 n2 n3; do stop_node "$id"; done
    for nodes in 1 5; do
        restore_into "$nodes" "${copies[@]}"
        probes_are_kept "$acked"
        epochs+=" $(epoch_of n1 "$room")"
        # The rooms are as good as others: bots of a former run can't be counted in them, others can.
        swarm_begin 7
        swarm_end
        replicas_are_equal "${swarm_rooms[@]}"
        for id in $(alive_nodes); do stop_node "$id"; done
    done
    [[ $(tr ' ' '\n' <<<"$epochs" | sort -u | grep -c .) == 3 ]] || fail "the epochs are not all different: $epochs"
    say "ok  every restore has epochs of its own: $epochs"
}

# restore_into NODES DIRECTORY...: as docs/OPERATIONS.md says: one node is restored, the others join it.
restore_into() {
    local nodes=$1 from=$data
    shift
    data=$work/restored-$nodes
    mkdir -p "$data/n1"
    cp "$from/keys.json" "$data/keys.json"
    sed "s,\"dataDirectory\": \"[^\"]*\",\"dataDirectory\": \"$data/n1/store\",; s,$from/keys.json,$data/keys.json," \
        "$from/n1/config.json" >"$data/n1/config.json"
    rm -f "$cluster_file"
    "$bin_dir/chatroomctl" restore --config "$data/n1/config.json" "$@" </dev/null >"$work/restore.txt" 2>&1 \
        || fail "the restore failed: $(cat "$work/restore.txt")"
    cluster_up --nodes "$nodes"
    settle
    say "restored into $nodes node(s)"
}

# epoch_of NODE ROOM: as a client is told that enters. Frames of clients are masked, here with zeros.
epoch_of() {
    local address host port
    address=$(node_field "$1" client)
    host=${address%:*} port=${address##*:}
    (
        exec 3<>"/dev/tcp/$host/$port"
        printf 'GET /v1/ws HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n' \
            "$address" >&3
        printf 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: chatroom.v1.json\r\n\r\n' >&3
        sleep 0.5
        client_frame '{"id":1,"connect":{"anonymous":true}}' >&3
        client_frame "{\"id\":2,\"enter\":{\"room\":\"$2\",\"nick\":\"epoch\",\"avatar\":\"https://e\"}}" >&3
        # The connection stays open: what comes in this time is all that is looked at.
        timeout 5 cat <&3 | tr -d '\0' | grep -a -o '"epoch":"[^"]*"' | head -n 1 | cut -d '"' -f 4 || true
    )
}

# client_frame TEXT: of at most 125 bytes
client_frame() {
    printf "\\x81\\x$(printf '%02x' $((128 + ${#1})))\\0\\0\\0\\0%s" "$1"
}
