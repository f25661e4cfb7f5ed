import ChatModel
import Synchronization
import Testing
import Wire

@testable import ServerAPI

/// An export leaves nothing out between its first line and its end, and has no end where it could not keep that.
@Suite struct RoomExportTests {
    /// A room of messages 1 to `count`, in pages of three; message n is of time 10 n.
    private final class Room: Sendable {
        struct State {
            var count: UInt64
            var createdAt = Timestamp(1)
            /// Errors before the next answers.
            var failures: [ChatError] = []
            /// The same of questions for the room itself.
            var roomFailures: [ChatError] = []
            var pauses = 0
            var requests: [HistoryRequest] = []
        }
        let state: Mutex<State>
        private let id: RoomID

        init(_ count: UInt64) throws {
            id = try #require(RoomID("r"))
            state = Mutex(State(count: count))
        }

        var source: RoomExport.Source {
            RoomExport.Source(
                page: { [self] (request) async throws(ChatError) in
                    let failure: ChatError? = state.withLock { state in
                        state.requests.append(request)
                        return state.failures.isEmpty ? nil : state.failures.removeFirst()
                    }
                    if let failure { throw failure }
                    let after = request.afterSeq ?? 0
                    let all = (0..<state.withLock { $0.count }).map { $0 + 1 }.filter {
                        $0 > after && Int64($0) * 10 >= request.startTime.milliseconds
                    }
                    let messages = all.prefix(3).map { seq in
                        Message(
                            room: id, place: .kept(seq: seq), messageID: "m\(seq)", time: Timestamp(Int64(seq) * 10),
                            from: nil, body: .text("t\(seq)"))
                    }
                    return HistoryPage(messages: messages, more: all.count > 3)
                },
                createdAt: { [self] () async throws(ChatError) in
                    let failure: ChatError? = state.withLock { state in
                        state.roomFailures.isEmpty ? nil : state.roomFailures.removeFirst()
                    }
                    if let failure { throw failure }
                    return state.withLock { $0.createdAt }
                },
                pause: { [self] in state.withLock { $0.pauses += 1 } })
        }
    }

    private func request(after: UInt64? = nil, startTime: Int64 = 0) -> HistoryRequest {
        var request = HistoryRequest()
        (request.ascending, request.afterSeq, request.startTime) = (true, after, Timestamp(startTime))
        return request
    }

    /// The seqs of the lines, and that of the end if there is one.
    private func read(_ export: RoomExport) async throws -> (seqs: [UInt64], end: UInt64?) {
        var (seqs, end): ([UInt64], UInt64?) = ([], nil)
        for _ in 0..<100 {
            guard let piece = try await export.piece() else { return (seqs, end) }
            for line in piece.split(separator: UInt8(ascii: "\n")) {
                #expect(end == nil, "nothing comes behind the end")
                if line.starts(with: #"{"end":true,"#.utf8) {
                    end = try WireJSON.decode(ExportEnd.self, from: Array(line), limits: false).seq
                } else {
                    seqs.append(try #require(try WireJSON.decode(Message.self, from: Array(line), limits: false).seq))
                }
            }
        }
        Issue.record("it has no end")
        return (seqs, end)
    }

    @Test(arguments: [0, 1, 3, 4, 7] as [UInt64])
    func `every message is a line, in order, and the last line is the end`(count: UInt64) async throws {
        let room = try Room(count)
        let read = try await read(try await RoomExport(room.source, request(), endTime: nil))
        #expect(read.seqs == Array(1..<(count + 1)))
        #expect(read.end == count)
    }

    @Test func `it goes on behind the cursor, and keeps to its times`() async throws {
        let room = try Room(9)
        let rest = try await read(try await RoomExport(room.source, request(after: 6), endTime: nil))
        #expect(rest.seqs == [7, 8, 9] && rest.end == 9)
        let none = try await read(try await RoomExport(room.source, request(after: 9), endTime: nil))
        #expect(none.seqs == [] && none.end == 9)
        let some = try await read(
            try await RoomExport(room.source, request(startTime: 30), endTime: Timestamp(59)))
        #expect(some.seqs == [3, 4, 5] && some.end == 5)
    }

    @Test func `while nobody leads the room it waits, but not for ever`() async throws {
        let room = try Room(4)
        let gone = ChatError(.unavailable, "no leader")
        room.state.withLock { $0.failures = [gone, gone] }
        let begun = try await RoomExport(room.source, request(), endTime: nil)
        room.state.withLock { $0.roomFailures = [gone] }
        let read = try await read(begun)
        #expect(read.seqs == [1, 2, 3, 4] && room.state.withLock { $0.pauses } == 3)
        room.state.withLock { $0.failures = Array(repeating: gone, count: RoomExport.attemptsMax) }
        let given = try await RoomExport(room.source, request(), endTime: nil)
        await #expect(throws: ChatError.self) { try await given.piece() }
        #expect(room.state.withLock { $0.failures.isEmpty })
        // Other errors are final.
        room.state.withLock { $0.failures = [ChatError(.notFound, "gone")] }
        let other = try await RoomExport(room.source, request(), endTime: nil)
        await #expect(throws: ChatError.self) { try await other.piece() }
    }

    @Test func `another room under the same ID ends it without an end`() async throws {
        let room = try Room(7)
        let export = try await RoomExport(room.source, request(), endTime: nil)
        #expect(try await export.piece() != nil)
        room.state.withLock { $0.createdAt = Timestamp(2) }
        await #expect(throws: ChatError.self) { try await export.piece() }
    }

    @Test func `a page that brings nothing new and is not the last ends it without an end`() async throws {
        let room = try Room(7)
        var source = room.source
        let whole = source.page
        source.page = { (request) async throws(ChatError) in
            var request = request
            request.afterSeq = 0
            return try await whole(request)
        }
        let export = try await RoomExport(source, request(), endTime: nil)
        #expect(try await export.piece() != nil)
        await #expect(throws: ChatError.self) { try await export.piece() }
    }
}
