import Testing
import Transport

@Suite struct SharedBytesTests {
    @Test(arguments: [0, 1, 15, 4_096, 100_000]) func `all ways to make them copy the bytes`(count: Int) {
        let bytes = pattern(count)
        let copies = [
            SharedBytes(copying: bytes), SharedBytes(copying: bytes[...]),
            bytes.withUnsafeBytes { SharedBytes(copying: $0) },
            SharedBytes(count: count) { $0.copyBytes(from: bytes) },
        ]
        for copy in copies {
            #expect(copy.count == count)
            #expect(copy.withUnsafeBytes { Array($0) } == bytes)
        }
    }
}
