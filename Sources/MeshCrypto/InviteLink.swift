package import MeshWire

/// A link `huddle:?v=1&s=…&u=1&f=…&a=…` with 256 bits of secret (`10-security.md` §7).
package struct InviteLink: Sendable {
    /// LS, 32 bytes.
    package let secret: Secret
    /// Whether the link admits one node only.
    package let isSingleUse: Bool
    /// The inviter; absent in room files.
    package let inviter: NodeID?
    /// Where the inviter may be: up to four private, link-local or loopback addresses.
    package let addresses: [SocketAddress]

    /// Addresses of a link at most.
    package static let addressMaximum = 4
    /// Characters of a link at most.
    package static let characterMaximum = 1024

    /// A link; of `addresses` the first four that are near are kept.
    package init(secret: Secret, isSingleUse: Bool, inviter: NodeID?, addresses: [SocketAddress]) {
        precondition(secret.count == 32, "a link secret has 32 bytes")
        self.secret = secret
        self.isSingleUse = isSingleUse
        self.inviter = inviter
        self.addresses = Array(
            addresses.filter { $0.isNear && $0.scope == 0 }.prefix(Self.addressMaximum)
        )
    }

    /// The link that `text` spells, or nil if it is no link.
    ///
    /// Fields stand in any order; unknown ones are ignored. A known field twice (but `a`), a version
    /// other than 1, spare bits that are not zero, a far address or a fifth one: no link.
    package init?(_ text: some StringProtocol) {
        let prefix = "huddle:?"
        guard text.utf8.count <= Self.characterMaximum, text.hasPrefix(prefix) else { return nil }
        var version: Substring?
        var secret: Secret?
        var isSingleUse: Bool?
        var inviter: NodeID?
        var addresses: [SocketAddress] = []
        let rest = Substring(text).dropFirst(prefix.count)
        for field in rest.split(separator: "&", omittingEmptySubsequences: false) {
            let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { return nil }
            let value = parts[1]
            switch parts[0] {
            case "v":
                guard version == nil, value == "1" else { return nil }
                version = value
            case "s":
                guard secret == nil, var bytes = Base64URL.decode32(value) else { return nil }
                secret = Secret(bytes.raw)
                Sodium.wipe(&bytes)
            case "u":
                guard isSingleUse == nil, value == "0" || value == "1" else { return nil }
                isSingleUse = value == "1"
            case "f":
                guard inviter == nil, let bytes = Base64URL.decode32(value) else { return nil }
                inviter = NodeID(bytes)
            case "a":
                guard addresses.count < Self.addressMaximum, let address = SocketAddress(value),
                    address.isNear, address.scope == 0, address.port != 0
                else { return nil }
                addresses.append(address)
            default:
                break
            }
        }
        guard version != nil, let secret else { return nil }
        self.secret = secret
        self.isSingleUse = isSingleUse ?? true
        self.inviter = inviter
        self.addresses = addresses
    }

    /// The link as text; a secret.
    package var text: String {
        var text = "huddle:?v=1&s=\(Base64URL.encode(secret.bytes.copied))"
        text += "&u=\(isSingleUse ? 1 : 0)"
        if let inviter { text += "&f=\(Base64URL.encode(inviter.bytes))" }
        for address in addresses { text += "&a=\(address)" }
        return text
    }
}

extension InviteLink: CustomReflectable {
    /// Shows nothing.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension SocketAddress {
    /// Whether the address is private, link-local or loopback: never beyond the site.
    package var isNear: Bool {
        guard isIPv4 else {
            let top = UInt16(truncatingIfNeeded: high >> 48)
            // fc00::/7 (RFC 4193), fe80::/10 (RFC 4291), ::1
            return top & 0xfe00 == 0xfc00 || top & 0xffc0 == 0xfe80 || isLoopback
        }
        // RFC 1918, RFC 3927, 127.0.0.0/8
        return ipv4 >> 24 == 10 || ipv4 >> 20 == 0xac1 || ipv4 >> 16 == 0xc0a8
            || ipv4 >> 16 == 0xa9fe || isLoopback
    }
}

/// base64url without padding (RFC 4648 §5), for values of 32 bytes.
enum Base64URL {
    private static let symbols = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8
    )

    static func encode(_ bytes: [UInt8]) -> String {
        var output: [UInt8] = []
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for byte in bytes {
            bits = (bits << 8 | UInt32(byte)) & 0xffff
            count += 8
            while count >= 6 {
                count -= 6
                output.append(symbols[Int(bits >> count & 63)])
            }
        }
        if count > 0 { output.append(symbols[Int(bits << (6 - count) & 63)]) }
        return String(decoding: output, as: UTF8.self)
    }

    /// The 32 bytes of 43 symbols; nil for any other length, symbol, or spare bits that are not zero.
    static func decode32(_ text: some StringProtocol) -> [UInt8]? {
        guard text.utf8.count == 43 else { return nil }
        var output: [UInt8] = []
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for symbol in text.utf8 {
            guard let value = symbols.firstIndex(of: symbol) else { return nil }
            bits = (bits << 6 | UInt32(value)) & 0xffff
            count += 6
            if count >= 8 {
                count -= 8
                output.append(UInt8(truncatingIfNeeded: bits >> count))
            }
        }
        guard bits & (1 << count - 1) == 0 else { return nil }
        return output
    }
}
