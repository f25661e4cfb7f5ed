#!/usr/bin/env bash
# The instructions of a send on a whole node, counted by callgrind: where a turn's fixed price goes, and which functions
# cost what. Times on a shared machine differ by a tenth from run to run; this count does by some hundredths.
#
# One node runs under callgrind, and 100 senders send one message after the other: each has a turn, a save and a push of
# its own. The price of one is the difference between two rates: a node's work that nobody asked for is not in it.
# Then at full speed, where turns are shared, with all that the node does besides. (callgrind runs one thread at a time.)
# The threads' files stay in the directory that is printed, for callgrind_annotate.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

low=10 high=60 seconds=20
option low R 'sends a second of the first measurement'
option high R 'of the second one'
option seconds S 'length of each'
read_options "$@"
for program in valgrind callgrind_control objcopy gcc; do
    command -v "$program" >/dev/null || fail "this needs $program: apt-get install valgrind binutils gcc"
done
build_clients sends
begin instructions

# callgrind can't read Swift's debugging information.
build chatroomd chatroomctl botswarm
stripped=$bench_dir/stripped
rm -rf "$stripped" && mkdir -p "$stripped"
cp "$bin_dir"/{chatroomd,chatroomctl,botswarm} "$stripped/"
objcopy --strip-debug "$stripped/chatroomd"
export CLUSTER_BIN_DIR=$stripped
bin_dir=$stripped has_built_node=1
start_node
for ((i = 1; i <= 100; i++)); do create_room "sends-$i"; done

# The same node again, under callgrind. valgrind writes into the mask that libdispatch hands to sigsuspend, which is
# read-only memory: the main thread waits by another call.
gcc -shared -fPIC -O1 -x c -o "$bench_dir/wait.so" - <<'C'
#include <signal.h>
#include <unistd.h>
int sigsuspend(const sigset_t *mask) { (void)mask; for (;;) pause(); }
C
mapfile -d '' -t command <"/proc/$node_pid/cmdline"
mapfile -d '' -t environment <"/proc/$node_pid/environ"
home=$(readlink "/proc/$node_pid/cwd")
kill "$node_pid"
while kill -0 "$node_pid" 2>/dev/null; do sleep 0.1; done
files=$bench_dir/callgrind
rm -rf "$files" && mkdir -p "$files"
background env -C "$home" -i "${environment[@]}" LD_PRELOAD="$bench_dir/wait.so" \
    valgrind --tool=callgrind --callgrind-out-file="$files/part" --instr-atstart=no --separate-threads=yes "${command[@]}"
node_pid=$background_pid
for ((i = 0; i < 600; i++)); do
    curl -fs "http://${node_api#http://}/readyz" >/dev/null && break
    sleep 0.2
done
((i < 600)) || fail 'the node did not start under callgrind.'

control() { callgrind_control "$@" "$node_pid" >/dev/null 2>&1 || fail "callgrind_control $1 failed."; }
control -i on

# measure RATE: counts while the senders connect, enter, send for so many seconds and leave; prints how much they sent.
measure() {
    control -z
    "$bench_dir/sendload" --port "$node_port" --pid "$node_pid" --room-prefix sends --senders 100 --in-flight 16 \
        --text 200 --seconds "$seconds" --rate "$1" "${key_options[@]}" --json >"$bench_dir/load.json"
    control -d
    field acked <"$bench_dir/load.json"
}

# total PART: the instructions of all threads in it.
total() { cat "$files/part.$1"-* | sed -n 's/^totals: //p' | awk '{ sum += $1 } END { printf "%.0f", sum }'; }

# The first senders find rooms and files that nobody has used: they are not counted.
sends=()
for rate in "$low" "$low" "$high" 0; do sends+=("$(measure "$rate")"); done
alone=$(awk -v a="$(total 2)" -v b="$(total 3)" -v n=$((sends[2] - sends[1])) 'BEGIN { printf "%.0f", (b - a) / n }')
full=$(awk -v a="$(total 4)" -v n="${sends[3]}" 'BEGIN { printf "%.0f", a / n }')
machine
say
say '| a send | instructions, all threads |'
say '|---|---|'
say "| alone in its turn | $(thousands "$alone") |"
say "| at full speed | $(thousands "$full") |"
say
say "Its functions: callgrind_annotate --inclusive=yes $files/part.3-NN | swift demangle --simplified"
