import ControlClient

/// How far a room's history has been printed: each message once, in order, whatever happens to the server meanwhile.
struct TailCursor: Sendable, Hashable {
    private(set) var afterSeq: Int64
    private(set) var hasMore = false

    static let pageItemsMax = 100

    init(afterSeq: Int64) { self.afterSeq = afterSeq }

    /// The parameters of the next page.
    var query: [(String, String?)] {
        [("order", "ASC"), ("afterSeq", String(afterSeq)), ("limit", String(Self.pageItemsMax))]
    }

    /// The messages of a page that have not been seen; a repeated or an older page gives nothing.
    mutating func take(_ page: JSONTree) -> [JSONTree] {
        var fresh: [JSONTree] = []
        for message in page["messages"]?.items ?? [] {
            guard let seq = message["seq"]?.integer, seq > afterSeq else { continue }
            afterSeq = seq
            fresh.append(message)
        }
        // A page that brings nothing cannot be followed by one that does: asking on at once would never end.
        hasMore = page["more"]?.boolean == true && !fresh.isEmpty
        return fresh
    }
}

/// How long `tail` waits before it asks again.
struct TailPace: Sendable, Hashable {
    static let pollMilliseconds = 500
    static let backOffMillisecondsMax = 8_000

    /// Failures in a row.
    private(set) var failures = 0

    mutating func succeeded() { failures = 0 }
    mutating func failed() { failures += 1 }

    /// The bound of the next wait; a random part of it is waited, so that many tools do not ask in step.
    var waitMillisecondsMax: Int {
        min(Self.backOffMillisecondsMax, Self.pollMilliseconds << min(failures, 8))
    }
}
