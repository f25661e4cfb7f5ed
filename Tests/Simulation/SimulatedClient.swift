import ChatModel
import ClientCore
import Consensus

/// A person's app: the real client core, and what the person wants of it.
struct SimulatedClient {
    enum Kind {
        /// Speaks, and manages now and then.
        case talker
        /// Only watches, over a connection that cannot keep up.
        case slowWatcher
        /// One of a crowd that comes at once.
        case crowd
        /// Only watches, at one node, and waits for it as long as it takes.
        case viewer
    }

    let user: UserID
    let group: GroupID
    let kind: Kind
    /// The only node that it knows; nil: all of them.
    var home: Int?
    /// Its person has gone.
    var isGone = false
    /// nil until the app is started.
    var core: ClientCore?
    var socket: SimulatedSocket?
    /// When its timer is set for.
    var dueAt: Int64?
    var number = 0
    /// By ticket: the `clientId`s of what was asked and not answered.
    var outstanding: [UInt64: String] = [:]
    /// When those were asked.
    var askedAt: [UInt64: Duration] = [:]
    var nextTicket: UInt64 = 1
    var isEntering = false
    var view = ClientView()

    var bytesPerSecond: Int? { kind == .slowWatcher ? 400 : nil }
    var room: RoomID { GroupState.room(of: group) }
}

/// What an app was shown of its room, as its events told it.
struct ClientView {
    /// Everything up to here was shown, or was told as missing; nil outside of the room.
    private(set) var seq: UInt64?
    /// Told as missing, and announced to be filled.
    private(set) var missing: Set<UInt64> = []
    /// Neither shown nor told as missing, though later ones were shown.
    private(set) var untold: Set<UInt64> = []

    /// Takes one event. Returns what is wrong with it, and the kept messages that it shows.
    mutating func take(_ event: RoomEvent, toleratesHoles: Bool) -> (fault: String?, shown: [Message]) {
        switch event {
        case .entered(let entry):
            switch entry.recovery {
            case .fresh: (seq, missing, untold) = (entry.seq, [], [])
            case .complete: break
            case .impossible: return ("a resume was refused", [])
            }
        case .message(let message):
            guard let number = message.seq else { return (nil, []) }
            guard let last = seq, number == last + 1 || (toleratesHoles && number > last) else {
                return ("\(number) after \(seq.map(String.init) ?? "nothing")", [])
            }
            untold.formUnion(last + 1..<number)
            seq = number
            return (nil, [message])
        case .filled(let messages):
            for message in messages {
                guard let number = message.seq, missing.remove(number) != nil else {
                    return ("\(message.seq ?? 0) fills nothing", [])
                }
            }
            return (nil, messages)
        case .gap(let gap):
            for range in gap.ranges {
                if gap.cause == .unavailable { return ("\(range) is not to be had", []) }
                guard let last = seq, range.lowerBound <= last + 1 else { return ("a gap \(range) leaves a hole", []) }
                for number in range where number > last || untold.remove(number) != nil { missing.insert(number) }
                seq = max(last, range.upperBound)
            }
        case .state(.failed), .state(.exited): (seq, missing, untold) = (nil, [], [])
        default: break
        }
        return (nil, [])
    }
}
