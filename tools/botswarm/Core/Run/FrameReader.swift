import ChatModel
import Wire

/// Reads the text frames of one loop's connections.
///
/// All viewers of a room get the same bytes, so a frame that was read a moment ago is recognised, byte for byte, and not
/// parsed again: the swarm should not need more of the machine than the server.
package struct FrameReader {
    private struct Slot {
        var bytes: [UInt8] = []
        var items: [Incoming] = []
    }

    private static let slotCount = 256
    /// Larger frames are rare, and not worth the memory.
    private static let slotBytesMax = 64 * 1024

    private let sightings: SightingReader
    private var slots = [Slot](repeating: Slot(), count: slotCount)

    package init(sightings: SightingReader) { self.sightings = sightings }

    /// The items of a frame, in order.
    package mutating func items(of bytes: UnsafeRawBufferPointer) -> [Incoming] {
        guard !bytes.isEmpty, bytes.count <= Self.slotBytesMax, !Self.isReply(bytes) else { return parse(bytes) }
        let slot = Self.slot(of: bytes)
        if slots[slot].bytes.count == bytes.count,
            slots[slot].bytes.withUnsafeBytes({ $0.elementsEqual(bytes) })
        {
            return slots[slot].items
        }
        let items = parse(bytes)
        slots[slot] = Slot(bytes: [UInt8](bytes), items: items)
        return items
    }

    /// Replies are for one connection alone.
    private static func isReply(_ bytes: UnsafeRawBufferPointer) -> Bool { bytes.starts(with: "{\"id\"".utf8) }

    /// FNV-1a over the length and the middle of the frame, where frames of one room differ.
    private static func slot(of bytes: UnsafeRawBufferPointer) -> Int {
        var hash = 0xcbf2_9ce4_8422_2325 ^ UInt64(bytes.count)
        for byte in bytes.prefix(256) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return Int(hash >> 32) % slotCount
    }

    private func parse(_ bytes: UnsafeRawBufferPointer) -> [Incoming] {
        var items: [Incoming] = []
        do throws(ChatError) {
            try ServerFrame.items(inJSON: bytes) { items.append(read($0)) }
        } catch {
            items.append(.malformed("a frame that is not JSON: \(error.message)"))
        }
        return items
    }

    private func read(_ item: ServerItem) -> Incoming {
        switch item {
        case .reply(let id?, let result): .reply(id, result)
        case .reply(nil, .failure(let error)): .malformed("an error without id: \(error.message)")
        case .reply(nil, .success): .malformed("a reply without id")
        case .unknown: .other
        case .push(let push): read(push)
        }
    }

    private func read(_ push: Push) -> Incoming {
        switch push {
        case .message(let message): read(message)
        case .barrage(let push): .barrage(push.room, push.items.map(sightings.barrage))
        case .gap(let push): read(push)
        case .skipped(let push): .skipped(push.room, unkept: push.unkept, barrage: push.barrage)
        case .kicked(let push): .kicked(push.room, push.reason)
        case .state(let push): .state(push.room, push.state)
        case .token: .token
        case .reconnect(let push): .reconnect(minMilliseconds: push.minMs, maxMilliseconds: push.maxMs)
        case .broadcast, .direct, .online, .tallies, .devices, .held, .denied: .other
        }
    }

    private func read(_ message: Message) -> Incoming {
        guard let room = message.room else { return .malformed("a message without room") }
        if let sighting = sightings.kept(message) { return .kept(room, sighting) }
        if let sighting = sightings.unkept(message) { return .unkept(room, sighting) }
        return .malformed("a message of \(room) without seq and after")
    }

    private func read(_ push: GapPush) -> Incoming {
        var ranges: [ClosedRange<UInt64>] = []
        for range in push.ranges {
            guard range.from <= range.to else { return .malformed("a gap from \(range.from) to \(range.to)") }
            ranges.append(range.from...range.to)
        }
        return .gap(push.room, ranges, push.cause == .slow ? .slow : .budget)
    }
}
