import ChatModel

extension MessageType: WireEnum {
    public static var blank: MessageType { .text }
    public var number: Int {
        switch self {
        case .text: 1
        case .tip: 2
        case .command: 3
        case .image: 4
        case .audio: 5
        case .video: 6
        case .file: 7
        case .location: 8
        case .custom: 9
        case .combine: 10
        case .notification: 11
        case .unknown: 0
        }
    }

    /// The type with that number; nil for one that this version does not know.
    public init?(number: Int) {
        guard let type = Self.allCases.first(where: { $0.number == number }) else { return nil }
        self = type
    }
}

extension Priority: WireEnum {
    public static var blank: Priority { .normal }
    public var number: Int {
        switch self {
        case .low: 1
        case .normal: 2
        case .high: 3
        }
    }
}

extension Role: WireEnum {
    public static var blank: Role { .guest }
    public var number: Int {
        switch self {
        case .creator: 1
        case .manager: 2
        case .normal: 3
        case .restricted: 4
        case .guest: 5
        case .anonymous: 6
        }
    }
}

extension FixedRole: WireEnum {
    public static var blank: FixedRole { .guest }
    public var number: Int {
        switch self {
        case .manager: 1
        case .normal: 2
        case .guest: 3
        }
    }
}

extension FixedMemberRole: WireEnum {
    public static var blank: FixedMemberRole { .none }
    public var number: Int {
        switch self {
        case .creator: 1
        case .manager: 2
        case .normal: 3
        case .none: 4
        }
    }
}

extension MemberKind: WireEnum {
    public static var blank: MemberKind { .fixed }
    public var number: Int {
        switch self {
        case .fixed: 1
        case .fixedOnline: 2
        case .temporary: 3
        case .temporaryReversed: 4
        case .managers: 5
        case .muted: 6
        case .blacklisted: 7
        case .banned: 8
        }
    }
}

extension Device: WireEnum {
    public static var blank: Device { .web }
    public var number: Int {
        switch self {
        case .mobile: 1
        case .desktop: 2
        case .web: 3
        case .server: 4
        }
    }
}

extension EntryLevel: WireEnum {
    public static var blank: EntryLevel { .anyone }
    public var number: Int {
        switch self {
        case .anyone: 1
        case .users: 2
        case .invited: 3
        }
    }
}

extension QueueLevel: WireEnum {
    public static var blank: QueueLevel { .any }
    public var number: Int {
        switch self {
        case .any: 1
        case .owner: 2
        case .manager: 3
        }
    }
}

extension EnterExitNotify: WireEnum {
    public static var blank: EnterExitNotify { .all }
    public var number: Int {
        switch self {
        case .all: 1
        case .fixedOnly: 2
        case .none: 3
        }
    }
}

extension QueueChange: WireEnum {
    public static var blank: QueueChange { .offer }
    public var number: Int {
        switch self {
        case .offer: 1
        case .update: 2
        case .poll: 3
        case .drop: 4
        case .partClear: 5
        case .batchUpdate: 6
        }
    }
}

/// The order of a history page.
public enum HistoryOrder: String, WireEnum, Hashable {
    /// Messages at or before `startTime`, newest first.
    case descending = "DESC"
    /// Messages at or after `startTime`, oldest first.
    case ascending = "ASC"

    public static var blank: HistoryOrder { .descending }
    public var number: Int {
        switch self {
        case .descending: 1
        case .ascending: 2
        }
    }
}

extension EventCode: WireCode {
    public static var blank: EventCode { .enter }
}

extension KickReason: WireCode {
    public static var blank: KickReason { .roomClosed }

    /// Only clients read reasons, and whoever is kicked must learn it whatever the reason is.
    public static func readJSON(_ value: JSONValue) throws(ChatError) -> KickReason { KickReason(try value.int64()) }
    public static func readProtobuf(_ value: ProtobufValue) throws(ChatError) -> KickReason {
        KickReason(try Int64.readProtobuf(value))
    }

    private init(_ number: Int64) { self = Int(exactly: number).flatMap { KickReason(rawValue: $0) } ?? .unknown }
}
