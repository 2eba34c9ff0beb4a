import Huddle
import MeshWire
import Synchronization

/// Which addresses a campaign may name (`40-groupactivities.md` §9.7).
///
/// An address of a campaign is content from outside: whoever writes the campaign, and every member of the
/// room, can name any. So it says in plain letters where it leads, and does not lead into this machine or
/// its network unless the program wants that.
public struct CampaignRules: Hashable, Sendable {
    /// The schemes that are taken, in lower case.
    public var schemes: Set<String> = ["https"]
    /// The hosts that are taken, in lower case; `nil` for all.
    public var hosts: Set<String>?
    /// Whether an address may lead into this machine or a network of its own.
    public var allowLocal = false

    /// The most bytes of an address.
    public static let addressLimit = 2048

    /// Rules that take every host reached by `https`.
    public init() {}

    /// The rules for what comes from outside this program: a payload of the network as much as one of the
    /// dashboard.
    public static var current: CampaignRules {
        get { stored.withLock { $0 } }
        set { stored.withLock { $0 = newValue } }
    }

    private static let stored = Mutex(CampaignRules())

    /// The address that `text` writes, if the rules take it.
    ///
    /// Throws ``CampaignError/rejected(url:reason:)``.
    public func url(_ text: String) throws(CampaignError) -> URL {
        func reject(_ reason: String) -> CampaignError {
            .rejected(url: SafeText.clean(text, toBytes: 256), reason: reason)
        }
        guard text.utf8.count <= Self.addressLimit else {
            throw reject("it has more than \(Self.addressLimit) bytes")
        }
        let parts = try Parts(text, reject)
        guard schemes.contains(parts.scheme) else {
            throw reject("its scheme is not \(schemes.sorted().joined(separator: " or "))")
        }
        try checkHost(parts.host, reject)
        // Another reader must understand the same by it.
        guard let url = URL(string: text), let read = URLComponents(string: text),
            url.scheme?.lowercased() == parts.scheme, read.user == nil, read.password == nil,
            (read.encodedHost ?? "").lowercased() == parts.host
        else { throw reject("it cannot be read") }
        return url
    }

    private func checkHost(
        _ host: String,
        _ reject: (String) -> CampaignError
    ) throws(CampaignError) {
        if let hosts, !hosts.contains(host) {
            throw reject("its host is not one of the campaign's")
        }
        if host.hasPrefix("[") {
            guard let address = SocketAddress("\(host):1") else {
                throw reject("its host is no address")
            }
            if !allowLocal, !address.isPublic {
                throw reject("its host is an address of a local network")
            }
            return
        }
        guard CampaignHost.isName(host) else {
            throw reject(
                "its host has letters that no host has; other alphabets are written as xn--"
            )
        }
        // As browsers do: a host whose last part is a number is an address in one of several notations.
        if CampaignHost.endsInNumber(host) {
            guard let address = SocketAddress("\(host):1"), CampaignHost.isDotted(host) else {
                throw reject("its host is an address in disguise")
            }
            if !allowLocal, !address.isPublic {
                throw reject("its host is an address of a local network")
            }
        } else if !allowLocal, CampaignHost.isLocalName(host) {
            throw reject("its host is a name of a local network")
        }
    }

    /// Whether what a host's name was resolved to may be asked: every address is to be checked again then.
    ///
    /// - Parameter address: `192.0.2.1` or `2001:db8::1`; anything else is not permitted.
    /// - Returns: Whether the address is a public one, or local ones are allowed.
    public func permits(resolved address: String) -> Bool {
        let text = address.contains(":") ? "[\(address)]:1" : "\(address):1"
        guard let read = SocketAddress(text) else { return false }
        return allowLocal || read.isPublic
    }
}

/// Why an activity cannot be made of a campaign.
public enum CampaignError: Error, Hashable, Sendable {
    /// The campaign lacks this key.
    case missing(String)
    /// The campaign's address is not taken.
    case rejected(url: String, reason: String)
}

extension CampaignError: LocalizedError {
    /// One sentence that a developer can act on.
    public var errorDescription: String? {
        switch self {
        case .missing(let key): "The campaign has no '\(key)'."
        case .rejected(let url, let reason):
            "The campaign's address '\(url)' is not taken: \(reason)."
        }
    }
}

/// The parts of an address as it stands, before anybody decodes anything in it.
private struct Parts {
    let scheme: String
    let host: String

