#!/usr/bin/env bash
# Polls: what a poll with very many voters costs its room, in CPU time of the thread; and votes of many sessions on one
# node, all answered from disk.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

voters=1000000 sessions=1000 rate=5 seconds=10
option voters N 'of one poll, in its room alone'
option sessions N 'that vote at a node, and move their votes'
option rate R 'votes a second of each'
option seconds S 'length of the measurement'
quick voters=50000 sessions=100
read_options "$@"
need_files $((sessions + 1000)) || exit
build_clients taps
begin polls
build poll-benchmark
machine
say
"$bin_dir/poll-benchmark" "$voters"
start_node
create_room polls
http POST "$node_api" /v1/rooms/polls/polls \
    '{"poll":"p","title":"Which?","options":["a","b"],"seconds":3600,"mayChange":true}' "$node_admin_key"
[[ $http_status == 2?? ]] || fail "the poll was not opened ($http_status): $http_body"
"$bench_dir/tapload" --port "$node_port" --pid "$node_pid" --room polls --poll p --sessions "$sessions" --rate "$rate" \
    --seconds "$seconds" "${key_options[@]}" || fail 'the load client failed.'
http GET "$node_api" /v1/rooms/polls/polls '' "$node_admin_key"
[[ $http_body == *'"counts":['* ]] || fail "the polls were not listed ($http_status): $http_body"
total=$(sed -n 's/.*"counts":\[\([0-9]*\),\([0-9]*\)\].*/\1 \2/p' <<<"$http_body" | awk '{ print $1 + $2 }')
[[ $total == "$sessions" ]] || fail "$total have voted, not $sessions."
say "$total voters are counted, each once."
