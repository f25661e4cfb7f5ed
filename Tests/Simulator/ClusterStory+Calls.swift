import Foundation
import StorageTestKit
import Synchronization

/// Calls of the server API while something happens: they are answered in time, and answers have all that was acked.
extension ClusterStory {
    /// Gives shards other leaders, again and again, while the server API is called.
    func transfer(_ chance: inout SeededGenerator) async throws {
        for _ in 0..<Int.random(in: 5...15, using: &chance) {
            let shard = Int.random(in: 0..<plan.layout.shards, using: &chance)
            let (node, heir) = (
                Int.random(in: 0..<plan.layout.nodes, using: &chance),
                Int.random(in: 1...plan.layout.nodes, using: &chance)
            )
            let pause = Duration.microseconds(Int64.random(in: 0...3_000, using: &chance))
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<4 {
                    for node in 0..<plan.layout.nodes {
                        for room in Self.listenersRooms {
                            group.addTask { await self.change(room, at: node, within: self.handOverTakes) }
                            group.addTask { await self.ask(room, at: node, within: self.handOverTakes) }
                        }
                    }
                    if number == 1 {
                        // One that can't take it over at once is not given it.
                        group.addTask {
                            _ = await self.cluster.call(
                                node, "POST", "/v1/cluster/shards/\(shard)/transfer", #"{"to":"n\#(heir)"}"#)
                        }
                    }
                    try? await Task.sleep(for: pause)
                }
            }
            // Rooms that nobody asks for leave the memory of followers.
            let rest: Int64 = [200, 1_000, 4_000].randomElement(using: &chance) ?? 200
            try await Task.sleep(for: .milliseconds(Int64.random(in: 20...rest, using: &chance)))
        }
    }

    /// Calls all nodes while something happens to some of them.
    /// - Parameter isLate: whether a call that is not answered in time is a finding: all nodes run, and are reached.
    func callAlways(isLate: Bool) async throws {
        let limit = isLate ? Self.answerTakes : .seconds(3_600)
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            while !Task.isCancelled {
                for node in 0..<plan.layout.nodes {
                    for room in Self.listenersRooms {
                        group.addTask { await self.change(room, at: node, within: limit) }
                        group.addTask { await self.ask(room, at: node, within: limit) }
                    }
                }
                try await Task.sleep(for: .milliseconds(500))
            }
        }
    }

    /// Makes a change, under one ID until it is acked, at one node after the other.
    /// - Parameter expected: a refusal that may be the answer, too.
    func acked(_ method: String, _ path: String, _ body: String, id: String, or expected: Int? = nil) async throws
        -> (status: Int, text: String)?
    {
        for attempt in 0..<200 {
            let node = attempt % plan.layout.nodes
            if let answer = await cluster.call(node, method, path, body, id: id) {
                let text = String(decoding: answer.body, as: UTF8.self)
                if 200..<300 ~= answer.status || answer.status == expected { return (answer.status, text) }
                guard answer.status >= 500 else {
                    complain(.refused, "\(method) \(path) at n\(node + 1): \(answer.status) \(text)")
                    return nil
                }
            }
            try await Task.sleep(for: .milliseconds(200))
        }
        complain(.notAcked, "\(method) \(path) was not acked in 200 tries")
        return nil
    }

    private func change(_ room: String, at node: Int, within limit: Duration) async {
        let body = #"{"type":"TEXT","text":"now","sender":"host"}"#
        guard let answer = await call(node, "POST", "/v1/rooms/\(room)/messages", body, within: limit),
            let seq = Self.seq(in: answer)
        else { return }
        acked.withLock { $0[room] = max($0[room] ?? 0, seq) }
    }

    /// The answer has everything that was acked before the question, whoever leads by now.
    private func ask(_ room: String, at node: Int, within limit: Duration) async {
        let before = acked.withLock { $0[room] ?? 0 }
        guard let answer = await call(node, "GET", "/v1/rooms/\(room)/messages?order=DESC&limit=1", "", within: limit)
        else { return }
        let seq = Self.seq(in: answer) ?? 0
        if seq < before {
            complain(.stale, "n\(node + 1) says that \(room) is at seq \(seq), after seq \(before) was acked")
        }
    }

    private static func seq(in body: [UInt8]) -> UInt64? {
        let text = String(decoding: body, as: UTF8.self)
        return text.range(of: "\"seq\":").flatMap { UInt64(text[$0.upperBound...].prefix { $0.isNumber }) }
    }

    /// The body of the answer; nil where it refuses.
    private func call(_ node: Int, _ method: String, _ path: String, _ body: String, within limit: Duration) async
        -> [UInt8]?
    {
        let begun = SimulatedTime.now
        let answer = await cluster.call(node, method, path, body, within: 20_000)
        let time = SimulatedTime.now - begun
        trace("\(method) took \(time)")
        let isDone = answer.map { 200..<300 ~= $0.status } ?? false
        if isLossless, let answer, !isDone {
            let text = String(decoding: answer.body, as: UTF8.self)
            complain(.refused, "\(method) \(path) at n\(node + 1): \(answer.status) \(text)")
        }
        if time > limit || answer == nil && limit < .seconds(60) {
            complain(.late, "\(method) \(path) at n\(node + 1) has no answer after \(time)")
        }
        return isDone ? answer?.body : nil
    }
}
