import History
import Telemetry

/// The figures of the indexes in which messages are looked for, over all shards of the node.
enum SearchGauges {
    static func add(to metrics: MetricsRegistry, of storages: [ShardStorage]) {
        let sum: @Sendable () -> SearchFigures = {
            storages.reduce(into: SearchFigures()) { $0 += $1.searchFigures }
        }
        metrics.gauge("chatroom_search_waiting_rows", "Changed rows of history that are not in an index yet.") {
            Double(sum().waitingRows)
        }
        metrics.gauge("chatroom_search_incomplete_files", "History files whose index is asked for and not complete.") {
            Double(sum().incompleteFiles)
        }
        metrics.counter("chatroom_search_index_errors_total", "Indexes that could not be read or written, each time.") {
            Double(sum().errors)
        }
        metrics.counter("chatroom_search_index_rebuilds_total", "Indexes that were damaged, and are made anew.") {
            Double(sum().rebuilds)
        }
    }
}
