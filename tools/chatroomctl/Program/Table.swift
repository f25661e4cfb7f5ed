import ControlClient

/// Rows for people, aligned; text from outside is made safe and cut at `cellColumnsMax`.
struct Table {
    private let header: [String]
    private let uncut: Set<String>
    private var rows: [[String]] = []

    static let cellColumnsMax = 48
    private static let gap = "  "
    /// Before the further lines of a row.
    private static let indent = "    "

    /// - Parameter uncut: the columns whose text is never cut, because people copy it.
    init(_ header: [String], uncut: Set<String> = []) {
        self.header = header
        self.uncut = uncut
    }

    mutating func add(_ cells: [String]) {
        rows.append(
            cells.enumerated().map { column, cell in
                let text = DisplayText.safe(cell)
                let isUncut = column < header.count && uncut.contains(header[column])
                return isUncut ? text : DisplayText.fit(text, columns: Self.cellColumnsMax)
            })
    }

    /// The lines, without trailing spaces. A column that has no text in any row is left out.
    /// - Parameter columnsMax: the width that they fit, where a cell alone does; nil: each row is one line. The last columns of a
    ///   table that is wider go to further lines below each row, indented.
    func lines(within columnsMax: Int? = nil) -> [String] {
        let columns = header.indices.filter { column in
            rows.isEmpty || rows.contains { column < $0.count && !$0[column].isEmpty }
        }
        let all = [header] + rows
        let widths = columns.map { column in
            all.reduce(0) { column < $1.count ? max($0, DisplayText.width($1[column])) : $0 }
        }
        let parts = Self.parts(of: widths, within: columnsMax)
        return all.flatMap { row -> [String] in
            let lines = parts.enumerated().map { number, part in
                let cells = part.map { place in
                    let column = columns[place]
                    return DisplayText.padded(column < row.count ? row[column] : "", columns: widths[place])
                }
                return Self.trimmed((number == 0 ? "" : Self.indent) + cells.joined(separator: Self.gap))
            }
            return lines.enumerated().filter { number, line in number == 0 || !line.isEmpty }.map { $0.element }
        }
    }

    /// The columns of each line.
    private static func parts(of widths: [Int], within columnsMax: Int?) -> [Range<Int>] {
        guard let columnsMax, let firstWidth = widths.first else { return [widths.indices] }
        var parts: [Range<Int>] = []
        var (first, used) = (0, firstWidth)
        for place in widths.indices.dropFirst() {
            used += gap.count + widths[place]
            guard used > columnsMax else { continue }
            parts.append(first..<place)
            (first, used) = (place, indent.count + widths[place])
        }
        return parts + [first..<widths.count]
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
