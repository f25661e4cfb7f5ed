import ChatModel
import Foundation
import RoomProtocol
import Synchronization
import Testing
import WaitTestKit

@testable import Node

/// One allowance a day for each user, whichever node counts.
@Suite(.timeLimit(.minutes(1))) struct UploadAllowancesTests {
    /// Two nodes that tell each other, unless the way is cut.
    private final class Pair: Sendable {
        let isCut = Mutex(false)
        let time = Mutex(Timestamp(20_000 * Timestamp.millisecondsPerDay + 5))
        private let nodes = Mutex<[String: UploadAllowances]>([:])

        func node(_ name: String, path: String? = nil) -> UploadAllowances {
            let other = name == "a" ? "b" : "a"
            let node = UploadAllowances(
                node: NodeID(name).unsafelyUnwrapped, bytesPerDay: 100, path: path,
                now: { self.time.withLock { $0 } }
            ) { use in
                guard !self.isCut.withLock({ $0 }) else { return nil }
                return self.nodes.withLock { $0[other] }?.hear(use)
            }
            nodes.withLock { $0[name] = node }
            return node
        }
    }

    private static let ann = UserID("ann").unsafelyUnwrapped

    private static func take(_ bytes: Int64, at node: UploadAllowances) async -> ErrorCode? {
        do {
            try await node.take(bytes, of: ann)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `the second node knows what the first has counted, and the first hears of it when it is back`() async {
        let pair = Pair()
        let (a, b) = (pair.node("a"), pair.node("b"))
        #expect(await Self.take(60, at: a) == nil)
        // a is away: b counts.
        #expect(await Self.take(41, at: b) == .tooOften)
        #expect(await Self.take(30, at: b) == nil)
        // It comes back, with what it knew, or with nothing.
        #expect(await Self.take(11, at: a) == .tooOften)
        let anew = pair.node("a")
        #expect(await Self.take(11, at: anew) == .tooOften)
        #expect(await Self.take(10, at: anew) == nil)
        #expect(await Self.take(1, at: b) == .tooOften)
    }

    @Test func `a node that reaches no other counts alone, and both know all when they meet`() async {
        let pair = Pair()
        let (a, b) = (pair.node("a"), pair.node("b"))
        pair.isCut.withLock { $0 = true }
        #expect(await Self.take(70, at: a) == nil)
        #expect(await Self.take(70, at: b) == nil)
        #expect(await Self.take(40, at: a) == .tooOften)
        pair.isCut.withLock { $0 = false }
        #expect(await Self.take(10, at: a) == .tooOften)
        #expect(await Self.take(10, at: b) == .tooOften)
        // The next day is another one.
        pair.time.withLock { $0 = $0.adding(milliseconds: Timestamp.millisecondsPerDay) }
        #expect(await Self.take(100, at: a) == nil)
        #expect(await Self.take(1, at: b) == .tooOften)
    }

    @Test func `a day that begins with a word of another node is the one that the file keeps`() async throws {
        let path = FileManager.default.temporaryDirectory.path + "/allowances-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let pair = Pair()
        pair.isCut.withLock { $0 = true }
        let node = pair.node("a", path: path)
        #expect(await Self.take(60, at: node) == nil)
        try await poll("the file of the first day") { FileManager.default.fileExists(atPath: path) }
        pair.time.withLock { $0 = $0.adding(milliseconds: Timestamp.millisecondsPerDay) }
        // The other node asks before it knows of the day, and has counted nothing.
        _ = node.hear(UploadUse(user: Self.ann, day: 20_000, counts: [:]))
        #expect(await Self.take(100, at: node) == nil)
        node.close()
        #expect(await Self.take(1, at: pair.node("a", path: path)) == .tooOften)
    }

    @Test func `a node that is started again goes on where it was`() async {
        let path = FileManager.default.temporaryDirectory.path + "/allowances-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let pair = Pair()
        pair.isCut.withLock { $0 = true }
        for bytes in [Int64(60), 30, 10] {
            let node = pair.node("a", path: path)
            #expect(await Self.take(bytes, at: node) == nil)
            node.close()
        }
        let last = pair.node("a", path: path)
        #expect(await Self.take(1, at: last) == .tooOften)
        last.close()
        pair.time.withLock { $0 = $0.adding(milliseconds: Timestamp.millisecondsPerDay) }
        let next = pair.node("a", path: path)
        #expect(await Self.take(100, at: next) == nil)
        next.close()
    }
}
