import ChatModel
import Wire

/// The end of a window of taps as it travels. Numbers are on the wire: they are never changed or used again.
struct WiredTaps: WireMessage {
    var window: UInt64
    var results: [Int64] = []
    /// In place of results.
    var error: ChatError?

    static var blank: WiredTaps { WiredTaps(window: 0) }
    static var schemaName: String { "TapsOutput" }

    private init(window: UInt64) { self.window = window }

    init?(_ output: RoomOutput) {
        guard case .taps(let window, let result) = output else { return nil }
        self.window = window
        switch result {
        case .success(let results): self.results = results
        case .failure(let error): self.error = error
        }
    }

    var output: RoomOutput {
        .taps(window: window, error.map { .failure($0) } ?? .success(results))
    }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "window", &window)
        try walker.repeated(2, "results", &results)
        try walker.optional(3, "error", &error)
    }
}
