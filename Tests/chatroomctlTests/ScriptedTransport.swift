import Foundation
import Synchronization

@testable import ControlClient
@testable import chatroomctl

/// A transport that answers what a test wrote down, in order, and remembers what was sent where.
final class ScriptedTransport: HTTPTransport {
    struct Sent: Sendable, Hashable {
        var call: HTTPCall
        var server: String
    }

    private struct State: Sendable {
        var script: [Result<HTTPAnswer, HTTPFailure>]
        var sent: [Sent] = []
    }

    private let state: Mutex<State>

    init(_ script: [Result<HTTPAnswer, HTTPFailure>]) { state = Mutex(State(script: script)) }

    var sent: [Sent] { state.withLock { $0.sent } }

    func send(_ call: HTTPCall, to server: String) async throws(HTTPFailure) -> HTTPAnswer {
        let next = state.withLock { state -> Result<HTTPAnswer, HTTPFailure> in
            state.sent.append(Sent(call: call, server: server))
            guard !state.script.isEmpty else {
                return .failure(HTTPFailure(nothingSent: true, message: "the script is over"))
            }
            return state.script.removeFirst()
        }
        return try next.get()
    }
}

extension HTTPAnswer {
    init(_ status: Int, _ text: String) { self.init(status: status, body: Data(text.utf8)) }
}
