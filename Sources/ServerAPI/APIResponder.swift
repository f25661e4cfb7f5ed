import ChatModel
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// What of a connection a request needs.
struct APIContext: InitializableFromSource {
    let channel: any Channel

    init(source: ApplicationRequestContextSource) { channel = source.channel }
}

/// Between Hummingbird's requests and responses and the API's own: bytes, headers, when a connection ends.
struct APIResponder: HTTPResponder {
    let handler: APIHandler
    let configuration: APIServerConfiguration

    func respond(to request: Request, context: APIContext) async throws -> Response {
        var reader = RequestBodyReader(of: request, bytesMax: configuration.bodyBytesMax)
        let channel = context.channel
        // A body that drips in holds a connection; after this time it is cut.
        let deadline =
            reader.hasRest
            ? channel.eventLoop.scheduleTask(in: .seconds(configuration.bodySeconds)) { channel.close(promise: nil) }
            : nil
        let head = APIHandler.Head(
            method: request.method.rawValue, target: request.head.path ?? "",
            authorization: request.headers[.authorization], idempotencyKey: request.headers[Self.idempotencyKey],
            address: channel.remoteAddress?.ipAddress ?? "", signature: Self.signature(in: request.headers))
        let answer = await handler.answer(head) { () async throws(ChatError) -> [UInt8] in
            let bytes = try await reader.read()
            deadline?.cancel()
            return bytes
        }
        guard reader.hasRest else {
            deadline?.cancel()
            return Self.response(answer)
        }
        return Self.response(answer, before: reader, on: channel, deadline: deadline)
    }

    /// All four, or nothing.
    private static func signature(in headers: HTTPFields) -> APIHandler.SignatureHeaders? {
        guard let key = headers[.constant("X-Chatroom-Key")], let time = headers[.constant("X-Chatroom-Time")],
            let nonce = headers[.constant("X-Chatroom-Nonce")],
            let signature = headers[.constant("X-Chatroom-Signature")]
        else { return nil }
        return APIHandler.SignatureHeaders(key: key, time: time, nonce: nonce, signature: signature)
    }

    private static let idempotencyKey = HTTPField.Name.constant("Idempotency-Key")

    private static func response(_ answer: APIResponse) -> Response {
        let (status, fields, buffer) = parts(of: answer)
        return Response(status: status, headers: fields, body: ResponseBody(byteBuffer: buffer))
    }

    /// Answers at once although more of the request may come, and throws that away afterwards: the connection lives on if
    /// it ends within its bounds.
    private static func response(
        _ answer: APIResponse, before reader: RequestBodyReader, on channel: any Channel, deadline: Scheduled<Void>?
    ) -> Response {
        let (status, common, buffer) = parts(of: answer)
        var fields = common
        if !reader.mayBeDiscarded { fields[.connection] = "close" }
        let body = ResponseBody(contentLength: buffer.readableBytes) { writer in
            var reader = reader
            try await writer.write(buffer)
            try await writer.finish(nil)
            await reader.discard()
            deadline?.cancel()
            if reader.hasRest { channel.close(promise: nil) }
        }
        return Response(status: status, headers: fields, body: body)
    }

    private static func parts(of answer: APIResponse) -> (HTTPResponse.Status, HTTPFields, ByteBuffer) {
        var fields = HTTPFields()
        fields[.contentType] = answer.contentType
        fields[.cacheControl] = "no-store"
        for (name, value) in answer.headers { fields[.constant(name)] = value }
        return (HTTPResponse.Status(code: answer.status), fields, ByteBuffer(bytes: answer.body))
    }
}

extension HTTPField.Name {
    /// A header name of this program, which is a valid one.
    fileprivate static func constant(_ name: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else { preconditionFailure("not a header name: \(name)") }
        return name
    }
}
