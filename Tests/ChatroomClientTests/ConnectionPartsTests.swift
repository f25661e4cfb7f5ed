import CertificateTestKit
import ClientCore
import Foundation
import Synchronization
import TLS
import Testing
import WaitTestKit

@testable import ChatroomClient

/// What stands between the client and its socket on every platform.
@Suite struct ConnectionPartsTests {
    @Test func `a mailbox keeps the order, and wakes once for what comes together`() {
        let woken = Mutex(0)
        let mailbox = SocketMailbox { _ in woken.withLock { $0 += 1 } }
        #expect(mailbox.put([.heard, .opened]))
        #expect(mailbox.put([.text([1])]))
        #expect(mailbox.put([]))
        #expect(woken.withLock { $0 } == 1)
        let (events, wasFull) = mailbox.takeAll()
        #expect(events == [.heard, .opened, .text([1])] && !wasFull)
        #expect(mailbox.takeAll().events.isEmpty)
        mailbox.put([.closed(code: nil, reason: "")])
        #expect(woken.withLock { $0 } == 2)
    }

    @Test func `a full mailbox stops its socket until everything is taken`() {
        let mailbox = SocketMailbox { _ in }
        #expect(mailbox.put([.text([UInt8](repeating: 0, count: SocketMailbox.bytesMax / 2))]))
        #expect(!mailbox.put([.text([UInt8](repeating: 0, count: SocketMailbox.bytesMax / 2))]))
        // What was read already is kept all the same.
        #expect(!mailbox.put([.closed(code: 1000, reason: "")]))
        let (events, wasFull) = mailbox.takeAll()
        #expect(events.count == 3 && wasFull)
        #expect(mailbox.put([.heard]))
        #expect(!mailbox.takeAll().wasFull)
    }

    @Test func `a line counts what has not left, and gives together what was written together`() {
        let socket = NotingSocket()
        let line = Line(socket: socket)
        line.flush()
        line.write([1])
        line.write([UInt8](repeating: 2, count: Line.unsentBytesMax))
        #expect(!line.takesMore)
        line.flush()
        #expect(!line.takesMore)
        #expect(socket.sent.withLock { $0.map { $0.map(\.count) } } == [[1, Line.unsentBytesMax]])
        socket.finish()
        #expect(line.takesMore)
    }

    @Test func `certificates are read from PEM as OpenSSL writes it`() throws {
        let authority = try CertificateAuthority(name: "a")
        let pair = try authority.issue(commonName: "b", names: [.dns("b"), .address("::1")])
        let one = try PEM.certificates(Array(authority.certificatePEM.utf8))
        #expect(one.count == 1 && one[0].first == 0x30, "a DER sequence")
        let text = "words\r\n" + (authority.certificatePEM + pair.certificatePEM).replacing("\n", with: " \r\n")
        #expect(try PEM.certificates(Array(text.utf8)) == one + PEM.certificates(Array(pair.certificatePEM.utf8)))
        _ = try TLSContext(trusted: one, serverName: "b", verifies: true)
    }

    @Test func `what is no PEM, or no certificate, is refused`() throws {
        let pem = try CertificateAuthority(name: "a").certificatePEM
        let key = try KeyPair.selfSigned(commonName: "a", names: [.dns("a")]).keyPEM
        for text in ["", "words", key, String(pem.dropLast(30)), pem.replacing("MII", with: "M!!")] {
            #expect(throws: ClientError.self, "\(text)") { try PEM.certificates(Array(text.utf8)) }
        }
        #expect(throws: TLSError.self) { try TLSContext(trusted: [[1, 2, 3]], serverName: "b", verifies: true) }
    }

    @Test func `an error's words for people are its sentence`() {
        let error: any Error = ClientError(.closed, "the app closed the client")
        #expect(error.localizedDescription == "the app closed the client")
    }

    @Test func `the clock goes on`() async throws {
        let before = ClientClock.now
        try await poll("the clock to go on") { ClientClock.now > before }
    }
}

/// Remembers what it is to send.
private final class NotingSocket: ClientSocket {
    let sent = Mutex<[[[UInt8]]]>([])
    private let whenSent = Mutex<[@Sendable () -> Void]>([])

    func send(_ texts: [[UInt8]], whenSent: @escaping @Sendable () -> Void) {
        sent.withLock { $0.append(texts) }
        self.whenSent.withLock { $0.append(whenSent) }
    }

    func finish() {
        for done in whenSent.withLock({ $0 }) { done() }
    }

    func readOn() {}
    func close(code: UInt16?) {}
}
