/// Which calls are under way and which wait, server by server: one that does not answer keeps no other one's calls.
struct CallLines {
    private struct Line {
        var underWay = 0
        /// In the order in which they came.
        var waiting: [UInt64] = []
    }

    enum Place: Hashable {
        case start
        case wait
        case busy
    }

    let perServerMax: Int
    let waitingMax: Int
    private(set) var waitingCount = 0
    private var lines: [String: Line] = [:]

    init(perServerMax: Int, waitingMax: Int) {
        self.perServerMax = perServerMax
        self.waitingMax = waitingMax
    }

    /// A call comes.
    mutating func enter(_ call: UInt64, to server: String) -> Place {
        if lines[server, default: Line()].underWay < perServerMax {
            lines[server, default: Line()].underWay += 1
            return .start
        }
        guard waitingCount < waitingMax else { return .busy }
        waitingCount += 1
        lines[server, default: Line()].waiting.append(call)
        return .wait
    }

    /// A call that was under way has ended. The one that takes its place.
    mutating func ended(at server: String) -> UInt64? {
        guard var line = lines[server] else { return nil }
        guard line.waiting.isEmpty else {
            let next = line.waiting.removeFirst()
            waitingCount -= 1
            lines[server] = line
            return next
        }
        line.underWay -= 1
        lines[server] = line.underWay > 0 ? line : nil
        return nil
    }

    /// A call that may wait does so no longer. Whether it did.
    mutating func leave(_ call: UInt64, to server: String) -> Bool {
        guard let index = lines[server]?.waiting.firstIndex(of: call) else { return false }
        lines[server]?.waiting.remove(at: index)
        waitingCount -= 1
        return true
    }
}
