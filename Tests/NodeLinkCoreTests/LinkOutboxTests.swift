import Foundation
import Testing

@testable import NodeLinkCore

@Suite struct LinkOutboxTests {
    private func frames(_ outbox: inout LinkOutbox, about bytes: Int = 1) throws -> [LinkFrame] {
        var output: [UInt8] = []
        outbox.take(about: bytes, into: &output)
        var reader = LinkFrameReader()
        output.withUnsafeBytes { reader.append($0) }
        var frames: [LinkFrame] = []
        while let frame = try reader.next() { frames.append(frame) }
        return frames
    }

    @Test func `consensus overtakes everything but control`() throws {
        var outbox = LinkOutbox()
        for lane in [LinkLane.bulk, .publications, .calls, .consensus, .control] {
            #expect(outbox.offer(LinkFrame(lane, [lane.rawValue])) == true)
        }
        var lanes: [LinkLane] = []
        while !outbox.isEmpty { lanes += try frames(&outbox).map(\.lane) }
        #expect(lanes.prefix(2) == [.control, .consensus])
        #expect(Set(lanes) == Set(LinkLane.allCases))
    }

    @Test func `calls and publications take turns, and bulk gets a share`() throws {
        var outbox = LinkOutbox()
        for _ in 0..<160 {
            for lane in [LinkLane.bulk, .publications, .calls] { _ = outbox.offer(LinkFrame(lane, [0])) }
        }
        var taken: [LinkLane] = []
        for _ in 0..<160 { taken += try frames(&outbox).map(\.lane) }
        #expect(taken.count == 160)
        #expect(taken.filter { $0 == .bulk }.count == 10)
        #expect(abs(taken.filter { $0 == .calls }.count - taken.filter { $0 == .publications }.count) <= 10)
    }

    @Test func `a lane takes what its bound allows and no more`() {
        var outbox = LinkOutbox()
        #expect(outbox.offer(LinkFrame(.bulk, Array(repeating: 0, count: LinkLane.bulk.frameBytesMax + 1))) == false)
        let one = LinkFrame(.bulk, Array(repeating: 0, count: LinkLane.bulk.frameBytesMax - LinkFrame.headerBytes))
        let fits = LinkLane.bulk.queueBytesMax / one.byteCount
        for _ in 0..<fits { #expect(outbox.offer(one) == true) }
        #expect(outbox.offer(one) == false)
        #expect(outbox.waitingBytes(.bulk) == fits * one.byteCount)
        // A full lane is no matter of the others.
        #expect(outbox.offer(LinkFrame(.calls, [1])) == true)
    }

    @Test func `a lane whose window is full waits for credit, and nothing else does`() throws {
        var outbox = LinkOutbox()
        let one = LinkFrame(.bulk, Array(repeating: 0, count: LinkLane.bulk.frameBytesMax))
        let window = try #require(LinkLane.bulk.windowBytes)
        var sent = 0
        while sent < window {
            #expect(outbox.offer(one) == true)
            sent += try frames(&outbox).reduce(0) { $0 + $1.byteCount }
        }
        #expect(outbox.offer(one) == true)
        #expect(try frames(&outbox).isEmpty)
        #expect(outbox.offer(LinkFrame(.consensus, [1])) == true)
        #expect(outbox.offer(LinkFrame(.calls, [1])) == true)
        #expect(try frames(&outbox, about: 100).map(\.lane) == [.consensus, .calls])
        outbox.credited(UInt32(sent - window), on: .bulk)
        #expect(try frames(&outbox).isEmpty)
        outbox.credited(1, on: .bulk)
        #expect(try frames(&outbox) == [one])
        // More than there is is as much as there is.
        outbox.credited(.max, on: .bulk)
        #expect(outbox.offer(one) == true)
        #expect(try frames(&outbox) == [one])
    }

    @Test func `who goes on beyond the window without credit is at fault`() throws {
        var credit = LinkCredit()
        let window = try #require(LinkLane.bulk.windowBytes)
        try credit.came(on: .bulk, bytes: window - 1)
        try credit.came(on: .bulk, bytes: 300_000)
        #expect(throws: LinkError.self) { try credit.came(on: .bulk, bytes: 1) }
        #expect(credit.dealt(with: .bulk, bytes: window - 1) == .credit(.bulk, bytes: UInt32(window - 1)))
        try credit.came(on: .bulk, bytes: 1)
        for _ in 0..<100 { try credit.came(on: .consensus, bytes: window) }
    }

    /// A sender, a slow receiver, and a model of plain queues.
    @Test func `nothing is lost, reordered or repeated, and what is under way stays within the windows`() throws {
        let seed = ProcessInfo.processInfo.environment["SEED"].flatMap(UInt64.init) ?? 1
        print("LinkOutboxTests SEED=\(seed)")
        var random = Seeded(state: seed)
        var outbox = LinkOutbox()
        var credit = LinkCredit()
        var model: [LinkLane: [[UInt8]]] = [:]
        var wire: [UInt8] = []
        var reader = LinkFrameReader()
        var undealt: [LinkFrame] = []
        var number: UInt64 = 0
        func step() throws {
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                let lane = LinkLane.allCases.randomElement(using: &random) ?? .calls
                let size = Int.random(in: 0...min(lane.frameBytesMax - 8, 60_000), using: &random)
                number += 1
                let payload = withUnsafeBytes(of: number) { Array($0) } + [UInt8](repeating: 0, count: size)
                if outbox.offer(LinkFrame(lane, payload)) { model[lane, default: []].append(payload) }
            case 1:
                outbox.take(about: Int.random(in: 1...200_000, using: &random), into: &wire)
            case 2:
                let count = Int.random(in: 0...wire.count, using: &random)
                Array(wire.prefix(count)).withUnsafeBytes { reader.append($0) }
                wire.removeFirst(count)
                while let frame = try reader.next() {
                    try credit.came(on: frame.lane, bytes: frame.byteCount)
                    undealt.append(frame)
                }
            default:
                guard !undealt.isEmpty else { return }
                let frame = undealt.removeFirst()
                #expect(model[frame.lane]?.first == frame.payload)
                model[frame.lane]?.removeFirst()
                if case .credit(let lane, let bytes)? = credit.dealt(with: frame.lane, bytes: frame.byteCount) {
                    outbox.credited(bytes, on: lane)
                }
            }
            for lane in LinkLane.allCases {
                guard let window = lane.windowBytes else { continue }
                let waiting = undealt.filter { $0.lane == lane }.reduce(0) { $0 + $1.byteCount }
                #expect(waiting <= window + lane.frameBytesMax + LinkFrame.headerBytes)
            }
        }
        for _ in 0..<3_000 { try step() }
        while model.values.contains(where: { !$0.isEmpty }) {
            outbox.take(about: 1 << 20, into: &wire)
            wire.withUnsafeBytes { reader.append($0) }
            wire = []
            while let frame = try reader.next() {
                try credit.came(on: frame.lane, bytes: frame.byteCount)
                undealt.append(frame)
            }
            guard !undealt.isEmpty else {
                Issue.record("frames wait and nothing comes: SEED=\(seed)")
                return
            }
            for frame in undealt {
                #expect(model[frame.lane]?.first == frame.payload)
                model[frame.lane]?.removeFirst()
                if case .credit(let lane, let bytes)? = credit.dealt(with: frame.lane, bytes: frame.byteCount) {
                    outbox.credited(bytes, on: lane)
                }
            }
            undealt = []
        }
        #expect(outbox.isEmpty)
    }
}
