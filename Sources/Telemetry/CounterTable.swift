/// One counter for each pair of values of two labels. All of them exist from the beginning, so counting takes no lock and
/// a value from outside makes no series.
public final class CounterTable: Sendable {
    /// The value under which everything is counted that is not in the table.
    public static let other = "other"

    private let labels: (String, String)
    private let rows: [String]
    private let columns: [String]
    private let rowNumbers: [String: Int]
    private let columnNumbers: [String: Int]
    /// Row by row.
    private let counters: [Counter]

    init(labels: (String, String), values: ([String], [String])) {
        self.labels = labels
        rows = values.0 + [Self.other]
        columns = values.1 + [Self.other]
        rowNumbers = Self.numbers(of: rows)
        columnNumbers = Self.numbers(of: columns)
        counters = (0..<rows.count * columns.count).map { _ in Counter() }
    }

    public func add(_ row: String, _ column: String) {
        let row = rowNumbers[row] ?? rows.count - 1
        counters[row * columns.count + (columnNumbers[column] ?? columns.count - 1)].add()
    }

    func render(_ name: String) -> String {
        var text = ""
        for (index, counter) in counters.enumerated() where counter.value > 0 {
            let (row, column) = (rows[index / columns.count], columns[index % columns.count])
            text += "\(name){\(labels.0)=\"\(row)\",\(labels.1)=\"\(column)\"} \(counter.value)\n"
        }
        return text
    }

    private static func numbers(of values: [String]) -> [String: Int] {
        Dictionary(values.enumerated().map { ($1, $0) }) { first, _ in first }
    }
}
