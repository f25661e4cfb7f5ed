import Glibc

/// The system's figures of a process (proc(5)).
public struct ProcessStatus: Sendable, Hashable {
    /// CPU time of all its threads, in user and kernel mode.
    public let cpuSeconds: Double
    public let threads: Int
    /// When it was started, in seconds since the system was.
    public let startedAfterBootSeconds: Double
    public let virtualBytes: Int
    public let residentBytes: Int

    /// Those of this process, as of now; `nil` when the system does not tell.
    public static var own: ProcessStatus? {
        guard let text = contents(of: "/proc/self/stat") else { return nil }
        return ProcessStatus(
            stat: text, ticksPerSecond: Double(sysconf(Int32(_SC_CLK_TCK))), pageBytes: sysconf(Int32(_SC_PAGESIZE)))
    }

    /// - Parameter stat: the line of `/proc/PID/stat`.
    init?(stat: String, ticksPerSecond: Double, pageBytes: Int) {
        // The second field is the program's name in parentheses, in which anything may stand.
        guard let end = stat.utf8.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        // From the third field on, which is the state.
        let fields = stat[stat.utf8.index(after: end)...].split(whereSeparator: { $0 == " " || $0 == "\n" })
        func number(_ field: Int) -> Int? { fields.count > field - 3 ? Int(fields[field - 3]) : nil }
        guard let user = number(14), let kernel = number(15), let threads = number(20), let start = number(22),
            let virtualBytes = number(23), let pages = number(24)
        else { return nil }
        cpuSeconds = Double(user + kernel) / ticksPerSecond
        self.threads = threads
        startedAfterBootSeconds = Double(start) / ticksPerSecond
        self.virtualBytes = virtualBytes
        residentBytes = pages * pageBytes
    }

    /// When the system was started, in Unix seconds.
    public static var bootTimeSeconds: Double? {
        contents(of: "/proc/stat")?.split(separator: "\n").first { $0.hasPrefix("btime ") }
            .flatMap { Double($0.dropFirst("btime ".count)) }
    }

    /// The descriptors that this process has open.
    public static var openDescriptors: Int? {
        // Linux 6.2 and later tell it as the size of the directory. Others need a look at each.
        if let size = FileStatus(path: "/proc/self/fd")?.sizeBytes, size > 0 { return Int(size) }
        guard let directory = opendir("/proc/self/fd") else { return nil }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        // Without `.`, `..` and the one that this loop reads.
        return count - 3
    }

    /// The most descriptors that this process may have open.
    public static var descriptorsMax: Double? { limit(RLIMIT_NOFILE) }

    /// The most address space that this process may have, in bytes.
    public static var virtualBytesMax: Double? { limit(RLIMIT_AS) }

    private static func limit(_ resource: __rlimit_resource) -> Double? {
        var limits = rlimit()
        guard getrlimit(__rlimit_resource_t(resource.rawValue), &limits) == 0 else { return nil }
        return Double(limits.rlim_cur)
    }

    /// The whole of a file whose size the system does not tell.
    private static func contents(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        while true {
            let count = withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 1) { buffer in
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                if count > 0 { bytes.append(contentsOf: buffer[..<count]) }
                return count
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count == 0 ? String(decoding: bytes, as: UTF8.self) : nil }
        }
    }
}
