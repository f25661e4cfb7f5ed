# shellcheck shell=bash
# Figures of gossip. Sourced by run.sh.

# members NODE STATE: how many nodes this one sees in that state; empty when it does not answer.
members() {
    http GET "$(api_of "$1")" /metrics
    sed -n "s/^chatroom_gossip_members{state=\"$2\"} \([0-9]*\).*/\1/p" <<<"$http_body"
}

# all_see COUNT: every node that runs sees that many alive.
all_see() {
    local id
    for id in $(alive_nodes); do [[ $(members "$id" alive) == "$1" ]] || return 1; done
}

scenario gossip-dead 'five nodes, kill -9 of one, --trials times: how long until every other knows'
gossip_dead() {
    local trial id other began waiting
    fresh_cluster 5
    : >"$work/took"
    for ((trial = 1; trial <= trials; trial++)); do
        wait_until 'everybody sees everybody' all_see 5
        one_of n1 n2 n3 n4 n5
        id=$picked
        kill -9 "$(running_pid "$id")"
        began=$(now_ms)
        read -r -a waiting < <(others_than "$id")
        while ((${#waiting[@]} > 0)); do
            (($(now_ms) - began < patience * 1000)) || fail "${waiting[*]} do not know that $id is dead."
            other=${waiting[0]}
            # Nobody is asked again who knows.
            if [[ $(members "$other" dead) == 1 ]]; then
                waiting=("${waiting[@]:1}")
            else
                sleep 0.02
            fi
        done
        say $(($(now_ms) - began)) >>"$work/took"
        start_node "$id"
    done
    say "ms until all four others held the dead node for dead, $trials trials: least $(quantile 0 <"$work/took")," \
        "median $(quantile 0.5 <"$work/took"), 90 % $(quantile 0.9 <"$work/took"), most $(quantile 1 <"$work/took")"
    (($(quantile 1 <"$work/took") <= 5000)) || fail 'it took more than 5 s.'
}

scenario gossip-busy 'three nodes, processors and bots at full speed for --minutes: nobody that lives is declared dead'
gossip_busy() {
    local until k id sum=0 suspected=0 dead=0 load
    fresh_cluster 3
    swarm_begin 7 "$cluster_file" --rate 0
    for ((k = 0; k < 2 * $(nproc); k++)); do
        yes >/dev/null &
        busy_pids+=("$!")
    done
    until=$((SECONDS + 60 * minutes))
    while ((SECONDS < until)); do
        for id in n1 n2 n3; do
            [[ $(members "$id" suspect) == 0 ]] || suspected=$((suspected + 1))
            [[ $(members "$id" dead) == 0 ]] || dead=$((dead + 1))
            sum=$((sum + 1))
        done
        sleep 0.5
    done
    read -r load _ </proc/loadavg
    for k in "${busy_pids[@]}"; do kill "$k"; done
    busy_pids=()
    say "$minutes minutes, load $load at the end, $sum looks: somebody was suspected in $suspected, dead in $dead"
    k=$(cat "$data"/n*/node.log | grep -c 'held for dead' || true)
    say "log lines 'held for dead': $k"
    ((k == 0 && dead == 0)) || fail 'a node that lives was declared dead.'
    swarm_end
}
