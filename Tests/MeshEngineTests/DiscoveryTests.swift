import MeshCrypto
@testable import MeshEngine
@testable import MeshTransport
import MeshWire
import Testing

@Suite("Discovery — 10-security §8")
struct DiscoveryTests {
    private static let quiet = Announcement(invites: [], isSearching: false, isEstranged: false)

    private func discovery(_ number: UInt8, seed: UInt64 = 1) -> Discovery {
        Discovery(
            nodeID: NodeID(Array(repeating: number, count: 32)) ?? .zero,
            port: 4000 + UInt16(number),
            unixOrigin: 1_700_000_000,
            generator: SeededGenerator(seed: seed),
            secrets: SeededSecrets(seed: seed &+ UInt64(number)),
            now: .zero
        )
    }

    private func room(_ seed: UInt64) -> RoomSecret {
        var secrets = SeededSecrets(seed: seed)
        return RoomSecret(from: &secrets)
    }

    private func datagrams(
        _ discovery: inout Discovery,
        at now: Instant,
        _ announcement: Announcement = quiet
    ) -> [[UInt8]] {
        var batch = DatagramBatch()
        discovery.poll(now: now, announcing: announcement, into: &batch)
        return batch.entries.map { batch.bytes(of: $0) }
    }

    private let source = SocketAddress(192, 168, 0, 9, port: 55_555)

    @Test("a member hears where a member is, with the port of its data socket")
    func beacon() throws {
        let secret = room(7)
        var a = discovery(1)
        var b = discovery(2)
        a.setRoom(secret, now: .zero)
        b.setRoom(secret, now: .zero)
        let sent = datagrams(&a, at: .zero)
        #expect(sent.count == 1)
        let bytes = try #require(sent.first)
        #expect(bytes.count == 96)
        let hint = b.receive(bytes.raw, from: source, announcing: Self.quiet, now: .zero)
        guard case .member(let address, let reference)? = hint else {
            Issue.record("no hint")
            return
        }
        #expect(address == source.with(port: 4001))
        #expect(reference == b.reference(of: NodeID(Array(repeating: 1, count: 32)) ?? .zero))
        let own = a.receive(bytes.raw, from: source, announcing: Self.quiet, now: .zero)
        #expect(own == nil, "one's own beacon says nothing new")
    }

    @Test("an outsider and a flipped bit hear nothing")
    func foreign() throws {
        var a = discovery(1)
        a.setRoom(room(7), now: .zero)
        let bytes = try #require(datagrams(&a, at: .zero).first)
        var outsider = discovery(2)
        outsider.setRoom(room(8), now: .zero)
        #expect(
            outsider.receive(bytes.raw, from: source, announcing: Self.quiet, now: .zero) == nil
        )
        var member = discovery(3)
        member.setRoom(room(7), now: .zero)
        for bit in 0..<bytes.count * 8 {
            var flipped = bytes
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            let now = Instant(nanoseconds: Int64(bit) * 1_000_000_000)
            let hint = member.receive(
                flipped.raw,
                from: source,
                announcing: Self.quiet,
                now: now
            )
            #expect(hint == nil, "bit \(bit)")
        }
        #expect(member.statistics.beacons == 0)
    }

    @Test("fast for 3 s after a start, then every 2 s ± 25 %")
    func period() {
        var a = discovery(1)
        a.setRoom(room(7), now: .zero)
        var times: [Int64] = []
        for millisecond in stride(from: Int64(0), to: 60_000, by: 10) {
            let now = Instant(nanoseconds: millisecond * 1_000_000)
            if !datagrams(&a, at: now).isEmpty { times.append(millisecond) }
        }
        #expect(times.filter { $0 < 3000 }.count == 15)
        let late = times.filter { $0 > 5000 }
        let gaps = zip(late.dropFirst(), late).map(-)
        #expect(gaps.allSatisfy { (1490...2510).contains($0) })
    }

    @Test("nothing is sent outside a room; an invite is announced while it is open")
    func silence() throws {
        var a = discovery(1)
        #expect(datagrams(&a, at: .zero).isEmpty)
        #expect(a.deadline(announcing: Self.quiet) == nil)
        var secrets = SeededSecrets(seed: 3)
        let invite = InviteAnnouncement(
            inviteID: secrets.identifier(),
            slot: 42,
            offersLink: true
        )
        let inviting = Announcement(invites: [invite], isSearching: false, isEstranged: false)
        let sent = datagrams(&a, at: .zero, inviting)
        #expect(sent.map(\.count) == [64])
        let beacon = try #require(sent.first)
        var guest = discovery(2)
        let searching = Announcement(invites: [], isSearching: true, isEstranged: false)
        let hint = guest.receive(
            beacon.raw,
            from: source,
            announcing: searching,
            now: .zero
        )
        guard case .invite(let heard, let address)? = hint else {
            Issue.record("no invite heard")
            return
        }
        #expect(heard.slot == 42)
        #expect(heard.invite == invite.inviteID)
        #expect(address == source.with(port: 4001))
        #expect(
            guest.receive(beacon.raw, from: source, announcing: Self.quiet, now: .zero) == nil,
            "who does not search does not listen"
        )
    }

    @Test("a probe brings the next invite beacon forward, not closer than 500 ms")
    func probe() throws {
        var inviter = discovery(1)
        var secrets = SeededSecrets(seed: 3)
        let invite = InviteAnnouncement(inviteID: secrets.identifier(), slot: 1, offersLink: false)
        let inviting = Announcement(invites: [invite], isSearching: false, isEstranged: false)
        let searching = Announcement(invites: [], isSearching: true, isEstranged: false)
        var guest = discovery(2)
        let now = Instant(nanoseconds: 100_000_000)
        #expect(datagrams(&inviter, at: .zero, inviting).count == 1)
        let probe = try #require(datagrams(&guest, at: now, searching).first)
        #expect(probe.count == 64)
        _ = inviter.receive(probe.raw, from: source, announcing: inviting, now: now)
        #expect(inviter.deadline(announcing: inviting) == Instant(nanoseconds: 500_000_000))
    }
}
