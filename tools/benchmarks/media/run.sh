#!/usr/bin/env bash
# Media beside messages. Senders send at a fixed rate; the time to the ack is measured without transfers and with downloads
# and uploads of content, in turn. Then many uploads are slow at once, and the memory of the node is looked at before, with
# them, and after. Node and load share the machine.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=tools/benchmarks/lib.sh
. "$root/tools/benchmarks/lib.sh"

rounds=5 seconds=10 senders=50 rate=1000 down=150 up=50 downloads=16 uploads=4 slow=1000 slow_seconds=40 megabytes=20
option rounds N 'without and with transfers, in turn; 0: only the slow uploads'
option seconds S 'length of one measurement'
option senders M 'each alone in a room of its own'
option rate R 'messages a second'
option down MB 'megabytes a second that are read'
option up MB 'megabytes a second that are sent'
option downloads D 'connections that read'
option uploads U 'connections that send'
option megabytes MB 'size of a piece of content'
option slow N 'uploads that are slow at once; 0: none'
option slow_seconds S 'for which they go on, at 4 KB a second each'
quick rounds=1 seconds=3 slow=100 slow_seconds=20
read_options "$@"
need_files $((slow + 500)) || exit
build_clients sends
build_clients media
begin media
export CHATROOM_LIMITS_CONNECTIONS_PER_ADDRESS=200000 CHATROOM_MEDIA_TRANSFERS=$((slow + 100))
start_node
bearer_file=$bench_dir/bearer targets=$bench_dir/targets.txt
(umask 077 && say "$node_admin_key" >"$bearer_file")

# place BYTES: asks for a place for content; sets url.
place() {
    http POST "$node_api" /v1/rooms/media/uploads \
        "{\"kind\":\"VIDEO\",\"name\":\"bench.mp4\",\"contentType\":\"video/mp4\",\"size\":$1}" "$node_admin_key"
    url=$(sed -n 's/.*"url":"\([^"]*\)".*/\1/p' <<<"$http_body")
    [[ -n $url ]] || fail "there is no place ($http_status): $http_body"
}

# places N BYTES: as many lines of targets.
places() {
    local i
    for ((i = 0; i < $1; i++)); do
        place "$2"
        say "PUT $2 $url"
    done
}

metric() {
    http GET "$node_api" /metrics '' "$node_admin_key"
    sed -n "s/^$1 //p" <<<"$http_body"
}

resident_mb() { awk '/^VmRSS:/ { printf "%.1f", $2 / 1024 }' "/proc/$node_pid/status"; }

# transfers OPTION...: begins them; what they say at the end is in said.
said=$bench_dir/transfers.txt
transfers() {
    background "$bench_dir/transferload" --port "$node_port" --bearer-file "$bearer_file" --targets "$targets" "$@" >"$said"
    transfers_pid=$background_pid
}

end_transfers() {
    kill -TERM "$transfers_pid" 2>/dev/null || fail 'the transfers have failed.'
    wait "$transfers_pid" || fail 'the transfers have failed.'
    background_pids=()
}

# until_transfers N
until_transfers() {
    local waited
    for ((waited = 0; $(metric chatroom_media_transfers) != "$1"; waited++)); do
        ((waited < 240)) || fail "there are $(metric chatroom_media_transfers) transfers, and $1 are wanted."
        sleep 0.25
    done
}

create_room media
for ((i = 1; i <= senders; i++)); do create_room "sends-$i"; done
size=$((megabytes << 20))

# below FRACTION BEFORE AFTER: of what turn_counts said, the end of the bucket that so many are below, in ms.
below() {
    paste -d ' ' <(say "$2") <(say "$3") | awk -v f="$1" '{ le[NR] = $1; n[NR] = $4 - $2 }
        END { for (i = 1; i < NR && n[i] < f * n[NR]; i++); print le[i] == "+Inf" ? "1e9" : le[i] * 1000 }'
}