    init(_ text: String, _ reject: (String) -> CampaignError) throws(CampaignError) {
        // What is not here cannot be read in two ways: no blanks, controls, backslashes, other alphabets.
        let isPlain = text.utf8.allSatisfy {
            $0 > 0x20 && $0 < 0x7f && !"\\\"<>^`{|}".utf8.contains($0)
        }
        guard isPlain else { throw reject("it has letters that no address has") }
        guard let colon = text.firstIndex(of: ":") else { throw reject("it has no scheme") }
        scheme = text[..<colon].lowercased()
        let rest = text[text.index(after: colon)...]
        guard rest.hasPrefix("//") else { throw reject("it names no host") }
        let authority = rest.dropFirst(2).prefix { !"/?#".contains($0) }
        guard !authority.contains("@") else { throw reject("it has a user's name in it") }
        guard !authority.contains("%") else { throw reject("its host is in disguise") }
        var name = authority[...]
        let end = name.lastIndex(of: "]") ?? name.startIndex
        if let port = name[end...].firstIndex(of: ":") {
            let digits = name[name.index(after: port)...]
            guard digits.allSatisfy(\.isNumber), UInt16(digits) != nil else {
                throw reject("its port is no number")
            }
            name = name[..<port]
        }
        guard !name.isEmpty else { throw reject("it names no host") }
        host = name.lowercased()
    }
}

/// What hosts are called.
enum CampaignHost {
    /// Letters, digits and hyphens between dots (RFC 1123 §2.1); 253 bytes at the most.
    static func isName(_ host: String) -> Bool {
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        let named = labels.last == "" ? labels.dropLast() : labels[...]
        return host.utf8.count <= 253 && !named.isEmpty
            && named.allSatisfy { label in
                (1...63).contains(label.utf8.count) && !label.hasPrefix("-")
                    && !label.hasSuffix("-")
                    && label.utf8.allSatisfy { byte in
                        byte == 0x2d || (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte)
                    }
            }
    }

    /// Whether the last part is a number, decimal, octal or hexadecimal.
    static func endsInNumber(_ host: String) -> Bool {
        guard let last = host.split(separator: ".").last else { return false }
        return last.allSatisfy(\.isNumber)
            || last.hasPrefix("0x") && last.dropFirst(2).allSatisfy(\.isHexDigit)
    }

    /// Whether it is four numbers without leading zeros.
    static func isDotted(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4
            && parts.allSatisfy { part in UInt8(part).map { "\($0)" == part } ?? false }
    }

    /// Whether it is found on a local network alone: no dot, or an ending that stands for that
    /// (RFC 6761, RFC 6762, RFC 8375, RFC 9476).
    static func isLocalName(_ host: String) -> Bool {
        let labels = host.split(separator: ".")
        guard labels.count > 1 else { return true }
        let ends = [
            "localhost", "local", "internal", "intranet", "lan", "home", "corp", "private", "alt",
        ]
        return ends.contains(String(labels[labels.count - 1]))
            || labels.suffix(2) == ["home", "arpa"]
    }
}

extension SocketAddress {
    /// Whether the address is reached through the public network: none of the special-purpose ranges of the
    /// registries of IANA (RFC 6890).
    fileprivate var isPublic: Bool {
        if isIPv4 { return Self.isPublic(ipv4) }
        guard scope == 0 else { return false }
        // Global unicast, 2000::/3, without those that carry an IPv4 address, as 6to4 and Teredo do, and
        // without documentation. The translation prefix 64:ff9b::/96 and ::/96 are outside of it.
        let first = high >> 48
        guard first >> 13 == 1 else { return false }
        return first != 0x2002 && high >> 32 != 0x2001_0000 && high >> 32 != 0x2001_0db8
            && first != 0x3fff
    }

    private static func isPublic(_ word: UInt32) -> Bool {
        func isIn(_ a: UInt32, _ b: UInt32, _ c: UInt32, _ bits: UInt32) -> Bool {
            word >> (32 - bits) == (a << 24 | b << 16 | c << 8) >> (32 - bits)
        }
        let special =
            isIn(0, 0, 0, 8) || isIn(10, 0, 0, 8) || isIn(100, 64, 0, 10) || isIn(127, 0, 0, 8)
            || isIn(169, 254, 0, 16) || isIn(172, 16, 0, 12) || isIn(192, 0, 0, 24)
            || isIn(192, 0, 2, 24) || isIn(192, 88, 99, 24) || isIn(192, 168, 0, 16)
            || isIn(198, 18, 0, 15) || isIn(198, 51, 100, 24) || isIn(203, 0, 113, 24)
        // Multicast, reserved and broadcast are all of 224.0.0.0/3.
        return !special && word >> 29 != 7
    }
}
