import Glibc

/// A program that this process has started. Not for several threads at a time.
public struct ChildProcess {
    public let processID: pid_t

    /// Starts a program with the standard streams of this process, or with none but that for errors.
    /// - Parameters:
    ///   - arguments: without the program's name.
    ///   - environment: `nil` for that of this process.
    ///   - isQuiet: whether its input is empty and its output is dropped.
    /// - Throws: ``SystemCallError`` when the program can't be started.
    public init(
        _ path: String, _ arguments: [String], environment: [String: String]? = nil, isQuiet: Bool = false
    ) throws(SystemCallError) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if isQuiet {
            posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
            posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        }
        // A thread of a pool has its signals blocked, and a child inherits that: it could not even be asked to end.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var processID: pid_t = 0
        let status = Self.withStrings([path] + arguments) { argumentPointers in
            guard let environment else {
                return posix_spawnp(&processID, path, &actions, &attributes, argumentPointers, environ)
            }
            return Self.withStrings(environment.map { "\($0)=\($1)" }) { environmentPointers in
                posix_spawnp(&processID, path, &actions, &attributes, argumentPointers, environmentPointers)
            }
        }
        guard status == 0 else { throw SystemCallError(.spawn, number: status) }
        self.processID = processID
    }

    /// Waits for its end, which may take forever: for programs that a person waits for.
    /// - Returns: its exit code; `nil` when a signal ended it.
    public func waitForExit() -> Int32? {
        var status: Int32 = 0
        while waitpid(processID, &status, 0) < 0 {
            guard errno == EINTR else { return nil }
        }
        // The macros WIFEXITED and WEXITSTATUS.
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : nil
    }

    /// Asks it to end (SIGTERM), unless it has already.
    public func terminate() {
        var status: Int32 = 0
        // While it has not been waited for, no other process can have its ID.
        if waitpid(processID, &status, WNOHANG) == 0 { kill(processID, SIGTERM) }
    }

    /// The path of the running program.
    public static var ownPath: String? {
        guard let path = realpath("/proc/self/exe", nil) else { return nil }
        defer { free(path) }
        return String(cString: path)
    }

    /// Calls `body` with a list of C strings that ends with a null.
    private static func withStrings(
        _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Int32
    ) -> Int32 {
        let pointers = texts.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers + [nil])
    }
}
