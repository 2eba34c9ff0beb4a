/// The streams of PipeWire and the links between them, as far as they show who reads the screen.
package struct StreamGraph: Sendable {
    private enum Role {
        /// The picture of the screen, given out by the compositor or by a portal.
        case screen
        /// Whoever reads a picture.
        case reader
    }

    private struct Link {
        var from: UInt32
        var to: UInt32
    }

    private var roles: [UInt32: Role] = [:]
    private var links: [UInt32: Link] = [:]

    package init() {}

    /// Whether an active link leads from a picture of the screen to a reader.
    package var isCaptured: Bool {
        links.values.contains { roles[$0.from] == .screen && roles[$0.to] == .reader }
    }

    /// Takes what is new, has changed or is gone.
    package mutating func apply(_ objects: [DumpReader.Object]) {
        for object in objects {
            roles[object.id] = nil
            links[object.id] = nil
            guard let info = object.info else { continue }
            switch object.type {
            case "PipeWire:Interface:Node": roles[object.id] = Self.role(info)
            case "PipeWire:Interface:Link":
                guard info.state == "active", let from = info.outputNode, let to = info.inputNode
                else { continue }
                links[object.id] = Link(from: from, to: to)
            default: break
            }
        }
    }

    /// Cameras are pictures too, of something else: they bear other names (Waybar#1776).
    private static func role(_ info: DumpReader.Object.Info) -> Role? {
        let name = info.props?["node.name"]?.value ?? ""
        switch info.props?["media.class"]?.value {
        case "Stream/Input/Video": return .reader
        case "Video/Source", "Stream/Output/Video":
            guard info.props?["media.role"]?.value != "Camera" else { return nil }
            return owners.contains { name.hasPrefix($0) } ? .screen : nil
        default: return nil
        }
    }

    /// How the names of nodes begin by which compositors and portals give out the screen.
    private static let owners = ["gnome-shell", "kwin", "xdpw-stream-", "xdph-streaming"]
}
