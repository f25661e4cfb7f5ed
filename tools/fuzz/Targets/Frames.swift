import ChatModel

@testable import Wire

/// Bytes that clients send and that the SDK reads, in both encodings.
extension FuzzTarget {
    /// A text frame of a client.
    static let json = FuzzTarget(name: "json", bytesMax: 1 << 20) { bytes in
        checkRequests(read(.json, bytes), of: bytes.count)
    } seeds: { samples in
        samples.requests().map { encoded($0, .json) } + hostileJSON
    }

    /// A binary frame of a client.
    static let protobuf = FuzzTarget(name: "protobuf", bytesMax: 1 << 20) { bytes in
        checkRequests(read(.protobuf, bytes), of: bytes.count)
    } seeds: { samples in
        samples.requests().map { encoded($0, .protobuf) }
    }

    /// A frame of a server, as the SDK reads it; the first byte tells the encoding.
    static let items = FuzzTarget(name: "items", bytesMax: 1 << 20) { bytes in
        var input = FuzzInput(bytes)
        let encoding: ClientEncoding = input.byte() & 1 == 0 ? .json : .protobuf
        for item in readItems(encoding, input.rest) {
            // A code of a later version goes into the message each time.
            if case .reply(_, .failure(let error)) = item, error.code == .unknown { continue }
            for other in ClientEncoding.allCases {
                let once = encoded(item, other)
                // Content of a later version is not kept as it is; written content is.
                let again = once.withUnsafeBytes { readItems(other, $0) }
                require(again.count == 1, "what was written of an item is \(again.count) in \(other): \(once)")
                let twice = encoded(again[0], other)
                let last = twice.withUnsafeBytes { readItems(other, $0) }.first
                require(
                    last.map { encoded($0, other) } == twice,
                    "\(item) changes each time in \(other): \(again[0]), \(String(describing: last))")
            }
        }
    } seeds: { samples in
        let items = samples.items()
        return items.map { [0] + encoded($0, .json) } + items.map { [1] + encoded($0, .protobuf) }
    }

    // MARK: - Reading and writing

    private static func read(_ encoding: ClientEncoding, _ bytes: UnsafeRawBufferPointer)
        -> [Result<ClientRequest, RequestFailure>]
    {
        var results: [Result<ClientRequest, RequestFailure>] = []
        switch encoding {
        case .json: ClientFrame.requests(inJSON: bytes) { results.append($0) }
        case .protobuf: ClientFrame.requests(inProtobuf: bytes) { results.append($0) }
        }
        return results
    }

    private static func readItems(_ encoding: ClientEncoding, _ bytes: UnsafeRawBufferPointer) -> [ServerItem] {
        var items: [ServerItem] = []
        do throws(ChatError) {
            switch encoding {
            case .json: try ServerFrame.items(inJSON: bytes) { items.append($0) }
            case .protobuf: try ServerFrame.items(inProtobuf: bytes) { items.append($0) }
            }
        } catch {}
        return items
    }

    private static func encoded(_ request: ClientRequest, _ encoding: ClientEncoding) -> [UInt8] {
        var bytes: [UInt8] = []
        switch encoding {
        case .json: request.appendJSON(to: &bytes)
        case .protobuf: request.appendProtobuf(to: &bytes)
        }
        return bytes
    }

    private static func encoded(_ item: ServerItem, _ encoding: ClientEncoding) -> [UInt8] {
        var bytes: [UInt8] = []
        switch encoding {
        case .json: item.appendJSON(to: &bytes)
        case .protobuf: item.appendProtobuf(to: &bytes)
        }
        return bytes
    }

    /// A request says the same in both encodings, as often as it is written, and takes no more than so much for each
    /// byte that came; what is refused is told in few words.
    private static func checkRequests(_ results: [Result<ClientRequest, RequestFailure>], of count: Int) {
        require(results.count <= count + 1, "\(results.count) results of \(count) bytes")
        var written = 0
        for result in results {
            switch result {
            case .failure(let failure):
                require(failure.error.message.utf8.count <= 4_096, "a refusal is longer than 4 KB")
            case .success(let request):
                for encoding in ClientEncoding.allCases {
                    let bytes = encoded(request, encoding)
                    written += bytes.count
                    let again = bytes.withUnsafeBytes { read(encoding, $0) }
                    require(again == [.success(request)], "a request is not the same in \(encoding): \(request)")
                    if case .success(let same)? = again.first {
                        require(encoded(same, encoding) == bytes, "a request is written differently in \(encoding)")
                    }
                }
            }
        }
        require(written <= 16 * count + 256 * results.count, "\(count) bytes became \(written)")
    }

    /// Inputs that broke others: depth, numbers at their bounds, escapes, keys that are there twice.
    private static let hostileJSON: [[UInt8]] = [
        #"{"id":1,"ping":{}}{"id":2,"ping":{}}"#, #"{"id":4294967295,"ping":{}}"#, #"{"id":4294967296,"ping":{}}"#,
        #"{"id":1e0,"ping":{}}"#, #"{"id":-0,"ping":{}}"#, #"{"id":1.5,"ping":{}}"#, #"{"id":1,"id":2,"ping":{}}"#,
        #"{"id":1,"ping":{},"ping":{}}"#, #"{"\u0069d":1,"ping":{}}"#, #"{"id":1,"exit":{"room":"\ud83d\ude00"}}"#,
        #"{"id":1,"exit":{"room":"\ud83d"}}"#, #"{"id":1,"x":[[[[[[[[[[{}]]]]]]]]]],"ping":{}}"#,
        #"{"id":1,"x":1e400}"#,
    ].map { Array($0.utf8) }
}
