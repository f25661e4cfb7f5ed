import EventLoop
import Transport

/// A UDP socket and a TCP listener with one port. On its loop only.
final class MembershipSockets {
    let port: Int
    private let udp: UDPSocket
    private let listener: TCPListener
    private let receivers: Receivers

    /// Set after the sockets exist, because their port is a part of what receives.
    private final class Receivers {
        var onDatagram: ((UnsafeRawBufferPointer, _ host: String, _ port: Int) -> Void)?
        var onConnection: ((TCPConnection) -> Void)?
    }

    /// How often a port that the system chose for one protocol is tried for the other.
    private static let attempts = 32

    init(loop: EventLoop, host: String, port: Int, acceptsPerTurn: Int) throws(TransportError) {
        let receivers = Receivers()
        var attempt = 1
        while true {
            let listener = try TCPListener(
                loop: loop, host: host, port: port, reusePort: false, acceptsPerTurn: acceptsPerTurn
            ) { connection in
                guard let onConnection = receivers.onConnection else { return connection.close() }
                onConnection(connection)
            }
            do throws(TransportError) {
                udp = try UDPSocket(loop: loop, host: host, port: listener.port) { bytes, host, port in
                    receivers.onDatagram?(bytes, host, port)
                }
            } catch {
                listener.close()
                guard port == 0, error.code == .addressInUse, attempt < Self.attempts else { throw error }
                attempt += 1
                continue
            }
            self.listener = listener
            self.port = listener.port
            self.receivers = receivers
            return
        }
    }

    func start(
        onDatagram: @escaping (UnsafeRawBufferPointer, _ host: String, _ port: Int) -> Void,
        onConnection: @escaping (TCPConnection) -> Void
    ) {
        receivers.onDatagram = onDatagram
        receivers.onConnection = onConnection
    }

    /// False when the datagram did not leave; UDP promises nothing better.
    func send(_ bytes: [UInt8], toHost host: String, port: Int) -> Bool {
        bytes.withUnsafeBytes { memory in
            (try? udp.send(memory, toHost: host, port: port)) ?? false
        }
    }

    func close() {
        receivers.onDatagram = nil
        receivers.onConnection = nil
        udp.close()
        listener.close()
    }
}
