import MeshWire
import Testing

@testable import Huddle

@Suite("Who is nearby — 40-groupactivities §4.1") struct NearbyTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var address: String
        var isNearby: Bool
        var testDescription: String { "\(address) is \(isNearby ? "" : "not ")nearby" }
    }

    static let rows = [
        Row(address: "127.0.0.1:1", isNearby: true),
        Row(address: "169.254.7.9:1", isNearby: true),
        Row(address: "192.168.1.77:1", isNearby: true),
        Row(address: "192.168.2.77:1", isNearby: false),
        Row(address: "10.8.0.1:1", isNearby: false),
        Row(address: "8.8.8.8:1", isNearby: false),
        Row(address: "[::1]:1", isNearby: true),
        Row(address: "[fe80::7%2]:1", isNearby: true),
        Row(address: "[2001:db8:0:5::7]:1", isNearby: true),
        Row(address: "[2001:db8:0:6::7]:1", isNearby: false),
        // An IPv4 network is no prefix of an IPv6 address.
        Row(address: "[::c0a8:14d]:1", isNearby: false),
    ]

    private static func network(_ text: String, _ bits: Int) throws -> NearbyNetworks.Network {
        (try #require(SocketAddress(text)), bits)
    }

    @Test("an address on a link or in a network of this machine is nearby", arguments: rows)
    func networks(_ row: Row) throws {
        let networks = [
            try Self.network("192.168.1.20:0", 24), try Self.network("10.8.0.2:0", 32),
            try Self.network("[2001:db8:0:5::20]:0", 64),
        ]
        let address = try #require(SocketAddress(row.address))
        let isNearby =
            NearbyNetworks.isOfOneLink(address) || NearbyNetworks.contains(address, networks)
        #expect(isNearby == row.isNearby)
    }

    @Test("of two nodes of one machine each is nearby for the other")
    func participants() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let (anna, ben) = (try await stage.start("anna"), try await stage.start("ben"))
        let hall = try await anna.createRoom(named: "hall")
        let room = try await ben.join(hall)
        for shared in [hall.shared, room.shared] {
            await shared.waitForParticipants(2)
            for participant in await shared.participants {
                #expect(participant.isNearbyWithLocalParticipant, "\(participant)")
            }
        }
        await anna.stop()
        await ben.stop()
    }
}
