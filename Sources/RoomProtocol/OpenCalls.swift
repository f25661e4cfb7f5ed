import ChatModel

/// The calls of one lane that have no answer. Each has a place, which is another one's when it has gone: a call is large, so
/// it stays where it is, and few bytes lead to it.
struct OpenCalls: Sendable {
    private var places: ContiguousArray<OpenCall?> = []
    private var freePlaces: ContiguousArray<Int> = []
    /// The places by the numbers under which the askers wait.
    private var placesOfAskers: [Asker: AscendingTable<Int>] = [:]
    private var lastNumber: UInt64 = 0

    /// Places of more calls than this, which one crowd needed, are given back.
    private static var placesKept: Int { 1_024 }

    var count: Int { places.count - freePlaces.count }

    // MARK: - One of them

    /// Adds a call, and asks it of a node if there is one.
    ///
    /// - Parameters:
    ///   - request: the number under which its asker waits.
    ///   - countMax: how many calls of the asker there may be.
    /// - Returns: its place; nil when its asker has so many, and nothing was added.
    mutating func add(
        _ call: RoomRequest, _ request: UInt32, of shard: ShardID, at nowMilliseconds: UInt64, askedOf node: NodeID?,
        countMax: Int
    ) -> Int? {
        let place = freePlaces.last ?? places.count
        func note(_ ofAsker: inout AscendingTable<Int>) -> Bool {
            guard ofAsker.count < countMax else { return false }
            ofAsker.append(place, at: request)
            return true
        }
        guard note(&placesOfAskers[call.asker, default: AscendingTable()]) else { return nil }
        if freePlaces.popLast() == nil { places.append(nil) }
        lastNumber += 1
        places[place] = OpenCall(call, lastNumber, of: shard, at: nowMilliseconds, askedOf: node)
        return place
    }

    /// The place of the oldest call that waits under a number.
    func place(of asker: Asker, _ request: UInt32) -> Int? { placesOfAskers[asker]?[request] }

    /// The call at a place where one is.
    subscript(place: Int) -> OpenCall {
        get { places[place]! }
        _modify { yield &places[place]! }
    }

    /// Removes the oldest call that waits under a number, and returns it.
    ///
    /// - Parameter wanted: the place of the call, where it is known.
    mutating func remove(_ asker: Asker, _ request: UInt32, at wanted: Int? = nil) -> OpenCall? {
        guard let ofAsker = placesOfAskers.index(forKey: asker),
            let place = placesOfAskers.values[ofAsker].removeValue(at: request, where: { wanted ?? $0 == $0 })
        else { return nil }
        if placesOfAskers.values[ofAsker].isEmpty { placesOfAskers.remove(at: ofAsker) }
        let call = places[place].take()
        freePlaces.append(place)
        if count == 0, places.count > Self.placesKept { (places, freePlaces) = ([], []) }
        return call
    }

    /// The numbers under which an asker waits.
    func requests(of asker: Asker) -> [UInt32] { placesOfAskers[asker].map { Array($0.numbers) } ?? [] }

    // MARK: - All of them

    /// Visits all, in no particular order.
    func forEach(_ visit: (Int, borrowing OpenCall) -> Void) {
        for place in places.indices where places[place] != nil { visit(place, self[place]) }
    }

    /// The places of some, oldest first.
    func places(where isWanted: (OpenCall) -> Bool) -> [Int] {
        var wanted: [Int] = []
        forEach { place, call in
            if isWanted(call) { wanted.append(place) }
        }
        return wanted.sorted { self[$0].number < self[$1].number }
    }
}
