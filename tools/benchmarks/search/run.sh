#!/usr/bin/env bash
# The cost of search in one shard: CPU and disk of a message that is indexed, and how long searches take beside sends.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

messages=10000000 days=10 block=32768 rate=1000 seconds=30 directory=$bench_dir/search
option messages N 'messages that are kept'
option days N 'over which they are spread'
option block N 'rows of a block of an index'
option rate N 'sends a second beside the searches'
option seconds N 'each kind of search'
option directory PATH 'where the shard is made'
quick messages=100000 block=4096 seconds=2
read_options "$@"
build search-benchmark
machine
say
rm -rf "$directory"
"$bin_dir/search-benchmark" "$directory" "$messages" "$days" "$block" "$rate" "$seconds"
rm -rf "$directory"
