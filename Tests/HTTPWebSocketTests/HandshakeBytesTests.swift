import ChatModel
import Testing
import WaitTestKit

@testable import HTTPWebSocket

/// What a stranger may put into a request: every byte is looked at a bounded number of times, and as a byte.
@Suite(.serialized) struct HandshakeBytesTests {
    private enum Answer: Equatable {
        case request([HTTPHeader])
        case status(Int)
        case more
    }

    private func parse(_ bytes: [UInt8]) -> Answer {
        var parser = HTTPUpgradeParser()
        switch bytes.withUnsafeBytes({ parser.parse($0) }) {
        case .needsMore: return .more
        case .request(let request, _): return .request(request.headers)
        case .failure(let response):
            return .status(Int(String(decoding: response, as: UTF8.self).split(separator: " ")[1]) ?? 0)
        }
    }

    private func head(_ name: String, _ value: [UInt8]) -> [UInt8] {
        Array("GET / HTTP/1.1\r\nHost: h\r\n\(name): ".utf8) + value + Array("\r\n\r\n".utf8)
    }

    /// A head of exactly so many bytes.
    private func head(bytes: Int, _ name: String, of unit: [UInt8]) -> [UInt8] {
        let room = bytes - head(name, []).count
        var value = Array(repeatElement(unit, count: room / unit.count).joined())
        value += [UInt8](repeating: 0x20, count: room - value.count)
        return head(name, value)
    }

    private static let flags = Array("\u{1F1E9}\u{1F1EA}".utf8)

    @Test func `a head of 16 KB is read and one more byte is 431`() {
        let whole = head(bytes: 16 * 1024 - 1, "X-Any", of: [0x61])
        #expect(parse(whole) == .request([HTTPHeader(name: "host", value: "h")]))
        #expect(parse(head(bytes: 16 * 1024 + 1, "X-Any", of: [0x61])) == .status(431))
        #expect(parse(Array(whole.dropLast(2)) + Array("Y: z".utf8)) == .status(431), "also before its end has come")
    }

    @Test func `headers that the node reads are visible ASCII, else 400`() {
        for name in HTTPUpgradeParser.names.map({ "\($0)" })
        where !["content-length", "transfer-encoding"].contains(name) {
            for value in [Array("é".utf8), Self.flags, [0xFF], [0x61, 0xC3], [0x80]] {
                let bytes =
                    name == "host"
                    ? Array("GET / HTTP/1.1\r\nHost: ".utf8) + value + Array("\r\n\r\n".utf8) : head(name, value)
                #expect(parse(bytes) == .status(400), "\(name): \(value)")
                let upper = head(name.uppercased(), [0x7E] + value)
                #expect(parse(upper) == .status(400), "\(name): \(value)")
            }
        }
        #expect(
            parse(head("Origin", Array("\t http://a \t".utf8)))
                == .request([
                    HTTPHeader(name: "host", value: "h"), HTTPHeader(name: "origin", value: "http://a"),
                ]))
    }

    @Test func `other headers are skipped as bytes, whatever they hold`() {
        for value in [Self.flags, [0xFF, 0xFE], [0xC3], Array("é".utf8), []] {
            #expect(parse(head("User-Agent", value)) == .request([HTTPHeader(name: "host", value: "h")]))
        }
    }

    @Test func `lists and parameters of 16 KB are divided as bytes`() throws {
        let commas = head(bytes: 16 * 1024 - 8, "Sec-WebSocket-Extensions", of: Array("a,".utf8))
        guard case .request(let headers) = parse(commas) else { throw Missing() }
        #expect(headers.list("sec-websocket-extensions").count > 8000)
        #expect(headers.list("sec-websocket-protocol").isEmpty)
    }

    private struct Missing: Error {}

    // MARK: - Cost

    private func cost(_ bytes: [UInt8]) -> Double { cpuSeconds { _ = parse(bytes) } }

    /// Sixteen times the bytes cost sixteen times as much, where a cost by the square would be 256 times.
    @Test(arguments: ["User-Agent", "Origin", "Sec-WebSocket-Protocol"])
    func `the cost of a head grows with its bytes, not with their square`(name: String) {
        for unit in [
            Self.flags, Array("e\u{301}\u{302}\u{323}".utf8), Array(" ,".utf8), [0x20], Array("\u{200D}".utf8),
        ] {
            let small = cost(head(bytes: 1000, name, of: unit))
            let large = cost(head(bytes: 16_000, name, of: unit))
            #expect(large < 64 * max(small, 1e-5), "\(name) of \(unit): \(small) s and \(large) s")
        }
    }
}
