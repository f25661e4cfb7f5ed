#!/usr/bin/env bash
# Storms: sessions that are connected enter one room at the same moment, leave, and come back with what they have
# missed. Node and clients share the machine; the client is one thread.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

nodes=1 sessions=50000 rounds=6 missed=100
option nodes N 'of the cluster; the sessions are spread over all of them'
option sessions C 'each needs a file of the client and one of its node'
option rounds N 'the first enters anew, the others come back'
option missed M 'messages that those who come back have missed, at most 256'
quick sessions=5000 rounds=3
read_options "$@"
# One process of the load client has a file for each of its sessions, and each node one for each of those that it has.
need_files $((sessions / nodes + 500)) || sessions=$((nodes * ($(ulimit -n) - 500)))
processes=$(((sessions + $(ulimit -n) - 501) / ($(ulimit -n) - 500)))
build_clients storm
begin storm

# Sessions that wait for the others to connect answer no pings.
export CHATROOM_SESSION_HEARTBEAT_SECONDS=3600
bench_nodes=$nodes
start_node
create_room storm ALL
for ((i = 1; i <= missed; i++)); do
    http POST "$node_api" /v1/rooms/storm/messages "{\"type\":\"TEXT\",\"text\":\"message $i\"}" "$node_admin_key"
    [[ $http_status == 2?? ]] || fail "a message was not taken ($http_status): $http_body"
done
leader=$(leader_of storm)
leader=${leader:-n1}
ports=''
for ((i = 1; i <= nodes; i++)); do ports+=${ports:+,}$(port_of "n$i"); done
machine
say "$nodes node(s), the room is led by $leader, $sessions sessions of $processes process(es), enters and exits told (350 above 1,000)."
say
say '| round | enters/s | p50 ms | p99 ms | max ms | put off | CPU of the leader, us an enter | enters in its CPU second |'
say '|---|---|---|---|---|---|---|---|'
"$bench_dir/stormload" --port "$ports" --pid "$(node_field "$leader" pid)" --room storm --sessions "$sessions" \
    --processes "$processes" --rounds "$rounds" --missed "$missed" --sources 1000 "${key_options[@]}" --json | tee -a "$raw" \
    | while read -r line; do
        round=$(field round <<<"$line")
        if ((round == 1)); then kind='first'; else kind="back, $missed missed"; fi
        printf '| %s (%s) | %s | %s | %s | %s | %s | %s | %s |\n' "$round" "$kind" \
            "$(thousands "$(field entersPerSecond <<<"$line")")" "$(field p50Ms <<<"$line")" "$(field p99Ms <<<"$line")" \
            "$(field maxMs <<<"$line")" "$(field putOff <<<"$line")" "$(field cpuMicrosPerEnter <<<"$line")" \
            "$(thousands "$(field entersPerCpuSecond <<<"$line")")"
    done
