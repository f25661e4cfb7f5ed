import ChatModel
import Testing

@testable import Wire

@Suite struct ClientFrameReaderTests {
    private func frame(_ requests: [ClientRequest], _ encoding: ClientEncoding) -> [UInt8] {
        var bytes: [UInt8] = []
        for request in requests {
            switch encoding {
            case .json:
                request.appendJSON(to: &bytes)
                bytes.append(UInt8(ascii: "\n"))
            case .protobuf: request.appendProtobuf(to: &bytes)
            }
        }
        return bytes
    }

    private func all(_ bytes: [UInt8], _ encoding: ClientEncoding) -> [Result<ClientRequest, RequestFailure>] {
        bytes.withUnsafeBytes { bytes in
            var reader = ClientFrameReader(encoding)
            var found: [Result<ClientRequest, RequestFailure>] = []
            while let next = reader.next(in: bytes) { found.append(next) }
            return found
        }
    }

    private func failure(_ text: String) -> RequestFailure? {
        guard case .failure(let failure)? = all(Array(text.utf8), .json).first else { return nil }
        return failure
    }

    /// A protobuf message of varint fields.
    private func message(_ fields: (number: UInt8, value: UInt8)...) -> [UInt8] {
        let body = fields.flatMap { [$0.number << 3, $0.value] }
        return [UInt8(body.count)] + body
    }

    @Test(arguments: ClientEncoding.allCases)
    func `the rest of a frame is read later as it would have been at once`(_ encoding: ClientEncoding) {
        let requests = (1...20).map { ClientRequest(id: $0, operation: .ping) }
        let bytes = frame(requests, encoding)
        for stop in 0...20 {
            var found: [ClientRequest] = []
            var rest = bytes
            var count = 0
            for part in [stop, 20 - stop] {
                rest.withUnsafeBytes { bytes in
                    var reader = ClientFrameReader(encoding, count: count)
                    for _ in 0..<part { if let next = try? reader.next(in: bytes)?.get() { found.append(next) } }
                    #expect(reader.hasMore(in: bytes) == (found.count < 20))
                    count = reader.count
                    rest = Array(bytes[reader.position...])
                }
            }
            #expect(found == requests && count == 20)
        }
    }

    @Test(arguments: ClientEncoding.allCases)
    func `an empty frame is one malformed request`(_ encoding: ClientEncoding) {
        #expect(all([], encoding).count == 1)
        if case .failure(let failure)? = all([], encoding).first {
            #expect(failure.error.code == .malformed && failure.id == nil)
        }
    }

    @Test func `behind what is no JSON nothing is read`() {
        #expect(all(Array(#"{"id":1,"ping":{}} {"id": {"id":2,"ping":{}}"#.utf8), .json).count == 2)
        #expect(all([0x05, 0x08] + message((1, 1)), .protobuf).count == 1)
    }

    @Test func `an operation of a later version is told from what is no request`() {
        for text in [#"{"id":5,"dance":{}}"#, #"{"dance":1}"#, #"{"x":null,"y":2,"id":5}"#] {
            #expect(failure(text)?.isUnknownOperation == true, "\(text)")
            #expect(failure(text)?.error.code == .malformed)
        }
        #expect(failure(#"{"id":5,"dance":{}}"#)?.id == 5 && failure(#"{"dance":{}}"#)?.id == nil)
        for text in [
            "{}", #"{"id":5}"#, #"{"id":5,"x":null}"#, #"{"id":5,"ping":{},"room":{"room":"a"}}"#, #"{"ping":{}}"#,
            #"{"id":-1,"dance":{}}"#, #"{"id":"a","dance":{}}"#, "[]", "7", "{",
        ] {
            #expect(failure(text)?.isUnknownOperation == false, "\(text)")
            #expect(failure(text)?.error.code == .malformed)
        }
        func unknown(_ bytes: [UInt8]) -> RequestFailure? {
            if case .failure(let failure)? = all(bytes, .protobuf).first { failure } else { nil }
        }
        #expect(unknown(message((1, 5), (15, 1)))?.isUnknownOperation == false, "send, of a wrong type")
        #expect(unknown([0x05, 0x08, 0x05, 0xF8, 0x3F, 0x01])?.isUnknownOperation == true)
        #expect(unknown([0x05, 0x08, 0x05, 0xF8, 0x3F, 0x01])?.id == 5)
        #expect(unknown([0x03, 0xF8, 0x3F, 0x01])?.isUnknownOperation == true)
        #expect(unknown(message((1, 5)))?.isUnknownOperation == false)
        #expect(unknown([0x00])?.isUnknownOperation == false)
    }

