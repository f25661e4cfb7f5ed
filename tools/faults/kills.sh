# shellcheck shell=bash
# Processes that are killed or stand still. Sourced by run.sh.

scenario kill-leader 'three nodes, kill -9 of the node that leads a room'
kill_leader() {
    local round
    fresh_cluster 3
    swarm_begin 7
    for ((round = 1; round <= rounds; round++)); do
        leader_of "${swarm_rooms[0]}"
        kill_and_return "$found_leader"
    done
    swarm_end
    replicas_are_equal "${swarm_rooms[@]}"
}

# kill_and_return NODE: kill -9; the rooms go on without it, then with it.
kill_and_return() {
    say "kill -9 of $1"
    kill_nodes "$1"
    all_go_on
    start_node "$1"
    settle
    all_go_on "$1"
}

scenario kill-follower 'three nodes, kill -9 of a node that follows in a room'
kill_follower() {
    local round
    fresh_cluster 3
    swarm_begin 7
    for ((round = 1; round <= rounds; round++)); do
        leader_of "${swarm_rooms[0]}"
        kill_and_return "$(other_than "$found_leader")"
    done
    swarm_end
    replicas_are_equal "${swarm_rooms[@]}"
}

scenario kill-gateway 'five nodes, one room, kill -9 of a node that only carries clients of it'
kill_gateway() {
    local round id shard replicas
    fresh_cluster 5
    settle
    swarm_begin 1
    for ((round = 1; round <= rounds; round++)); do
        settle
        shard=$(room_field "${swarm_rooms[0]}" shard n1)
        replicas=$(shards_at n1 | awk -v s="$shard" '$1 == s { print $3 }')
        id=$(other_than "${replicas//,/ }")
        say "the room is on $replicas"
        kill_and_return "$id"
    done
    swarm_end
    replicas_are_equal "${swarm_rooms[@]}"
}

scenario kill-all 'three nodes, kill -9 of all at once'
kill_all() {
    local round id
    fresh_cluster 3
    swarm_begin 7
    for ((round = 1; round <= rounds; round++)); do
        say 'kill -9 of all three'
        kill_nodes n1 n2 n3
        for id in n1 n2 n3; do start_node "$id"; done
        settle
        all_go_on
    done
    swarm_end
    replicas_are_equal "${swarm_rooms[@]}"
}

scenario kill-two-of-five 'five nodes, kill -9 of two together: shards with two of three voters go on, the others answer 503'
kill_two_of_five() {
    local round room victims survivors survivor pair good bad
    fresh_cluster 5
    settle
    make_quiet_rooms 32
    swarm_begin 13
    for ((round = 1; round <= rounds; round++)); do
        settle
        learn_places n1
        # A pair of which some rooms lose two voters and some do not.
        for pair in $(shuf -e --random-source=<(yes "$seed$round") \
            n1,n2 n1,n3 n1,n4 n1,n5 n2,n3 n2,n4 n2,n5 n3,n4 n3,n5 n4,n5); do
            IFS=, read -r -a victims <<<"$pair"
            survivors=$(others_than "${victims[@]}")
            mapfile -t good < <(rooms_with_majority_in "$survivors" "${swarm_rooms[@]}")
            ((${#good[@]} == 0 || ${#good[@]} == ${#swarm_rooms[@]})) || break
        done
        say "kill -9 of ${victims[*]}: ${#good[@]} of ${#swarm_rooms[@]} rooms keep two of three voters"
        kill_nodes "${victims[@]}"
        survivor=${survivors%% *}
        go_on "$survivor" "${good[@]}"
        say 'ok  rooms with two of three voters go on'
        mapfile -t good < <(rooms_with_majority_in "$survivors" "${quiet_rooms[@]}")
        mapfile -t bad < <(printf '%s\n' "${quiet_rooms[@]}" | grep -vxF -f <(printf '%s\n' "${good[@]}"))
        for room in "${bad[@]}"; do
            try_send "$survivor" "$room" 'nobody can take this'
            [[ $http_status == 503 ]] || fail "$room has one voter and answered $http_status instead of 503: $http_body"
        done
        say "ok  rooms with one of three voters answer 503 (${#bad[@]} asked)"
        start_node "${victims[0]}"
        all_go_on "$survivor"
        say "ok  with ${victims[0]} back all of them go on"
        start_node "${victims[1]}"
        settle
        all_go_on "${victims[1]}"
    done
    swarm_end
    replicas_are_equal "${swarm_rooms[@]}"
}

# This one is judged by time. Milliseconds from the moment at which a node runs again until its sends are acked.
back_within=4000

scenario back-from-minority "three nodes, kill -9 of two, one comes back: every room acks within $back_within ms of its start"
back_from_minority() {
    local round ids survivor returned began took worst=0 room
    fresh_cluster 3
    make_quiet_rooms 16
    for ((round = 1; round <= rounds; round++)); do
        settle
        mapfile -t ids < <(printf 'n%d\n' 1 2 3 | shuf --random-source=<(yes "$seed$round"))
        survivor=${ids[2]} returned=${ids[0]}
        # The survivor has been alone for a moment, or for long.
        one_of 0 2 8
        say "kill -9 of $returned and ${ids[1]}; $returned starts after $picked s"
        kill_nodes "$returned" "${ids[1]}"
        sleep "$picked"
        start_node "$returned"
        began=$(now_ms)
        for room in "${quiet_rooms[@]}"; do wait_until "$room acks" acks "$survivor" "$room"; done
        took=$(($(now_ms) - began))
        say "all of ${#quiet_rooms[@]} rooms have acked after $took ms"
        ((took <= worst)) || worst=$took
        start_node "${ids[1]}"
    done
    settle
    ((worst < back_within)) || fail "it took $worst ms, more than $back_within."
    say "ok  back after $worst ms at worst"
}

# acks NODE ROOM
acks() {
    try_send "$1" "$2" 'is there a majority'
    [[ $http_status == 2?? ]]
}

scenario stop-10s 'three nodes, SIGSTOP of the node that leads a room for 10 s'
stop_10s() {
    local round id
    fresh_cluster 3
    swarm_begin 7
    for ((round = 1; round <= rounds; round++)); do
        leader_of "${swarm_rooms[0]}"
        id=$found_leader
        stand_still "$id" 10
        settle
        all_go_on "$id"
    done
    swarm_end
    replicas_are_equal "${swarm_rooms[@]}"
}

# stand_still NODE SECONDS: SIGSTOP for at least that long; the rooms go on meanwhile.
stand_still() {
    local until=$((SECONDS + $2))
    say "SIGSTOP of $1"
    signal_node STOP "$1"
    all_go_on "$(other_than "$1")"
    while ((SECONDS <= until)); do sleep 0.2; done
    signal_node CONT "$1"
}

scenario random 'three nodes, one fault at a time at random: kill -9, SIGSTOP, restart; for --minutes'
random() {
    local until=$((SECONDS + 60 * minutes)) id count=0
    fresh_cluster 3
    swarm_begin 7
    while ((SECONDS < until)); do
        one_of n1 n2 n3
        id=$picked
        one_of kill kill kill stop restart
        case $picked in
        kill) kill_and_return "$id" ;;
        stop)
            stand_still "$id" $((RANDOM % 10 + 1))
            settle
            ;;
        restart)
            say "SIGTERM of $id"
            stop_node "$id"
            all_go_on
            start_node "$id"
            settle
            ;;
        esac
        count=$((count + 1))
    done
    say "$count faults"
    all_go_on
    swarm_end
    replicas_are_equal "${swarm_rooms[@]}"
}
