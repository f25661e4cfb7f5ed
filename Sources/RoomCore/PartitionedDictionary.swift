/// A dictionary for a million entries that never stalls: it grows in 256 independent parts, so that a growth moves
/// only a part's entries and not all of them. Like a dictionary's, its order means nothing.
struct PartitionedDictionary<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private static var partCount: Int { 256 }

    private var parts: [[Key: Value]] = []
    private(set) var count = 0

    init() {}

    /// Small ones stay in one part.
    private func part(of key: Key) -> Int { parts.count == 1 ? 0 : key.hashValue & (Self.partCount - 1) }

    func has(_ key: Key) -> Bool { !parts.isEmpty && parts[part(of: key)].index(forKey: key) != nil }

    subscript(key: Key) -> Value? {
        get { parts.isEmpty ? nil : parts[part(of: key)][key] }
        set {
            guard let newValue else {
                removeValue(forKey: key)
                return
            }
            makeRoom()
            if parts[part(of: key)].updateValue(newValue, forKey: key) == nil { count += 1 }
        }
    }

    @discardableResult
    mutating func removeValue(forKey key: Key) -> Value? {
        guard !parts.isEmpty, let old = parts[part(of: key)].removeValue(forKey: key) else { return nil }
        count -= 1
        return old
    }

    /// Changes a value in place, if there is one.
    mutating func update(_ key: Key, _ change: (inout Value) -> Void) {
        guard !parts.isEmpty else { return }
        let part = part(of: key)
        guard let index = parts[part].index(forKey: key) else { return }
        change(&parts[part].values[index])
    }

    /// All entries, in no particular order.
    var entries: some Sequence<(key: Key, value: Value)> { parts.lazy.joined() }

    private mutating func makeRoom() {
        if parts.isEmpty {
            parts = [[:]]
        } else if parts.count == 1, count >= Self.partCount {
            let all = parts[0]
            parts = Array(repeating: [:], count: Self.partCount)
            for (key, value) in all { parts[part(of: key)][key] = value }
        }
    }
}
