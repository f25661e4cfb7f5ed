import BotSwarmCore
import ChatModel
import Foundation
import SimulatedSystem
import Synchronization

/// Clients that only listen, and never ask, enter again or come back: counters of the simulated network. What a node fails
/// to tell them they never find out by themselves, as bots with their own repairs do.
final class Viewers: Sendable {
    private let host: SimulatedHost
    private let signer = TokenSigner(
        TokenKey(kid: SimulatedCluster.tokenKid, secret: SimulatedCluster.tokenSecret))
    private let made = Mutex<Int>(0)

    init(place: UInt8) { host = SimulatedHost(place: place) }

    /// One more, at a node, in a room.
    func add(at address: UInt8, in room: String) {
        let number = made.withLock { made in
            made += 1
            return made
        }
        guard let user = UserID("viewer-\(number)") else { return }
        let now = Int64(Date().timeIntervalSince1970)
        let token = signer.token(for: user, issuedAt: now, expiresAt: now + 86_400)
        var hello = Self.handshake
        hello += Self.frame(#"{"id":1,"connect":{"token":"\#(token)"}}"#)
        hello += Self.frame(#"{"id":2,"enter":{"room":"\#(room)"}}"#)
        sim_viewer(host.number, address, UInt16(SimulatedCluster.clientPort), hello, UInt64(hello.count))
    }

    /// The text of a message that they know by its number.
    static func text(_ number: UInt32) -> String { "no.\(String(100_000_000 + number).dropFirst())" }

    static let handshake = Array(
        ("GET /v1/ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            + "Sec-WebSocket-Protocol: chatroom.v1.json\r\n\r\n").utf8)

    /// A text frame as clients send it, masked with zeros.
    static func frame(_ text: String) -> [UInt8] {
        let count = text.utf8.count
        let head: [UInt8] = count < 126 ? [0x80 | UInt8(count)] : [0x80 | 126, UInt8(count >> 8), UInt8(count & 255)]
        return [0x81] + head + [0, 0, 0, 0] + Array(text.utf8)
    }
}
