#!/usr/bin/env bash
# The cost of listings of a room with very many members: every page of every listing, in CPU time of the thread.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

members=1000000
option members N 'half of them guests, half of them fixed'
quick members=50000
read_options "$@"
build member-benchmark
machine
say
"$bin_dir/member-benchmark" "$members"
