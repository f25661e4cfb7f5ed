import ChatModel
import Testing

@testable import Swim
@testable import SwimDriver

/// A sealer by reference, so that it can be used in expectations.
private final class Peer {
    private var sealer: PacketSealer

    init(_ ring: KeyRing, session: [UInt8]) throws { sealer = try #require(PacketSealer(ring, session: session)) }

    func use(_ ring: KeyRing) { sealer.use(ring) }

    func seal(_ bytes: [UInt8], milliseconds: Int64) throws -> [UInt8] {
        let packet = sealer.seal(bytes, milliseconds: milliseconds)
        return try #require(packet)
    }

    func open(_ packet: some Collection<UInt8>, milliseconds: Int64) -> [UInt8]? {
        sealer.open(packet, milliseconds: milliseconds)
    }
}

@Suite struct SealTests {
    private static func key(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 32) }

    private static func peer(_ keys: [UInt8], session: UInt8) throws -> Peer {
        try Peer(try #require(KeyRing(keys.map(key))), session: [UInt8](repeating: session, count: 16))
    }

    private static let noon: Int64 = 1_700_000_000_000

    @Test func `a packet is opened once, by holders of the key`() throws {
        let a = try Self.peer([1], session: 1)
        let b = try Self.peer([1], session: 2)
        let stranger = try Self.peer([2], session: 3)
        let words = Array("hello".utf8)
        let packet = try a.seal(words, milliseconds: Self.noon)
        #expect(packet.count == words.count + PacketSealer.overheadBytes)
        #expect(packet.firstRange(of: words) == nil)
        #expect(stranger.open(packet, milliseconds: Self.noon) == nil)
        #expect(b.open(packet, milliseconds: Self.noon) == words)
        #expect(b.open(packet, milliseconds: Self.noon) == nil)
        // Nor by who sent it.
        #expect(a.open(packet, milliseconds: Self.noon) == nil)
        #expect(try a.seal(words, milliseconds: Self.noon) != packet)
    }

    @Test func `with the seal a packet is at most 1,400 bytes`() {
        #expect(GossipConfiguration().packetBytesMax + PacketSealer.overheadBytes <= 1_400)
    }

    @Test func `every changed bit and every cut is refused, and leaves the packet to be opened`() throws {
        let a = try Self.peer([1], session: 1)
        let b = try Self.peer([1], session: 2)
        let packet = try a.seal([1, 2, 3], milliseconds: Self.noon)
        for index in packet.indices {
            for bit in 0..<8 as Range<UInt8> {
                var bad = packet
                bad[index] ^= 1 << bit
                #expect(b.open(bad, milliseconds: Self.noon) == nil, "bit \(bit) of byte \(index)")
            }
            #expect(b.open(packet[..<index], milliseconds: Self.noon) == nil)
        }
        #expect(b.open(packet + [0], milliseconds: Self.noon) == nil)
        #expect(b.open(packet, milliseconds: Self.noon) == [1, 2, 3])
    }

    @Test func `a packet is fresh for a minute, on either side of the receiver's clock`() throws {
        let a = try Self.peer([1], session: 1)
        let b = try Self.peer([1], session: 2)
        for (milliseconds, isFresh) in [
            (Self.noon - 60_001, false), (Self.noon - 60_000, true), (Self.noon + 60_000, true),
            (Self.noon + 60_001, false), (.min, false), (.max, false),
        ] {
            let packet = try a.seal([7], milliseconds: milliseconds)
            #expect((b.open(packet, milliseconds: Self.noon) != nil) == isFresh, "\(milliseconds)")
        }
    }

    @Test func `keys are rotated without a moment in which somebody is not understood`() throws {
        let a = try Self.peer([1], session: 1)
        let b = try Self.peer([1], session: 2)
        func talk() throws {
            let there = try a.seal([1], milliseconds: Self.noon)
            let back = try b.seal([2], milliseconds: Self.noon)
            #expect(b.open(there, milliseconds: Self.noon) == [1])
            #expect(a.open(back, milliseconds: Self.noon) == [2])
        }
        try talk()
        let old = try a.seal([3], milliseconds: Self.noon)
        for keys in [[1, 2], [2, 1], [2]] as [[UInt8]] {
            let ring = try #require(KeyRing(keys.map(Self.key)))
            a.use(ring)
            try talk()
            b.use(ring)
            try talk()
        }
        #expect(b.open(old, milliseconds: Self.noon) == nil)
    }

    @Test func `a ring has one to eight different keys of 32 bytes`() throws {
        #expect(KeyRing([]) == nil)
        #expect(KeyRing([[UInt8](repeating: 1, count: 31)]) == nil)
        #expect(KeyRing([Self.key(1), Self.key(1)]) == nil)
        #expect(KeyRing((1...8).map(Self.key)) != nil)
        #expect(KeyRing((1...9).map(Self.key)) == nil)
        let ring = try #require(KeyRing([Self.key(1)]))
        #expect(PacketSealer(ring, session: []) == nil)
    }

    @Test func `sessions are bounded, and old ones make place`() throws {
        let b = try Self.peer([1], session: 255)
        let ring = try #require(KeyRing([Self.key(1)]))
        func packet(_ number: Int, _ milliseconds: Int64) throws -> [UInt8] {
            let salt = [UInt8(number / 256), UInt8(number % 256)] + [UInt8](repeating: 9, count: 14)
            let sealer = try Peer(ring, session: salt)
            return try sealer.seal([1], milliseconds: milliseconds)
        }
        let first = try packet(0, Self.noon)
        #expect(b.open(first, milliseconds: Self.noon) != nil)
        for number in 1..<PacketSealer.sessionsMax {
            #expect(b.open(try packet(number, Self.noon), milliseconds: Self.noon) != nil)
        }
        #expect(b.open(try packet(5_000, Self.noon), milliseconds: Self.noon) == nil)
        let later = Self.noon + 60_001
        #expect(b.open(try packet(5_000, later), milliseconds: later) != nil)
        // What was forgotten is too old.
        #expect(b.open(first, milliseconds: later) == nil)
    }

    @Test(arguments: Seeds.make(5))
    func `the window knows every number it has seen, in any order`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var window = ReplayWindow()
        var seen: Set<UInt64> = []
        var highest: UInt64 = 0
        for _ in 0..<20_000 {
            let jump = Int.random(in: 0..<200, using: &random) == 0 ? UInt64.random(in: 0...3_000, using: &random) : 8
            let number = UInt64.random(in: (highest < 1_200 ? 0 : highest - 1_200)...(highest + jump), using: &random)
            let isNew = window.isNew(number)
            let isInside = seen.isEmpty || number > highest || highest - number < ReplayWindow.width
            #expect(isNew == (isInside && !seen.contains(number)), "seed \(seed): \(number) of \(highest)")
            guard isNew else { continue }
            window.note(number)
            seen.insert(number)
            highest = max(highest, number)
        }
        #expect(window.isNew(.max))
        window.note(.max)
        #expect(!window.isNew(.max) && !window.isNew(highest) && window.isNew(.max - 1))
    }
}
