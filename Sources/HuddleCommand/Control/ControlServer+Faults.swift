import Huddle
import MeshCrypto
import MeshFaults
import MeshWire

extension ControlServer {
    func setFault(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        let cuts = try await peers(try request.texts("cut"))
        let targets = try await peers(try request.texts("to"))
        if let text = try request.optionalText("conditions") {
            let conditions: LinkConditions
            do {
                conditions = try LinkConditions(parsing: text)
            } catch {
                throw ControlFailure("fault", error.description, exit: 2)
            }
            await node.setFaults(conditions, to: targets)
        }
        await node.cut(cuts)
        return await listFaults()
    }

    func clearFaults(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        if try request.flag("cutsOnly") { await node.heal() } else { await node.clearFaults() }
        return await listFaults()
    }

    func listFaults() async -> [JSON.Member] {
        let faults = await node.faults
        return [
            JSON.Member(
                "conditions",
                .string(faults.conditions.isPerfect ? "" : faults.conditions.description)
            ),
            JSON.Member(
                "rules",
                .array(
                    faults.rules.map { rule in
                        [
                            "to": .string(text(rule.peer)),
                            "conditions": .string(rule.conditions.description),
                        ]
                    }
                )
            ),
            JSON.Member("cuts", .array(faults.cuts.map { .string(text($0)) })),
        ]
    }

    private func peers(_ texts: [String]) async throws(ControlFailure) -> [FaultPeer] {
        var peers: [FaultPeer] = []
        let members = await node.members
        for text in texts {
            if let port = UInt16(text), port > 0 {
                peers.append(.port(port))
            } else if let address = SocketAddress(text) {
                peers.append(.address(address))
            } else if let node = NodeID(fingerprint: text) {
                peers.append(.node(node))
            } else {
                let wanted = text.uppercased()
                let named = members.filter {
                    $0.name == text || wanted.count >= 4 && $0.node.fingerprint.hasPrefix(wanted)
                }
                guard named.count == 1 else {
                    throw ControlFailure(
                        "noPeer",
                        named.isEmpty
                            ? "'\(text)' is no port, address, fingerprint or name of a member"
                            : "'\(text)' means more than one member",
                        hint: "'huddle peers' lists them",
                        exit: 2
                    )
                }
                guard !named[0].isLocal else {
                    throw ControlFailure(
                        "noPeer",
                        "'\(text)' is this node itself, and a fault is between two nodes",
                        hint: "'huddle peers' lists the others",
                        exit: 2
                    )
                }
                peers.append(.node(named[0].node))
            }
        }
        return peers
    }

    private func text(_ peer: FaultPeer) -> String {
        switch peer {
        case .address(let address): address.description
        case .port(let port): "port \(port)"
        case .node(let node): node.shortFingerprint
        }
    }
}
