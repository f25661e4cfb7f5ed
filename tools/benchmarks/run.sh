#!/usr/bin/env bash
# All benchmarks of docs/BENCHMARKS.md, one after the other, into one Markdown file. The file names passes that this
# machine can't run; these make the run end with 1, after the others.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

# name|heading|command; with --quick each gets its own --quick, if it has one.
parts=(
    'core|Core operations|core/run.sh'
    'fanout|Fan-out: one room, 1,000 viewers, one loop|fanout/run.sh'
    'gateway|Fan-out of the gateway alone|fanout/run.sh --gateway'
    'compressed|Compressed streams|fanout/compressed.sh'
    'latency|Latency at 10,000 viewers|fanout/latency.sh'
    'idle|Memory of idle connections|fanout/idle.sh'
    'barrage|Barrage|barrage/run.sh'
    'storm|Joining storm, one node|storm/run.sh'
    'storm3|Joining storm, three nodes|storm/run.sh --nodes 3'
    'taps|Taps|taps/run.sh'
    'polls|Polls|polls/run.sh'
    'search|Search|search/run.sh'
    'media|Media beside messages|media/run.sh'
    'export|Export of a room with a long history|export/run.sh'
    'log|The log alone|log/run.sh'
    'sends|Durable sends|sends/run.sh'
    'sends3|Durable sends, three nodes|sends/run.sh --nodes 3 --delays 0 --fixed-rate 5000'
    'peers|Durable sends beside other servers|peers/run.sh'
    'viewers|Viewers at other nodes|cluster/viewers.sh'
    'failover|Failover|cluster/failover.sh'
    'clusteridle|An idle cluster|cluster/idle.sh'
    'members|Listings of a very large room|rooms/members.sh'
    'rooms|Rooms at rest|rooms/run.sh'
    'silent|Rooms in memory with a silent member each|rooms/silent.sh'
    'api|Calls of the server API|api/run.sh'
    'gossip|Gossip|gossip/run.sh'
)
names=("${parts[@]%%|*}")
only="${names[*]}" without='' output=$bench_dir/results.md quick=''
option only LIST 'these'
option without LIST 'all but these'
option output FILE 'where the results go'
flag quick 'a short pass over all: it shows that they work, its figures say little'
read_options "$@"
for name in $only $without; do
    [[ " ${names[*]} " == *" $name "* ]] || fail "there is no benchmark $name; there are ${names[*]}." 2
done

# Built once; the scripts find the programs by this.
build chatroomd chatroomctl botswarm core-operations gateway-alone member-benchmark log-benchmark poll-benchmark \
    search-benchmark simulate
export CLUSTER_BIN_DIR=$bin_dir
failed=()
{
    say '# Results'
    say
    say "Commit $(git -C "$root" rev-parse --short HEAD 2>/dev/null || say unknown), $(date -u '+%Y-%m-%d %H:%M') UTC${quick:+; a short pass}."
} >"$output"
for part in "${parts[@]}"; do
    IFS='|' read -r name heading command <<<"$part"
    [[ " $only " == *" $name "* && " $without " != *" $name "* ]] || continue
    read -r -a words <<<"$command"
    [[ -z $quick ]] || ! grep -q '^quick ' "$root/tools/benchmarks/${words[0]}" || words+=(--quick)
    section "$heading: tools/benchmarks/${words[*]}"
    {
        say
        say "## $heading"
        say
        say "\`tools/benchmarks/${words[*]}\`"
        say
    } >>"$output"
    began=$SECONDS
    "$root/tools/benchmarks/${words[0]}" "${words[@]:1}" 2>"$bench_dir/errors.txt" </dev/null | tee -a "$output" || {
        failed+=("$name")
        say "**It failed**: $(tail -n 5 "$bench_dir/errors.txt")" | tee -a "$output"
    }
    say "($((SECONDS - began)) s)"
done
say
say "Written to $output."
((${#failed[@]} == 0)) || fail "these failed: ${failed[*]}"
