import StorageTestKit
import Testing

@testable import SQLite

@Suite struct AlignedWriterTests {
    let directory: TemporaryDirectory
    let disk = FaultDisk()

    init() throws { directory = try TemporaryDirectory() }

    private func file(_ name: String = "0", onFaultDisk: Bool = false) throws -> PlainFile {
        try PlainFile(path: directory.path + "/log.segment." + name, vfs: onFaultDisk ? disk.vfs : nil)
    }

    /// Each number gives other bytes, and none is zero.
    private func record(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: ($0 / 3 + number) % 255 + 1) }
    }

    /// Short ones, those that end at a block's edge, and some that take several calls.
    private func length(_ random: inout SeededGenerator, at offset: Int) -> Int {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: 512 - offset % 512
        case 1: 4_096 - offset % 4_096 + Int.random(in: -1...1, using: &random) + 1
        case 2: AlignedWriter.pieceBytes - offset % 512 + Int.random(in: -1...1, using: &random)
        case 3: Int.random(in: 1...3 * AlignedWriter.pieceBytes, using: &random)
        default: Int.random(in: 1...1_500, using: &random)
        }
    }

    @Test(arguments: SeededGenerator.seeds(3), [false, true])
    func `records stand behind each other, and zeros up to the end of the block`(seed: UInt64, onFaultDisk: Bool) throws
    {
        var random = SeededGenerator(seed: seed)
        let file = try file(onFaultDisk: onFaultDisk)
        // The former bytes stay behind the block in which the last record ends.
        let former = [UInt8](repeating: 0xEE, count: 6 << 20)
        try file.write(former, at: 0)
        try file.sync()
        var writer = AlignedWriter()
        var expected: [UInt8] = []
        for number in 0..<60 {
            let record = record(number, length(&random, at: expected.count))
            guard expected.count + record.count < former.count - 8_192 else { break }
            // As after a start: what is in front is read from the file.
            if Int.random(in: 0..<8, using: &random) == 0 { writer = AlignedWriter() }
            try writer.write(record, to: file, at: expected.count)
            expected += record
            let first = max(0, expected.count - record.count - 8_192)
            let found = try file.read(expected.count - first + 8_192, at: first)
            #expect(found.prefix(expected.count - first) == expected[first...], "record \(number)")
            let behind = found.dropFirst(expected.count - first)
            let padding = behind.prefix { $0 == 0 }.count
            #expect(padding < AlignedWriter.blockBytesMax && (expected.count + padding) % 512 == 0)
            #expect(behind.dropFirst(padding).allSatisfy { $0 == 0xEE })
        }
        #expect(try file.read(expected.count, at: 0) == expected)
    }

    @Test func `a record that failed is written again, and one shorter than it`() throws {
        let file = try file(onFaultDisk: true)
        let writer = AlignedWriter()
        let first = record(1, 700)
        try writer.write(first, to: file, at: 0)
        for failure in 0..<4 {
            if failure.isMultiple(of: 2) { disk.failSyncs(1) } else { disk.isFailing = true }
            #expect(throws: SQLiteError.self) { try writer.write(record(9, 3_000), to: file, at: 700) }
            disk.isFailing = false
        }
        let second = record(2, 80)
        try writer.write(second, to: file, at: 700)
        #expect(try file.read(780, at: 0) == first + second)
    }

    @Test(arguments: SeededGenerator.seeds(20))
    func `a power cut takes nothing of the records before`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let file = try file(onFaultDisk: true)
        let writer = AlignedWriter()
        var acked: [UInt8] = []
        for number in 0..<Int.random(in: 1...20, using: &random) {
            let record = record(number, Int.random(in: 1...1_500, using: &random))
            try writer.write(record, to: file, at: acked.count)
            acked += record
        }
        disk.cutPower(after: Int64.random(in: 0...2, using: &random))
        do throws(SQLiteError) {
            try writer.write(record(99, 2_000), to: file, at: acked.count)
        } catch {}
        disk.cutPower()
        writer.close()
        file.close()
        try #require(disk.powerOn(seed: seed))
        let found = try self.file(onFaultDisk: true).read(acked.count, at: 0)
        #expect(found == acked)
    }

    @Test func `another file is begun where it is asked for`() throws {
        let (a, b) = (try file("1"), try file("2"))
        let writer = AlignedWriter()
        try writer.write(record(1, 300), to: a, at: 0)
        try writer.write(record(2, 300), to: b, at: 0)
        try writer.write(record(3, 300), to: a, at: 300)
        #expect(try a.read(600, at: 0) == record(1, 300) + record(3, 300))
        #expect(try b.read(300, at: 0) == record(2, 300))
        #expect(throws: SQLiteError.self) { try writer.write([1], to: b, at: 70_001) }
    }
}
