import ChatModel
import Testing

@testable import RoomCore

@Suite struct PostTableTests {
    private func key(_ number: UInt64) -> CommandKey { CommandKey(high: number &* 0x9E37_79B9_7F4A_7C15, low: number) }

    private func post(_ seq: UInt64) -> CommandLedger.Post {
        CommandLedger.Post(seq: seq, time: Timestamp(Int64(seq)), priority: .normal)
    }

    /// From none over one part that grows (3,072 at most) to many parts.
    @Test(arguments: [0, 1, 6, 7, 3_071, 3_072, 3_073, 50_000] as [UInt64])
    func `what was put in is found, and nothing else`(count: UInt64) {
        var table = PostTable()
        for number in 0..<count { table.set(post(number + 1), of: key(number)) }
        #expect(table.count == Int(count))
        for number in 0..<count { #expect(table[key(number)] == post(number + 1)) }
        for number in count..<(count + 1000) { #expect(table[key(number)] == nil) }
    }

    @Test func `a key that comes again has its latest post, once`() {
        var table = PostTable()
        for round in 1...3 as ClosedRange<UInt64> {
            for number in 0..<600 as Range<UInt64> { table.set(post(round * 1000 + number), of: key(number)) }
        }
        #expect(table.count == 600)
        for number in 0..<600 as Range<UInt64> { #expect(table[key(number)] == post(3000 + number)) }
    }

    /// Each bit of the key counts: keys that share either half are different keys.
    @Test func `keys that are alike in a half are told apart`() {
        var table = PostTable()
        for number in 0..<500 as Range<UInt64> {
            table.set(post(2 * number + 1), of: CommandKey(high: number, low: 7))
            table.set(post(2 * number + 2), of: CommandKey(high: 7, low: number))
        }
        // (7, 7) came twice.
        #expect(table.count == 999)
        for number in 0..<500 as Range<UInt64> where number != 7 {
            #expect(table[CommandKey(high: number, low: 7)]?.seq == 2 * number + 1)
            #expect(table[CommandKey(high: 7, low: number)]?.seq == 2 * number + 2)
        }
    }

    @Test func `a copy does not change with the original`() {
        var table = PostTable()
        table.set(post(1), of: key(1))
        let copy = table
        table.set(post(2), of: key(2))
        #expect(copy[key(2)] == nil)
        #expect(copy.count == 1)
    }

    private func post(_ seq: UInt64, seconds: Int64) -> CommandLedger.Post {
        CommandLedger.Post(seq: seq, time: Timestamp(seconds * 1_000), priority: .normal)
    }

    /// A thousand posts a minute for an hour, and then hardly any: at most 14 minutes' worth is here, and after a while none.
    @Test func `what is forgotten goes, soon while posts come and one part a command when they do not`() {
        var table = PostTable()
        var seq: UInt64 = 0
        for second in 0..<3_600 as Range<Int64> {
            for _ in 0..<(1_000 / 60) {
                seq += 1
                table.set(post(seq, seconds: second), of: key(seq))
                table.prune(at: Timestamp(second * 1_000))
            }
            #expect(table.count <= 1_000 * 14)
        }
        let last = seq
        for number in (last - 9_600 + 1)...last { #expect(table[key(number)]?.seq == number) }
        for command in 0..<100 as Range<Int64> { table.prune(at: Timestamp((3_600 + 721 + command) * 1_000)) }
        #expect(table.count == 0)
        #expect(table[key(last)] == nil)
        table.set(post(last + 1, seconds: 5_000), of: key(1))
        #expect(table[key(1)]?.seq == last + 1)
    }

    /// The naive model is a dictionary. Times go forward by leaps, keys come again, and parts split.
    @Test(arguments: Seed.seeds(6))
    func `it has all that is not forgotten, as a dictionary would`(seed: UInt64) {
        var random = Seed(seed)
        var (table, model): (PostTable, [CommandKey: CommandLedger.Post]) = (PostTable(), [:])
        var milliseconds: Int64 = 0
        for seq in 1...30_000 as ClosedRange<UInt64> {
            if random.next() % 5_000 == 0 { milliseconds += Int64(random.next() % 900_000) }
            milliseconds += Int64(random.next() % 100)
            let now = Timestamp(milliseconds)
            if random.next() % 8 > 0 { table.prune(at: now) }
            let isOld = random.next() % 16 == 0
            let key = key(isOld ? random.next() % seq : seq)
            let post = CommandLedger.Post(seq: seq, time: now, priority: nil)
            table.set(post, of: key)
            model[key] = post
            for _ in 0..<3 {
                let asked = self.key(random.next() % (seq + 10))
                let (found, expected) = (table[asked], model[asked])
                if let expected, !CommandLedger.isForgotten(expected.time, at: now) {
                    #expect(found == expected)
                } else {
                    #expect(found == nil || found == expected)
                }
            }
        }
        #expect(table.count <= model.count)
    }

    /// A replica that has just begun does not know what time it is, and a row that is damaged may have any.
    @Test func `a post from the future removes nothing`() {
        var table = PostTable()
        for number in 1...5_000 as ClosedRange<UInt64> { table.set(post(number, seconds: 1), of: key(number)) }
        table.set(CommandLedger.Post(seq: 9_999, time: Timestamp(.max), priority: nil), of: key(9_999))
        for number in 5_001...20_000 as ClosedRange<UInt64> { table.set(post(number, seconds: 1), of: key(number)) }
        for number in 1...20_000 as ClosedRange<UInt64> where number != 9_999 {
            #expect(table[key(number)]?.seq == number)
        }
    }

    /// A row of history that is damaged may say so.
    @Test func `a post without a seq is no post`() {
        var table = PostTable()
        table.set(post(0), of: key(1))
        #expect(table.count == 0)
        #expect(table[key(1)] == nil)
    }
}
