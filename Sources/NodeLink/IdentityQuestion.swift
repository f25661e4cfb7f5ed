public import ChatModel
public import EventLoop
public import NodeLinkCore
import TLS
import Transport

extension ClusterLink {
    /// Asks a node which cluster it belongs to: for a node that has no data yet, before it opens anything.
    ///
    /// - Parameters:
    ///   - host: a numeric address or a name.
    ///   - keys: as for a link: both sides prove that they have one.
    ///   - tls: as for a link: without it only a node of this machine is asked.
    ///   - node: who asks.
    ///   - level: the highest feature level that its program can do.
    ///   - timeout: for everything together but a name's look-up.
    /// - Throws: `closed` when there is no connection or it ends early, `timedOut`, `version`, `level`, `identity`, `malformed`,
    ///   `proof`, and what the other refuses with.
    public static func askIdentity(
        loop: EventLoop, host: String, port: Int, keys: LinkKeys, tls: LinkTLS?, node: NodeID,
        level: FeatureLevel = .newest, timeout: Duration = .seconds(5)
    ) async throws(LinkError) -> (cluster: String, shards: UInt32) {
        let answer: Result<LinkHello, LinkError> = await withCheckedContinuation { continuation in
            loop.execute {
                var hello = LinkHello.newcomer(node)
                hello.level = level
                IdentityQuestion(hello, keys: keys, tls: tls) { continuation.resume(returning: $0) }
                    .ask(host: host, port: port, on: loop, timeout: timeout)
            }
        }
        let hello = try answer.get()
        return (hello.cluster, hello.shards)
    }
}

/// One question for a node's hello. Its timer and its connection keep it alive.
private final class IdentityQuestion: LinkConnectionOwner {
    private let hello: LinkHello
    private let keys: LinkKeys
    private let tls: LinkTLS?
    private let output = TLSOutput()
    private var complete: ((Result<LinkHello, LinkError>) -> Void)?
    private var timer: LoopTimer?
    private var link: LinkConnection?
    /// The identity of the other node; it may still refuse the asker.
    private var answer: LinkHello?

    init(
        _ hello: LinkHello, keys: LinkKeys, tls: LinkTLS?,
        _ complete: @escaping (Result<LinkHello, LinkError>) -> Void
    ) {
        self.hello = hello
        self.keys = keys
        self.tls = tls
        self.complete = complete
    }

    func ask(host: String, port: Int, on loop: EventLoop, timeout: Duration) {
        timer = loop.schedule(afterMilliseconds: timeout.wholeMilliseconds) { [self] in
            end(.failure(LinkError(.timedOut, "\(host):\(port) did not say who it is within \(timeout)")))
        }
        TCPConnection.connect(
            loop: loop, host: host, port: port, timeoutMilliseconds: timeout.wholeMilliseconds
        ) { [self] result in
            switch result {
            case .success(let connection): open(connection, timeout)
            case .failure(let error): end(.failure(LinkError(.closed, error.message)))
            }
        }
    }

    private func open(_ connection: TCPConnection, _ timeout: Duration) {
        // Not when the time was over before.
        guard complete != nil else { return connection.close() }
        do throws(LinkError) {
            let link = try LinkConnection(
                connection, id: LinkPeers.ConnectionID(0), isCaller: true, tls: tls, output: output,
                greeting: LinkGreeting(
                    hello, nonce: LinkConnection.nonce(), isCaller: true, expected: nil, keys: keys),
                patience: LinkConversation.Patience(
                    greeting: timeout.wholeMilliseconds, ping: timeout.wholeMilliseconds,
                    silence: timeout.wholeMilliseconds),
                owner: self)
            self.link = link
            linkDidDrain(link)
            link.start()
        } catch {
            connection.close()
            end(.failure(error))
        }
    }

    private func end(_ result: Result<LinkHello, LinkError>) {
        timer?.cancel()
        timer = nil
        link?.close()
        link = nil
        let complete = self.complete
        self.complete = nil
        complete?(result)
    }

    func link(_ link: LinkConnection, didReceive frame: LinkFrame) {
        do throws(LinkError) {
            switch try link.heard(frame) {
            case .nothing, .frame: break
            case .mayWrite: linkDidDrain(link)
            // It ends the connection when it has looked at the newcomer's hello and its proof.
            case .greeted(let other, _):
                guard !other.isNewcomer else {
                    throw LinkError(.cluster, "\(other.node) has no data and belongs to no cluster yet")
                }
                answer = other
            case .refused(let error): throw error
            }
        } catch {
            end(.failure(error))
        }
    }

    func link(_ link: LinkConnection, didFail error: LinkError) { end(.failure(error)) }

    func linkDidDrain(_ link: LinkConnection) {
        var buffer: [UInt8] = []
        _ = link.flush(&buffer)
    }

    func linkDidClose(_ link: LinkConnection, _ error: LinkError) {
        end(answer.map { .success($0) } ?? .failure(error))
    }
}
