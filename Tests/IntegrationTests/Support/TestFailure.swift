/// Why a test cannot go on.
struct TestFailure: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}

/// The longest wait for any one event. Generous: it only ends tests that would hang.
let waitLimit = Duration.seconds(30)
