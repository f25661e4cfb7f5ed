# shellcheck shell=bash
# The programs of the release before and these in one cluster, under load. Sourced by run.sh.

# old_programs: sets old_dir to the directory with the programs of the release before: those of --old; else those of the
# last release's tarball, where tools/release has left it; else those of the tag, or of the parent commit where there is no
# tag, which are built once and kept in .build-parent.
old_programs() {
    local tag revision version tarball architecture
    [[ -z $old_dir ]] || return 0
    tag=$(git -C "$root" describe --tags --abbrev=0 HEAD^ 2>/dev/null) || tag=''
    revision=$(git -C "$root" rev-parse --short=12 "${tag:-HEAD^}" 2>/dev/null) \
        || fail 'there is no parent commit: give its programs by --old.' 2
    version=${tag#v} architecture=$(dpkg --print-architecture 2>/dev/null || uname -m)
    tarball=$root/.build-release/dist/chatroom-cluster-$version-linux-$architecture.tar.gz
    old_dir=$root/.build-parent/$revision
    if [[ -n $tag && -f $tarball ]]; then
        mkdir -p "$old_dir"
        tar -xzf "$tarball" -C "$old_dir" --strip-components 1
        [[ ! -d $old_dir/bin ]] || old_dir=$old_dir/bin
    elif [[ ! -x $old_dir/chatroomd ]]; then
        say "Building the programs of ${tag:-the parent commit} ($revision)"
        rm -rf "$old_dir.source" && mkdir -p "$old_dir.source"
        git -C "$root" archive "${tag:-HEAD^}" | tar -x -C "$old_dir.source"
        (cd "$old_dir.source" && swift build "${swift_build_options[@]}" --product programs </dev/null) \
            || fail "the build of $revision failed."
        mkdir -p "$old_dir"
        for program in chatroomd chatroomctl botswarm; do
            cp "$old_dir.source/.build/release/$program" "$old_dir/"
        done
        rm -rf "$old_dir.source"
    fi
    for program in chatroomd botswarm; do
        [[ -x $old_dir/$program ]] || fail "there is no program $old_dir/$program."
    done
}

# level_of_cluster NODE: prints the cluster's feature level as the node has it; 1 for a program that knows none.
level_of_cluster() {
    local level
    http GET "$(api_of "$1")" /metrics
    level=$(sed -n 's/^chatroom_feature_level \([0-9]*\).*/\1/p' <<<"$http_body")
    say "${level:-1}"
}

# level_of_program NODE: prints what the program of that node can do.
level_of_program() {
    local level
    http GET "$(api_of "$1")" /v1/cluster '' "$admin_key"
    level=$(grep -o "{\"id\":\"$1\"[^{}]*" <<<"$http_body" | sed -n 's/.*"featureLevel":\([0-9]*\).*/\1/p')
    say "${level:-1}"
}

# has_level LEVEL NODE
has_level() { [[ $(level_of_cluster "$2") == "$1" ]]; }

# roll DIR NODE...: stops each node and starts the program of that directory on its data.
roll() {
    local directory=$1 id
    shift
    for id in "$@"; do
        stop_node "$id"
        bin_dir=$directory start_node "$id"
        settle
        all_go_on "$id"
    done
}

# is_kept_out NODE: the program has ended with the sentence, or it runs and gets nowhere, as one from before levels does.
is_kept_out() {
    ! is_ready "$1" || return 1
    if gone "$1"; then
        grep -q 'the cluster has feature level' "$data/$1/node.log"
    else
        grep -hq 'can do feature level' "$data"/n*/node.log
    fi
}

scenario upgrade 'three nodes, the release before and this one: rolled forward, back, forward again, the level raised'
upgrade() {
    local new_dir=$bin_dir before after
    old_programs
    # The level is raised by a call here, not by itself in between.
    export CHATROOM_FEATURE_LEVEL_RAISE_AFTER_SECONDS=0
    CLUSTER_BIN_DIR=$old_dir fresh_cluster 3
    bin_dir=$new_dir
    swarm_begin 7
    probe_begin 8
    before=$(level_of_cluster n1)
    say "the release before runs, at feature level $before"

    roll "$new_dir" n3
    after=$(level_of_program n3)
    say "n3 runs this one, which can do feature level $after"
    if ((after > before)); then
        http PUT "$(api_of n3)" /v1/cluster/featureLevel "{\"level\":$after}" "$admin_key"
        [[ $http_status == 409 ]] || fail "the level was to be raised among older programs: $http_status $http_body"
        say 'ok  the level is not raised while a node runs the release before'
    fi
    roll "$new_dir" n1 n2
    [[ $(level_of_cluster n1) == "$before" ]] || fail 'the level was raised by itself.'
    say 'ok  rolled forward'

    roll "$old_dir" n2 n3 n1
    say 'ok  rolled back, while the level was not raised'

    roll "$new_dir" n1 n3 n2
    if ((after > before)); then
        cluster_call PUT n1 /v1/cluster/featureLevel "{\"level\":$after}"
        for id in n1 n2 n3; do wait_until "$id has level $after" has_level "$after" "$id"; done
        all_go_on
        say "ok  rolled forward again, the level is $after"
    else
        say "ok  rolled forward again; both can do feature level $after, so there is nothing to raise"
    fi
    judge_planned
    ((after > before)) || return 0

    # Nobody chats with a node that is kept out.
    stop_node n3
    : >"$data/n3/node.log"
    bin_dir=$old_dir launch_node n3
    wait_until 'the release before is kept out' is_kept_out n3
    gone n3 || kill_nodes n3
    start_node n3
    settle
    say 'ok  the release before is kept out from then on, and this one goes on with the same data'
    probes_are_kept
    replicas_are_equal "${swarm_rooms[@]}"
}
