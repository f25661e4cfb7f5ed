# shellcheck shell=bash
# Networks that are cut, in one direction or in both. Sourced by run.sh, which runs these scenarios in a network namespace
# of their own: nothing of this is seen outside of it, and it is gone with its last process.
#
# Each node has a namespace, an address and a certificate; they are joined by a bridge. A node's idea of another node's
# hardware address is set by hand, so a wrong one loses all that it sends there, without an error and in that direction
# only.

in_network=(unshare --net)
((EUID == 0)) || in_network=(unshare --user --map-root-user --net)

# Prints why the scenarios of the network can't run here; nothing when they can.
missing_for_network() {
    local program
    for program in ip openssl unshare nsenter; do
        command -v "$program" >/dev/null || {
            say "$program is not installed"
            return 0
        }
    done
    "${in_network[@]}" ip link add probe type bridge 2>/dev/null || say 'this machine lets this user make no network namespace'
}

subnet=10.77.0
in_node() {
    local id=$1
    shift
    nsenter --net --target "${holder[$id]}" "$@"
}

has_own_network() { [[ $(readlink "/proc/$1/ns/net") != "$(readlink /proc/self/ns/net)" ]]; }

# network_cluster NODES: a cluster of nodes that are machines of their own, as far as the network goes.
network_cluster() {
    local count=$1 k j id ids seeds='' separator='' secret
    ip link set lo up
    ip link add switch type bridge
    ip address add "$subnet.254/24" dev switch
    ip link set switch up
    mkdir -p "$data" "$run_dir"
    for ((k = 1; k <= count; k++)); do
        id=n$k
        unshare --net sleep infinity &
        holder[$id]=$!
        busy_pids+=("$!")
        wait_until "$id has a network" has_own_network "${holder[$id]}"
        ip link add "to-$id" type veth peer name eth0 netns "${holder[$id]}"
        ip link set "to-$id" master switch up
        in_node "$id" ip link set lo up
        in_node "$id" ip link set eth0 address "02:00:00:00:00:0$k"
        in_node "$id" ip address add "$subnet.$k/24" dev eth0
        in_node "$id" ip link set eth0 up
        seeds+="${seeds:+, }\"$subnet.$k:7402\""
    done
    for ((k = 1; k <= count; k++)); do
        for ((j = 1; j <= count; j++)); do ((j == k)) || heal_one "n$k" "n$j"; done
    done

    mapfile -t ids < <(printf 'n%d\n' $(seq 1 "$count"))
    "$root/cluster/container/certificates" "$work/link" "${ids[@]}" >/dev/null
    admin_key=$(new_secret) secret=$(new_secret)
    cat >"$data/keys.json" <<JSON
{"admin": [{"id": "admin", "secret": "$admin_key"}],
 "token": [{"kid": "default", "algorithm": "HS256", "use": "client", "secret": "$secret"}],
 "cluster": [{"secret": "$(new_secret)"}]}
JSON
    {
        printf '{\n  "adminKey": "%s",\n  "tokenKey": {"kid": "default", "secret": "%s"},\n  "nodes": [' "$admin_key" "$secret"
        for ((k = 1; k <= count; k++)); do
            printf '%s\n    {"id": "n%d", "client": "%s", "api": "%s", "link": "%s", "pid": 0, "data": "%s"}' "$separator" \
                "$k" "$subnet.$k:7400" "$subnet.$k:7401" "$subnet.$k:7402" "$data/n$k"
            separator=','
        done
        printf '\n  ]\n}\n'
    } >"$cluster_file"
    for id in "${ids[@]}"; do
        k=${id#n}
        mkdir -p "$data/$id"
        # Clients and the server API are not encrypted here: nobody else is in this network.
        cat >"$data/$id/config.json" <<JSON
{"nodeId": "$id", "dataDirectory": "$data/$id/store", "keysFile": "$data/keys.json", "allowAnonymous": true,
 "client": {"host": "$subnet.$k"}, "api": {"host": "$subnet.$k"}, "proxyTerminatesTls": true,
 "advertiseUrl": "ws://$subnet.$k:7400/v1/ws",
 "link": {"host": "$subnet.$k", "seeds": [$seeds],
          "tls": {"certificateFile": "$work/link/$id.crt", "keyFile": "$work/link/$id.key", "caFile": "$work/link/ca.crt"}}}
JSON
    done
    "$bin_dir/chatroomd" --config "$data/n1/config.json" --create >"$data/n1/node.log" 2>&1 \
        || fail "the cluster could not be created: $(cat "$data/n1/node.log")"
    for id in "${ids[@]}"; do start_node "$id"; done
    settle
    say "$count nodes run, each in a network namespace of its own, with mutual TLS"
}

# cut_one FROM TO: nothing that FROM sends gets to TO.
cut_one() { in_node "$1" ip neighbour replace "$subnet.${2#n}" lladdr 02:00:00:00:00:ff dev eth0 nud permanent; }

heal_one() { in_node "$1" ip neighbour replace "$subnet.${2#n}" lladdr "02:00:00:00:00:0${2#n}" dev eth0 nud permanent; }

# between both|one ACTION 'NODE...' 'NODE...': cut_one or heal_one from each of the first to each of the second, and back
between() {
    local from to
    for from in $3; do
        for to in $4; do
            "$2" "$from" "$to"
            [[ $1 == one ]] || "$2" "$to" "$from"
        done
    done
}

# converge: after healing, without help.
converge() {
    local id
    settle
    for id in $(cluster_nodes); do all_go_on "$id" >/dev/null; done
    say 'ok  healed: everything is whole again, and every room goes on at every node'
}

# cut_off NODE, join_again NODE: from and with all others.
cut_off() { between both cut_one "$1" "$(others_than "$1")"; }
join_again() { between both heal_one "$1" "$(others_than "$1")"; }

scenario net-sessions 'three nodes, one is cut off from the others: its sessions go on there, and its copies end'
net_sessions() {
    local round id
    network_cluster 3
    for ((round = 1; round <= rounds; round++)); do
        settle
        id=n$((round % 3 + 1))
        sessions_over "$id" 'is cut off' cut_off join_again
    done
}

scenario net-minority 'three nodes, one is cut off from the others: it acks nothing, they go on'
net_minority() {
    local round id
    network_cluster 3
    make_quiet_rooms 16
    swarm_begin 7
    for ((round = 1; round <= rounds; round++)); do
        leader_of "${swarm_rooms[round % 7]}"
        id=$found_leader
        say "$id is cut off"
        between both cut_one "$id" "$(others_than "$id")"
        acks_nothing "$id" 15
        all_go_on "$(other_than "$id")"
        between both heal_one "$id" "$(others_than "$id")"
        converge
    done
    swarm_end
    replicas_are_equal "${swarm_rooms[@]}"
}

scenario net-two-of-five 'five nodes, two are cut off from three: each shard goes on where two of its voters are, and only there'
net_two_of_five() {
    local round few many going
    network_cluster 5
    settle
    make_quiet_rooms 16
    swarm_begin 7
    for ((round = 1; round <= rounds; round++)); do
        leader_of "${swarm_rooms[round % 7]}"
        few="$found_leader $(other_than "$found_leader")"
        # shellcheck disable=SC2086 # two words
        many=$(others_than $few)
        say "$few are cut off from $many"
        learn_places n1
        between both cut_one "$few" "$many"
        acks_where_voters_are "$many"
        acks_where_voters_are "$few"
        mapfile -t going < <(rooms_with_majority_in "$many" "${swarm_rooms[@]}")
        go_on "${many%% *}" "${going[@]}"
        say "ok  ${#going[@]} rooms of the bots have their majority among $many and go on"
        between both heal_one "$few" "$many"
        converge
    done
    swarm_end
    replicas_are_equal "${swarm_rooms[@]}"
}

# acks_where_voters_are NODES: asked at the first of them, the quiet rooms with two voters among them ack, others do not.
acks_where_voters_are() {
    local room yes no id=${1%% *}
    mapfile -t yes < <(rooms_with_majority_in "$1" "${quiet_rooms[@]}")
    mapfile -t no < <(printf '%s\n' "${quiet_rooms[@]}" | grep -vxF -f <(printf '%s\n' "${yes[@]}"))
    for room in "${yes[@]}"; do wait_until "$room acks at $id" acks "$id" "$room"; done
    for room in "${no[@]}"; do
        try_send "$id" "$room" 'a minority'
        [[ $http_status == 503 ]] || fail "$room has no majority at $id, which answered $http_status: $http_body"
    done
    say "ok  at $id ${#yes[@]} rooms with a majority there ack, ${#no[@]} without answer 503"
}

acks() {
    try_send "$1" "$2" 'a majority'
    [[ $http_status == 2?? ]]
}

scenario net-one-way 'three nodes, what one sends to the others is lost, then what they send to it, then one direction of one pair'
net_one_way() {
    local round id others
    network_cluster 3
    swarm_begin 7
    for ((round = 1; round <= rounds; round++)); do
        leader_of "${swarm_rooms[0]}"
        id=$found_leader others=$(others_than "$id")
        say "what $id sends is lost"
        between one cut_one "$id" "$others"
        all_go_on "$(other_than "$id")"
        between one heal_one "$id" "$others"
        converge
        leader_of "${swarm_rooms[0]}"
        id=$found_leader others=$(others_than "$id")
        say "what is sent to $id is lost"
        between one cut_one "$others" "$id"
        all_go_on "$(other_than "$id")"
        between one heal_one "$others" "$id"
        converge
        leader_of "${swarm_rooms[0]}"
        id=$found_leader others=$(others_than "$id")
        say "what $id sends to ${others%% *} is lost"
        cut_one "$id" "${others%% *}"
        all_go_on "$(other_than "$id" "${others%% *}")"
        heal_one "$id" "${others%% *}"
        converge
    done
    swarm_end
    replicas_are_equal "${swarm_rooms[@]}"
}

scenario net-pair 'three nodes, two of them do not reach each other, but both reach the third'
net_pair() {
    local round id others
    network_cluster 3
    swarm_begin 7
    for ((round = 1; round <= rounds; round++)); do
        leader_of "${swarm_rooms[round % 7]}"
        id=$found_leader others=$(others_than "$id")
        say "$id and ${others%% *} do not reach each other"
        between both cut_one "$id" "${others%% *}"
        all_go_on "$(other_than "$id" "${others%% *}")"
        between both heal_one "$id" "${others%% *}"
        converge
    done
    swarm_end
    replicas_are_equal "${swarm_rooms[@]}"
}

# So long a link goes down and up (seconds).
flap_seconds=${FAULTS_FLAP_SECONDS:-60}

scenario net-flap 'three nodes, the link of two of them goes down and up for a minute, for 0.1 to 3 s each: then nobody is deaf or a ghost'
net_flap() {
    local round id other third told=0
    network_cluster 3
    viewers_begin
    swarm_begin 7
    for ((round = 1; round <= rounds; round++)); do
        leader_of "${swarm_rooms[round % 7]}"
        id=$found_leader
        # shellcheck disable=SC2046 # words
        one_of $(others_than "$id")
        other=$picked
        third=$(other_than "$id" "$other")
        flap "$round" "$id" "$other" "$third"
        viewers_after "$round" "$third"
        say "ok  every viewer hears everything again ($((freeze_told - told)) were told to come again), nobody is a ghost"
        told=$freeze_told
        converge
    done
    swarm_end
    replicas_are_equal "${swarm_rooms[@]}" "${freeze_rooms[@]}"
}

# flap NUMBER NODE NODE THIRD: both directions are cut, or one of them; what is said meanwhile is said at the third node.
flap() {
    local until=$((SECONDS + flap_seconds)) cuts=0 from=$2 to=$3 links
    links=$(log_lines "$2" 'link is up')
    while ((SECONDS < until)); do
        one_of both both one
        ((RANDOM % 2 == 0)) || { from=$3 to=$2; }
        between "$picked" cut_one "$from" "$to"
        cuts=$((cuts + 1))
        talk_for $((RANDOM % 2900 + 100)) "$1" "$4"
        between both heal_one "$2" "$3"
        talk_for $((RANDOM % 2900 + 100)) "$1" "$4"
    done
    say "the link of $2 and $3 has been cut $cuts times; $2 made $(($(log_lines "$2" 'link is up') - links)) links anew"
}

# talk_for MILLISECONDS NUMBER NODE
talk_for() {
    local until=$(($(now_ms) + $1)) left
    while left=$((until - $(now_ms))) && ((left > 0)); do
        viewers_pong
        freeze_send "$3" "${freeze_rooms[RANDOM % freeze_rooms_count]}" "f$2-during-$((++freeze_texts))" || true
        left=$((until - $(now_ms)))
        ((left > 0)) || return 0
        sleep "$(printf '0.%03d' $((left < 300 ? left : 300)))"
    done
}

scenario net-certificates 'three nodes, authority and certificates of the link are replaced by SIGHUP, then every link is made anew'
net_certificates() {
    local id links
    network_cluster 3
    swarm_begin 7
    "$root/cluster/container/certificates" "$work/link-next" n1 n2 n3 >/dev/null
    say 'both authorities are trusted, then the new certificates are shown, then the new authority alone is trusted'
    cat "$work/link-next/ca.crt" >>"$work/link/ca.crt"
    take_up 1
    cp "$work"/link-next/n?.{crt,key} "$work/link/"
    take_up 2
    cp "$work/link-next/ca.crt" "$work/link/ca.crt"
    take_up 3
    for id in n1 n2 n3; do
        links=$(log_lines "$id" 'link is down')
        between both cut_one "$id" "$(others_than "$id")"
        wait_until "both links of $id have ended" has_logged "$id" 'link is down' $((links + 2))
        between both heal_one "$id" "$(others_than "$id")"
        converge
    done
    swarm_end
    replicas_are_equal "${swarm_rooms[@]}"
}

# log_lines NODE TEXT: how many lines of its log have that text.
log_lines() { grep -c "$2" "$data/$1/node.log" || true; }

# has_logged NODE TEXT COUNT
has_logged() { (($(log_lines "$1" "$2") >= $3)); }

# take_up TIMES: SIGHUP to all nodes, for the so many-th time.
take_up() {
    local id
    for id in $(alive_nodes); do signal_node HUP "$id"; done
    for id in $(alive_nodes); do wait_until "$id has read its files again" has_logged "$id" 'have been read again' "$1"; done
}
