package import MeshWire

/// Which quorum rule a room follows; stands in the genesis, so it never changes.
///
/// Pure: what a rule says depends on its arguments alone (`30-consensus.md` §3).
package enum PartitionPolicy: Hashable, Sendable {
    /// Every component goes on; branches merge when they meet.
    case available
    /// Only the component with more than half of the weight goes on; there is one history.
    ///
    /// With `survivor`, a component without it goes on after so long a time all the same, in views
    /// that are `forced`: from then on only what `.available` promises holds.
    case majority(survivor: Duration?)

    /// Only the component with more than half of the weight goes on.
    package static let majority = Self.majority(survivor: nil)

    /// Whether a component must outweigh the required configurations before it does anything.
    package var isMajority: Bool {
        if case .majority = self { true } else { false }
    }

    /// The time after which a component without the weight goes on; `nil`: it never does.
    var survivorTimeout: Duration? {
        if case .majority(let survivor) = self { survivor } else { nil }
    }

    /// Whether a process that promised `promised` may promise `epoch`.
    ///
    /// One promise for each counter with `.majority`; with `.available` of two the higher tag wins.
    func mayPromise(_ epoch: Epoch, promised: Epoch) -> Bool {
        isMajority ? epoch.counter > promised.counter : epoch > promised
    }

    /// The policy as bytes: 0; or 1 and the milliseconds u32 of the time-out, zero without one.
    package func encode(into writer: inout ByteWriter) {
        switch self {
        case .available: writer.write(UInt8(0))
        case .majority(let survivor):
            writer.write(UInt8(1))
            let milliseconds = survivor.map { max($0.wholeNanoseconds / 1_000_000, 1) } ?? 0
            writer.write(UInt32(clamping: milliseconds))
        }
    }

    /// Reads what ``encode(into:)`` wrote.
    package init(reading reader: inout ByteReader) throws(WireError) {
        let code: UInt8 = try reader.read()
        switch code {
        case 0: self = .available
        case 1:
            let milliseconds: UInt32 = try reader.read()
            self = .majority(
                survivor: milliseconds == 0 ? nil : .milliseconds(Int64(milliseconds))
            )
        default: throw .unknownType(code, at: reader.offset)
        }
    }

    /// What JOIN says of the policy that the joiner demands: 0, 1, 2 with a time-out, 255 for any.
    static func demand(_ policy: Self?) -> UInt8 {
        switch policy {
        case nil: 255
        case .available: 0
        case .majority(nil): 1
        case .majority: 2
        }
    }
}

extension [PrimaryConfiguration] {
    /// Whether a view of these promisers is primary: they outweigh every required configuration.
    func areOutweighed(by promisers: [UInt64]) -> Bool {
        allSatisfy { $0.isOutweighed(by: promisers) }
    }

    /// The union of several processes' required configurations, less what cannot commit any more.
    ///
    /// That is what is older than the newest known to have committed, and each attempt above which its
    /// proposer has promised: only its proposer could commit it. Of `promisers` that is known; of others
    /// their next attempt says it, so at most one of each proposer is left. Of equal ones the newest
    /// stands for all.
    func united(promisedBy promisers: [UInt64] = []) -> Self {
        var merged: Self = []
        for configuration in self {
            if let place = merged.firstIndex(where: { $0.epoch == configuration.epoch }) {
                if configuration.isCommitted { merged[place].isCommitted = true }
            } else {
                merged.append(configuration)
            }
        }
        merged.sort { $0.epoch < $1.epoch }
        if let committed = merged.last(where: \.isCommitted) {
            merged.removeAll { $0.epoch < committed.epoch }
        }
        return merged.enumerated().filter { place, configuration in
            let proposer = configuration.epoch.proposer
            return configuration.isCommitted
                || !promisers.contains(proposer)
                    && !merged[(place + 1)...].contains {
                        $0.epoch.proposer == proposer
                            || !$0.isCommitted && $0.tags == configuration.tags
                    }
        }.map(\.element)
    }
}

extension PartitionPolicy: CustomStringConvertible {
    /// `available`, `majority`, or `majority survivor 30000` with the time-out in milliseconds.
    package var description: String {
        switch self {
        case .available: "available"
        case .majority(nil): "majority"
        case .majority(let survivor?):
            "majority survivor \(survivor.wholeNanoseconds / 1_000_000)"
        }
    }

    /// Reads the words of a ``description``; `nil` if they are none.
    package init?(_ words: [String]) {
        switch words.first {
        case "available" where words.count == 1: self = .available
        case "majority" where words.count == 1: self = .majority
        case "majority" where words.count == 3 && words[1] == "survivor":
            guard let milliseconds = UInt32(words[2]), milliseconds > 0 else { return nil }
            self = .majority(survivor: .milliseconds(Int64(milliseconds)))
        default: return nil
        }
    }
}
