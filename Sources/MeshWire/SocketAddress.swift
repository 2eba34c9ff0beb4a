/// An IPv4 or IPv6 address and a UDP port.
///
/// IPv4 addresses are kept in the mapped form `::ffff:a.b.c.d`, so that one comparison serves both.
public struct SocketAddress: Hashable, Comparable, Sendable, BitwiseCopyable {
    /// The first 8 bytes of the address, big-endian.
    public let high: UInt64
    /// The last 8 bytes of the address, big-endian.
    public let low: UInt64
    /// The interface a link-local IPv6 address belongs to; zero elsewhere.
    public let scope: UInt32
    /// The UDP port.
    public let port: UInt16

    /// The IPv6 address made of two big-endian words.
    public init(high: UInt64, low: UInt64, scope: UInt32 = 0, port: UInt16) {
        self.high = high
        self.low = low
        self.scope = scope
        self.port = port
    }

    /// The IPv4 address `a.b.c.d`.
    public init(_ a: UInt8, _ b: UInt8, _ c: UInt8, _ d: UInt8, port: UInt16) {
        let word = UInt64(a) << 24 | UInt64(b) << 16 | UInt64(c) << 8 | UInt64(d)
        self.init(high: 0, low: 0xffff_0000_0000 | word, port: port)
    }

    /// Whether this is an IPv4 address.
    public var isIPv4: Bool { high == 0 && low >> 32 == 0xffff }

    /// The IPv4 address as one big-endian word; meaningful if ``isIPv4``.
    public var ipv4: UInt32 { UInt32(truncatingIfNeeded: low) }

    /// Whether the address is the machine's own loopback.
    public var isLoopback: Bool { isIPv4 ? ipv4 >> 24 == 127 : high == 0 && low == 1 }

    /// The same address with another port.
    public func with(port: UInt16) -> SocketAddress {
        SocketAddress(high: high, low: low, scope: scope, port: port)
    }

    /// The 16 bytes of the address in network order, IPv4 mapped.
    public var addressBytes: [UInt8] {
        [high, low].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) }
        }
    }

    /// Orders by address, then scope, then port; any total order would do.
    public static func < (left: SocketAddress, right: SocketAddress) -> Bool {
        (left.high, left.low, left.scope, left.port)
            < (right.high, right.low, right.scope, right.port)
    }
}

extension SocketAddress: CustomStringConvertible {
    /// `a.b.c.d:port` or `[address%scope]:port`, with the zeros of IPv6 compressed (RFC 5952).
    public var description: String {
        guard !isIPv4 else {
            let word = ipv4
            return "\(word >> 24).\(word >> 16 & 255).\(word >> 8 & 255).\(word & 255):\(port)"
        }
        let groups = [high, low].flatMap { word in
            stride(from: 48, through: 0, by: -16).map { UInt16(truncatingIfNeeded: word >> $0) }
        }
        let zone = scope == 0 ? "" : "%\(scope)"
        return "[\(compressed(groups))\(zone)]:\(port)"
    }

    private func compressed(_ groups: [UInt16]) -> String {
        var longest = 0..<0
        var start = 0
        while start < groups.count {
            let run = groups[start...].prefix { $0 == 0 }
            if run.count > max(1, longest.count) { longest = run.startIndex..<run.endIndex }
            start += max(1, run.count)
        }
        func text(_ part: ArraySlice<UInt16>) -> String {
            part.map { String($0, radix: 16) }.joined(separator: ":")
        }
        guard !longest.isEmpty else { return text(groups[...]) }
        return text(groups[..<longest.lowerBound]) + "::" + text(groups[longest.upperBound...])
    }
}

extension SocketAddress {
    /// The address that `text` names: `1.2.3.4:5`, `[::1]:5` or `[fe80::1%2]:5`.
    ///
    /// `nil` for anything else; host names are not looked up.
    public init?(_ text: some StringProtocol) {
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            let rest = text[text.index(after: end)...]
            guard rest.hasPrefix(":"), let port = UInt16(rest.dropFirst()) else { return nil }
            let inside = text[text.index(after: text.startIndex)..<end]
            let parts = inside.split(separator: "%", omittingEmptySubsequences: false)
            guard let first = parts.first, parts.count <= 2, let groups = Self.groups(first) else {
                return nil
            }
            var scope: UInt32 = 0
            if parts.count == 2 {
                guard let number = UInt32(parts[1]) else { return nil }
                scope = number
            }
            let words = groups.map(UInt64.init)
            self.init(
                high: words[0] << 48 | words[1] << 32 | words[2] << 16 | words[3],
                low: words[4] << 48 | words[5] << 32 | words[6] << 16 | words[7],
                scope: scope,
                port: port
            )
        } else {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 2, let port = UInt16(parts[1]) else { return nil }
            let octets = parts[0].split(separator: ".", omittingEmptySubsequences: false)
            let bytes = octets.compactMap { UInt8($0) }
            guard octets.count == 4, bytes.count == 4 else { return nil }
            self.init(bytes[0], bytes[1], bytes[2], bytes[3], port: port)
        }
    }

    private static func groups(_ text: some StringProtocol) -> [UInt16]? {
        func plain(_ part: some StringProtocol) -> [UInt16]? {
            guard !part.isEmpty else { return [] }
            let fields = part.split(separator: ":", omittingEmptySubsequences: false)
            let groups = fields.compactMap { $0.count <= 4 ? UInt16($0, radix: 16) : nil }
            return groups.count == fields.count ? groups : nil
        }
        let pairs = zip(text.indices, text.indices.dropFirst())
        guard let gap = pairs.first(where: { text[$0] == ":" && text[$1] == ":" }) else {
            return plain(text).flatMap { $0.count == 8 ? $0 : nil }
        }
        guard let head = plain(text[..<gap.0]),
            let tail = plain(text[text.index(after: gap.1)...]),
            head.count + tail.count < 8
        else { return nil }
        return head + [UInt16](repeating: 0, count: 8 - head.count - tail.count) + tail
    }
}
