import Huddle

/// `huddle status`: this node, its room, who leads, which sessions run.
enum StatusCommand {
    @MainActor
    static func run(_ invocation: Invocation) async throws(Failure) -> Int32 {
        let status = try invocation.ask("status")
        guard !invocation.wantsJSON else {
            Terminal.print(status.report.description)
            return ExitCode.success
        }
        Terminal.print(text(status))
        return ExitCode.success
    }

    /// The status as a person reads it.
    static func text(_ status: JSON) -> String {
        let node = status["node"] ?? .null
        var lines = [
            "\(label("node"))\(Style.bold(node.shown("name")))  "
                + "\(node.shown("fingerprint").prefix(8))  UDP \(node["port"]?.whole ?? 0)  "
                + "pid \(node["pid"]?.whole ?? 0)  up \(uptime(node))"
        ]
        guard let room = status["room"], room != .null else {
            lines.append(
                "\(label("room"))in none: 'huddle join CODE', or 'huddle down' and 'huddle up --room NAME'"
            )
            return (lines + faults(status)).joined(separator: "\n")
        }
        let phase = room.shown("phase")
        guard phase != "connecting" else {
            let name = room["name"]?.text ?? ""
            let sought =
                name.isEmpty ? "the room of an invitation" : "room \(Style.bold(name.printable))"
            lines.append("\(label("room"))in none yet: looking for \(sought)")
            return (lines + faults(status)).joined(separator: "\n")
        }
        let members = room["members"]?.elements ?? []
        var head = "\(label("room"))\(Style.bold(room.shown("name")))  "
        head += "\(members.count) \(members.count == 1 ? "member" : "members")  "
        head += "view \(room.shown("epoch"))"
        if let isPrimary = room["isPrimary"]?.flag {
            head += "  "
            head += isPrimary ? Style.dim("primary") : Style.yellow("not the primary side")
        }
        if let have = room["suspended"]?["have"]?.whole,
            let need = room["suspended"]?["need"]?.whole
        {
            head += "  " + Style.yellow("suspended: \(have) in reach, it takes \(need)")
        } else if room["epoch"]?.text == nil {
            head += "  " + Style.yellow("suspended: none of the others is in reach")
        }
        lines.append(head)
        for member in members { lines.append("        " + line(member)) }
        for session in status["sessions"]?.elements ?? [] {
            let participants = session["participants"]?.elements ?? []
            // The node's own sessions bear its name in front.
            let activity = session.shown("activity").replacing(
                "huddle.",
                with: "",
                maxReplacements: 1
            )
            let names = participants.map { $0.shown("name") }.joined(separator: ", ")
            lines.append("\(label("session"))\(activity)  \(names)")
        }
        let invites = status["invites"]?.elements ?? []
        if !invites.isEmpty {
            let slots = invites.map { $0.text ?? "-" }.joined(separator: ", ")
            lines.append("\(label("open"))invitation \(slots)")
        }
        if let count = room["conflicts"]?.whole, count > 0 {
            let things = count == 1 ? "1 conflict" : "\(count) conflicts"
            lines.append(
                "\(label("open"))\(Style.yellow(things)) of a healed split: 'huddle values conflicts'"
            )
        }
        return (lines + faults(status)).joined(separator: "\n")
    }

    private static func line(_ member: JSON) -> String {
        let isPresent = member["isPresent"]?.flag ?? false
        let isLeader = member["isLeader"]?.flag ?? false
        let mark = isLeader ? Style.yellow("★") : isPresent ? Style.green("●") : Style.dim("○")
        var line =
            "\(mark) \(member.shown("name").padded(20)) \(member.shown("fingerprint").prefix(8))"
        if isLeader { line += "  leader" }
        if member["isLocal"]?.flag == true { line += "  this node" }
        if !isPresent { line += "  away" }
        return line
    }

    private static func faults(_ status: JSON) -> [String] {
        guard let faults = status["faults"] else { return [] }
        var parts: [String] = []
        if let text = faults["conditions"]?.text, !text.isEmpty { parts.append(text) }
        for rule in faults["rules"]?.elements ?? [] {
            parts.append("\(FaultCommand.conditionsText(rule)) to \(rule.shown("to"))")
        }
        let cuts = (faults["cuts"]?.elements ?? []).compactMap(\.text)
        if !cuts.isEmpty { parts.append("cut off: \(cuts.joined(separator: ", "))") }
        return ["\(Style.red("fault".padded(8)))\(parts.joined(separator: "; "))"]
    }

    private static func label(_ text: String) -> String { Style.dim(text.padded(8)) }

    private static func uptime(_ node: JSON) -> String {
        let seconds = node["uptime"]?.whole ?? 0
        if seconds < 120 { return "\(seconds) s" }
        return seconds < 7200 ? "\(seconds / 60) min" : "\(seconds / 3600) h"
    }
}

/// `huddle peers`: the others, their addresses, round trips and losses.
enum PeersCommand {
    @MainActor
    static func run(_ invocation: Invocation) async throws(Failure) -> Int32 {
        let answer = try invocation.ask("peers")
        guard !invocation.wantsJSON else {
            Terminal.print(answer.report.description)
            return ExitCode.success
        }
        let peers = answer["peers"]?.elements ?? []
        guard !peers.isEmpty else {
            Terminal.print("nobody else is here; 'huddle invite' gives a code for a guest")
            return ExitCode.success
        }
        var grid = Grid([
            "", "name", "fingerprint", "address", "state", "rtt", "lost", "sent", "received",
        ])
        for peer in peers {
            grid.add([
                peer["isLeader"]?.flag == true ? Style.yellow("★") : " ",
                peer.shown("name"),
                String(peer.shown("fingerprint").prefix(8)),
                peer.shown("address"),
                peer["via"]?.text.map { "via \($0)" } ?? peer.shown("state"),
                peer["rttMilliseconds"]?.double.map { "\(decimals($0, 1)) ms" } ?? "-",
                peer["lossPercent"]?.double.map { "\(decimals($0, 1)) %" } ?? "-",
                peer["datagramsSent"]?.whole.map(String.init) ?? "-",
                peer["datagramsReceived"]?.whole.map(String.init) ?? "-",
            ])
        }
        Terminal.print(grid.text)
        return ExitCode.success
    }
}
