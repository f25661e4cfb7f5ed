import ControlClient

/// Rows for people, aligned; text from outside is made safe and cut at `cellColumnsMax`.
struct Table {
    private let header: [String]
    private var rows: [[String]] = []

    static let cellColumnsMax = 48

    init(_ header: [String]) { self.header = header }

    mutating func add(_ cells: [String]) {
        rows.append(cells.map { DisplayText.fit(DisplayText.safe($0), columns: Self.cellColumnsMax) })
    }

    /// The lines, without trailing spaces. A column that has no text in any row is left out.
    func lines() -> [String] {
        let columns = header.indices.filter { column in
            rows.isEmpty || rows.contains { column < $0.count && !$0[column].isEmpty }
        }
        let all = [header] + rows
        let widths = columns.map { column in
            all.reduce(0) { column < $1.count ? max($0, DisplayText.width($1[column])) : $0 }
        }
        return all.map { row in
            let cells = zip(columns, widths).map { column, width in
                DisplayText.padded(column < row.count ? row[column] : "", columns: width)
            }
            return Self.trimmed(cells.joined(separator: "  "))
        }
    }

    /// One thing as names and values, one below the other, uncut.
    static func facts(_ facts: [(name: String, value: String)]) -> [String] {
        let shown = facts.filter { !$0.value.isEmpty }
        let columns = shown.reduce(0) { max($0, DisplayText.width($1.name)) }
        return shown.map { DisplayText.padded($0.name, columns: columns) + "  " + DisplayText.safe($0.value) }
    }

    private static func trimmed(_ line: String) -> String {
        String(line.reversed().drop { $0 == " " }.reversed())
    }
}
