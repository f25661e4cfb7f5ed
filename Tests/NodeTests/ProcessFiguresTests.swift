import Foundation
import Telemetry
import Testing

@testable import Node

@Suite struct ProcessFiguresTests {
    private func figures() -> [String: Double] {
        let metrics = MetricsRegistry()
        ProcessFigures.add(to: metrics)
        let pairs = metrics.render().split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { line in
            let parts = line.split(separator: " ")
            return Double(parts[1]).map { (String(parts[0]), $0) }
        }
        return Dictionary(uniqueKeysWithValues: pairs)
    }

    @Test func `the process tells its figures under the names of Prometheus' clients`() throws {
        let now = Date().timeIntervalSince1970
        let figures = figures()
        #expect(
            Set(figures.keys) == [
                "process_cpu_seconds_total", "process_threads", "process_virtual_memory_bytes",
                "process_virtual_memory_max_bytes", "process_resident_memory_bytes", "process_open_fds",
                "process_max_fds", "process_start_time_seconds",
            ])
        for (name, value) in figures { #expect(value > 0 && value.isFinite, "\(name)") }
        let start = try #require(figures["process_start_time_seconds"])
        #expect(start <= now + 1 && start > now - 86_400)
        let (open, most) = (try #require(figures["process_open_fds"]), try #require(figures["process_max_fds"]))
        #expect(open <= most)
        let resident = try #require(figures["process_resident_memory_bytes"])
        #expect(resident < (try #require(figures["process_virtual_memory_bytes"])))
    }

    @Test func `an open file is counted`() throws {
        let before = try #require(figures()["process_open_fds"])
        let files = try (0..<40).map { _ in try #require(FileHandle(forReadingAtPath: "/dev/null")) }
        // Other tests open and close some meanwhile.
        let after = try #require(figures()["process_open_fds"])
        #expect(after >= before + 20)
        for file in files { try file.close() }
    }
}
