import ChatModel
import EventLoop
import History
import Logging
import Telemetry
import Wire

/// Delivers what the rooms of one shard owe the app's webhook, while this node leads the shard.
///
/// Which rooms owe something is durable (`WebhookRecord`); here are only names, bounded, and found again by looking for
/// the rows when they did not fit. One call is under way at a time, so that what a room says arrives in its order. How
/// far rooms were delivered goes to the log once a second, so a crash repeats about a second's items. A receiver that
/// is away costs the shard one batch of memory and a call now and then; rooms never wait for it.
package final class WebhookDispatcher {
    /// The parts of its shard that the dispatcher needs. All on the loop.
    package struct Shard {
        var id: ShardID
        var storage: ShardStorage
        var isLeader: () -> Bool
        /// Reads what a room owes, loaded if need be; nil when it can't be had.
        var read: (Reading, @escaping @Sendable (WebhookSlice?) -> Void) -> Void
        /// Writes down how far a room is delivered. It asks for that when the room has been loaded or can't be had.
        var record: (RoomID, @escaping () -> WebhookProgress?, @escaping (Record) -> Void) -> Void
        /// Has `pump` called at the end of the turn.
        var pumpLater: () -> Void

        package init(
            id: ShardID, storage: ShardStorage, isLeader: @escaping () -> Bool,
            read: @escaping (Reading, @escaping @Sendable (WebhookSlice?) -> Void) -> Void,
            record: @escaping (RoomID, @escaping () -> WebhookProgress?, @escaping (Record) -> Void) -> Void,
            pumpLater: @escaping () -> Void
        ) {
            self.id = id
            self.storage = storage
            self.isLeader = isLeader
            self.read = read
            self.record = record
            self.pumpLater = pumpLater
        }
    }

    /// A part of what a room owes.
    package struct Reading: Sendable {
        package var room: RoomID
        /// How far it is delivered.
        package var after: WebhookProgress?
        package var itemsMax: Int
    }

    /// The outcome of an attempt to write down how far a room is delivered.
    package enum Record: Sendable {
        /// It is on its way to the log; the next attempt finds it there.
        case proposed
        /// The log has it already.
        case isThere
        case roomIsGone
    }

    private let shard: Shard
    private let loop: EventLoop
    private let callbacks: LoopBound<LoopCallbacks>
    private let figures: WebhookFigures
    private let logger: Logger
    private let now: @Sendable () -> Timestamp
    private let random: () -> Double

    /// Rooms that may owe something, each once.
    private var queue = Fifo<RoomID>()
    private var queued: Set<RoomID> = []
    /// There may be rooms that owe something and are not in the queue.
    private var needsScan = true
    private var scannedTo: RoomID?
    private var secondsSinceScan = 0
    /// How far rooms are delivered, until the log says the same.
    private var delivered: [RoomID: WebhookProgress] = [:]
    /// The same rooms in the order in which they are written down, each once; and some that need not be any more.
    private var unrecorded = Fifo<RoomID>()
    private var unrecordedRooms: Set<RoomID> = []

    /// Best-effort items, in the order in which they happened.
    private var soft = Fifo<WebhookItem>()
    private var dropped: Int64 = 0
    private var softNumber: UInt64 = 0

    /// The batch that is being built or delivered.
    private struct Building {
        var batch = WebhookBatch(cursor: "", items: [])
        var progress: [RoomID: WebhookProgress] = [:]
        /// Rooms that have more.
        var unfinished: [RoomID] = []
        var softCount = 0
        var softDropped: Int64 = 0
    }

    /// Can transition: idle to collecting; collecting to idle (nothing found) or delivering; delivering to idle
    /// (accepted) or waiting; waiting to delivering. A change of leadership makes any of them idle.
    private enum State {
        case idle
        case collecting(Building)
        case delivering(Building)
        /// The same batch goes out again later.
        case waiting(Building)
    }

    private var state = State.idle {
        didSet { if case .idle = state { shard.pumpLater() } }
    }
    /// Answers to what was begun before a change of leadership are not heard.
    private var generation = 0
    private var attempt = 0
    private var retryDelay = RetryDelay(firstMilliseconds: 500, longestMilliseconds: 60_000)
    private var batches: UInt64 = 0
    /// When a failure was last logged; nil: none was since this node leads.
    private var loggedAt: Timestamp?
    private var isCollecting = false
    private var collectsAgain = false

    /// Names in the queue; beyond, the rows are looked for later.
    private static let queueMax = 10_000
    /// Best-effort items that wait; beyond, they are dropped and counted.
    private static let softMax = 1_000
    private static let scanRows = 200
    private static let roomsPerBatchMax = 200
    private static let progressPerSecondMax = 1_000
    private static let answerBytesMax = 64 << 10

    package init(
        _ shard: Shard, loop: EventLoop, callbacks: LoopBound<LoopCallbacks>, figures: WebhookFigures, logger: Logger,
        now: @escaping @Sendable () -> Timestamp, random: @escaping () -> Double = { .random(in: 0..<1) }
    ) {
        self.shard = shard
        self.loop = loop
        self.callbacks = callbacks
        self.figures = figures
        self.logger = logger
        self.now = now
        self.random = random
    }

    private var settings: WebhookSettings? { callbacks.value.webhook }

    // MARK: - What there is to do

    /// The room owes something, or may.
    func note(_ room: RoomID) {
        guard shard.isLeader() else { return }
        shard.pumpLater()
        guard queued.count < Self.queueMax else {
            needsScan = true
            return
        }
        if queued.insert(room).inserted { queue.append(room) }
    }

    func offer(_ item: WebhookItem) {
        guard shard.isLeader() else { return }
        guard soft.count < Self.softMax else {
            dropped += 1
            figures.dropped.add()
            return
        }
        var item = item
        if item.id.isEmpty {
            softNumber += 1
            item.id = "\(shard.id)-\(String(item.time.milliseconds, radix: 36))-\(String(softNumber, radix: 36))"
        }
        soft.append(item)
        shard.pumpLater()
    }

    func settingsChanged() {
        needsScan = true
        shard.pumpLater()
        forgetFailures()
        if settings == nil {
            soft = Fifo()
            dropped = 0
            forgetSoftUnderWay()
        }
        if case .waiting = state { retry() }
    }

    /// The items of the batch that is under way do not wait any more: those that come from here on are others.
    private func forgetSoftUnderWay() {
        func without(_ building: Building) -> Building {
            var building = building
            (building.softCount, building.softDropped) = (0, 0)
            return building
        }
        switch state {
        case .delivering(let building): state = .delivering(without(building))
        case .waiting(let building): state = .waiting(without(building))
        case .idle, .collecting: break
        }
    }

    /// Leadership was won or lost: the rows say what is owed.
    package func reset() {
        generation += 1
        state = .idle
        queue = Fifo()
        queued = []
        delivered = [:]
        unrecorded = Fifo()
        unrecordedRooms = []
        soft = Fifo()
        dropped = 0
        needsScan = true
        scannedTo = nil
        forgetFailures()
        figures.delivering(nil, shard.id)
    }

    /// The next failure is logged, and its call repeated soon.
    private func forgetFailures() {
        retryDelay.succeeded()
        loggedAt = nil
    }

    /// At the end of a turn that it was asked for: begins a batch if there is something for it.
    package func pump() {
        guard case .idle = state, queue.first != nil || !soft.isEmpty || needsScan, shard.isLeader() else { return }
        batches += 1
        var building = Building()
        building.batch.cursor =
            "\(shard.id)-\(String(now().milliseconds, radix: 36))-\(String(batches, radix: 36))"
        state = .collecting(building)
        collect()
    }

    // MARK: - Collecting

    /// Goes from room to room until the batch is full or nothing is left; a room that has to be read goes on later.
    private func collect() {
        collectsAgain = true
        guard !isCollecting else { return }
        isCollecting = true
        while collectsAgain {
            collectsAgain = false
            collectNext()
        }
        isCollecting = false
    }

    private func collectNext() {
        guard case .collecting(let building) = state else { return }
        let space = Int(settings?.maxBatch ?? 1) - building.batch.items.count
        guard space > 0, building.progress.count < Self.roomsPerBatchMax else { return send() }
        guard let room = queue.first else {
            if needsScan { return scan() }
            return send()
        }
        queue.removeFirst()
        queued.remove(room)
        // The room may be in this batch already: it was noted again while it was read.
        let (generation, after) = (generation, building.progress[room] ?? delivered[room])
        let me = LoopBound(onLoop: self, loop: loop)
        let collected: @Sendable (WebhookSlice?) -> Void = { slice in
            guard me.value.generation == generation else { return }
            me.value.collected(room, slice)
        }
        shard.read(Reading(room: room, after: after, itemsMax: space), collected)
    }

    private func collected(_ room: RoomID, _ slice: WebhookSlice?) {
        guard case .collecting(var building) = state else { return }
        if let slice {
            building.batch.items += slice.items
            building.batch.dropped += slice.forgotten
            building.progress[room] = slice.progress
            if slice.more { building.unfinished.append(room) }
        }
        // One that can't be read now is found again by its row.
        state = .collecting(building)
        collect()
    }

    private func scan() {
        let (generation, after) = (generation, scannedTo)
        let me = LoopBound(onLoop: self, loop: loop)
        shard.storage.rooms(.webhook, after: after, limit: Self.scanRows) { result in
            me.loop.execute {
                guard me.value.generation == generation else { return }
                me.value.scanned((try? result.get())?.map(\.room))
            }
        }
    }

    private func scanned(_ rooms: [RoomID]?) {
        for room in rooms ?? [] { note(room) }
        scannedTo = rooms?.last
        if (rooms?.count ?? 0) < Self.scanRows {
            needsScan = false
            scannedTo = nil
            secondsSinceScan = 0
        }
        collect()
    }

    // MARK: - Delivering

    private func send() {
        guard case .collecting(var building) = state else { return }
        if let settings {
            building.softCount = min(soft.count, max(0, Int(settings.maxBatch) - building.batch.items.count))
            building.batch.items += soft.prefix(building.softCount)
            building.softDropped = dropped
            building.batch.dropped += dropped
        }
        guard settings != nil, !building.batch.items.isEmpty || building.batch.dropped > 0 else {
            return accepted(building)
        }
        deliver(building)
    }

    private func deliver(_ building: Building) {
        guard let settings else { return accepted(building) }
        state = .delivering(building)
        attempt += 1
        figures.delivering(building.batch.items.map(\.time).min(), shard.id)
        let generation = generation
        let me = LoopBound(onLoop: self, loop: loop)
        Self.post(
            building.batch, settings, by: callbacks.value.client, time: now().milliseconds
        ) { failure in
            me.loop.execute {
                guard me.value.generation == generation else { return }
                me.value.delivered(failure)
            }
        }
    }

    private static func post(
        _ batch: WebhookBatch, _ settings: WebhookSettings, by client: CallbackClient, time: Int64,
        _ completion: @escaping @Sendable (String?) -> Void
    ) {
        Task.detached { completion(await post(batch, settings, by: client, time: time)) }
    }

    /// Why it was not accepted; nil when it was.
    @concurrent private static func post(
        _ batch: WebhookBatch, _ settings: WebhookSettings, by client: CallbackClient, time: Int64
    ) async -> String? {
        let request = CallbackRequest(
            url: settings.url, secret: settings.secret ?? "", body: WireJSON.encode(batch), time: time,
            timeoutMilliseconds: settings.timeoutMs, answerBytesMax: answerBytesMax)
        do throws(CallbackError) {
            let answer = try await client.post(request)
            return answer.isAccepted ? nil : "it answered HTTP \(answer.status)"
        } catch {
            return error.description
        }
    }

    private func delivered(_ failure: String?) {
        guard case .delivering(let building) = state else { return }
        guard let failure else {
            retryDelay.succeeded()
            figures.delivered.add(building.batch.items.count)
            return accepted(building)
        }
        figures.failed.add()
        state = .waiting(building)
        let wait = retryDelay.failed(random: random())
        logFailure(failure, of: building.batch, retryMilliseconds: wait)
        let (generation, attempt) = (generation, attempt)
        loop.schedule(afterMilliseconds: UInt64(clamping: wait)) { [weak self] in
            guard let self, self.generation == generation, self.attempt == attempt else { return }
            self.retry()
        }
    }

    /// One line in a minute. It names one room of the batch, so that somebody can look at what the receiver refuses.
    private func logFailure(_ failure: String, of batch: WebhookBatch, retryMilliseconds: Int64) {
        let now = self.now()
        if let loggedAt, now.milliseconds - loggedAt.milliseconds < 60_000 { return }
        loggedAt = now
        var metadata: Logger.Metadata = [
            "shard": "\(shard.id)", "reason": "\(failure)", "retryMs": "\(retryMilliseconds)",
        ]
        if let room = batch.items.first?.room { metadata["room"] = "\(room)" }
        logger.warning("the webhook does not accept a batch; it is tried again", metadata: metadata)
    }

    private func retry() {
        guard case .waiting(let building) = state else { return }
        deliver(building)
    }

    private func accepted(_ building: Building) {
        state = .idle
        // Also of a batch that nobody wants any more, since the webhook is off.
        figures.delivering(nil, shard.id)
        delivered.merge(building.progress) { $1 }
        for room in building.progress.keys where unrecordedRooms.insert(room).inserted { unrecorded.append(room) }
        soft.removeFirst(building.softCount)
        // Items dropped since then are told next time.
        dropped = max(0, dropped - building.softDropped)
        for room in building.unfinished { note(room) }
    }

    // MARK: - The log

    /// Once a second: writes down how far rooms are delivered.
    package func tick() {
        guard shard.isLeader() else { return }
        secondsSinceScan += 1
        if secondsSinceScan >= 30 { needsScan = true }
        // And where this node has only begun to lead.
        if needsScan { shard.pumpLater() }
        for _ in 0..<min(unrecorded.count, Self.progressPerSecondMax) {
            guard let room = unrecorded.popFirst() else { break }
            guard let progress = delivered[room] else {
                unrecordedRooms.remove(room)
                continue
            }
            // It goes to the end: with more rooms than are written down in a second, each has its turn.
            unrecorded.append(room)
            let generation = generation
            shard.record(room, { [weak self] in self?.generation == generation ? progress : nil }) {
                [weak self] record in
                self?.recorded(room, progress, record)
            }
        }
    }

    private func recorded(_ room: RoomID, _ progress: WebhookProgress, _ record: Record) {
        switch record {
        case .proposed: break
        case .isThere: if delivered[room] == progress { delivered[room] = nil }
        case .roomIsGone: delivered[room] = nil
        }
    }
}
