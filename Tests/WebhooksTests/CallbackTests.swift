import EventLoop
import Testing
import Webhooks

struct CallbackTests {
    @Test func `the signature is the HMAC of time, a dot and the body`() {
        // openssl: printf '1732150000000.{"a":1}' | openssl dgst -sha256 -hmac s3cret
        #expect(
            CallbackSignature.value(secret: "s3cret", time: "1732150000000", body: Array(#"{"a":1}"#.utf8))
                == "sha256=080098860445f77d6714fefbe2931babad57647b65cec2aa24985352863bf3a0")
    }

    @Test(arguments: [
        "http://127.0.0.1:8080/hook", "https://app.example/x?y=1", "HTTP://[::1]:1/", "http://receiver",
    ]) func `absolute http and https URLs are addresses`(text: String) {
        #expect(CallbackAddress(text) != nil)
    }

    @Test(arguments: [
        "", "receiver", "/hook", "ftp://a/", "file:///etc/passwd", "http://", "http:///x", "http://user@host/",
        "http://user:secret@host/", "http://host/#f", "http://host/a b", "http://host/\r\nX: y", "http://host:99999/",
        "unix:///var/run/x",
    ]) func `anything else is none`(text: String) {
        #expect(CallbackAddress(text) == nil)
    }

    @Test func `an address may be as long as its bound and no longer`() {
        let text = "http://host/"
        let full = text + String(repeating: "x", count: CallbackAddress.bytesMax - text.utf8.count)
        #expect(CallbackAddress(full) != nil)
        #expect(CallbackAddress(full + "x") == nil)
    }

    @Test func `the hosts that may be called can be bounded`() async throws {
        let loop = try EventLoop(name: "callbacks")
        loop.start()
        let client = CallbackClient(loop: loop, allowedHosts: ["App.example"])
        let inside = try #require(CallbackAddress("https://app.EXAMPLE/x"))
        let outside = try #require(CallbackAddress("https://169.254.169.254/latest"))
        #expect(client.allows(inside))
        #expect(!client.allows(outside))
        let request = CallbackRequest(
            url: outside.text, secret: "s", body: [], time: 0, timeoutMilliseconds: 5_000, answerBytesMax: 10)
        await #expect(throws: CallbackError.self) { try await client.post(request) }
        await client.shutdown()
        loop.shutdown()
        await loop.joined()
    }

    @Test(arguments: [true, false]) func `private addresses are called unless that is refused`(_ refuses: Bool)
        async throws
    {
        let loop = try EventLoop(name: "callbacks")
        loop.start()
        let client = CallbackClient(loop: loop, refusesPrivateAddresses: refuses)
        // A port on which nobody listens.
        let request = CallbackRequest(
            url: "http://127.0.0.1:1/", secret: "s", body: [], time: 0, timeoutMilliseconds: 60_000, answerBytesMax: 10)
        do throws(CallbackError) {
            _ = try await client.post(request)
            Issue.record("somebody answered")
        } catch {
            #expect(error.code == (refuses ? .address : .transport), "\(error)")
        }
        await client.shutdown()
        loop.shutdown()
        await loop.joined()
    }

    @Test func `the wait doubles up to its bound and starts anew after a success`() {
        var retryDelay = RetryDelay(firstMilliseconds: 500, longestMilliseconds: 60_000)
        let first = [0, 1, 0.5].map { retryDelay.failed(random: $0) }
        #expect(first == [250, 1_000, 1_500])
        let later = (0..<100).map { _ in retryDelay.failed(random: 1) }
        #expect(later.max() == 60_000)
        #expect(later.last == 60_000)
        retryDelay.succeeded()
        let again = retryDelay.failed(random: 1)
        #expect(again == 500)
    }
}
