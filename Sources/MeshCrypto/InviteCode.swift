import MeshWire

/// A short code `SS-XXXXXXC`: a public slot, six secret symbols of 30 bits, a check symbol.
///
/// The check symbol finds every single wrong symbol and every swap of neighbours, so a typo dies
/// here, sends nothing and costs no guess (`10-security.md` §7).
package struct InviteCode: Sendable {
    /// The public slot, 0 to 99.
    package let slot: UInt8
    // Six values below 32.
    private let symbols: [UInt8]

    /// A new code for `slot`.
    package init(slot: UInt8, from source: inout some SecretSource) {
        precondition(slot < 100, "a slot is below 100: \(slot)")
        let bits = source.word()
        self.slot = slot
        symbols = (0..<6).map { UInt8(truncatingIfNeeded: bits >> (5 * UInt64($0))) & 31 }
    }

    /// The code that `text` spells, or nil if it is mistyped.
    ///
    /// Case, spaces and hyphens do not matter; `I` and `L` are read as 1, `O` as 0.
    package init?(_ text: some StringProtocol) {
        guard let values = Crockford.values(text), values.count == 9, values[0] < 10,
            values[1] < 10,
            Self.check(values[..<8]) == values[8]
        else { return nil }
        slot = values[0] * 10 + values[1]
        symbols = Array(values[2..<8])
    }

    /// The code as people write it.
    package var text: String {
        let digits = [slot / 10, slot % 10]
        let check = Self.check((digits + symbols)[...])
        func spell(_ values: [UInt8]) -> String {
            String(decoding: values.map { Crockford.symbols[Int($0)] }, as: UTF8.self)
        }
        return spell(digits) + "-" + spell(symbols + [check])
    }

    /// PRS, the six canonical symbols in ASCII.
    var password: SecretBytes {
        let ascii = symbols.map { Crockford.symbols[Int($0)] }
        return SecretBytes(ascii.raw)
    }

    /// The sum of a^i · s_i for i = 1 to 8 over GF(32), polynomial x^5 + x^2 + 1, a = 2.
    private static func check(_ values: ArraySlice<UInt8>) -> UInt8 {
        // Horner's rule from the last symbol: every step multiplies all that came so far by a.
        values.reversed().reduce(0) { sum, value in double(sum ^ value) }
    }

    private static func double(_ value: UInt8) -> UInt8 {
        let shifted = value << 1
        return shifted & 0x20 == 0 ? shifted : shifted ^ 0x25
    }
}

extension InviteCode: CustomReflectable {
    /// Shows nothing.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
