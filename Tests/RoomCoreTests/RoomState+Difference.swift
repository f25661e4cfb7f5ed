import ChatModel

@testable import RoomCore

extension RoomState {
    /// What tells two states apart, in words; nil when they will decide alike.
    func difference(from other: RoomState, at now: Timestamp) -> String? {
        if room != other.room { return "room" }
        if record != other.record {
            return "record: \(String(describing: record)), \(String(describing: other.record))"
        }
        let records = { (state: RoomState) in Dictionary(uniqueKeysWithValues: state.members.records.entries.map { $0 })
        }
        if records(self) != records(other) { return "members" }
        if members.fixed.elements != other.members.fixed.elements { return "fixed" }
        if members.managers.elements != other.members.managers.elements { return "managers" }
        if members.muted.elements != other.members.muted.elements { return "muted" }
        if members.blacklisted.elements != other.members.blacklisted.elements { return "blacklisted" }
        if members.deadlines.elements != other.members.deadlines.elements { return "deadlines" }
        if members.managerCount != other.members.managerCount { return "managerCount" }
        if queue.held != other.queue.held { return "queue" }
        if queue.order.elements != other.queue.order.elements { return "order" }
        if queue.nextPosition != other.queue.nextPosition { return "nextPosition" }
        if queue.transientElements != other.queue.transientElements { return "transient elements" }
        if transientOwners != other.transientOwners { return "transient owners" }
        if uploads.records != other.uploads.records { return "uploads" }
        if uploads.deadlines.elements != other.uploads.deadlines.elements { return "deadlines of uploads" }
        if deleted?.uploads.records != other.deleted?.uploads.records { return "uploads of the deleted room" }
        if reports.reports != other.reports.reports { return "reports" }
        if reports.deadlines.elements != other.reports.deadlines.elements { return "deadlines of reports" }
        for user in Set(reports.reports.values.map(\.reporter.user))
        where reports.latest(by: user) != other.reports.latest(by: user) { return "the latest report of \(user)" }
        if deleted?.reports.reports != other.deleted?.reports.reports { return "reports of the deleted room" }
        if deleted?.denied.records != other.deleted?.denied.records { return "denied messages of the deleted room" }
        if held.records != other.held.records { return "held messages" }
        if held.order.elements != other.held.order.elements { return "the order of held messages" }
        if held.deadlines.elements != other.held.deadlines.elements { return "deadlines of held messages" }
        if held.bytes != other.held.bytes { return "bytes of held messages" }
        if denied.records != other.denied.records { return "denied messages" }
        if denied.ids != other.denied.ids { return "the order of denied messages" }
        if robots != other.robots { return "robots" }
        if tallies.all != other.tallies.all { return "tallies" }
        if self.polls.entries.mapValues(\.record) != other.polls.entries.mapValues(\.record) { return "polls" }
        if self.polls.entries.mapValues(\.voters.parts) != other.polls.entries.mapValues(\.voters.parts) {
            return "votes"
        }
        if self.polls.entries.mapValues(\.poll) != other.polls.entries.mapValues(\.poll) { return "counts" }
        if self.polls.abandoned.mapValues(\.parts) != other.polls.abandoned.mapValues(\.parts) {
            return "abandoned votes"
        }
        if tallies.written != other.tallies.written { return "written tallies" }
        if taps.lives != other.taps.lives { return "windows" }
        if taps.nextSweep != other.taps.nextSweep { return "the sweep of windows" }
        if deleted?.tallies.all != other.deleted?.tallies.all { return "tallies of the deleted room" }
        if owed != other.owed { return "owed: \(owed), \(other.owed)" }
        if owedHolds != other.owedHolds { return "held messages that are owed" }
        if deleted?.record != other.deleted?.record { return "deleted room" }
        let kept = { (state: RoomState) in
            Dictionary(uniqueKeysWithValues: (state.deleted?.members.records.entries.map { $0 }) ?? [])
        }
        if kept(self) != kept(other) { return "members of the deleted room" }
        if deleted?.queue.held != other.deleted?.queue.held { return "queue of the deleted room" }
        if deleted?.queue.nextPosition != other.deleted?.queue.nextPosition { return "its next position" }
        if slow.times != other.slow.times { return "slow" }
        if ledger.results != other.ledger.results { return "results" }
        if ledger.bytes != other.ledger.bytes { return "bytes of results" }
        if ledger.livePosts(at: now) != other.ledger.livePosts(at: now) { return "posts" }
        return nil
    }
}

extension CommandLedger {
    func livePosts(at now: Timestamp) -> [CommandKey: Post] {
        var live: [CommandKey: Post] = [:]
        for (key, post) in posts.entries where !Self.isForgotten(post.time, at: now) { live[key] = post }
        return live
    }
}
