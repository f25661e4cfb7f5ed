/// Two aligned columns.
struct ReportTable {
    private var rows: [(String, String)] = []

    mutating func row(_ name: String, _ value: String) { rows.append((name, value)) }

    var text: String {
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { name, value in
            name + String(repeating: " ", count: width - name.count + 2) + value + "\n"
        }.joined()
    }
}
