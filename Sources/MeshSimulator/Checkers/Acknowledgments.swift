package import MeshWire

/// Nobody acknowledges below its promise (`30-consensus.md` §15, 3).
package struct Acknowledgments: Sendable {
    package static let invariant = "nobody acknowledges entries of a view below its promise"

    package init() {}

    /// A process sends an ACK, HBACK or INSTALLED of `epoch` while it has promised `promised`.
    package func check(_ epoch: Epoch, promised: Epoch, by life: Life) throws(Violation) {
        guard epoch < promised else { return }
        throw Violation(
            Self.invariant,
            "\(life) acknowledged in \(epoch) and has promised \(promised)"
        )
    }

    /// The epoch of a message that acknowledges; `nil` for all others.
    ///
    /// By the layout of the header: type u8 · version u8 · flags u16 · sender u64 · receiver u64 ·
    /// counter u64 · proposer u64 · room u48. The answer to a heartbeat acknowledges what it names as
    /// its head, behind sequence u32 and commit u64.
    package static func epoch(of message: [UInt8]) -> Epoch? {
        func word(at offset: Int) -> UInt64 {
            (0..<8).reduce(0) { $0 | UInt64(message[offset + $1]) << UInt64(8 * $1) }
        }
        guard message.count >= 36 else { return nil }
        switch message[0] {
        case 0x05, 0x18: break
        case 0x03: guard message.count >= 62, word(at: 54) > 0 else { return nil }
        default: return nil
        }
        return Epoch(counter: word(at: 20), proposer: word(at: 28))
    }
}