    @Test func `a wrong barrage or tally without id is told from what is no request`() {
        func isUnanswered(_ text: String) -> Bool? {
            if case .failure(let failure)? = all(Array(text.utf8), .json).first { failure.isUnanswered } else { nil }
        }
        for text in [
            #"{"tally":{"room":"r"}}"#, #"{"tally":{"room":"r","key":"a b"}}"#, #"{"barrage":{"room":"r"}}"#,
            #"{"tally":5}"#,
            #"{"tally":{"room":"r","key":"k","delta":101}}"#,
        ] {
            #expect(isUnanswered(text) == true, "\(text)")
        }
        for text in [
            #"{"id":1,"tally":{"room":"r"}}"#, #"{"tally":{"room":"r","key":"k"},"ping":{}}"#,
            #"{"send":{"room":"r"}}"#,
            #"{"tally""#,
        ] {
            #expect(isUnanswered(text) == false, "\(text)")
        }
    }

    @Test(arguments: ClientEncoding.allCases)
    func `a connect is known by its key, be its token too long`(_ encoding: ClientEncoding) {
        func begins(_ operations: [ClientOperation]) -> Bool {
            frame(operations.map { ClientRequest(id: 1, operation: $0) }, encoding).withUnsafeBytes {
                ClientFrame.beginsWithConnect($0, encoding)
            }
        }
        let long = ClientOperation.connect(ConnectRequest(token: String(repeating: "t", count: 4097)))
        #expect(begins([.connect(ConnectRequest(anonymous: true)), .ping]))
        #expect(begins([long]))
        #expect(!begins([.ping, long]))
        #expect(!begins([]))
        if case .failure(let failure)? = all(frame([ClientRequest(id: 9, operation: long)], encoding), encoding).first {
            #expect(failure.isOfConnect && failure.id == 9 && failure.error.code == .tooLarge)
            #expect(failure.error.field == "token")
        } else {
            Issue.record("a token over 4 KB was read")
        }
    }

    @Test(arguments: ClientEncoding.allCases)
    func `the first bytes of a frame show a connect, or that it is none`(_ encoding: ClientEncoding) {
        func shows(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { ClientFrame.showsConnect($0, encoding) } }
        let connect = ClientOperation.connect(ConnectRequest(token: String(repeating: "t", count: 3000)))
        for id in [nil, 1, UInt32.max] as [UInt32?] {
            let whole = frame([ClientRequest(id: id, operation: connect)], encoding)
            #expect(shows(whole) && shows(Array(whole.prefix(100))))
            // What shows it is a beginning of it, and no shorter one does.
            let least = (0...whole.count).first { shows(Array(whole.prefix($0))) }
            #expect(least.map { (3...27).contains($0) } == true)
            #expect(
                !shows(
                    frame(
                        [ClientRequest(id: id, operation: .ping), ClientRequest(id: 2, operation: connect)], encoding)))
        }
        for none: [UInt8] in [
            [], [0], [0x80], [0xFF, 0xFF, 0xFF], [1, 8], [2, 8, 1], Array(repeating: 0x20, count: 2000),
        ] {
            #expect(!shows(none))
        }
        guard encoding == .json else { return }
        for text in [#" { "id" : 7 , "connect" : {"#, #"{"connect":"#, "{\n\"connect\"\t:{}"] {
            #expect(shows(Array(text.utf8)))
        }
        for text in [
            #"{"id":1,"id":2,"connect":{"#, #"{"id":"x","connect":{"#, #"{"connects":{"#, #"["connect":"#, #"{"id":1}"#,
            #"{"ping":{},"connect":{"#, #"{"\u0063onnect":{"#, #"{"id":1 "connect":{"#,
        ] { #expect(!shows(Array(text.utf8)), "\(text)") }
    }
}
