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

# ---------------------------------------------------------------------------------------------------------------------
# Disks without space: the store of one node is on a small file system of its own, in a mount namespace (run.sh).

in_mounts=(unshare --mount)
((EUID == 0)) || in_mounts=(unshare --user --map-root-user --mount)

# Prints why the scenarios with small disks can't run here; nothing when they can.
missing_for_mounts() {
    "${in_mounts[@]}" sh -c 'mount -t tmpfs -o size=1m tmpfs /mnt' 2>/dev/null \
        || say 'this machine lets this user mount nothing'
}

# small_disk NODE: its store moves there.
small_disk() {
    stop_node "$1"
    mv "$data/$1/store" "$data/$1/moved"
    mkdir "$data/$1/store"
    mount -t tmpfs -o size=96m,mode=700 tmpfs "$data/$1/store"
    cp -a "$data/$1/moved/." "$data/$1/store"
    start_node "$1"
}

# fill_disk NODE, free_disk NODE
fill_disk() {
    say "the disk of $1 is full"
    dd if=/dev/zero of="$data/$1/store/filler" bs=4k 2>/dev/null || true
}
free_disk() {
    say "the disk of $1 has space again"
    rm -f "$data/$1/store/filler"
}

# leads_nothing NODE OTHER: as the other one answers, every shard has a leader, and it is not this node.
leads_nothing() {
    local leaders
    leaders=$(shards_at "$2" | cut -d ' ' -f 2)
    [[ -n $leaders ]] && ! grep -qx -e "$1" -e - <<<"$leaders"
}
leads_something() { shards_at "$2" | cut -d ' ' -f 2 | grep -qx "$1"; }

is_refusing() {
    http GET "$(api_of "$1")" /readyz
    [[ $http_status == 503 && $http_body == *"can't be written"* ]]
}

# The time that a full disk may cost, in ms. It is probed every three seconds, and leadership goes within a tick and a
# message.
disk_found_ms=${FAULTS_DISK_FOUND_MS:-6000}
# One send that is passed on: two links and a sync, and on a slow machine more.
disk_passed_ms=${FAULTS_DISK_PASSED_MS:-1000}

# found_full NODE OTHER: the disk of the node is filled, and it must leave leading in time.
found_full() {
    local began took
    wait_until "$1 leads some shard" leads_something "$1" "$2"
    fill_disk "$1"
    began=$(now_ms)
    wait_until "$1 leads nothing" leads_nothing "$1" "$2"
    took=$(($(now_ms) - began))
    say "ok  $1 leads nothing after $took ms"
    ((took < disk_found_ms)) || fail "$1 went on leading for $took ms with a full disk."
    is_refusing "$1" || fail "/readyz of $1 is $http_status: $http_body"
}

# trickle NODE: a send a second to one room after the other, until it is killed; who can't be sent to is sent to later.
trickle() {
    local room
    while true; do
        for room in "${quiet_rooms[@]}"; do
            try_send "$1" "$room" 'a drop'
            sleep 1
        done
    done
}

scenario disk-full-trickle 'three nodes, a send a second, the disk of one is full: it is found out as soon as where nobody writes'
disk_full_trickle() {
    local round
    fresh_cluster 3
    small_disk n2
    settle
    make_quiet_rooms 16
    for ((round = 1; round <= rounds; round++)); do
        settle
        trickle n1 &
        busy_pids+=("$!")
        sleep 5
        found_full n2 n1
        kill "${busy_pids[-1]}" 2>/dev/null || true
        free_disk n2
        settle
    done
    wait_until 'n2 leads again' leads_something n2 n1
    say 'ok  n2 leads again'
}

scenario disk-full 'three nodes, nobody writes, the disk of one is full: it leads nothing and passes everything on, till it has space'
disk_full() {
    local round began took worst=0 room
    fresh_cluster 3
    small_disk n2
    settle
    make_quiet_rooms 16
    for ((round = 1; round <= rounds; round++)); do
        settle
        found_full n2 n1
        for room in "${quiet_rooms[@]}"; do
            began=$(now_ms)
            try_send n2 "$room" 'passed on'
            took=$(($(now_ms) - began))
            [[ $http_status == 2?? ]] || fail "n2 answered $http_status for $room: $http_body"
            ((took <= worst)) || worst=$took
        done
        say "ok  n2 passes sends on: ${#quiet_rooms[@]} acked, $worst ms at worst"
        ((worst < disk_passed_ms)) || fail "a send that was passed on took $worst ms."
        free_disk n2
        settle
        # For a moment only, and while there are sends.
        fill_disk n2
        for room in "${quiet_rooms[@]}"; do wait_until "$room acks" acks n1 "$room"; done
        free_disk n2
        settle
    done
    wait_until 'n2 leads again' leads_something n2 n1
    say 'ok  n2 leads again'
}

scenario disk-full-alone 'one node, its disk is full: it answers 503 at once, and goes on by itself when there is space'
disk_full_alone() {
    local round began took worst=0 room
    fresh_cluster 1
    small_disk n1
    settle
    make_quiet_rooms 16
    for ((round = 1; round <= rounds; round++)); do
        settle
        fill_disk n1
        wait_until 'n1 knows' is_refusing n1
        for room in "${quiet_rooms[@]}" "${quiet_rooms[@]}"; do
            began=$(now_ms)
            try_send n1 "$room" 'nobody can take this'
            took=$(($(now_ms) - began))
            # The rest of the write-ahead log may still take one.
            [[ $http_status == 503 || $http_status == 2?? ]] || fail "n1 answered $http_status: $http_body"
            ((took <= worst)) || worst=$took
        done
        say "ok  n1 answered within $worst ms"
        ((worst < 1000)) || fail 'a call has waited for a leader that there can not be.'
        free_disk n1
        began=$(now_ms)
        settle
        for room in "${quiet_rooms[@]}"; do wait_until "$room acks" acks n1 "$room"; done
        say "ok  n1 goes on, $(($(now_ms) - began)) ms after there was space"
    done
}
