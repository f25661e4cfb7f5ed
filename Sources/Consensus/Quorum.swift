/// Majorities (thesis §3.4, §3.5).
enum Quorum {
    enum VoteResult: Hashable, Sendable {
        case won, lost, pending
    }

    static func size(voters: Int) -> Int { voters / 2 + 1 }

    /// The highest value that a majority has reached; 0 without voters. Quadratic, since there are never more than
    /// a handful, and so it needs no memory.
    static func reached(_ values: some Collection<UInt64>) -> UInt64 {
        let needed = size(voters: values.count)
        var highest: UInt64 = 0
        for candidate in values where candidate > highest {
            var count = 0
            for value in values where value >= candidate { count += 1 }
            if count >= needed { highest = candidate }
        }
        return highest
    }

    /// Nobody wins without voters.
    static func result(granted: Int, rejected: Int, voters: Int) -> VoteResult {
        let needed = size(voters: voters)
        if voters > 0, granted >= needed { return .won }
        return voters - rejected < needed ? .lost : .pending
    }
}
