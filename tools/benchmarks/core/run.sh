#!/usr/bin/env bash
# The cost of the core operations, in instructions and allocations: counts that repeat, unlike times. Ends with 1 when
# one costs more than thresholds.txt allows.
#
# Each operation runs N and 2 N times under valgrind; the difference is what N of them cost, without what starting costs.
# `deliver` is the node's gateway with real connections under callgrind, which counts inside Audience.walk only: the way of
# a frame from the room's audience to each viewer, without what the system does in the write.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

operations=(apply encode follow sample enqueue wait deliver) update=''
arguments_help="[OPERATION ...] of ${operations[*]} (all)"
flag update 'writes thresholds.txt: what is measured, and a tenth'
read_options "$@"
((${#arguments[@]} == 0)) || operations=("${arguments[@]}")
command -v valgrind >/dev/null || fail 'this needs valgrind: apt-get install valgrind'
build core-operations
program=$bin_dir/core-operations
# Where a value lies in a table must not depend on the run.
export SWIFT_DETERMINISTIC_HASHING=1
thresholds=$root/tools/benchmarks/core/thresholds.txt
begin core
measured=$bench_dir/core.txt
: >"$measured"

# instructions OPERATION COUNT
instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$2" 2>&1 \
        | sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

# allocations OPERATION COUNT
allocations() {
    valgrind --leak-check=no --undef-value-errors=no "$program" "$1" "$2" 2>&1 \
        | sed -n 's/.*total heap usage: \([0-9,]*\) allocs.*/\1/p' | tr -d ,
}

# each COUNTED ONCE TWICE: the difference for each of COUNTED operations.
each() { awk -v n="$1" -v a="$2" -v b="$3" 'BEGIN { printf "%.1f", (b - a) / n }'; }

# count OPERATION N
count() {
    say "$1 $(each "$2" "$(instructions "$1" "$2")" "$(instructions "$1" $((2 * $2)))")" \
        "$(each "$2" "$(allocations "$1" "$2")" "$(allocations "$1" $((2 * $2)))")" >>"$measured"
}

# deliver VIEWERS SECONDS
deliver() {
    local viewers=$1 seconds=$2 port line tries=0
    build_clients fanout
    build gateway-alone
    # valgrind may not understand the debug information of large programs; the names of functions are elsewhere.
    strip --strip-debug -o "$bench_dir/gateway-alone" "$bin_dir/gateway-alone"
    port=$(free_base_port)
    (umask 077 && say any >"$bench_dir/secret")
    background valgrind --tool=callgrind --callgrind-out-file="$bench_dir/callgrind.deliver" --collect-atstart=no \
        --toggle-collect='*8AudienceC4walk*' "$bench_dir/gateway-alone" "$port" >"$bench_dir/valgrind.txt" 2>&1
    until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
        if ((++tries > 240)) || ! kill -0 "$background_pid" 2>/dev/null; then
            fail "the gateway did not start under valgrind: $(tail -n 3 "$bench_dir/valgrind.txt")"
        fi
        sleep 0.5
    done
    line=$("$bench_dir/fanload" --port "$port" --room core --secret-file "$bench_dir/secret" --case one \
        --subscribers "$viewers" --seconds "$seconds" --json) || fail "the load client failed. $line"
    end_background
    say "deliver $(sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$bench_dir/valgrind.txt" \
        | awk -v m="$(field allMessages <<<"$line")" -v v="$viewers" '{ printf "%.1f", $1 / (m * v) }') -" >>"$measured"
}

for operation in "${operations[@]}"; do
    progress "$operation"
    case $operation in
    apply) count apply 2000 ;;
    encode) count encode 2000 ;;
    follow) count follow 2000 ;;
    sample) count sample 20000 ;;
    enqueue) count enqueue 100000 ;;
    wait) count wait 20000 ;;
    deliver) deliver 200 5 ;;
    *) fail "unknown operation $operation: there are apply, encode, follow, sample, enqueue, wait and deliver." 2 ;;
    esac
done
progress
# A name that no function has any more would count nothing.
awk 'NF != 3 || $2 <= 0 { print "nothing was counted: " $0 > "/dev/stderr"; bad = 1 } END { exit bad }' "$measured"

if [[ -n $update ]]; then
    # Operations that were not measured keep theirs.
    awk 'NR == FNR { new[$1] = sprintf("%s %.0f %s", $1, $2 * 1.1 + 0.5, $3 == "-" ? "-" : sprintf("%.1f", $3 * 1.1)); next }
        $1 in new { print new[$1]; delete new[$1]; next }
        { print }
        END { for (name in new) print new[name] }' "$measured" "$thresholds" >"$thresholds.new"
    mv "$thresholds.new" "$thresholds"
fi

awk 'NR == FNR { if ($1 !~ /^#/ && NF == 3) { i[$1] = $2; a[$1] = $3 }; next }
    BEGIN { print "| operation | instructions | at most | allocations | at most |"; print "|---|---|---|---|---|" }
    { printf "| %s | %s | %s | %s | %s |\n", $1, $2, i[$1], $3, a[$1]
      if (!($1 in i) || $2 > i[$1] || ($3 != "-" && $3 > a[$1])) { bad = bad " " $1 } }
    END { if (bad) { print "Dearer than allowed:" bad > "/dev/stderr"; exit 1 } }' "$thresholds" "$measured"
