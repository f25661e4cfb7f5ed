import EventLoop
import Transport

/// Whether a node can have the ports of its configuration, asked before it joins a cluster: others would count one that can't
/// serve among the replicas of their shards.
enum PortCheck {
    /// - Throws: `address` for the first port that somebody else has, or that can't be listened on.
    static func requireFree(_ configuration: NodeConfiguration) async throws {
        let loop = try EventLoop(name: "ports")
        loop.start()
        let ports = configuration.ports
        let refusal = await loop.run { () -> NodeError? in
            for (name, host, port) in ports where port > 0 {
                do throws(TransportError) {
                    try TCPListener(loop: loop, host: host, port: port, reusePort: false) { $0.close() }.close()
                } catch {
                    return NodeError(.address, "\(name).port can't be used: \(error)")
                }
            }
            return nil
        }
        loop.shutdown()
        await loop.joined()
        if let refusal { throw refusal }
    }
}
