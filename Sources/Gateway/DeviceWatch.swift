import ChatModel
import RoomProtocol
import SessionCore
import Synchronization
import Wire

/// Tells users' sessions of each other, also between nodes (PROTOCOL.md, "Devices").
///
/// Nodes ask and tell each other in batches: one message a node and window, whoever connects and goes in it. A client
/// whose session begins waits for the others' answers before that, so that the reply to `connect` has them; not for long,
/// because a node that hangs must keep nobody out.
final class DeviceWatch: Sendable {
    private struct State {
        var book: DeviceBook
        /// Users who begin a session, and who waits for the answers of other nodes.
        var asking: [(user: UserID, waiting: CheckedContinuation<Void, Never>)] = []
        /// Users whose sessions here have changed, and those of them who have another client that is to see it. A first session
        /// is alone, and has it in the reply to `connect`.
        var changed: Set<UserID> = []
        var toShow: Set<UserID> = []
        var isScheduled = false
        var isStopped = false
        /// Users of whom a node could not be told: one task a node tries again.
        var owed: [NodeID: Set<UserID>] = [:]
    }

    /// Things are collected for longer where there are more nodes to be told: what a node hears and says in a second does not
    /// grow with the square of their number.
    private static func window(others: Int) -> Duration { .milliseconds(min(200, max(10, others * 5 / 4))) }

    /// Nodes answer within milliseconds. Clients that have lost a node which hangs wait for this when they connect elsewhere.
    private static let patience = Duration.milliseconds(150)
    /// Between the parts of what a node that is reached again is told.
    private static let pause = Duration.milliseconds(50)
    private static let retryDelay = Duration.seconds(1)
    /// Users whom a node is owed at most; what is beyond is told with the next change.
    private static let owedMax = 50_000
    /// The wait that a node of a version before asks for: it knows no devices.
    private static let neverMs: Int64 = 60_000

    private struct Display: Sendable {
        /// Shows a user's sessions to those that are here; set by the gateway.
        var show: @Sendable (UserID, [HeldDevice]) -> Void = { _, _ in }
    }

    private let node: NodeID
    private let elsewhere: any SessionsElsewhere
    private let state: Mutex<State>
    private let display = Mutex(Display())

    init(node: NodeID, elsewhere: any SessionsElsewhere, at now: Timestamp) {
        self.node = node
        self.elsewhere = elsewhere
        state = Mutex(State(book: DeviceBook(at: now)))
    }

    // MARK: - From lanes

    func sessions(of user: UserID) -> [HeldDevice] { state.withLock { $0.book.sessions(of: user) } }

    func put(_ session: HeldDevice, of user: UserID) {
        change(user) { $0.put(session, of: user) }
    }

    func remove(_ session: SessionID, of user: UserID) {
        change(user) { $0.remove(session, of: user) }
    }

    private func change(_ user: UserID, _ body: (inout DeviceBook) -> Bool) {
        let isFirst = state.withLock { state -> Bool in
            let wasHere = state.book.isHere(user)
            guard body(&state.book) else { return false }
            state.changed.insert(user)
            if wasHere { state.toShow.insert(user) }
            return Self.schedule(&state)
        }
        if isFirst { flushLater() }
    }

    /// Asks the other nodes for a user who is about to begin a session here.
    func learn(_ user: UserID) async {
        guard !elsewhere.others.isEmpty else { return }
        await withCheckedContinuation { continuation in
            let isFirst = state.withLock { state -> Bool? in
                if state.isStopped { return nil }
                state.book.await(user, nowMilliseconds: Self.now())
                state.asking.append((user, continuation))
                return Self.schedule(&state)
            }
            if isFirst == nil { continuation.resume() }
            if isFirst == true { flushLater() }
        }
    }

    private static func schedule(_ state: inout State) -> Bool {
        defer { state.isScheduled = true }
        return !state.isScheduled && !state.isStopped
    }

    /// The lanes take nothing any more. Nobody waits from here on.
    func stop() {
        let asking = state.withLock { state in
            state.isStopped = true
            defer { state.asking = [] }
            return state.asking
        }
        for item in asking { item.waiting.resume() }
        display.withLock { $0 = Display() }
    }

    private static func now() -> UInt64 {
        let time = ContinuousClock.now - startedAt
        return UInt64(max(0, time.components.seconds)) * 1000
    }
    private static let startedAt = ContinuousClock.now

    // MARK: - Batches

    private func flushLater() {
        Task {
            try? await Task.sleep(for: Self.window(others: elsewhere.others.count))
            await flush()
        }
    }

    private func flush() async {
        let (asking, changed, toShow) = state.withLock { state in
            defer { (state.asking, state.changed, state.toShow, state.isScheduled) = ([], [], [], false) }
            return (state.asking, state.isStopped ? [] : Array(state.changed), state.toShow)
        }
        for user in toShow { sendRoomsOf(user) }
        await notifyOthers(of: changed, asking: asking)
    }

