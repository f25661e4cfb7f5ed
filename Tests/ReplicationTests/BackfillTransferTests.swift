import ChatModel
import Consensus
import Replication
import StorageTestKit
import Testing

@Suite struct BackfillTransferTests {
    /// What the source has of a day: chunks, each behind a cursor of one byte.
    private typealias Chunks = [[UInt8]]

    private func answer(_ question: HistoryQuestion, _ days: [Int64: Chunks]) -> HistoryPart {
        let chunks = days[question.day] ?? []
        let position = Int(question.cursor.first ?? 0)
        // A day that has expired is at its end.
        guard position < chunks.count else { return HistoryPart(answering: question, chunk: [], next: nil) }
        let isLast = position == chunks.count - 1
        return HistoryPart(
            answering: question, chunk: chunks[position], next: isLast ? nil : [UInt8(truncatingIfNeeded: position + 1)]
        )
    }

    @Test(arguments: SeededGenerator.seeds(4))
    func `whatever is lost with connections, all days arrive, each in order`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var days: [Int64: Chunks] = [:]
        for day in 1...6 as ClosedRange<Int64> {
            days[day] = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                // Some are over the bound of a message.
                random.bytes(random.happens(10) ? 450_000 : Int.random(in: 0...50, using: &random))
            }
        }
        var stored: [Int64: Chunks] = [:]
        var cursors: [Int64: [UInt8]] = [:]
        var isPlanned = false
        var transfer: UInt64 = 1
        func begin() -> BackfillSink {
            BackfillSink(
                group: group, transfer: transfer, snapshotIndex: 9, knownIndex: 3,
                days: isPlanned ? cursors.map { ($0.key, $0.value) } : nil, configuration: TransferConfiguration())
        }
        var sink = begin()
        var questions: [ReplicationMessage] = []
        var answers: [ReplicationMessage] = []
        var storing: [(day: Int64, next: [UInt8]?)] = []
        var isComplete = false
        func perform(_ effects: [BackfillSink.Effect]) throws {
            for effect in effects {
                switch effect {
                case .send(let message): questions.append(try ReplicationMessage(decoding: message.encoded))
                case .plan(let list):
                    #expect(list.map(\.day) == Array(1...6))
                    isPlanned = true
                    cursors = Dictionary(uniqueKeysWithValues: list.map { ($0.day, []) })
                    try perform(sink.planned(list.map { ($0.day, []) }))
                case .store(let day, let cursor, let bytes, let next):
                    #expect(cursors[day] == cursor, "seed \(seed)")
                    stored[day, default: []].append(bytes)
                    cursors[day] = next
                    storing.append((day, next))
                    #expect(storing.count <= 3)
                case .complete: isComplete = true
                case .fail(let error): Issue.record("seed \(seed): \(error)")
                }
            }
        }
        try perform(sink.start())
        var steps = 0
        while !isComplete, steps < 100_000 {
            steps += 1
            switch Int.random(in: 0..<10, using: &random) {
            case 0...2 where !questions.isEmpty:
                let question = questions.removeFirst()
                switch question.body {
                case .askDays(let index):
                    #expect(index == 9)
                    let list = days.keys.sorted().map { HistoryDay(day: $0, lastIndex: 9) }
                    answers.append(ReplicationMessage(group: group, transfer: question.transfer, .days(list)))
                case .askHistory(let asked):
                    #expect(asked.changedAfter == 3 && asked.index == 9)
                    let part = answer(asked, days)
                    answers.append(ReplicationMessage(group: group, transfer: question.transfer, .history(part)))
                default: Issue.record("\(question)")
                }
            case 3...5 where !answers.isEmpty: try perform(sink.receive(answers.removeFirst()))
            case 6...7 where !storing.isEmpty:
                let (day, next) = storing.removeFirst()
                try perform(sink.stored(day: day, next: next))
            case 8: try perform(sink.tick())
            default: break
            }
            if random.happens(1) { (questions, answers) = ([], []) }
            if random.happens(1), isPlanned, storing.isEmpty {
                // Another life of the host, or another source: it goes on from the cursors.
                transfer += 1
                sink = begin()
                try perform(sink.start())
            }
        }
        #expect(isComplete)
        #expect(cursors.isEmpty)
        #expect(stored == days, "seed \(seed)")
    }

    private func part(of body: ReplicationMessage.Body, _ sink: inout BackfillSink) -> [BackfillSink.Effect] {
        sink.receive(ReplicationMessage(group: group, transfer: 1, body))
    }

    private func begun() -> BackfillSink {
        var sink = BackfillSink(
            group: group, transfer: 1, snapshotIndex: 9, knownIndex: 3, days: [(1, [])],
            configuration: TransferConfiguration())
        _ = sink.start()
        return sink
    }

    @Test func `parts of two states of a chunk are not put together`() throws {
        var sink = begun()
        func question(_ offset: UInt64) -> HistoryQuestion {
            HistoryQuestion(day: 1, cursor: [], changedAfter: 3, index: 9, offset: offset)
        }
        let old = [UInt8](repeating: 1, count: 300_000)
        let new = [UInt8](repeating: 2, count: 250_000)
        func ask(_ offset: UInt64) -> [BackfillSink.Effect] {
            [.send(ReplicationMessage(group: group, transfer: 1, .askHistory(question(offset))))]
        }
        #expect(part(of: .history(HistoryPart(answering: question(0), chunk: old, next: nil)), &sink) == ask(200_000))
        #expect(
            part(of: .history(HistoryPart(answering: question(200_000), chunk: new, next: nil)), &sink) == ask(0))
        #expect(part(of: .history(HistoryPart(answering: question(0), chunk: new, next: nil)), &sink) == ask(200_000))
        #expect(
            part(of: .history(HistoryPart(answering: question(200_000), chunk: new, next: nil)), &sink)
                == [.store(day: 1, cursor: [], bytes: new, next: nil)])
        #expect(sink.stored(day: 1, next: nil) == [.complete])
    }

    @Test func `a chunk over the bound, damaged or without progress ends it, and so do refusal and silence`() throws {
        func code(_ effects: [BackfillSink.Effect]) -> ReplicationError.Code? {
            for case .fail(let error) in effects { return error.code }
            return nil
        }
        let question = HistoryQuestion(day: 1, cursor: [], changedAfter: 3, index: 9)
        let good = HistoryPart(answering: question, chunk: [1, 2, 3], next: [1])
        for change in 0..<5 {
            var sink = begun()
            var bad = good
            switch change {
            case 0: bad.total = UInt64(TransferConfiguration.historyChunkBytesMax) + 1
            case 1: bad.bytes[0] = 9
            case 2: bad.next = []
            case 3: (bad.bytes, bad.total) = ([], 3)
            default: bad.total = 2
            }
            #expect(code(part(of: .history(bad), &sink)) == .malformed, "change \(change)")
            #expect(sink.isOver)
        }
        var sink = begun()
        #expect(code(part(of: .abort(ReplicationError(.behind, "x")), &sink)) == .behind)
        sink = begun()
        #expect(code(sink.storingFailed("no space")) == .receiver)
        sink = begun()
        let configuration = TransferConfiguration()
        var effects: [BackfillSink.Effect] = []
        for _ in 0..<(configuration.ticksUntilRepeat * (configuration.repetitionsMax + 1)) {
            #expect(code(effects) == nil)
            effects = sink.tick()
        }
        #expect(code(effects) == .timedOut)
    }

    @Test func `nothing missing is complete at once`() {
        var sink = BackfillSink(
            group: group, transfer: 1, snapshotIndex: 9, knownIndex: 3, days: [],
            configuration: TransferConfiguration())
        #expect(sink.start() == [.complete])
        #expect(sink.isOver)
    }
}
