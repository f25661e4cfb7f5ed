import Telemetry
import Testing

@Suite struct CounterTableTests {
    private let metrics = MetricsRegistry()

    private func lines(_ name: String) -> [String] {
        metrics.render().split(separator: "\n").map(String.init).filter { $0.hasPrefix(name) }
    }

    @Test func `each pair that has counted is a series, in the order of the table`() {
        let table = metrics.counters(
            "t_total", "Help.", labels: ("route", "status"), values: (["a", "b"], ["200", "404"]))
        #expect(metrics.render() == "# HELP t_total Help.\n# TYPE t_total counter\n")
        table.add("b", "404")
        table.add("a", "200")
        table.add("b", "404")
        #expect(
            lines("t_total") == [#"t_total{route="a",status="200"} 1"#, #"t_total{route="b",status="404"} 2"#])
    }

    @Test func `a value from outside makes no series`() {
        let table = metrics.counters("t_total", "Help.", labels: ("route", "status"), values: (["a"], ["200"]))
        for number in 0..<100 { table.add("x\(number)", "\(number)") }
        table.add("a", "999")
        #expect(
            lines("t_total") == [
                #"t_total{route="a",status="other"} 1"#, #"t_total{route="other",status="other"} 100"#,
            ])
    }
}
