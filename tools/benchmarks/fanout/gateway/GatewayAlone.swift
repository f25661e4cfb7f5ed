import ChatModel
import EventLoop
import Gateway
import Glibc
import Logging
import RoomProtocol
import SessionCore
import ShardPlacement
import TLS
import Telemetry

/// The node's gateway without the node: what delivery costs by itself, from a client's bytes to the viewers' bytes, since
/// its rooms keep nothing. One loop; takes any token.
@main
struct GatewayAlone {
    private struct AnyToken: TokenVerifier {
        let user: UserID

        func verify(_ token: String, skewSeconds: Int64) async throws(ChatError) -> TokenClaims {
            TokenClaims(user: user, expiresAt: Timestamp(.max), rooms: nil, nick: "publisher", avatar: "")
        }

        func isRevoked(_ user: UserID, issuedAt: Timestamp?) -> Bool { false }
    }

    static func main() throws {
        let arguments = CommandLine.arguments
        let words = arguments.dropFirst(2)
        guard arguments.count == 2 || words == ["compressed"] || words.count == 2 && words.first == "tls",
            let port = Int(arguments[1]), let node = NodeID("n1"), let user = UserID("publisher")
        else {
            print("usage: gateway-alone PORT [compressed | tls FILE]\n\nFILE: PEM of a certificate and its key")
            return
        }
        let tls = try words.count == 2 ? TLSContext(certificateFile: arguments[3], keyFile: arguments[3]) : nil
        var configuration = GatewayConfiguration(node: node)
        configuration.port = port
        configuration.allowAnonymous = true
        configuration.isCompressing = words == ["compressed"]
        configuration.changesPerSecond = 1e6
        configuration.changesBurst = 1e6
        configuration.changeBytesPerSecond = 1e12
        configuration.changeBytesBurst = 1e12
        configuration.admission.handshakesPerSecond = 1_000_000
        configuration.admission.connectsPerSecond = 1_000_000
        configuration.connections.connectionsMax = 1_000_000
        configuration.connections.perAddressMax = 1_000_000
        let loop = try EventLoop(name: "loop-0")
        loop.start()
        let rooms = EphemeralRooms(node: node)
        let shards = ShardMap(shardCount: 1)
        let gateway = Gateway(
            configuration: configuration, loops: [loop], router: rooms, shardMap: shards,
            verifier: AnyToken(user: user), metrics: MetricsRegistry(), logger: Logger(label: "gateway"), tls: tls
        ) { EphemeralRooms.time }
        rooms.serve(gateway)
        Task.detached {
            do {
                _ = try await gateway.start()
            } catch {
                fatalError("the gateway does not start: \(error)")
            }
            gateway.onLeaderKnown(ShardNotice(shard: ShardID(0), term: 1), by: node)
        }
        // Until it is killed. The main thread sleeps by itself, so that nothing may be bound to it: Dispatch would end it,
        // which callgrind does not survive.
        while true { sleep(3600) }
    }
}
