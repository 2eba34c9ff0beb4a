@testable import MeshEngine
import MeshWire
import Testing

@Suite("Contacts")
struct ContactsTests {
    private func address(_ number: Int) -> SocketAddress {
        SocketAddress(10, 0, UInt8(number / 250), UInt8(number % 250), port: 4000)
    }

    private func at(_ milliseconds: Int64) -> Instant {
        Instant(nanoseconds: milliseconds * 1_000_000)
    }

    @Test("a hint is dialed at once, twice at most, further and further apart")
    func hint() {
        var contacts = Contacts()
        var generator = SeededGenerator(seed: 1)
        contacts.note(address(1), nodeID: nil, isMember: false, now: at(0))
        var dials: [Int64] = []
        for time in stride(from: Int64(0), through: 60_000, by: 100) {
            let due = contacts.takeDue(
                now: at(time),
                isNeeded: { _ in true },
                generator: &generator
            )
            if !due.isEmpty { dials.append(time) }
        }
        #expect(dials.count == 2)
        #expect(dials.first == 0)
        #expect(contacts.entries.isEmpty)
        #expect(contacts.deadline == nil)
    }

    @Test("a member's address is dialed for as long as it is missing, at most every 10 s and a bit")
    func member() throws {
        var contacts = Contacts()
        var generator = SeededGenerator(seed: 1)
        contacts.note(address(1), nodeID: .zero, isMember: true, now: at(0))
        var dials: [Int64] = []
        for time in stride(from: Int64(0), through: 600_000, by: 100) {
            let due = contacts.takeDue(
                now: at(time),
                isNeeded: { _ in true },
                generator: &generator
            )
            if !due.isEmpty { dials.append(time) }
        }
        #expect(dials.count > 55)
        let gaps = zip(dials.dropFirst(), dials).map(-)
        #expect(try #require(gaps.max()) <= 10_400)
        #expect(try #require(gaps.min()) >= 2_000)
    }

    @Test("who is connected is not dialed")
    func connected() {
        var contacts = Contacts()
        var generator = SeededGenerator(seed: 1)
        contacts.note(address(1), nodeID: nil, isMember: true, now: at(0))
        for time in stride(from: Int64(0), through: 20_000, by: 500) {
            let due = contacts.takeDue(
                now: at(time),
                isNeeded: { _ in false },
                generator: &generator
            )
            #expect(due.isEmpty)
        }
    }

    @Test("a flood of hints displaces hints, never members, and stays bounded")
    func flood() {
        var contacts = Contacts()
        contacts.note(address(0), nodeID: .zero, isMember: true, now: at(0))
        for number in 1...1000 {
            contacts.note(address(number), nodeID: nil, isMember: false, now: at(0))
        }
        #expect(contacts.entries.count == Contacts.limit)
        #expect(contacts.entries.contains { $0.nodeID == .zero })
    }

    @Test("a node that answers from a new address is dialed there only")
    func moved() {
        var contacts = Contacts()
        contacts.answered(address(1), nodeID: .zero, now: at(0))
        contacts.answered(address(2), nodeID: .zero, now: at(10))
        #expect(contacts.entries.map(\.address) == [address(2)])
    }
}

@Suite("Rate of discovery")
struct SourceRateTests {
    @Test("one source is heard 20 times a second, all together 500 times, and others still are")
    func rate() {
        var rate = SourceRate()
        let now = Instant(nanoseconds: 5_000_000_000)
        let loud = SocketAddress(10, 0, 0, 1, port: 1)
        var heard = 0
        for _ in 0..<100 where rate.allows(loud, now: now) { heard += 1 }
        #expect(heard == SourceRate.perSource)
        let other = rate.allows(SocketAddress(10, 0, 0, 2, port: 1), now: now)
        #expect(other)
        var total = 0
        for number in 0..<1000 {
            let source = SocketAddress(10, 1, UInt8(number / 250), UInt8(number % 250), port: 1)
            if rate.allows(source, now: now) { total += 1 }
        }
        #expect(total < SourceRate.perSecond)
        let later = rate.allows(loud, now: now + .seconds(1))
        #expect(later)
    }
}
