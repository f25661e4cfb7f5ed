import ChatModel
import Synchronization

/// How many connections there are, per address and in all, over all lanes of a node.
final class ConnectionBudget: Sendable {
    private struct Counts {
        var total = 0
        var byAddress: [String: Int] = [:]
    }

    private let counts = Mutex(Counts())
    private let connectionsMax: Int
    private let perAddressMax: Int

    init(connectionsMax: Int, perAddressMax: Int) {
        self.connectionsMax = connectionsMax
        self.perAddressMax = perAddressMax
    }

    /// Takes a place; false when there is none.
    func take(address: String) -> Bool {
        counts.withLock {
            let here = $0.byAddress[address, default: 0]
            guard $0.total < connectionsMax, here < perAddressMax else { return false }
            $0.total += 1
            $0.byAddress[address] = here + 1
            return true
        }
    }

    func give(address: String) {
        counts.withLock {
            $0.total -= 1
            guard let here = $0.byAddress[address] else { return }
            $0.byAddress[address] = here > 1 ? here - 1 : nil
        }
    }

    var total: Int { counts.withLock { $0.total } }
}
