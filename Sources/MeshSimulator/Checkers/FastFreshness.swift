/// A fast message never comes after a newer one of its key, nor twice (overview, guarantees).
package struct FastFreshness: Sendable {
    package static let invariant = "a fast message never arrives after a newer one of its key"

    private struct Stream: Hashable, Sendable {
        var sender: Life
        var receiver: Life
        var key: UInt64
    }

    private var newest: [Stream: UInt64] = [:]

    package init() {}

    /// How many messages arrived.
    package private(set) var deliveredCount = 0

    /// The receiver got message `number` of the sender's stream `key`.
    package mutating func receive(
        _ number: UInt64,
        key: UInt64,
        from sender: Life,
        at receiver: Life
    ) throws(Violation) {
        let stream = Stream(sender: sender, receiver: receiver, key: key)
        deliveredCount += 1
        if let known = newest[stream], known >= number {
            throw Violation(
                Self.invariant,
                "\(number) of key \(key) came after \(known), \(sender) -> \(receiver)"
            )
        }
        newest[stream] = number
    }
}
