import ChatModel
import Cryptography
import Foundation
import Logging
import Synchronization
import Wire

@testable import Node
@testable import ServerAPI

/// Calls of the server API: the head as it is read behind the HTTP library, signatures, and bodies.
extension FuzzTarget {
    /// Lines: method, target, `Authorization`, `Idempotency-Key`, the four headers of a signature; behind them the body.
    static let api = FuzzTarget(name: "api", bytesMax: 64 << 10) { bytes in
        var input = FuzzInput(bytes)
        var head = APIHandler.Head(method: input.text(), target: input.text())
        let lines = (0..<6).map { _ in input.text() }
        head.authorization = lines[0].isEmpty ? nil : lines[0]
        head.idempotencyKey = lines[1].isEmpty ? nil : lines[1]
        if !lines[2].isEmpty {
            head.signature = APIHandler.SignatureHeaders(
                key: lines[2], time: lines[3], nonce: lines[4], signature: lines[5])
        }
        let body = input.all
        let response = answer(head, body)
        require((200...599).contains(response.status), "the status is \(response.status)")
        require(response.status != 500, "\(String(decoding: response.body, as: UTF8.self))")
        if response.status != 200 {
            require(response.body.count <= 8 * bytes.count + 4_096, "a refusal has \(response.body.count) bytes")
            let error = try? WireJSON.decode(ErrorView.self, from: response.body, limits: false)
            require(error != nil, "a refusal can't be read: \(String(decoding: response.body, as: UTF8.self))")
        }
        check(signatureOf: head, body)
        // The body alone, as the call's own type: authorization would have to be right for that.
        guard case .route(let route, _)? = try? table.match(method: head.method, path: path(head)[...]),
            let type = route.request?.body
        else { return }
        check(body, as: type)
    } seeds: { samples in
        var seeds: [[UInt8]] = []
        for route in table.routes {
            let target = route.path.replacingOccurrences(of: "{room}", with: "r%20oom").replacingOccurrences(
                of: "{", with: ""
            ).replacingOccurrences(of: "}", with: "")
            let query = route.query.map { "\($0.name)=1" }.joined(separator: "&")
            let body = route.request.map { blank($0.body) } ?? []
            let lines = [
                route.method.rawValue, "\(target)?\(query)", "Bearer \(FakeCluster.adminKey)",
                route.isIdempotent ? "key-1" : "", "", "", "", "",
            ]
            seeds.append(Array((lines.joined(separator: "\n") + "\n").utf8) + body)
        }
        let signed = ["POST", "/v1/rooms/r/messages", "", "", "k", String(now.milliseconds), "nonce", "00ff", "{}"]
        return seeds + [Array(signed.joined(separator: "\n").utf8)]
    }

    private static let now = Timestamp(1_700_000_000_000)
    private static let table = RouteTable(Routes.all(bodyBytesMax: 1 << 20))

    private static let logger: Logger = {
        var logger = Logger(label: "fuzz")
        logger.logLevel = .critical
        return logger
    }()

    private static func path(_ head: APIHandler.Head) -> String { String(head.target.prefix { $0 != "?" }) }

    private static func answer(_ head: APIHandler.Head, _ body: [UInt8]) -> APIResponse {
        let handler = APIHandler(table: table, service: FakeCluster(), logger: logger, now: { now })
        return waiting { await handler.answer(head) { body } }
    }

    /// A right signature is right, and no other is.
    private static func check(signatureOf head: APIHandler.Head, _ body: [UInt8]) {
        guard let signature = head.signature else { return }
        let key = HMACKey("0123456789abcdef0123456789abcdef".utf8)
        var request = SignedRequest(
            key: signature.key, time: signature.time, nonce: signature.nonce, signature: signature.signature,
            method: head.method, path: path(head), query: String(head.target.dropFirst(path(head).count).dropFirst()),
            body: body)
        let text = Hexadecimal.encode(key.code(of: Array(RequestSignature.text(of: request).utf8)))
        let isRight = RequestSignature.isValid(request, key: key)
        require(!isRight || signature.signature.lowercased() == text, "a wrong signature is taken")
        request.signature = text
        require(RequestSignature.isValid(request, key: key), "the right signature is refused")
        request.body.append(0)
        require(!RequestSignature.isValid(request, key: key), "a signature is taken for another body")
        do throws(ChatError) {
            try RequestSignature.check(request, at: now)
            let off = now.milliseconds - (Int64(request.time) ?? 0)
            require(abs(off) <= RequestSignature.windowMilliseconds, "a request is \(off) ms off")
        } catch {}
    }

    private static func blank<Body: WireMessage>(_ type: Body.Type) -> [UInt8] { WireJSON.encode(Body.blank) }

    /// A body within the limits is written as one within the limits, the same one.
    private static func check<Body: WireMessage>(_ bytes: [UInt8], as type: Body.Type) {
        guard let value = try? WireJSON.decode(type, from: bytes, limits: true) else { return }
        let once = WireJSON.encode(value)
        guard let again = try? WireJSON.decode(type, from: once, limits: true) else {
            fail("\(type) that was written is refused: \(String(decoding: once, as: UTF8.self))")
        }
        require(WireJSON.encode(again) == once, "\(type) changes each time: \(String(decoding: once, as: UTF8.self))")
    }

    /// The result of asynchronous work. The fuzzer calls from a thread of its own, which may wait.
    static func waiting<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) -> Value {
        let box = Box<Value>()
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            box.set(await body())
            done.signal()
        }
        done.wait()
        guard let value = box.get() else { fail("no result") }
        return value
    }
}

private final class Box<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)

    func set(_ new: Value) { value.withLock { $0 = new } }
    func get() -> Value? { value.withLock { $0 } }
}
