#!/usr/bin/env bash
# Storms: sessions that are connected enter one room at the same moment, leave, and come back with what they have
# missed. Node and clients share the machine; the client is one thread.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

nodes=1 sessions=8000 rounds=6 missed=100
usage="usage: tools/benchmarks/storm/run.sh [options]
  --nodes N       of the cluster; the sessions are spread over all of them ($nodes)
  --sessions C    each needs a file of the client and one of its node ($sessions)
  --rounds N      ($rounds)
  --missed M      messages that those who come back have missed, at most 256 ($missed)
Raw results: .build/benchmarks/storm.jsonl"
while (($# > 0)); do
    case $1 in
    --nodes) nodes=$2 ;;
    --sessions) sessions=$2 ;;
    --rounds) rounds=$2 ;;
    --missed) missed=$2 ;;
    -h | --help)
        say "$usage"
        exit 0
        ;;
    *) fail "unknown argument $1"$'\n'"$usage" 2 ;;
    esac
    shift 2
done
build_clients "$root/tools/benchmarks/storm"
trap stop_node EXIT
trap 'exit 130' INT TERM

raw=$bench_dir/storm.jsonl
: >"$raw"
machine
export CHATROOM_LIMITS_CONNECTIONS=100000 CHATROOM_LIMITS_CONNECTIONS_PER_ADDRESS=100000
export CHATROOM_LIMITS_HANDSHAKES_PER_SECOND=1000000 CHATROOM_LIMITS_CONNECTS_PER_SECOND=1000000
# Sessions that wait for the others to connect answer no pings.
export CHATROOM_SESSION_HEARTBEAT_SECONDS=3600
bench_nodes=$nodes
start_node
http POST "$node_api" /v1/rooms '{"id":"storm","creator":"bench"}' "$node_admin_key"
[[ $http_status == 2?? ]] || fail "the room was not created ($http_status): $http_body"
for ((i = 1; i <= missed; i++)); do
    http POST "$node_api" /v1/rooms/storm/messages "{\"type\":\"TEXT\",\"text\":\"message $i\"}" "$node_admin_key"
    [[ $http_status == 2?? ]] || fail "a message was not taken ($http_status): $http_body"
done
http GET "$node_api" /v1/rooms/storm '' "$node_admin_key"
leader=$(sed -n 's/.*"leader":"\([^"]*\)".*/\1/p' <<<"$http_body")
ports=''
for ((i = 1; i <= nodes; i++)); do
    client=$(node_field "n$i" client)
    ports+=${ports:+,}${client##*:}
done
say "$nodes node(s), the room is led by ${leader:-n1}, $sessions sessions, enters and exits told (350 above 1,000)."
say
say '| round | enters/s | p50 ms | p99 ms | max ms | put off | CPU of the leader, us an enter |'
say '|---|---|---|---|---|---|---|'
"$bench_dir/stormload" --ports "$ports" --pid "$(node_field "${leader:-n1}" pid)" --room storm --sessions "$sessions" \
    --rounds "$rounds" --missed "$missed" --kid "$node_kid" --secret-file "$secret_file" --json | tee -a "$raw" \
    | while read -r line; do
        round=$(field round <<<"$line")
        if ((round == 1)); then kind='first'; else kind="back, $missed missed"; fi
        printf '| %s (%s) | %s | %s | %s | %s | %s | %s |\n' "$round" "$kind" \
            "$(thousands "$(field entersPerSecond <<<"$line")")" "$(field p50Ms <<<"$line")" "$(field p99Ms <<<"$line")" \
            "$(field maxMs <<<"$line")" "$(field putOff <<<"$line")" "$(field cpuMicrosPerEnter <<<"$line")"
    done
