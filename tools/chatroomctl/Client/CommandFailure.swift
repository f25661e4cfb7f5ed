/// Why a command could not do what it was told; the code is the exit code.
package struct CommandFailure: Error, Sendable, Hashable {
    package enum Code: Int32, Sendable, Hashable {
        /// The server answered with an error.
        case refused = 1
        /// Wrong arguments, files or environment.
        case usage = 2
        /// No server answered.
        case unreachable = 3
    }

    package var code: Code
    package var message: String
    /// The HTTP status of a refusal.
    package var status: Int?

    package init(_ code: Code, _ message: String, status: Int? = nil) {
        self.code = code
        self.message = message
        self.status = status
    }
}
