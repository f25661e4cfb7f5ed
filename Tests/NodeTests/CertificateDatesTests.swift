import ChatModel
import Testing

@testable import Node

@Suite struct CertificateDatesTests {
    @Test func `a certificate that has ended, has not begun or ends soon is complained of, and no other`() {
        let day = Int64(86_400)
        let validity = (from: 10 * day, until: 100 * day)
        func complaint(_ seconds: Int64) -> String? {
            CertificateDates.complaint(validity, at: Timestamp(seconds * 1_000))
        }
        #expect(complaint(10 * day - 1)?.contains("is not valid yet") == true)
        #expect(complaint(10 * day) == nil)
        #expect(complaint(86 * day) == nil)
        #expect(complaint(86 * day + 1) == "the TLS certificate ends in 13 days")
        #expect(complaint(100 * day) == "the TLS certificate ends in 0 days")
        #expect(complaint(100 * day + 1)?.contains("has expired") == true)
    }
}
