import Testing

@testable import NodeLinkCore

@Suite struct LinkFrameTests {
    private func read(_ bytes: [UInt8], inPiecesOf size: Int) throws -> [LinkFrame] {
        var reader = LinkFrameReader()
        var frames: [LinkFrame] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            Array(rest.prefix(size)).withUnsafeBytes { reader.append($0) }
            rest = rest.dropFirst(size)
            while let frame = try reader.next() { frames.append(frame) }
        }
        #expect(reader.waitingBytes == 0)
        return frames
    }

    private func refused(_ reader: inout LinkFrameReader) -> Bool {
        do throws(LinkError) {
            _ = try reader.next()
            return false
        } catch {
            return error.code == .malformed
        }
    }

    @Test func `frames come out as they went in, however they are cut`() throws {
        let frames = [
            LinkFrame(.control, []), LinkFrame(.consensus, [1]), LinkFrame(.bulk, Array(repeating: 7, count: 70_000)),
            LinkFrame(.calls, [2, 3]), LinkFrame(.publications, Array(0...255)),
        ]
        var bytes: [UInt8] = []
        for frame in frames { frame.append(to: &bytes) }
        for size in [1, 2, 5, 6, 4096, bytes.count] { #expect(try read(bytes, inPiecesOf: size) == frames) }
    }

    @Test(arguments: LinkLane.allCases)
    func `a frame at its lane's bound is read, and one byte more is refused before it has come`(lane: LinkLane) throws {
        var bytes: [UInt8] = []
        LinkFrame(lane, Array(repeating: 0, count: lane.frameBytesMax)).append(to: &bytes)
        #expect(try read(bytes, inPiecesOf: 1 << 16).map(\.payload.count) == [lane.frameBytesMax])

        let length = UInt32(lane.frameBytesMax + 1)
        let header = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> UInt32($0)) } + [lane.rawValue]
        var reader = LinkFrameReader()
        header.withUnsafeBytes { reader.append($0) }
        #expect(refused(&reader))
    }

    @Test func `a lane that there is not is refused`() {
        var reader = LinkFrameReader()
        [UInt8](arrayLiteral: 0, 0, 0, 0, 5).withUnsafeBytes { reader.append($0) }
        #expect(refused(&reader))
    }

    @Test func `control frames come out as they went in, and nothing else is one`() throws {
        let hello = LinkHello(cluster: "c1", node: Names.node("n1"), store: .max, boot: 7, shards: 16)
        let all: [LinkControl] = [
            .hello(hello), .refusal(LinkRefusal(LinkError(.duplicate, "there is one"))),
            .credit(.bulk, bytes: 262_144), .ping, .hello(.newcomer(Names.node("n2"))),
        ]
        for control in all {
            let payload = control.frame.payload
            #expect(try LinkControl(payload) == control)
            for length in 0..<payload.count {
                // A shorter one is refused or is another; it never traps.
                _ = try? LinkControl(Array(payload.prefix(length)))
            }
        }
        #expect(throws: LinkError.self) { try LinkControl([]) }
        #expect(throws: LinkError.self) { try LinkControl(Array("GET / HTTP/1.1".utf8)) }
    }
}
