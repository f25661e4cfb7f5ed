import ChatModel

/// The room's queue as its notifications tell it: each one has to fit to what the ones before it made.
package struct QueueModel: Sendable {
    /// In order.
    package private(set) var elements: [QueueElement] = []

    package init() {}

    package subscript(key: String) -> QueueElement? { elements.first { $0.key == key } }

    /// Transient elements of a user.
    package func seats(of user: UserID) -> [QueueElement] { elements.filter { $0.transient && $0.owner == user } }

    /// Follows a 317 or 320.
    ///
    /// - Returns: in what it does not fit; nil when it does.
    package mutating func apply(_ event: RoomEvent) -> String? {
        switch event {
        case .queueChanged(.offer, let element?): offer(element)
        case .queueChanged(.update, let element?): update(element)
        case .queueChanged(.poll, let element?): remove(element)
        case .queueChanged(.drop, nil): clear()
        case .queueBatchChanged(.batchUpdate, let changed): updateAll(changed)
        case .queueBatchChanged(.partClear, let removed): partClear(removed)
        case .queueChanged, .queueBatchChanged: "a change that 317 and 320 do not have"
        default: nil
        }
    }

    private mutating func offer(_ element: QueueElement) -> String? {
        guard self[element.key] == nil else { return "OFFER of \(element.key), which was there" }
        elements.append(element)
        return element.version == 1 ? nil : "OFFER of \(element.key) with version \(element.version)"
    }

    private mutating func update(_ element: QueueElement) -> String? {
        guard let index = elements.firstIndex(where: { $0.key == element.key }) else {
            elements.append(element)
            return "UPDATE of \(element.key), which was not there"
        }
        let old = elements[index]
        elements[index] = element
        return element.version == old.version + 1
            ? nil : "UPDATE of \(element.key) from version \(old.version) to \(element.version)"
    }

    /// An overwrite by `queueSetMany` leaves whether the element is transient.
    private mutating func updateMany(_ element: QueueElement) -> String? {
        let wasTransient = self[element.key]?.transient
        if let complaint = update(element) { return complaint }
        return wasTransient == element.transient
            ? nil : "BATCH_UPDATE of \(element.key) changed whether it is transient"
    }

    private mutating func updateAll(_ changed: [QueueElement]) -> String? {
        var complaint = changed.isEmpty ? "BATCH_UPDATE of nothing" : nil
        for element in changed { complaint = updateMany(element) ?? complaint }
        return complaint
    }

    private mutating func remove(_ element: QueueElement) -> String? {
        guard let index = elements.firstIndex(where: { $0.key == element.key }) else {
            return "\(element.key) was taken away and was not there"
        }
        let old = elements.remove(at: index)
        return QueueAnswer.same(old, element) ? nil : "\(element.key) was taken away as something that it was not"
    }

    private mutating func clear() -> String? {
        defer { elements = [] }
        return elements.isEmpty ? "DROP of an empty queue" : nil
    }

    private mutating func partClear(_ removed: [QueueElement]) -> String? {
        var complaint: String?
        if removed.isEmpty { complaint = "PARTCLEAR of nothing" }
        if removed.contains(where: { !$0.transient }) { complaint = "PARTCLEAR of an element that is not transient" }
        for element in removed { complaint = remove(element) ?? complaint }
        return complaint
    }
}

/// The answer to `queue`.
package struct QueueAnswer: Sendable {
    package let seq: UInt64
    package let elements: [QueueElement]

    package init(seq: UInt64, elements: [QueueElement]) {
        self.seq = seq
        self.elements = elements
    }

    /// Whether two are alike but for `held`, which the stream does not tell.
    static func same(_ a: QueueElement, _ b: QueueElement) -> Bool {
        a.key == b.key && a.value == b.value && a.owner == b.owner && a.transient == b.transient
            && a.version == b.version
    }

    func agrees(with model: QueueModel) -> Bool {
        elements.count == model.elements.count && zip(elements, model.elements).allSatisfy(Self.same)
    }
}
