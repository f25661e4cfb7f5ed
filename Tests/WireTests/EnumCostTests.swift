import ChatModel
import Testing
import WaitTestKit

@testable import Wire

/// Names that others send are compared as bytes: to normalise a run of combining marks takes time by its square.
@Suite(.serialized) struct EnumCostTests {
    /// Marks of two classes, which a normalisation would have to sort.
    private static func marks(_ count: Int) -> String {
        String(repeating: "\u{301}", count: count / 2) + String(repeating: "\u{316}", count: count / 2)
    }

    @Test(arguments: [
        #"{"id":1,"connect":{"anonymous":true,"device":"#, #"{"id":1,"send":{"room":"r","clientId":"c","type":"#,
        #"{"id":1,"barrage":{"room":"r","text":"t","priority":"#, #"{"id":1,"members":{"room":"r","kind":"#,
    ])
    func `what a name costs that no enumeration has grows with its bytes, not with their square`(_ start: String) {
        func seconds(_ count: Int) -> Double {
            let frame = Array((start + "\"" + Self.marks(count) + "\"}}").utf8)
            return cpuSeconds {
                frame.withUnsafeBytes { bytes in
                    var reader = ClientFrameReader(.json)
                    while reader.next(in: bytes) != nil {}
                }
            }
        }
        let (small, large) = (seconds(500), seconds(8_000))
        #expect(large < 64 * max(small, 1e-5), "\(small) s and \(large) s")
    }

    @Test func `names that are equal as Unicode only are two names`() {
        #expect(MessageType(exactly: "TEXT") == .text)
        #expect(MessageType(exactly: "TEXT\u{301}") == nil)
        #expect(MessageType(exactly: "text") == nil)
    }
}
