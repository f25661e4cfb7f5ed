#!/usr/bin/env bash
# Starts clusters on this machine, lets bots chat with their ledger on, and injects faults into real processes: fails when
# the ledger does not balance or the rooms do not go on. --help says how.
set -euo pipefail
umask 077

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$root/tools/faults

minutes=10 trials=30 rounds=3 bots=60 rate=4 keep=0 old_dir='' seed=$((SRANDOM % 100000))

usage() {
    cat <<USAGE
usage: tools/faults/run.sh [options] SCENARIO...
       tools/faults/run.sh --list

Each scenario has a cluster of its own, with bots that chat (botswarm) while the fault is there. It fails when anything
that was acked is lost, repeated or out of order, or when a room does not go on.

  --list         the scenarios; 'all' is all of them but those of gossip
  --bin DIR      built programs (default: builds .build/release)
  --old DIR      programs of the release before, for 'upgrade' (default: those of the last tag, or of the parent commit)
  --minutes M    length of 'random' and 'gossip-busy' ($minutes)
  --trials T     of 'gossip-dead' ($trials)
  --rounds R     how often a scenario injects its fault ($rounds)
  --bots B       bots in all ($bots)
  --rate R       messages of one sender a second ($rate); two senders in each room
  --seed S       of the random choices (random; it is printed)
  --keep         keeps the data and logs; those of a scenario that failed are always kept

The network scenarios need network namespaces, those of full disks mount namespaces: root, or a system that lets users make them. Elsewhere they are skipped.
USAGE
}

names=() scenario='' work=''
while (($# > 0)); do
    case $1 in
    --bin | --old | --minutes | --trials | --rounds | --bots | --rate | --seed | --scenario | --work)
        [[ -n ${2:-} ]] || {
            echo "run.sh: $1 needs a value." >&2
            exit 2
        }
        case $1 in
        --bin) CLUSTER_BIN_DIR=$(cd "$2" && pwd) && export CLUSTER_BIN_DIR ;;
        --old) old_dir=$(cd "$2" && pwd) ;;
        --minutes) minutes=$2 ;;
        --trials) trials=$2 ;;
        --rounds) rounds=$2 ;;
        --bots) bots=$2 ;;
        --rate) rate=$2 ;;
        --seed) seed=$2 ;;
        # How this program calls itself for one scenario.
        --scenario) scenario=$2 ;;
        --work) work=$2 ;;
        esac
        shift 2
        ;;
    --keep) keep=1 && shift ;;
    --list) names+=(--list) && shift ;;
    -h | --help)
        usage
        exit 0
        ;;
    -*)
        usage >&2
        exit 2
        ;;
    *) names+=("$1") && shift ;;
    esac
done

# Scenarios in the order in which they are listed, each with a sentence; a function of that name is the scenario.
declare -A sentences=()
scenarios=()
scenario() {
    scenarios+=("$1")
    sentences[$1]=$2
}

work=${work:-$(mktemp -d "${TMPDIR:-/tmp}/faults.XXXXXX")}
# shellcheck source=tools/faults/lib.sh
. "$here/lib.sh"
# shellcheck source=tools/faults/kills.sh
. "$here/kills.sh"
# shellcheck source=tools/faults/freeze.sh
. "$here/freeze.sh"
# shellcheck source=tools/faults/planned.sh
. "$here/planned.sh"
# shellcheck source=tools/faults/disks.sh
. "$here/disks.sh"
# shellcheck source=tools/faults/network.sh
. "$here/network.sh"
# shellcheck source=tools/faults/sessions.sh
. "$here/sessions.sh"
# shellcheck source=tools/faults/gossip.sh
. "$here/gossip.sh"
# shellcheck source=tools/faults/hostile.sh
. "$here/hostile.sh"
# shellcheck source=tools/faults/upgrade.sh
. "$here/upgrade.sh"

# ---------------------------------------------------------------------------------------------------------------------
# One scenario, in a process of its own

if [[ -n $scenario ]]; then
    RANDOM=$seed
    trap leave EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    "${scenario//-/_}"
    exit 0
fi

# ---------------------------------------------------------------------------------------------------------------------
# All that were named

finish() {
    local status=$?
    trap - EXIT
    ((status == 0 && keep == 0)) && rm -rf "$work"
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if [[ " ${names[*]} " == *" --list "* ]]; then
    for name in "${scenarios[@]}"; do printf '%-22s %s\n' "$name" "${sentences[$name]}"; done
    exit 0
fi
((${#names[@]} > 0)) || {
    usage >&2
    exit 2
}
chosen=()
for name in "${names[@]}"; do
    if [[ $name == all ]]; then
        for other in "${scenarios[@]}"; do [[ $other == gossip-* ]] || chosen+=("$other"); done
    else
        [[ -n ${sentences[$name]:-} ]] || fail "there is no scenario '$name' (run.sh --list names them)." 2
        chosen+=("$name")
    fi
done
for number in "$minutes" "$trials" "$rounds" "$bots" "$seed"; do
    [[ $number =~ ^[0-9]{1,6}$ ]] || fail "'$number' is no whole number." 2
done
build_programs chatroomd chatroomctl botswarm

results=() failed=0
for name in "${chosen[@]}"; do
    section "$name: ${sentences[$name]} (seed $seed)"
    mkdir -p "$work/$name"
    began=$SECONDS status=0
    command=("$BASH" "$here/run.sh" --scenario "$name" --work "$work/$name" --minutes "$minutes" --trials "$trials"
        --rounds "$rounds" --bots "$bots" --rate "$rate" --seed "$seed")
    [[ -z $old_dir ]] || command+=(--old "$old_dir")
    if [[ $name == net-* ]]; then
        if [[ -n $(missing_for_network) ]]; then
            say "skipped: $(missing_for_network)"
            results+=("SKIPPED  $name: $(missing_for_network)")
            continue
        fi
        command=("${in_network[@]}" "${command[@]}")
    elif [[ $name == disk-* ]]; then
        if [[ -n $(missing_for_mounts) ]]; then
            say "skipped: $(missing_for_mounts)"
            results+=("SKIPPED  $name: $(missing_for_mounts)")
            continue
        fi
        command=("${in_mounts[@]}" "${command[@]}")
    fi
    "${command[@]}" </dev/null || status=$?
    took=$((SECONDS - began))
    if ((status == 0)); then
        results+=("passed   $name, $took s")
        ((keep)) || rm -rf "${work:?}/$name"
    else
        ((status != 130 && status != 143)) || exit "$status"
        for log in "$work/$name"/data/n*/node.log; do
            [[ -e $log ]] || continue
            printf '\nThe last lines of %s:\n' "$log"
            tail -n 15 "$log" | sed 's/^/    /'
        done
        failed=$((failed + 1))
        results+=("FAILED   $name, $took s: logs and data in $work/$name")
    fi
done

section 'Results'
printf '%s\n' "${results[@]}"
((failed == 0)) || exit 1
