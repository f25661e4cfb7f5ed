import Synchronization
import Testing

@testable import Node

/// Parts of a node that start in order and stop in reverse.
@Suite struct StartedServicesTests {
    private struct Failure: Error, Equatable {
        var text: String
    }

    private final class Events: Sendable {
        private let events = Mutex<[String]>([])
        var all: [String] { events.withLock { $0 } }
        func note(_ event: String) { events.withLock { $0.append(event) } }
    }

    private let events = Events()

    private func open(_ name: String, in services: inout StartedServices) async throws {
        let events = events
        let part = try await services.open(close: { (part: String) in events.note("close \(part)") }) {
            events.note("open \(name)")
            return name
        }
        #expect(part == name)
    }

    private func start(_ name: String, in services: inout StartedServices, failing: Bool = false) async throws {
        let events = events
        try await services.start(
            stop: { events.note("stop \(name)") },
            orFail: { Failure(text: "\(name): \(($0 as? Failure)?.text ?? "")") }
        ) {
            events.note("start \(name)")
            if failing { throw Failure(text: "no") }
        }
    }

    @Test func `the part that began last ends first, when all is done`() async throws {
        let value = try await StartedServices.run { services in
            try await open("a", in: &services)
            try await start("b", in: &services)
            try await open("c", in: &services)
            events.note("run")
            return 7
        }
        #expect(value == 7)
        #expect(events.all == ["open a", "start b", "open c", "run", "close c", "stop b", "close a"])
    }

    @Test func `a start that fails stops what it has begun, and then what was begun before, in reverse`() async throws {
        await #expect(throws: Failure(text: "c: no")) {
            try await StartedServices.run { services in
                try await open("a", in: &services)
                try await start("b", in: &services)
                try await start("c", in: &services, failing: true)
                events.note("run")
            }
        }
        #expect(events.all == ["open a", "start b", "start c", "stop c", "stop b", "close a"])
    }

    @Test func `a part that can't be opened is not closed, but those before it are`() async throws {
        let events = events
        await #expect(throws: Failure(text: "no")) {
            try await StartedServices.run { services in
                try await open("a", in: &services)
                try await services.open(close: { (_: Int) in events.note("close b") }) { () throws -> Int in
                    throw Failure(text: "no")
                }
            }
        }
        #expect(events.all == ["open a", "close a"])
    }

    @Test func `an error between two parts ends those that run`() async throws {
        await #expect(throws: Failure(text: "no")) {
            try await StartedServices.run { services in
                try await start("a", in: &services)
                throw Failure(text: "no")
            }
        }
        #expect(events.all == ["start a", "stop a"])
    }
}
