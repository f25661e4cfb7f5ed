import ChatModel
import Consensus
import EventLoop
import LogStore
import Logging

/// Events of a group's log for the state machine above it. All calls come on the group's loop.
package protocol GroupLogDelegate: AnyObject {
    /// Entries are committed: each once, in order. Applied means: `applied(upTo:)` is called, now or later.
    func log(_ log: GroupLog, didCommit entries: [Entry])
    /// Leadership was won or lost. Earlier proposals that have not come out as committed are in doubt.
    func logDidChangeLeadership(_ log: GroupLog)
    /// The leader's log no longer reaches back to this one: the state is to be had from the leader's node, and
    /// `snapshotInstalled` or `snapshotInstallFailed` called. A newer offer replaces this one.
    func log(_ log: GroupLog, needsSnapshot offer: RaftOutput.SnapshotOffer)
}

/// Takes consensus messages to other nodes. Any may be lost. Called on any loop.
public protocol ConsensusTransport: Sendable {
    func send(_ messages: [RaftMessage])
}

/// Drives the consensus groups of one loop: takes what they put out, saves it, and tells them when it is on disk.
///
/// Everything that a turn brought, of all groups, is one save, and so takes part in one sync. At most
/// `savesInFlightMax` saves are under way; what comes meanwhile waits in the groups and makes the next save larger.
package final class LogDriver {
    let loop: EventLoop
    private let store: LogStore
    private let logger: Logger
    private let transport: any ConsensusTransport
    private let tellsOfStore: Bool
    private var groups: [GroupLog] = []
    private var byID: [GroupID: GroupLog] = [:]
    /// The groups that may have put out something: `pump` looks at no others.
    private var due: [GroupLog] = []
    private var savesInFlight = 0
    /// `pump` comes at the end of this turn's work.
    private var isPumpAhead = false
    private var tookWrites = true
    private var tookMarks = true
    /// When time was last looked at.
    private var heardAt: UInt64
    /// The store joins those that wait in one sync, so a further one costs no sync of its own; with two, what came
    /// while one was being synced and another waited had to wait for two syncs more.
    private static let savesInFlightMax = 8

    /// Calls must be on the loop. `tickMilliseconds` is the unit of the core's timeouts.
    /// - Parameter tellsOfStore: whether it logs that the store takes no writes. The drivers of a node share one store, and one
    ///   of them tells.
    package init(
        loop: EventLoop, store: LogStore, transport: any ConsensusTransport, logger: Logger, tellsOfStore: Bool = true
    ) {
        self.loop = loop
        self.store = store
        self.transport = transport
        self.logger = logger
        self.tellsOfStore = tellsOfStore
        heardAt = loop.nowMilliseconds
        // A log that can't be opened ends the start, and this with it, while the loop still turns.
        loop.every(milliseconds: Self.tickMilliseconds) { [weak self] in self?.tick() }
    }

    static let tickMilliseconds: UInt64 = 100

    package func add(_ group: GroupLog) {
        group.onInput = { [unowned self] in pump() }
        group.onOutput = { [unowned self, unowned group] in due.append(group) }
        if !group.output.isNone { due.append(group) }
        groups.append(group)
        byID[group.group] = group
    }

    private func tick() {
        noteTime()
        noteStore()
        for group in groups { group.tick() }
        pump()
    }

    private func noteStore() {
        let status = store.status
        if (status.marksFailure == nil) != tookMarks {
            tookMarks.toggle()
            if tellsOfStore { tellOfMarks(status) }
        }
        let takesWrites = status.failure == nil && store.refusal == nil
        guard takesWrites != tookWrites else { return }
        tookWrites = takesWrites
        guard tellsOfStore else { return }
        if takesWrites {
            logger.notice("the log can be written again")
        } else {
            let reason = (store.refusal ?? status.failure).map { "\($0)" } ?? ""
            logger.error(
                "the log can't be written; this node leads nothing that another one can lead until it can",
                metadata: ["error": "\(reason)"])
        }
    }

    private func tellOfMarks(_ status: LogStoreStatus) {
        if let failure = status.marksFailure {
            logger.error(
                "log.marks can't be written: it would not tell that the log has lost what has come since",
                metadata: ["error": "\(failure)"])
        } else {
            logger.notice("log.marks is written again", metadata: ["failures": "\(status.marksFailures)"])
        }
    }

    /// Takes messages of other nodes' groups, in order; messages for groups that are not here are dropped.
    package func receive(_ messages: [RaftMessage]) {
        noteTime()
        for message in messages { byID[message.group]?.step(message) }
        pumpLater()
    }

    /// A node is connected that was not before.
    package func reached(_ node: NodeID) {
        for group in groups { group.peerRestarted(node) }
        pump()
    }

    /// The connection to a node has ended.
    package func onNodeLost(_ node: NodeID) {
        noteTime()
        for group in groups { group.onNodeLost(node) }
        pump()
    }

    /// When the process or the loop has stood still for so long that others may lead, that is to be known before
    /// anything is answered.
    private func noteTime() {
        let now = loop.nowMilliseconds
        defer { heardAt = now }
        let missed = (now - min(now, heardAt)) / Self.tickMilliseconds
        guard missed >= Self.ticksMissedMax else { return }
        logger.warning("this node stood still", metadata: ["ms": "\(now - heardAt)"])
        for group in groups { group.clockJumped(ticks: Int(clamping: missed)) }
    }

    /// An election timeout.
    private static let ticksMissedMax: UInt64 = 10

    /// Once for everything that this turn still brings: a save and its sync have their price, and so has each message.
    private func pumpLater() {
        guard !isPumpAhead else { return }
        isPumpAhead = true
        loop.executeLater { [self] in pump() }
    }

    /// Performs what the groups have put out, until nothing is left to do. Call it after every input.
    package func pump() {
        isPumpAhead = false
        noteTime()
        var saves: [GroupSave] = []
        var begun: [BegunSave] = []
        var messages: [RaftMessage] = []
        let maySave = savesInFlight < Self.savesInFlightMax
        // Groups that wait until another save may begin.
        var postponed: [GroupLog] = []
        while !due.isEmpty {
            let groups = due
            due.removeAll(keepingCapacity: true)
            for group in groups {
                guard group.output.isDue(maySave: maySave) else {
                    postponed.append(group)
                    continue
                }
                let save = group.takeOutput()
                messages += group.takeMessages()
                if let save {
                    saves.append(GroupSave(group.group, save))
                    begun.append(
                        BegunSave(
                            group: group, number: save.number, generation: group.generation,
                            snapshotIndex: save.snapshot?.index ?? 0))
                }
            }
        }
        due = postponed
        if !messages.isEmpty { transport.send(messages) }
        guard !saves.isEmpty else { return }
        savesInFlight += 1
        let me = LoopBound(onLoop: self, loop: loop)
        let waiting = LoopBound(onLoop: begun, loop: loop)
        store.save(saves) { result in
            me.loop.execute { me.value.saved(waiting.value, result) }
        }
    }

    /// A save that is on its way to the disk.
    private struct BegunSave {
        var group: GroupLog
        var number: UInt64
        var generation: Int
        var snapshotIndex: UInt64
    }

    private func saved(_ begun: [BegunSave], _ result: Result<Void, LogStoreError>) {
        savesInFlight -= 1
        switch result {
        case .success:
            for save in begun {
                save.group.persisted(save: save.number, generation: save.generation)
                save.group.compact(through: save.snapshotIndex, generation: save.generation)
            }
        case .failure(let error):
            // A store that takes no writes is told once, whoever meets it first: a save or the next tick.
            let tookWritesBefore = tookWrites
            noteStore()
            if tookWritesBefore, tookWrites {
                logger.error(
                    "the log can't be written; rooms refuse changes until it can", metadata: ["error": "\(error)"])
            }
            for save in begun { save.group.persistFailed(generation: save.generation) }
        }
        pumpLater()
    }
}
