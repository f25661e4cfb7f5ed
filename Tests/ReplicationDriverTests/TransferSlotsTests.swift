import Testing

@testable import ReplicationDriver

@Suite struct `Transfer slots` {
    @Test func `no more are taken than there are, and one that is given back is free`() {
        let slots = TransferSlots(2)
        #expect(slots.take() && slots.take())
        #expect(!slots.take() && !slots.take())
        slots.give()
        #expect(slots.take() && !slots.take())
    }
}
