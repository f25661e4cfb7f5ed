import ChatModel
import ClusterRouting
import Cryptography
import RoomProtocol
import ServerAPI
import SystemGroupHost
import Wire

/// Administrators and their calls: who they are, what was done, and each call once.
extension NodeService {
    func setLogLevel(_ level: LogLevel) async throws(ChatError) { _ = await nodes.askAll(.setLogLevel(level)) }

    func record(_ item: AuditItem) { auditRecorder.record(item) }

    func audit(_ query: AuditQuery) async throws(ChatError) -> AuditView {
        var found: [AuditPlace: AuditItem] = [:]
        var answered: Set<NodeID> = []
        for (node, answer) in await nodes.askAll(.audit(query)) {
            guard case .audit(let items) = answer else { continue }
            answered.insert(node)
            // A copy is what it is a copy of.
            for item in items { if let place = item.place { found[place] = item } }
        }
        guard answered.contains(configuration.node) else { throw ChatError(.internal, "the audit can't be read") }
        let newest = found.sorted { $0.key > $1.key }.prefix(query.limit)
        return AuditView(
            items: newest.map(\.value), missing: missing(answered))
    }

    func checkHead(ofSigned request: SignedRequest) throws(ChatError) {
        try RequestSignature.check(request, at: WallClock.now())
        guard keys.adminKey(request.key) != nil else { throw Self.invalidSignature }
    }

    /// One sentence for both: nobody without a key hears which key IDs there are.
    private static let invalidSignature = ChatError(
        .unauthorized, "X-Chatroom-Key names no admin key, or the signature is not valid")

    /// The nonce goes through the system group's log, and only behind a signature that is right: it works once in the
    /// whole cluster, over restarts too.
    func administrator(signed request: SignedRequest) async throws(ChatError) -> Administrator {
        try RequestSignature.check(request, at: WallClock.now())
        // An unknown key costs the same time as a wrong signature.
        let key = keys.adminKey(request.key)
        let isValid = RequestSignature.isValid(request, key: key?.key ?? HMACKey(SecureRandom.bytes(32)))
        guard let key, isValid else { throw Self.invalidSignature }
        guard try await system.use(nonce: "\(request.key)\n\(request.nonce)") else {
            throw ChatError(.unauthorized, "X-Chatroom-Nonce was used before")
        }
        return key.administrator
    }

    /// The same call may be under way, here or at another node: its answer is waited for. None comes of a node that was
    /// killed meanwhile.
    func begin(call key: String) async throws(ChatError) -> BegunCall {
        let end = ContinuousClock.now + Self.answerWait
        var wait = Duration.milliseconds(50)
        while true {
            switch try await system.begin(key) {
            case .done: return .first
            case .answered(let answer): return .answered(answer)
            default:
                // Each look is an entry of the log.
                guard ContinuousClock.now < end, (try? await Task.sleep(for: wait)) != nil else { return .unknown }
                wait = min(wait * 2, .seconds(1))
            }
        }
    }

    /// Longer than calls without a room take.
    private static let answerWait = Duration.seconds(5)

    func finish(call key: String, answer: [UInt8]?) async throws(ChatError) {
        try await system.finish(key, answer: answer)
    }
}
