import ChatModel
import Testing

@testable import Rooms

@Suite struct OnlinePlaceTests {
    @Test(arguments: [1, 2, 7, 100])
    func `pages name every room once, those with the most people first`(limit: Int) throws {
        var places: [OnlinePlace] = []
        for number in 0..<100 { places.append(OnlinePlace(try #require(RoomID("r\(number)")), online: number % 4)) }
        var seen: [OnlinePlace] = []
        var cursor: String?
        repeat {
            let start = cursor.flatMap(OnlinePlace.init(cursor:))
            #expect((start == nil) == (cursor == nil))
            let rest = places.shuffled().filter { place in start.map { $0 < place } ?? true }.sorted()
            seen += rest.prefix(limit)
            cursor = rest.count > limit ? seen.last?.cursor : nil
        } while cursor != nil
        #expect(seen == places.sorted())
        #expect(seen.map(\.online) == seen.map(\.online).sorted(by: >))
    }

    @Test func `a cursor is short, and anything else is none`() throws {
        let place = OnlinePlace(try #require(RoomID(String(repeating: "r", count: 64))), online: .max)
        #expect(place.cursor.utf8.count <= 64)
        #expect(OnlinePlace(cursor: place.cursor) == place)
        for text in ["", "-", "1", "1-", "-1-a", "1-a-b", "1-é", "99999999999999999999-a", "r1"] {
            #expect(OnlinePlace(cursor: text) == nil, "\(text)")
        }
    }
}