    func use(_ show: @escaping @Sendable (UserID, [HeldDevice]) -> Void) {
        display.withLock { $0 = Display(show: show) }
    }

    /// Under the lock, so that nothing is shown behind `stop`, and nothing older behind what is newer.
    private func sendRoomsOf(_ user: UserID) {
        display.withLock { $0.show(user, sessions(of: user)) }
    }

    private func notifyOthers(
        of changed: [UserID], asking: [(user: UserID, waiting: CheckedContinuation<Void, Never>)]
    ) async {
        var (changed, asking) = (changed[...], asking[...])
        while !changed.isEmpty || !asking.isEmpty {
            let told = Array(changed.prefix(DeviceNews.usersMax))
            let waiting = Array(asking.prefix(DeviceNews.usersMax))
            (changed, asking) = (changed.dropFirst(told.count), asking.dropFirst(waiting.count))
            let nodes = elsewhere.others
            let answered = Task { await notify(told, asking: waiting.map(\.user), to: nodes) }
            guard !waiting.isEmpty else { continue }
            Task {
                let (first, ended) = AsyncStream<Void>.makeStream()
                Task {
                    await answered.value
                    ended.yield()
                }
                let timer = Task {
                    try? await Task.sleep(for: Self.patience)
                    ended.yield()
                }
                for await _ in first { break }
                timer.cancel()
                for item in waiting { item.waiting.resume() }
            }
        }
    }

    /// Returns when all of them have answered, or can't.
    private func notify(_ users: [UserID], asking asked: [UserID] = [], to nodes: Set<NodeID>) async {
        guard !nodes.isEmpty, !isStopped else { return }
        let news = state.withLock { $0.book.news(from: node, of: users, asking: asked) }
        // Tasks of their own, as in `ClusterNodes.results`.
        let answers = nodes.sorted().map { other in
            Task {
                switch await elsewhere.notify(news, to: other) {
                case .success(let answer): if answer.node == other { take(answer) }
                case .failure(let error):
                    if error.retryAfterMs ?? 0 < Self.neverMs { owe(users, to: other) }
                }
            }
        }
        for answer in answers { await answer.value }
    }

    private var isStopped: Bool { state.withLock { $0.isStopped } }

    /// A node that was too busy is told again, as long as it is reached.
    private func owe(_ users: [UserID], to other: NodeID) {
        let isFirst = state.withLock { state -> Bool in
            guard !users.isEmpty, !state.isStopped else { return false }
            let isFirst = state.owed[other] == nil
            if state.owed[other, default: []].count < Self.owedMax { state.owed[other]?.formUnion(users) }
            return isFirst
        }
        guard isFirst else { return }
        Task {
            repeat { try? await Task.sleep(for: Self.retryDelay) } while await payOnce(other)
        }
    }

    /// Tells some of what a node is owed. Returns whether there is more.
    private func payOnce(_ other: NodeID) async -> Bool {
        let isReached = elsewhere.others.contains(other)
        let users = state.withLock { state -> [UserID] in
            guard let owed = state.owed[other], !owed.isEmpty, isReached, !state.isStopped else {
                state.owed[other] = nil
                return []
            }
            let users = Array(owed.prefix(DeviceNews.usersMax))
            state.owed[other]?.subtract(users)
            return users
        }
        guard !users.isEmpty else { return false }
        await notify(users, to: [other])
        return true
    }

    // MARK: - From other nodes

    /// Another node asks and tells. Returns what there is here of the same users.
    func hear(_ news: DeviceNews) -> DeviceNews {
        take(news)
        let users = news.asked + news.told.map(\.user)
        return state.withLock { $0.book.news(from: node, of: users, isAnswer: true) }
    }

    private func take(_ news: DeviceNews) {
        let changed = state.withLock { $0.book.take(news) }
        for user in changed { sendRoomsOf(user) }
    }

    func lose(_ other: NodeID) {
        let changed = state.withLock { $0.book.lose(other) }
        guard !changed.isEmpty else { return }
        // They may be very many, and this is the link's loop.
        Task { for user in changed { sendRoomsOf(user) } }
    }

    /// A node that was not reached may know nothing of the users here, and nobody here of its own.
    func reach(_ other: NodeID) {
        lose(other)
        let users = state.withLock { $0.book.users }
        guard !users.isEmpty else { return }
        Task {
            for start in stride(from: 0, to: users.count, by: DeviceNews.usersMax) {
                guard elsewhere.others.contains(other), !isStopped else { return }
                await notify(Array(users[start..<min(start + DeviceNews.usersMax, users.count)]), to: [other])
                try? await Task.sleep(for: Self.pause)
            }
        }
    }
}
