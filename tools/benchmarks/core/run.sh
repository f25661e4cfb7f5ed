#!/usr/bin/env bash
# What the core operations cost, in instructions and allocations: counts that repeat, unlike times. Ends with 1 when one
# costs more than thresholds.txt allows.
#
# Each operation runs N and 2 N times under valgrind; the difference is what N of them cost, without what starting costs.
# `deliver` is the node's gateway with real connections under callgrind, which counts inside Audience.walk only: the way of
# a frame from the room's audience to each viewer, without what the system does in the write.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

operations=(apply encode sample enqueue wait deliver) update=''
usage="usage: tools/benchmarks/core/run.sh [--update] [OPERATION ...]
  OPERATION   some of: ${operations[*]} (all)
  --update    writes thresholds.txt: what is measured, and a tenth"
chosen=()
while (($# > 0)); do
    case $1 in
    --update) update=1 ;;
    -h | --help)
        say "$usage"
        exit 0
        ;;
    -*) fail "unknown argument $1"$'\n'"$usage" 2 ;;
    *) chosen+=("$1") ;;
    esac
    shift
done
((${#chosen[@]} == 0)) || operations=("${chosen[@]}")
command -v valgrind >/dev/null || fail 'this needs valgrind: apt-get install valgrind'
build_programs core-operations
program=$bin_dir/core-operations
# Where a value lies in a table must not depend on the run.
export SWIFT_DETERMINISTIC_HASHING=1
thresholds=$root/tools/benchmarks/core/thresholds.txt
measured=$bench_dir/core.txt
: >"$measured"
gateway_pid=''
trap '[[ -z $gateway_pid ]] || kill "$gateway_pid"' EXIT
trap 'exit 130' INT TERM

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
    build_clients "$root/tools/benchmarks/fanout"
    build_programs gateway-alone
    port=$(free_base_port)
    (umask 077 && say any >"$bench_dir/secret")
    valgrind --tool=callgrind --callgrind-out-file="$bench_dir/callgrind.deliver" --collect-atstart=no \
        --toggle-collect='*8AudienceC4walk*' "$bin_dir/gateway-alone" "$port" >"$bench_dir/valgrind.txt" 2>&1 &
    gateway_pid=$!
    until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
        ((++tries < 240)) || fail "the gateway did not start under valgrind: $(tail -n 3 "$bench_dir/valgrind.txt")"
        sleep 0.5
    done
    line=$("$bench_dir/fanload" --port "$port" --room core --secret-file "$bench_dir/secret" --case one \
        --subscribers "$viewers" --seconds "$seconds" --json) || fail "the load client failed. $line"
    kill "$gateway_pid"
    wait "$gateway_pid" || true
    gateway_pid=''
    say "deliver $(sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$bench_dir/valgrind.txt" \
        | awk -v m="$(field allMessages <<<"$line")" -v v="$viewers" '{ printf "%.1f", $1 / (m * v) }') -" >>"$measured"
}

for operation in "${operations[@]}"; do
    case $operation in
    apply) count apply 2000 ;;
    encode) count encode 2000 ;;
    sample) count sample 20000 ;;
    enqueue) count enqueue 100000 ;;
    wait) count wait 20000 ;;
    deliver) deliver 200 5 ;;
    *) fail "unknown operation $operation"$'\n'"$usage" 2 ;;
    esac
done

if [[ -n $update ]]; then
    {
        grep '^#' "$thresholds"
        awk '{ a = $3 == "-" ? "-" : sprintf("%.1f", $3 * 1.1); printf "%s %.0f %s\n", $1, $2 * 1.1 + 0.5, a }' "$measured"
    } >"$thresholds.new"
    mv "$thresholds.new" "$thresholds"
fi

awk 'NR == FNR { if ($1 !~ /^#/ && NF == 3) { i[$1] = $2; a[$1] = $3 }; next }
    BEGIN { print "| operation | instructions | at most | allocations | at most |"; print "|---|---|---|---|---|" }
    { printf "| %s | %s | %s | %s | %s |\n", $1, $2, i[$1], $3, a[$1]
      if (!($1 in i) || $2 > i[$1] || ($3 != "-" && $3 > a[$1])) { bad = bad " " $1 } }
    END { if (bad) { print "Dearer than allowed:" bad > "/dev/stderr"; exit 1 } }' "$thresholds" "$measured"
