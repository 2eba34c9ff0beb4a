package import MeshConsensus
package import MeshTransport
package import MeshWire

/// A node's state in figures, for people and scripts; holds no secret.
package struct EngineStatus: Sendable {
    package var process: ProcessID
    package var phase: RoomPhase
    /// The room's name; empty if nobody told it.
    package var roomName: String
    package var view: ViewSummary?
    package var role: Role?
    package var applied: Position?
    package var head: Position?
    package var links: [LinkStatus]
    package var relays: [RelayStatus]
    package var openInvites: Int
    package var endpoint: EndpointStatistics
    package var lanes: LaneStatistics
    package var discovery: DiscoveryStatistics
    package var consensus: ConsensusStatistics?
}

/// One pair in figures.
package struct LinkStatus: Sendable {
    package var process: ProcessID
    package var address: SocketAddress
    package var transport: TransportStatistics?
    /// When something was last heard.
    package var lastHeard: Instant?
}

/// A member that is not reached directly, and who carries what is sent to it.
package struct RelayStatus: Sendable {
    package var process: ProcessID
    package var helper: ProcessID
}

extension Engine {
    /// The state in figures.
    package var status: EngineStatus {
        EngineStatus(
            process: process,
            phase: membership.phase,
            roomName: membership.record?.name ?? "",
            view: summary,
            role: inspectConsensus { $0.role },
            applied: inspectConsensus { $0.applied },
            head: inspectConsensus { $0.head },
            links: links.map {
                LinkStatus(
                    process: $0.process,
                    address: endpoint.address(of: $0.process.nodeID) ?? $0.address,
                    transport: endpoint.statistics(of: $0.process.nodeID),
                    lastHeard: endpoint.lastHeard(of: $0.process.nodeID)
                )
            },
            relays: inspectConsensus { consensus in
                (consensus.view?.members ?? []).compactMap { member in
                    consensus.relay(to: member.process).map {
                        RelayStatus(process: member.process, helper: $0)
                    }
                }
            } ?? [],
            openInvites: endpoint.openInvites.count,
            endpoint: endpoint.statistics,
            lanes: lanes.statistics,
            discovery: discovery.statistics,
            consensus: inspectConsensus { $0.statistics }
        )
    }
}

extension Membership {
    /// The phase as the application sees it.
    var phase: RoomPhase {
        switch self {
        case .none: .none
        case .searching, .entering, .resuming: .connecting
        case .member, .leaving: .joined
        }
    }
}
