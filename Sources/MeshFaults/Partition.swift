/// Which endpoints cannot hear which: a cut into groups, single one-way cuts, or both.
///
/// Endpoints that no group names form one more group together, so that ``isolating(_:)`` needs to
/// name one side only.
public struct Partition<Endpoint: Hashable & Comparable & Sendable>: Hashable, Sendable {
    /// A direction in which nothing passes.
    public struct Cut: Hashable, Comparable, Sendable {
        /// Who is not heard.
        public var from: Endpoint
        /// Who does not hear.
        public var to: Endpoint

        /// The direction from `from` to `to`.
        public init(from: Endpoint, to: Endpoint) {
            self.from = from
            self.to = to
        }

        /// Orders by sender, then by receiver.
        public static func < (left: Cut, right: Cut) -> Bool {
            left.from == right.from ? left.to < right.to : left.from < right.from
        }
    }

    /// The groups; nothing passes between two of them.
    public private(set) var groups: [[Endpoint]]
    /// The one-way cuts, in order.
    public private(set) var cuts: [Cut]

    /// The partition into `groups` with the further one-way `cuts`; the default cuts nothing.
    public init(groups: [[Endpoint]] = [], cuts: [Cut] = []) {
        self.groups = groups.map { $0.sorted() }
        self.cuts = cuts.sorted()
    }

    /// Cuts `endpoint` off from everybody else.
    public static func isolating(_ endpoint: Endpoint) -> Self {
        Self(groups: [[endpoint]])
    }

    /// Lets two halves meet at `bridge` alone: whoever is in one half hears it and its own half.
    public static func bridge(_ bridge: Endpoint, between halves: ([Endpoint], [Endpoint])) -> Self
    {
        var cuts: [Cut] = []
        for left in halves.0 where left != bridge {
            for right in halves.1 where right != bridge {
                cuts.append(Cut(from: left, to: right))
                cuts.append(Cut(from: right, to: left))
            }
        }
        return Self(cuts: cuts)
    }

    /// Lets everybody hear only the neighbours in `endpoints`; the ends meet if `isClosed`.
    public static func chain(_ endpoints: [Endpoint], isClosed: Bool = false) -> Self {
        var cuts: [Cut] = []
        for (left, from) in endpoints.enumerated() {
            for (right, to) in endpoints.enumerated() where left != right {
                let distance = abs(left - right)
                if distance == 1 || (isClosed && distance == endpoints.count - 1) { continue }
                cuts.append(Cut(from: from, to: to))
            }
        }
        return Self(cuts: cuts)
    }

    /// Whether nothing is cut.
    public var isEmpty: Bool { groups.isEmpty && cuts.isEmpty }

    /// Whether datagrams pass from `from` to `to`.
    public func permits(from: Endpoint, to: Endpoint) -> Bool {
        if from == to { return true }
        if !groups.isEmpty, group(of: from) != group(of: to) { return false }
        return cuts.isEmpty || !cuts.contains(Cut(from: from, to: to))
    }

    private func group(of endpoint: Endpoint) -> Int? {
        groups.firstIndex { $0.contains(endpoint) }
    }
}
