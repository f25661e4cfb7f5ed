import Telemetry

/// The figures of one shard's log.
package struct ShardFigures: Sendable {
    let leads: Counter
    let commitLag: Counter
    let leaderChanges: Counter
    let replicasBehind: Counter

    package init(leads: Counter, commitLag: Counter, replicasBehind: Counter, leaderChanges: Counter) {
        self.leads = leads
        self.commitLag = commitLag
        self.replicasBehind = replicasBehind
        self.leaderChanges = leaderChanges
    }
}
