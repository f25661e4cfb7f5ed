import ChatModel
import Gateway
import SessionCore
import Synchronization

/// The avatars that this node knows, which everybody reads without a token: a stranger's question reaches a room at most once in a
/// while for each name, and not faster than a rate, whatever strangers ask for.
final class AvatarLookups: Sendable {
    struct Name: Sendable, Hashable {
        var room: RoomID
        var id: String
    }

    /// A record, or that there is none.
    typealias Ask = @Sendable (Name) async -> Result<UploadRecord?, MediaRefusal>

    /// Names that are known, of either kind.
    static let namesMax = 10_000
    /// An avatar that has gone is shown for no longer; browsers keep the answer itself for a minute.
    static let hitMilliseconds: UInt64 = 30_000
    /// An avatar that has just been sent is not missing for longer, for those without a token.
    static let missMilliseconds: UInt64 = 2_000
    /// Questions of strangers a second, of all together and of those of one address. Addresses share places by a hash.
    static let rate = (perSecond: 500.0, burst: 1_000.0)
    static let addressRate = (perSecond: 50.0, burst: 200.0)
    private static let addressPlaces = 4_096

    private struct Known<Value: Sendable>: Sendable {
        var value: Value
        var until: UInt64
    }

    private struct State: Sendable {
        var hits: [Name: Known<UploadRecord>] = [:]
        var misses: [Name: Known<Void>] = [:]
        var asked: [Name: Task<Result<UploadRecord?, MediaRefusal>, Never>] = [:]
        var all: TokenBucket
        var addresses: [Int: TokenBucket] = [:]
    }

    private let ask: Ask
    private let milliseconds: @Sendable () -> UInt64
    private let state: Mutex<State>

    /// - Parameter milliseconds: a clock that never goes back.
    init(milliseconds: @escaping @Sendable () -> UInt64, ask: @escaping Ask) {
        self.ask = ask
        self.milliseconds = milliseconds
        state = Mutex(
            State(
                all: TokenBucket(
                    ratePerSecond: Self.rate.perSecond, burst: Self.rate.burst, nowMilliseconds: milliseconds())))
    }

    /// The record of an avatar; nil: there is none. Throws 503 where too much is asked for.
    /// - Parameter client: a stranger's address; nil: somebody who has shown a right to the room.
    func record(_ name: Name, for client: MediaClient?) async throws(MediaRefusal) -> UploadRecord? {
        switch state.withLock({ step(&$0, name, client: client, now: milliseconds()) }) {
        case .known(let record): return record
        case .refused(let wait):
            throw MediaRefusal(
                ChatError(.unavailable, "too many ask for avatars without a token", retryAfterMs: max(1_000, wait)))
        case .asked(let task): return try await task.value.get()
        }
    }

    /// The avatar is not as it was.
    func forget(_ name: Name) { state.withLock { $0.hits[name] = nil } }

    private enum Step {
        case known(UploadRecord?)
        case refused(Int64)
        case asked(Task<Result<UploadRecord?, MediaRefusal>, Never>)
    }

    private func step(_ state: inout State, _ name: Name, client: MediaClient?, now: UInt64) -> Step {
        if let hit = state.hits[name], now < hit.until { return .known(hit.value) }
        if client != nil, let miss = state.misses[name], now < miss.until { return .known(nil) }
        // All who ask for one at a time share the answer.
        if let task = state.asked[name] { return .asked(task) }
        if let client, let wait = Self.charge(&state, client, now) { return .refused(wait) }
        let task = Task { [self] in
            let result = await ask(name)
            note(name, result)
            return result
        }
        state.asked[name] = task
        return .asked(task)
    }

    /// How long the client has to wait; nil: not at all.
    private static func charge(_ state: inout State, _ client: MediaClient, _ now: UInt64) -> Int64? {
        let place = abs(client.hashValue % addressPlaces)
        var own =
            state.addresses[place]
            ?? TokenBucket(ratePerSecond: addressRate.perSecond, burst: addressRate.burst, nowMilliseconds: now)
        let wait = own.take(nowMilliseconds: now) ?? state.all.take(nowMilliseconds: now)
        state.addresses[place] = own
        return wait
    }

    private func note(_ name: Name, _ result: Result<UploadRecord?, MediaRefusal>) {
        let now = milliseconds()
        state.withLock { state in
            state.asked[name] = nil
            guard case .success(let record) = result else { return }
            if let record {
                Self.keep(Known(value: record, until: now + Self.hitMilliseconds), of: name, in: &state.hits, now)
                state.misses[name] = nil
            } else {
                Self.keep(Known(value: (), until: now + Self.missMilliseconds), of: name, in: &state.misses, now)
                state.hits[name] = nil
            }
        }
    }

    private static func keep<Value>(
        _ known: Known<Value>, of name: Name, in names: inout [Name: Known<Value>], _ now: UInt64
    ) {
        if names.count >= namesMax {
            names = names.filter { now < $0.value.until }
            // All are fresh: half of them go, so that the next ones do not pay for this again.
            if names.count >= namesMax {
                names = Dictionary(uniqueKeysWithValues: names.prefix(namesMax / 2).map { $0 })
            }
        }
        names[name] = known
    }

    /// How many names are known: for tests.
    var counts: (hits: Int, misses: Int) { state.withLock { ($0.hits.count, $0.misses.count) } }
}
