# shellcheck shell=bash
# Nodes that stand still and go on (SIGSTOP, SIGCONT), as paused and migrated virtual machines do. Sourced by run.sh.
# net-flap (network.sh) has the same viewers, and judges them in the same way.
#
# The viewers here are no SDK, which would come back by itself: each is one WebSocket whose bytes are kept as they come.
# Its frames are masked with zeros, so that what it sends is text; what it is sent is searched as text.

# So long after the end of the fault everything has to be as it was before (milliseconds).
freeze_recovers_ms=${FAULTS_FREEZE_MS:-5000}
# How long an answer may take then: for machines that do other things too.
freeze_answers_ms=${FAULTS_FREEZE_ANSWER_MS:-2000}
# The grace of a session (docs/PROTOCOL.md, "Resume").
freeze_grace_ms=10000
freeze_rooms_count=6
freeze_viewers_per_node=2

scenario freeze 'three nodes of one loop, one or two stand still for 4 to 30 s: nobody is deaf, nobody is a ghost'
freeze() { CHATROOM_LOOPS=1 freeze_cluster 3; }

scenario freeze-two-loops 'the same with two loops each'
freeze_two_loops() { CHATROOM_LOOPS=2 freeze_cluster 3; }

scenario freeze-five 'the same with five nodes of one loop'
freeze_five() { CHATROOM_LOOPS=1 freeze_cluster 5; }

# freeze_cluster NODES
freeze_cluster() {
    local round
    export CHATROOM_LOOPS
    fresh_cluster "$1"
    settle
    viewers_begin
    for ((round = 1; round <= rounds; round++)); do freeze_once "$round"; done
    say "ok  $rounds freezes of $1 nodes with $CHATROOM_LOOPS loop(s): every viewer heard everything once" \
        "($freeze_told were told to come again), everybody entered, nobody stayed as a ghost"
}

# viewers_begin: makes the rooms, with viewers at every node.
viewers_begin() {
    local k id
    trap '' PIPE
    freeze_tag=$(new_secret | head -c 6)
    freeze_rooms=()
    for ((k = 0; k < freeze_rooms_count; k++)); do
        freeze_rooms+=("freeze-$freeze_tag-$k")
        cluster_call POST n1 /v1/rooms \
            "{\"id\":\"${freeze_rooms[k]}\",\"creator\":\"ann\",\"idleCloseSeconds\":0,\"enterExitNotify\":\"NONE\"}"
    done
    : >"$work/acked"
    for id in $(cluster_nodes); do
        for ((k = 0; k < freeze_viewers_per_node; k++)); do
            viewer_open "$id" || fail "a viewer does not get into its rooms at $id: $(viewer_text "$found_viewer")"
        done
    done
    freeze_told=0
}

