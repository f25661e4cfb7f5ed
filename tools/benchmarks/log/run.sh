#!/usr/bin/env bash
# The cost of the consensus log alone: commits a second, CPU, bytes to the disk and write calls, with 1, 10 and 100
# entries of 300 bytes a commit, one commit after the other.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

seconds=5 formats=segments directory=$bench_dir/log
option seconds N 'each pass'
option formats LIST 'table: version 2 of the log; segments: version 3'
option directory PATH 'where the log is made'
quick seconds=1
read_options "$@"
build log-benchmark
machine
say
say '| format | entries a commit | commits/s | p50 ms | p99 ms | CPU us an entry | bytes to the disk a commit | write calls a commit | open again ms |'
say '|---|---|---|---|---|---|---|---|---|'
for format in $formats; do
    for entries in 1 10 100; do
        rm -rf "$directory"
        "$bin_dir/log-benchmark" "$directory" "$format" "$entries" "$seconds"
    done
done
rm -rf "$directory"
