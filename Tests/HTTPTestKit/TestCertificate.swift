import Foundation
import TLS

/// Certificates that vouch for themselves, made for these tests alone and of use nowhere else:
/// `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 -addext subjectAltName=…`.
package struct TestCertificate {
    package let certificatePEM: String
    package let keyPEM: String

    /// For `localhost` and 127.0.0.1.
    package static let localhost = TestCertificate(
        certificatePEM: """
            -----BEGIN CERTIFICATE-----
            MIIBmzCCAUGgAwIBAgIUeMqwP4/baBecOuzFVKVkJeElFJMwCgYIKoZIzj0EAwIw
            FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyNDA0MjIyM1oYDzIxMjYxMDMx
            MDQyMjIzWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
            PQMBBwNCAARJddcaL2fM0e8x+3j9GMPFcOGuMAz5KQo2f01YxR+lhA3yMMMH6QH8
            E3tiuABMSUulnyP9i2Z2qDACxfZRP04jo28wbTAdBgNVHQ4EFgQUlLi6Ukpg9aF/
            8rXUUyZAK3w474AwHwYDVR0jBBgwFoAUlLi6Ukpg9aF/8rXUUyZAK3w474AwGgYD
            VR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZI
            zj0EAwIDSAAwRQIgUqy6j3EVy7k4F45wa3T1npJJxgyO0GEvNGRjJrS2uZwCIQDX
            KcoWaI/M/shmHM1SB0efPO7F1ILedeNC3kMwMnQhKw==
            -----END CERTIFICATE-----

            """,
        keyPEM: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgfITNMRVO0a7oKOTP
            TN8EQ44vas6iNENl1UjY4LX0RnShRANCAARJddcaL2fM0e8x+3j9GMPFcOGuMAz5
            KQo2f01YxR+lhA3yMMMH6QH8E3tiuABMSUulnyP9i2Z2qDACxfZRP04j
            -----END PRIVATE KEY-----

            """)

    /// For another host.
    package static let other = TestCertificate(
        certificatePEM: """
            -----BEGIN CERTIFICATE-----
            MIIBoTCCAUegAwIBAgIUQgOZxHHntAx8GPEe4TFhRNI3Y+wwCgYIKoZIzj0EAwIw
            GDEWMBQGA1UEAwwNb3RoZXIuZXhhbXBsZTAgFw0yNjExMjQwNDIyMjNaGA8yMTI2
            MTAzMTA0MjIyM1owGDEWMBQGA1UEAwwNb3RoZXIuZXhhbXBsZTBZMBMGByqGSM49
            AgEGCCqGSM49AwEHA0IABPpkm4FQk/cO4eb70fQtXJKT2vft/uD9aMcR4dU09Gs3
            fHdKsp9flQm1wbslgsg0+fwF6OiifuQcTrH493Zc7SyjbTBrMB0GA1UdDgQWBBTD
            8cAPR2U6gxbfMdH9Knrs2xwcrzAfBgNVHSMEGDAWgBTD8cAPR2U6gxbfMdH9Knrs
            2xwcrzAYBgNVHREEETAPgg1vdGhlci5leGFtcGxlMA8GA1UdEwEB/wQFMAMBAf8w
            CgYIKoZIzj0EAwIDSAAwRQIhAPZsvU7wnJtdgkrm8QdEywmHSbgrwABMIez9oyM+
            Dse3AiBav1jqmHkMZoYMF2f4BjnQFUERCd0eu4pHgi8OXRfXCw==
            -----END CERTIFICATE-----

            """,
        keyPEM: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgh+7XtzOAG/vBSljL
            eVSDfLVV8e/u3VmTlvmm/xilWPChRANCAAT6ZJuBUJP3DuHm+9H0LVySk9r37f7g
            /WjHEeHVNPRrN3x3SrKfX5UJtcG7JYLINPn8Bejoon7kHE6x+Pd2XO0s
            -----END PRIVATE KEY-----

            """)

    /// Calls `body` with the certificate's file and what a server needs of it.
    package func use(_ body: (_ trustFile: String, _ server: TLSContext) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let (certificate, key) = (directory.path + "/tls.pem", directory.path + "/key.pem")
        try Data(certificatePEM.utf8).write(to: URL(fileURLWithPath: certificate))
        try Data(keyPEM.utf8).write(to: URL(fileURLWithPath: key))
        try await body(certificate, TLSContext(certificateFile: certificate, keyFile: key))
    }
}
