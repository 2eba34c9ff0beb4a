package import MeshWire

/// Crockford's base32: the symbols of invite codes and fingerprints.
enum Crockford {
    static let symbols = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    /// The value of a symbol; `I` and `L` are read as 1, `O` as 0, in either case.
    static func value(_ symbol: UInt8) -> UInt8? {
        let upper = (0x61...0x7a).contains(symbol) ? symbol - 0x20 : symbol
        switch upper {
        case UInt8(ascii: "I"), UInt8(ascii: "L"): return 1
        case UInt8(ascii: "O"): return 0
        default: return symbols.firstIndex(of: upper).map { UInt8($0) }
        }
    }

    /// The values of a text without its spaces and hyphens; nil if anything else is no symbol.
    static func values(_ text: some StringProtocol) -> [UInt8]? {
        var values: [UInt8] = []
        for byte in text.utf8 where byte != UInt8(ascii: " ") && byte != UInt8(ascii: "-") {
            guard let value = value(byte), values.count < 64 else { return nil }
            values.append(value)
        }
        return values
    }
}

extension NodeID {
    /// The full fingerprint: 52 symbols of Crockford base32 in groups of eight (`10-security.md` §9).
    ///
    /// High bit first, four zero bits at the end.
    package var fingerprint: String {
        var symbols: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        func emit(_ value: UInt32) {
            if symbols.count % 9 == 8 { symbols.append(UInt8(ascii: " ")) }
            symbols.append(Crockford.symbols[Int(value & 31)])
        }
        for byte in bytes {
            bits = (bits << 8 | UInt32(byte)) & 0xffff
            count += 8
            while count >= 5 {
                count -= 5
                emit(bits >> UInt32(count))
            }
        }
        emit(bits << UInt32(5 - count))
        return String(decoding: symbols, as: UTF8.self)
    }

    /// The first 8 symbols of the fingerprint: what a log may show.
    package var shortFingerprint: String { String(fingerprint.prefix(8)) }

    /// The identity of a full fingerprint, or nil if `text` is none; spaces, hyphens, case do not matter.
    package init?(fingerprint text: some StringProtocol) {
        guard let values = Crockford.values(text), values.count == 52, values[51] & 15 == 0 else {
            return nil
        }
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for value in values {
            bits = (bits << 5 | UInt32(value)) & 0xffff
            count += 5
            if count >= 8, bytes.count < 32 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        self.init(bytes)
    }
}
