import Testing

@testable import ServerAPI

@Suite struct APIPlacesTests {
    @Test func `the longest waiting gives way, and who is answered does not`() {
        let places = APIPlaces(max: 3, perAddressMax: 3)
        for number: UInt64 in 1...3 { #expect(places.take(number, of: "a") == .taken) }
        places.set(1, waits: false)
        #expect(places.take(4, of: "a") == .takenFor(2))
        places.set(3, waits: true)
        #expect(places.take(5, of: "b") == .takenFor(4), "3 began to wait anew")
        places.set(3, waits: false)
        places.set(5, waits: false)
        #expect(places.take(6, of: "a") == .refused, "all are answered")
        places.set(1, waits: true)
        #expect(places.take(7, of: "c") == .takenFor(1))
    }

    @Test func `an address that has all of its places takes none from others`() {
        let places = APIPlaces(max: 10, perAddressMax: 2)
        #expect(places.take(1, of: "victim") == .taken)
        for number: UInt64 in 2...3 { #expect(places.take(number, of: "greedy") == .taken) }
        for number: UInt64 in 4...1_050 { #expect(places.take(number, of: "greedy") == .takenFor(number - 2)) }
        for number: UInt64 in [1_049, 1_050] { places.set(number, waits: false) }
        #expect(places.take(2_000, of: "greedy") == .refused)
        #expect(places.take(2_001, of: "other") == .taken)
    }

    @Test func `places come back, once each`() {
        let places = APIPlaces(max: 2, perAddressMax: 1)
        #expect(places.take(1, of: "a") == .taken)
        places.set(1, waits: false)
        #expect(places.take(2, of: "a") == .refused)
        for _ in 0..<3 { places.give(1) }
        places.set(1, waits: true)
        #expect(places.take(3, of: "a") == .taken)
        places.set(3, waits: false)
        #expect(places.take(4, of: "a") == .refused)
    }
}
