/// Commands to a node and its clients, and the lines that came of each: a text that people read and change.
///
/// A line that begins with `>` is a command, and indented lines below it are its results. All other lines are for readers.
struct Transcript {
    struct Step {
        /// The lines for readers in front of it.
        var introduction: [String] = []
        /// Its line in the text, from 1.
        var number = 0
        var command = ""
        var results: [String] = []
    }

    var steps: [Step] = []
    /// The lines for readers behind the last step.
    private var end: [String] = []

    init(_ text: String) {
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.hasPrefix("> ") {
                steps.append(Step(introduction: end, number: index + 1, command: String(line.dropFirst(2))))
                end = []
            } else if line.hasPrefix("  "), !steps.isEmpty, end.isEmpty {
                steps[steps.count - 1].results.append(String(line.dropFirst(2)))
            } else {
                end.append(String(line))
            }
        }
    }

    var text: String {
        let lines = steps.flatMap { $0.introduction + ["> " + $0.command] + $0.results.map { "  " + $0 } }
        return (lines + end).joined(separator: "\n")
    }
}