# measure ROUND WHAT: a row of the table.
measure() {
    local line moved='{}' errors acks turns
    if [[ $2 == with ]]; then
        {
            say "GET ${content%%\?*}"
            places $((up * 1000000 * (seconds + 4) / size + uploads + 1)) "$size"
        } >"$targets"
        transfers --downloads "$downloads" --uploads "$uploads" --down-rate $((down * 1000000)) --up-rate $((up * 1000000))
        sleep 1
    fi
    acks=$(turn_counts chatroom_ack_seconds) turns=$(turn_counts chatroom_loop_turn_cpu_seconds)
    line=$("$bench_dir/sendload" --port "$node_port" --pid "$node_pid" --room-prefix sends --senders "$senders" \
        --rate "$rate" --seconds "$seconds" "${key_options[@]}" --json) || fail "the load client failed. $line"
    acks=$(below 0.99 "$acks" "$(turn_counts chatroom_ack_seconds)")
    turns=$(longest_turn "$turns" "$(turn_counts chatroom_loop_turn_cpu_seconds)")
    if [[ $2 == with ]]; then
        end_transfers
        moved=$(cat "$said")
    fi
    errors=${line#*'"errors":'}
    [[ ${errors%%\}*} == '{' ]] || fail "sends were refused: ${errors%%\}*}}"
    say "{\"round\":$1,\"what\":\"$2\",\"transfers\":$moved,${line#\{}" >>"$raw"
    printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$1" "$2" "$(field ackedPerSecond <<<"$line")" \
        "$(field p50Ms <<<"$line")" "$(field p99Ms <<<"$line")" "$(field maxMs <<<"$line")" "$acks" "$turns" \
        "$(megabytes_of downBytesPerSecond "$moved")" "$(megabytes_of upBytesPerSecond "$moved")" "$(resident_mb)"
}

# megabytes_of FIELD JSON: "-" without it.
megabytes_of() { field "$1" <<<"$2" | awk '{ printf "%.1f", $1 / 1e6; found = 1 } END { if (!found) printf "-" }'; }

machine
if ((rounds > 0)); then
    # The content that is read.
    place "$size"
    content=$url
    say "PUT $size $url" >"$targets"
    transfers --uploads 1
    for ((waited = 0; $(metric chatroom_media_transfers) == 0 && waited < 20; waited++)); do sleep 0.05; done
    until_transfers 0
    end_transfers
    say "$senders senders, $rate messages a second; content of $megabytes MB, $downloads connections read and $uploads send."
    say
    say '| round | transfers | acked/s | ack p50 ms | p99 ms | max ms | p99 from room to ack below, ms | longest turn below, ms of CPU | MB/s read | MB/s sent | resident, MB |'
    say '|---|---|---|---|---|---|---|---|---|---|---|'
    for ((round = 1; round <= rounds; round++)); do
        measure "$round" without
        measure "$round" with
    done
    say
    for what in without with; do
        say "$what transfers: ack p50 ms $(grep "\"what\":\"$what\"" "$raw" | field p50Ms | spread), p99 ms $(
            grep "\"what\":\"$what\"" "$raw" | field p99Ms | spread)"
    done
    say "p99 with transfers to without, each round: $(paste -d ' ' <(grep '"what":"with"' "$raw" | field p99Ms) \
        <(grep '"what":"without"' "$raw" | field p99Ms) | awk '{ printf "%.2f\n", $1 / $2 }' | spread)"
    say
fi
if ((slow > 0)); then
    say "$(thousands "$slow") uploads at once, each of 4 KB a second."
    say
    say '| | transfers | resident, MB |'
    say '|---|---|---|'
    places "$slow" $((4 << 20)) >"$targets"
    say "| before | $(metric chatroom_media_transfers) | $(resident_mb) |"
    transfers --uploads "$slow" --up-rate $((slow * 4096)) --chunk 4096
    until_transfers "$slow"
    say "| begun | $slow | $(resident_mb) |"
    for part in 1 2; do
        sleep $((slow_seconds / 2))
        say "| after $((slow_seconds * part / 2)) s | $(metric chatroom_media_transfers) | $(resident_mb) |"
    done
    end_transfers
    until_transfers 0
    sleep 5
    say "| all broken off | 0 | $(resident_mb) |"
fi
