@testable import HTTPWebSocket
@testable import Wire

/// The requests of one connection to the server API, one behind the other.
extension FuzzTarget {
    /// One byte steers: in what pieces the bytes come.
    static let requests = FuzzTarget(name: "requests", bytesMax: 96 << 10) { bytes in
        var input = FuzzInput(bytes)
        let piece = Int(input.byte()) + 1
        let (whole, pieces) = (read(input.rest, input.rest.count), read(input.rest, piece))
        require(whole == pieces, "in pieces of \(piece): \(pieces) instead of \(whole)")
    } seeds: { _ in
        let heads = [
            "GET /v1/rooms?limit=1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\n\r\n",
            "HEAD /healthz HTTP/1.0\r\n\r\n",
            "POST /v1/rooms HTTP/1.1\r\nhost:a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n{  }",
            "PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;a=\"b\"\r\nabc\r\n1F\r\n"
                + String(repeating: "x", count: 31) + "\r\n0\r\nTrailer: t\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, close\r\nX: \t é\r\n\r\n",
        ]
        return (heads + [heads.joined(), heads[2] + "\r\n" + heads[3] + heads[0]]).flatMap { text in
            [[255] + Array(text.utf8), [2] + Array(text.utf8)]
        }
    }

    /// The outcome; bodies as their number of bytes and a sum of these.
    private struct Reading: Equatable {
        var heads: [HTTPRequestHead] = []
        var framings: [HTTPBodyFraming] = []
        var bodies: [[Int]] = []
        var ends = 0
        var refusal: HTTPRefusal?
    }

    private static func read(_ bytes: UnsafeRawBufferPointer, _ piece: Int) -> Reading {
        var decoder = HTTPRequestDecoder(
            names: ["authorization", "idempotency-key"],
            limits: HTTPHeadLimits(firstLineBytes: 8 << 10, headerBytes: 8 << 10, headBytes: 32 << 10, headers: 100))
        var reading = Reading()
        forEachPiece(bytes, of: piece) { bytes in
            var position = 0
            while let event = decoder.next(bytes, from: &position) {
                require(reading.refusal == nil, "something was read behind a refusal")
                require((0...bytes.count).contains(position), "\(position) is not in \(bytes.count) bytes")
                switch event {
                case .head(let head, let framing):
                    require(head.isVersion10 || head.header("host") != nil, "a request without a host was taken")
                    reading.heads.append(head)
                    reading.framings.append(framing)
                    reading.bodies.append([0, 0])
                case .body(let range):
                    require(!range.isEmpty && range.upperBound == position, "\(range) is not what was read")
                    let body = reading.bodies.count - 1
                    reading.bodies[body][0] += range.count
                    for index in range { reading.bodies[body][1] = reading.bodies[body][1] &* 31 &+ Int(bytes[index]) }
                case .end:
                    reading.ends += 1
                    if case .fixed(let count)? = reading.framings.last {
                        require(reading.bodies.last?[0] == count, "a body of \(count) bytes had others")
                    }
                case .refused(let refusal): reading.refusal = refusal
                }
            }
            require(position == bytes.count, "\(bytes.count - position) bytes were left")
            return true
        }
        return reading
    }
}