# freeze_once NUMBER
freeze_once() {
    local victims seconds until ids id
    mapfile -t ids < <(cluster_nodes | while read -r id; do say "$RANDOM $id"; done | sort -n | cut -d ' ' -f 2)
    victims=("${ids[@]:0:$((RANDOM % 3 == 0 ? 2 : 1))}")
    seconds=$((RANDOM % 27 + 4))
    say "$1: ${victims[*]} stand still for $seconds s"
    for id in "${victims[@]}"; do signal_node STOP "$id"; done
    until=$((SECONDS + seconds))
    while ((SECONDS < until)); do
        viewers_pong
        # Without two nodes of three nothing goes on; nobody asks, because each answer takes its time.
        if ((${#victims[@]} * 2 < ${#ids[@]})); then
            freeze_send "${ids[-1]}" "${freeze_rooms[RANDOM % freeze_rooms_count]}" "f$1-during-$((++freeze_texts))" || true
        fi
        sleep 0.5
    done
    for id in "${victims[@]}"; do signal_node CONT "$id"; done
    viewers_after "$1" "${ids[-1]}"
}

# viewers_after NUMBER NODE: the fault has just ended. All that is said from now on, by the server API of that node,
# every viewer hears within freeze_recovers_ms or is told to come again, and nobody is a ghost.
viewers_after() {
    local began room told deadline
    began=$(now_ms)
    while (($(now_ms) < began + freeze_recovers_ms)); do
        viewers_pong
        freeze_send "$2" "${freeze_rooms[RANDOM % freeze_rooms_count]}" "f$1-after-$((++freeze_texts))" || true
        sleep 0.3
    done
    told=$freeze_told
    freeze_is_over "$1"
    # Nobody is a ghost: at once, where no connection was closed. A session whose connection was closed is in its grace,
    # as the protocol has it, and counts; its connection was closed before the time was over in which everything is as
    # before.
    deadline=$(($(now_ms) + freeze_answers_ms))
    if ((freeze_told > told)); then
        until=$((began + freeze_recovers_ms + freeze_grace_ms + freeze_answers_ms))
        ((until <= deadline)) || deadline=$until
    fi
    for room in "${freeze_rooms[@]}"; do
        until room_has_online "$room" "${#viewer_pids[@]}"; do
            (($(now_ms) < deadline)) \
                || fail "$room has ${#viewer_pids[@]} viewers and says: $(room_field "$room" online "$(first_node)") (fault $1," \
                    "$(($(now_ms) - began)) ms after its end, $((freeze_told - told)) were told to come again)."
            viewers_pong
            sleep 0.1
        done
    done
}

# room_has_online ROOM COUNT: as every node answers it.
room_has_online() {
    local id
    for id in $(cluster_nodes); do [[ $(room_field "$1" online "$id") == "$2" ]] || return 1; done
}

# freeze_is_over NUMBER: from here on everything is judged.
freeze_is_over() {
    local id viewer room text deadline wanted missing request newcomers=()
    # A client that was told so comes again.
    for viewer in "${!viewer_pids[@]}"; do
        ! viewer_is_connected "$viewer" || continue
        freeze_told=$((freeze_told + 1))
        id=${viewer_node[$viewer]}
        viewer_forget "$viewer"
        viewer_open "$id" || fail "who was sent away does not come back at $id (fault $1): $(viewer_text "$found_viewer")"
    done
    for room in "${freeze_rooms[@]}"; do
        text=f$1-last-${room##*-}
        deadline=$(($(now_ms) + freeze_answers_ms))
        until freeze_send "$(first_node)" "$room" "$text-$((++freeze_texts))"; do
            (($(now_ms) < deadline)) || fail "$room takes no messages after fault $1: $http_status $http_body"
        done
    done
    request=$((1000 + $1))
    for viewer in "${!viewer_pids[@]}"; do
        viewer_says "$viewer" \
            "{\"id\":$request,\"send\":{\"room\":\"${freeze_rooms[viewer % freeze_rooms_count]}\",\"clientId\":\"$1-$viewer\",\"type\":\"TEXT\",\"text\":\"own\"}}"
    done
    for id in $(cluster_nodes); do
        viewer_open "$id" || fail "a newcomer does not get into the rooms at $id (fault $1): $(viewer_text "$found_viewer")"
        newcomers+=("$found_viewer")
    done
    deadline=$(($(now_ms) + freeze_answers_ms))
    for viewer in "${!viewer_pids[@]}"; do
        [[ " ${newcomers[*]} " != *" $viewer "* ]] || continue
        until viewer_has "$viewer" "\"id\":$request,\"send\":{\"messageId\"" && viewer_heard_all "$viewer"; do
            (($(now_ms) < deadline)) && sleep 0.1 && continue
            viewer_has "$viewer" "\"id\":$request,\"send\":{\"messageId\"" \
                || fail "fault $1: a send of viewer $viewer at ${viewer_node[$viewer]} is not acked: $(viewer_text "$viewer")"
            fail "fault $1: viewer $viewer at ${viewer_node[$viewer]} did not get $(viewer_lacks "$viewer")"
        done
        ! viewer_has "$viewer" '"kicked":' || fail "fault $1: viewer $viewer at ${viewer_node[$viewer]} was put out."
        missing=$(viewer_texts "$viewer" | uniq -d | tr '\n' ' ')
        [[ -z $missing ]] || fail "fault $1: viewer $viewer at ${viewer_node[$viewer]} got twice: $missing"
    done
    for viewer in "${newcomers[@]}"; do viewer_leaves "$viewer"; done
}

# freeze_send NODE ROOM TEXT: notes what is acked. No text is used twice.
freeze_send() {
    try_send "$1" "$2" "$3"
    [[ $http_status == 2?? ]] || return 1
    say "$3" >>"$work/acked"
}

# ---------------------------------------------------------------------------------------------------------------------
# Viewers: numbers, with what is known of each

freeze_texts=0
declare -A viewer_pids=() viewer_fd=() viewer_node=() viewer_since=()
viewer_last=0 found_viewer=''

# viewer_open NODE: connects and enters all rooms; sets found_viewer. Fails when it has not entered in time.
viewer_open() {
    local viewer=$((++viewer_last)) fd token k deadline address
    address=$(node_field "$1" client)
    found_viewer=$viewer
    : >"$work/viewer-$viewer"
    http POST "$(api_of "$1")" "/v1/users/viewer-$viewer/token" '{"ttlSeconds":86400}' "$admin_key"
    token=$(sed -n 's/.*"token":"\([^"]*\)".*/\1/p' <<<"$http_body")
    [[ -n $token ]] || return 1
    { exec {fd}<>"/dev/tcp/${address%:*}/${address##*:}"; } 2>/dev/null || return 1
    # It keeps nobody else's connection open.
    (
        trap - EXIT
        for path in "/proc/$BASHPID/fd/"*; do
            other=${path##*/}
            ((other <= 2 || other == fd)) || eval "exec $other>&-"
        done
        exec -a "$work/viewer-$viewer" cat <&"$fd" >"$work/viewer-$viewer" 2>/dev/null
    ) &
    viewer_pids[$viewer]=$! viewer_fd[$viewer]=$fd viewer_node[$viewer]=$1
    disown $!
    printf 'GET /v1/ws HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n' \
        "$address" >&"$fd"
    viewer_awaits "$viewer" ' 101 ' || return 1
    viewer_says "$viewer" "{\"id\":1,\"connect\":{\"token\":\"$token\"}}"
    viewer_awaits "$viewer" '"id":1,"connect":' || return 1
    viewer_since[$viewer]=$(wc -l <"$work/acked")
    for ((k = 0; k < freeze_rooms_count; k++)); do
        viewer_says "$viewer" "{\"id\":$((k + 2)),\"enter\":{\"room\":\"${freeze_rooms[k]}\"}}"
    done
    for ((k = 0; k < freeze_rooms_count; k++)); do
        viewer_awaits "$viewer" "\"id\":$((k + 2)),\"enter\":" || return 1
    done
}

# viewer_says VIEWER TEXT: one frame; of a connection that has ended it is lost.
viewer_says() {
    local fd=${viewer_fd[$1]} length=${#2} head
    if ((length < 126)); then
        printf -v head '\\x81\\x%02x' $((128 + length))
    else
        printf -v head '\\x81\\xfe\\x%02x\\x%02x' $((length / 256)) $((length % 256))
    fi
    # shellcheck disable=SC2059 # the head is the format
    { printf "$head"'\0\0\0\0%s' "$2" >&"$fd"; } 2>/dev/null || true
}

# viewers_pong: nobody is dropped for being silent.
viewers_pong() {
    local viewer
    for viewer in "${!viewer_pids[@]}"; do
        { printf '\x8a\x80\0\0\0\0' >&"${viewer_fd[$viewer]}"; } 2>/dev/null || true
    done
}

viewer_has() { grep -aqF -- "$2" "$work/viewer-$1"; }

# viewer_awaits VIEWER TEXT
viewer_awaits() {
    local deadline=$(($(now_ms) + freeze_answers_ms))
    until viewer_has "$1" "$2"; do
        (($(now_ms) < deadline)) || return 1
        sleep 0.02
    done
}

# viewer_text VIEWER: its last words, for people.
viewer_text() { tail -c 600 "$work/viewer-$1" | tr -c '[:print:]' ' '; }

# viewer_texts VIEWER: what it was shown, sorted.
viewer_texts() { grep -ao '"text":"f[0-9]*-[-a-z0-9]*"' "$work/viewer-$1" | cut -d '"' -f 4 | sort; }

# viewer_lacks VIEWER: what was acked since it has entered and it was not shown.
viewer_lacks() {
    comm -23 <(tail -n "+$((viewer_since[$1] + 1))" "$work/acked" | sort -u) <(viewer_texts "$1" | uniq) | tr '\n' ' '
}

# viewer_heard_all VIEWER: or was told to come again, or that it has missed something; which excuses nothing that was
# said when the fault was over.
viewer_heard_all() {
    local lacks
    lacks=$(viewer_lacks "$1")
    [[ -z $lacks ]] || ! viewer_is_connected "$1" || { [[ $lacks != *-after-* ]] && viewer_has "$1" '"gap":'; }
}

# viewer_is_connected VIEWER: as far as its node says. The ID of a process that has ended may be another one's.
viewer_is_connected() {
    local name=''
    read -r -d '' name 2>/dev/null <"/proc/${viewer_pids[$1]}/cmdline" || true
    [[ $name == "$work/viewer-$1" ]]
}

# viewer_leaves VIEWER: at once, without a grace.
viewer_leaves() {
    local k
    for ((k = 0; k < freeze_rooms_count; k++)); do
        viewer_says "$1" "{\"id\":$((k + 50)),\"exit\":{\"room\":\"${freeze_rooms[k]}\"}}"
    done
    for ((k = 0; k < freeze_rooms_count; k++)); do
        viewer_awaits "$1" "\"id\":$((k + 50)),\"exit\":" || fail "viewer $1 can't leave: $(viewer_text "$1")"
    done
    viewer_forget "$1"
}

# viewer_forget VIEWER: closes its connection.
viewer_forget() {
    local fd=${viewer_fd[$1]:-}
    ! viewer_is_connected "$1" || kill "${viewer_pids[$1]}" 2>/dev/null || true
    exec {fd}>&-
    unset "viewer_pids[$1]" "viewer_fd[$1]" "viewer_node[$1]" "viewer_since[$1]"
}
