#!/usr/bin/env bash
# The node's own gossip with its own settings, simulated: how long news takes, and what it costs at rest.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

sizes='3:30 100:5 300:3'
option sizes LIST 'how many nodes, and with how many trials'
quick sizes=3:5
read_options "$@"
build simulate
for size in $sizes; do "$bin_dir/simulate" gossip --nodes "${size%:*}" --trials "${size#*:}"; done
