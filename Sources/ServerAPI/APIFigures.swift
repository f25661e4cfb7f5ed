import ChatModel
import Telemetry

/// The figures of the server API and of the probes, on all ports of a node.
public struct APIFigures: Sendable {
    private let requests: CounterTable
    private let seconds: DurationHistogram

    /// The route of a request that is no call: it could not be read, or there is no such call.
    static let noRoute = "none"

    /// Registers them; to be made once for a registry.
    public init(in metrics: MetricsRegistry) {
        requests = metrics.counters(
            "chatroom_api_requests_total", "Requests to the server API, by the operationId of the call and the status.",
            labels: ("route", "status"),
            values: (Routes.described.map(\.name) + [Self.noRoute], Self.statuses.map { "\($0)" }))
        seconds = metrics.durations(
            "chatroom_api_seconds", "From the head of a call until its answer was made, without probes.")
    }

    /// Those of the protocol's errors, and those with which a request that can't be read is refused.
    private static let statuses: [Int] = Set(
        [200, 408, 414, 417, 431, 501, 505] + ErrorCode.allCases.map { $0.httpStatus }
    ).sorted()

    /// - Parameter seconds: nil for a request that is no call.
    func count(_ route: Route?, status: Int, seconds: Double? = nil) {
        requests.add(route?.name ?? Self.noRoute, "\(status)")
        // Probes and figures are asked for all day, and would hide the calls.
        if let seconds, let route, route.needsAuthorization { self.seconds.record(seconds: seconds) }
    }
}
