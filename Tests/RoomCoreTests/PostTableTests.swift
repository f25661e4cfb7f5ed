import ChatModel
import Testing

@testable import RoomCore

@Suite struct PostTableTests {
    private func key(_ number: UInt64) -> CommandKey { CommandKey(high: number &* 0x9E37_79B9_7F4A_7C15, low: number) }

    private func post(_ seq: UInt64) -> CommandLedger.Post {
        CommandLedger.Post(seq: seq, time: Timestamp(Int64(seq)), priority: .normal)
    }

    /// From none over one part (256) to many parts that have grown.
    @Test(arguments: [0, 1, 6, 7, 255, 256, 257, 5000] as [UInt64])
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

    /// A row of history that is damaged may say so.
    @Test func `a post without a seq is no post`() {
        var table = PostTable()
        table.set(post(0), of: key(1))
        #expect(table.count == 0)
        #expect(table[key(1)] == nil)
    }
}
