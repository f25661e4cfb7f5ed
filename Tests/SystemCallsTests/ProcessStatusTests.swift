import Testing

@testable import SystemCalls

@Suite struct ProcessStatusTests {
    /// proc_pid_stat(5): the fields from the state on, those that count with values of their own.
    private static let fields =
        "S 1 2 3 4 5 6 7 8 9 10 250 150 13 14 15 16 17 0 40000 1000000 300 24 25 26 27 28 29 30"

    @Test(arguments: ["chatroomd", "a) b (c", ") S 1 2 3", ""])
    func `the name may be anything`(_ name: String) throws {
        let status = try #require(
            ProcessStatus(stat: "77 (\(name)) \(Self.fields)\n", ticksPerSecond: 100, pageBytes: 4096))
        #expect(status.cpuSeconds == 4)
        #expect(status.threads == 17 && status.startedAfterBootSeconds == 400)
        #expect(status.virtualBytes == 1_000_000 && status.residentBytes == 300 * 4096)
    }

    @Test func `a line without these fields is none`() {
        let whole = "77 (x) \(Self.fields)"
        for count in 0..<60 {
            #expect(ProcessStatus(stat: String(whole.prefix(count)), ticksPerSecond: 100, pageBytes: 4096) == nil)
        }
    }

    @Test func `this process has run, and later than the system`() throws {
        let status = try #require(ProcessStatus.own)
        #expect(status.threads >= 1 && status.residentBytes > 0 && status.startedAfterBootSeconds > 0)
        #expect(try #require(ProcessStatus.bootTimeSeconds) > 1_000_000_000)
        #expect(try #require(ProcessStatus.openDescriptors) >= 3)
    }
}
