import ChatModel
import Gateway
import Synchronization
import Testing
import Transport
import WaitTestKit

@testable import Node

/// Avatars are read by strangers: their questions cost rooms next to nothing.
@Suite(.timeLimit(.minutes(1))) struct AvatarLookupsTests {
    /// Rooms that count what they are asked.
    private final class Rooms: Sendable {
        let asked = Mutex(0)
        let time = Mutex<UInt64>(0)
        let isAway = Mutex(false)
        /// Answers wait while it is held.
        let gate = Mutex<[CheckedContinuation<Void, Never>]?>(nil)

        var count: Int { asked.withLock { $0 } }

        func answer(_ name: AvatarLookups.Name) async -> Result<UploadRecord?, MediaRefusal> {
            asked.withLock { $0 += 1 }
            await withCheckedContinuation { continuation in
                let isHeld = gate.withLock { gate in
                    guard gate != nil else { return false }
                    gate?.append(continuation)
                    return true
                }
                if !isHeld { continuation.resume() }
            }
            guard !isAway.withLock({ $0 }) else { return .failure(MediaRefusal(ChatError(.unavailable, "away"))) }
            guard name.id.hasPrefix("known") else { return .success(nil) }
            let draft = UploadDraft(kind: .avatar, name: name.id, contentType: "image/png", size: 1)
            return .success(UploadRecord(draft: draft, user: nil, createdAt: Timestamp(0)))
        }

        func release() {
            let waiting = gate.withLock { gate in
                defer { gate = nil }
                return gate ?? []
            }
            for one in waiting { one.resume() }
        }

        func pass(_ milliseconds: UInt64) { time.withLock { $0 += milliseconds } }

        func lookups() -> AvatarLookups {
            AvatarLookups(milliseconds: { self.time.withLock { $0 } }) { await self.answer($0) }
        }
    }

    private static let room = RoomID("r").unsafelyUnwrapped
    private static func name(_ id: String) -> AvatarLookups.Name { AvatarLookups.Name(room: room, id: id) }

    private static func client(_ number: Int) -> MediaClient {
        MediaClient(IPAddress(bytes: [10, 0, UInt8(number / 256), UInt8(number % 256)]).unsafelyUnwrapped)
    }

    /// nil: it was refused.
    private static func isThere(_ id: String, _ lookups: AvatarLookups, from number: Int? = 1) async -> Bool? {
        do {
            return try await lookups.record(name(id), for: number.map { client($0) }) != nil
        } catch {
            return nil
        }
    }

    @Test func `a name is asked for once in a while, whether it is one or not`() async {
        let rooms = Rooms()
        let lookups = rooms.lookups()
        for _ in 0..<50 {
            #expect(await Self.isThere("known", lookups) == true)
            #expect(await Self.isThere("none", lookups) == false)
        }
        #expect(rooms.count == 2)
        #expect(await Self.isThere("none", lookups, from: nil) == false && rooms.count == 3)
        rooms.pass(AvatarLookups.missMilliseconds - 1)
        #expect(await Self.isThere("none", lookups) == false && rooms.count == 3)
        rooms.pass(AvatarLookups.missMilliseconds)
        #expect(await Self.isThere("none", lookups) == false && rooms.count == 4)
        #expect(await Self.isThere("known", lookups) == true && rooms.count == 4)
        rooms.pass(AvatarLookups.hitMilliseconds)
        #expect(await Self.isThere("known", lookups) == true && rooms.count == 5)
        lookups.forget(Self.name("known"))
        #expect(await Self.isThere("known", lookups) == true && rooms.count == 6)
    }

    @Test func `all who ask for one at a time share one question`() async throws {
        let rooms = Rooms()
        let lookups = rooms.lookups()
        rooms.gate.withLock { $0 = [] }
        let tasks = (0..<1_000).map { _ in Task { await Self.isThere("known", lookups) } }
        try await poll("it is asked") { rooms.count == 1 }
        rooms.release()
        for task in tasks { #expect(await task.value == true) }
        #expect(rooms.count == 1)
    }

    @Test func `a room that does not answer is asked again`() async {
        let rooms = Rooms()
        let lookups = rooms.lookups()
        rooms.isAway.withLock { $0 = true }
        #expect(await Self.isThere("known", lookups) == nil)
        rooms.isAway.withLock { $0 = false }
        #expect(await Self.isThere("known", lookups) == true && rooms.count == 2)
    }

    @Test func `one address asks so fast, all together so fast, and who has a right to the room at once`() async {
        let rooms = Rooms()
        let lookups = rooms.lookups()
        let own = Int(AvatarLookups.addressRate.burst)
        for number in 0..<own { #expect(await Self.isThere("none-\(number)", lookups) == false) }
        #expect(await Self.isThere("known", lookups) == nil && rooms.count == own)
        #expect(await Self.isThere("known", lookups, from: nil) == true, "one with a token")
        // Everybody gets a known record.
        #expect(await Self.isThere("known", lookups) == true && rooms.count == own + 1)
        var refused = 0
        for number in 0..<2_000 {
            if await Self.isThere("other-\(number)", lookups, from: 2 + number % 200) == nil { refused += 1 }
        }
        #expect(rooms.count == Int(AvatarLookups.rate.burst) + 1 && refused == 2_000 + own + 1 - rooms.count)
        rooms.pass(1_000)
        let before = rooms.count
        for number in 0..<2_000 { _ = await Self.isThere("later-\(number)", lookups, from: 2 + number % 200) }
        #expect(rooms.count - before == Int(AvatarLookups.rate.perSecond))
    }

    @Test func `the names that are known are bounded`() async {
        let rooms = Rooms()
        let lookups = rooms.lookups()
        for number in 0..<AvatarLookups.namesMax + 10 {
            #expect(await Self.isThere("known-\(number)", lookups, from: nil) == true)
            #expect(await Self.isThere("none-\(number)", lookups, from: nil) == false)
        }
        #expect(lookups.counts.hits <= AvatarLookups.namesMax && lookups.counts.misses <= AvatarLookups.namesMax)
        #expect(lookups.counts.hits >= AvatarLookups.namesMax / 2)
    }
}

@Suite struct TransferSharesTests {
    private static let ann = TransferShares.Holder.user(UserID("ann").unsafelyUnwrapped)

    private static func stranger(_ number: UInt8) -> TransferShares.Holder {
        .stranger(MediaClient(IPAddress(bytes: [10, 0, 0, number]).unsafelyUnwrapped))
    }

    @Test func `everybody has so many transfers, strangers half of all, and each place comes back`() throws {
        let shares = TransferShares(each: 3, max: 8)
        var places: [TransferShares.Place] = []
        for _ in 0..<3 { places.append(try shares.take(Self.ann)) }
        #expect(throws: MediaRefusal.self) { try shares.take(Self.ann) }
        #expect(shares.count(of: Self.ann) == 3)
        for _ in 0..<3 { places.append(try shares.take(Self.stranger(1))) }
        #expect(throws: MediaRefusal.self) { try shares.take(Self.stranger(1)) }
        places.append(try shares.take(Self.stranger(2)))
        #expect(throws: MediaRefusal.self) { try shares.take(Self.stranger(3)) }
        places = []
        #expect(shares.count(of: Self.ann) == 0 && shares.count(of: Self.stranger(1)) == 0)
        for number in UInt8(1)...4 { places.append(try shares.take(Self.stranger(number))) }
        #expect(throws: MediaRefusal.self) { try shares.take(Self.stranger(5)) }
        places.append(try shares.take(Self.ann))
        #expect(places.count == 5)
    }
}
