import ChatModel
import ClientCore
import Wire

/// The room's ordered key/value list: mic seats, a song list. The room's `queueLevel` says who may change it.
extension Chatroom {
    /// A page of the queue, 1 to 100 elements.
    /// - Parameter after: `next` of the page before.
    public func queue(after: String? = nil, limit: Int64 = Limits.pageItems) async throws(ClientError) -> QueuePage {
        let request = QueueRequest(room: id, after: after, limit: limit)
        guard case .queue(let result) = try await client.perform(.queue(request)) else { throw .mismatch }
        return QueuePage(elements: result.elements, seq: result.seq, next: result.next)
    }

    /// Adds an element at the end, or overwrites it in its place; the caller becomes its owner, unless a manager says
    /// otherwise.
    /// - Parameters:
    ///   - key: 1 to 32 bytes.
    ///   - value: at most 4096 bytes.
    ///   - transient: it goes when its owner has gone.
    ///   - ifVersion: 409 unless the element has that version; 0: unless there is none.
    ///   - owner: managers only: the owner that it is to have, somebody who is here.
    ///   - keepOwner: managers only: an overwritten element keeps its owner.
    ///   - locked: managers only: whether only managers may change it; nil leaves it as it is.
    @discardableResult
    public func queueSet(
        _ key: String, _ value: String, transient: Bool = false, ifVersion: Int64? = nil, owner: UserID? = nil,
        keepOwner: Bool = false, locked: Bool? = nil, options: NotifyOptions = NotifyOptions()
    ) async throws(ClientError) -> QueueElement {
        var request = QueueSetRequest(
            room: id, key: key, value: value, transient: transient, ifVersion: ifVersion, options: options,
            clientID: Self.freshID())
        (request.owner, request.keepOwner, request.locked) = (owner, keepOwner, locked)
        guard case .queueSet(let result) = try await client.perform(.queueSet(request)) else { throw .mismatch }
        return result.element
    }

    /// Overwrites up to 100 elements that are there.
    /// - Returns: the keys that were not there.
    @discardableResult
    public func queueSetMany(
        _ values: [String: String], options: NotifyOptions = NotifyOptions()
    ) async throws(ClientError) -> [String] {
        let pairs = values.sorted { $0.key < $1.key }.map { QueuePair(key: $0.key, value: $0.value) }
        let request = QueueSetManyRequest(room: id, values: pairs, options: options, clientID: Self.freshID())
        guard case .queueSetMany(let result) = try await client.perform(.queueSetMany(request)) else {
            throw .mismatch
        }
        return result.missing
    }

    /// Takes an element out.
    /// - Parameter key: nil for the first one.
    @discardableResult
    public func queueTake(
        _ key: String? = nil, options: NotifyOptions = NotifyOptions()
    ) async throws(ClientError) -> QueueElement {
        let request = QueueTakeRequest(room: id, key: key, options: options, clientID: Self.freshID())
        guard case .queueTake(let result) = try await client.perform(.queueTake(request)) else { throw .mismatch }
        return result.element
    }

    /// Takes all elements out.
    public func queueClear(options: NotifyOptions = NotifyOptions()) async throws(ClientError) {
        let request = RoomChangeRequest(room: id, options: options, clientID: Self.freshID())
        guard case .queueClear = try await client.perform(.queueClear(request)) else { throw .mismatch }
    }
}

/// A page of a room's queue.
public struct QueuePage: Sendable, Hashable {
    public var elements: [QueueElement]
    /// The elements are as of this seq: later 317 and 320 change them.
    public var seq: UInt64
    /// Where the next page begins; nil on the last.
    public var next: String?

    public init(elements: [QueueElement], seq: UInt64, next: String?) {
        self.elements = elements
        self.seq = seq
        self.next = next
    }
}
