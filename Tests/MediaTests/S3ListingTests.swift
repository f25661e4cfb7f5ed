import ChatModel
import Testing

@testable import Media

@Suite struct S3ListingTests {
    private static let entry =
        "<Contents><Key>a&amp;b/&lt;c&gt;</Key><LastModified>2024-02-29T23:59:59.000Z</LastModified>"
        + "<ETag>&quot;x&quot;</ETag><Size>7</Size><Owner><ID>Key</ID></Owner></Contents>"

    private static func page(_ entries: Int, more: String? = nil) -> String {
        "<?xml version=\"1.0\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>media</Name>"
            + "<IsTruncated>\(more != nil)</IsTruncated>"
            + String(repeating: entry, count: entries) + "<Prefix/>"
            + (more.map { "<NextContinuationToken>\($0)</NextContinuationToken>" } ?? "") + "</ListBucketResult>"
    }

    @Test func `a page tells its keys, their age, and where the next one begins`() throws {
        let page = try #require(S3Listing(Array(Self.page(2, more: "a+/=").utf8)))
        #expect(page.next == "a+/=" && page.entries.count == 2)
        #expect(page.entries[0].key == "a&b/<c>" && page.entries[0].size == 7)
        #expect(page.entries[0].modifiedAt == Timestamp(1_709_251_199_000))
        let last = try #require(S3Listing(Array(Self.page(0).utf8)))
        #expect(last.entries.isEmpty && last.next == nil)
    }

    @Test func `what was cut off, is too long or is something else is no page`() {
        let whole = Array(Self.page(1, more: "x").utf8)
        for count in 0..<whole.count { #expect(S3Listing(Array(whole[..<count])) == nil, "\(count)") }
        #expect(S3Listing(Array(Self.page(1001).utf8)) == nil)
        #expect(S3Listing([UInt8](repeating: 0x3C, count: S3Listing.bytesMax + 1)) == nil)
        #expect(S3Listing(Array("<Error><Code>NoSuchBucket</Code></Error>".utf8)) == nil)
        #expect(S3Listing(Array(Self.page(1).replacing("2024", with: "20x4").utf8)) == nil)
        #expect(S3Listing(Array(Self.page(0).replacing("false", with: "true").utf8)) == nil, "there is no way on")
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            var bytes = whole
            bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            // Nothing of it traps.
            #expect((S3Listing(bytes)?.entries.count ?? 0) <= 1)
        }
    }

    @Test func `times of stores are read and written, leap days among them`() {
        for (seconds, basic, header) in [
            (Int64(0), "19700101T000000Z", "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_782_400, "20000229T000000Z", "Tue, 29 Feb 2000 00:00:00 GMT"),
            (951_868_800, "20000301T000000Z", "Wed, 01 Mar 2000 00:00:00 GMT"),
            (1_709_251_199, "20240229T235959Z", "Thu, 29 Feb 2024 23:59:59 GMT"),
            (4_107_542_399, "21000228T235959Z", "Sun, 28 Feb 2100 23:59:59 GMT"),
        ] {
            #expect(UTCTime.basic(Timestamp(seconds * 1000 + 999)) == basic)
            #expect(UTCTime.header(header.utf8) == Timestamp(seconds * 1000))
        }
        for text in ["", "Thu, 29 Feb 2024 23:59:59", "Thu, 29 Xyz 2024 23:59:59 GMT", "Thu, 29 Feb 2024 25:59:59 GMT"]
        {
            #expect(UTCTime.header(text.utf8) == nil && UTCTime.extended(text.utf8) == nil)
        }
        for text in ["2024-13-01T00:00:00Z", "2024-01-01T00:00:0Z", "2024-01-01 00:00:00Z", "xxxx-01-01T00:00:00Z"] {
            #expect(UTCTime.extended(text.utf8) == nil, "\(text)")
        }
    }
}
