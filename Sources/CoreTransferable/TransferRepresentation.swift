/// A way, or several, in which the values of a type are exported and imported.
public protocol TransferRepresentation: Sendable {
    /// The type whose values are transferred.
    associatedtype Item: Transferable

    /// What ``body`` returns; `Never` in the representations of this module.
    associatedtype Body: TransferRepresentation

    /// The representations that this one is made of.
    @TransferRepresentationBuilder<Item>
    var body: Body { get }
}

/// Builds one representation of the several that stand below each other, any number of them.
@resultBuilder
public struct TransferRepresentationBuilder<Item: Transferable> {
    /// Takes a representation of the item.
    public static func buildExpression<Content: TransferRepresentation>(
        _ content: Content
    ) -> Content where Content.Item == Item {
        content
    }

    /// Takes a Codable representation, whose item stands in no argument.
    public static func buildExpression<Encoder, Decoder>(
        _ content: CodableRepresentation<Item, Encoder, Decoder>
    ) -> CodableRepresentation<Item, Encoder, Decoder> {
        content
    }

    /// Starts with the first.
    public static func buildPartialBlock<Content: TransferRepresentation>(
        first content: Content
    ) -> Content where Content.Item == Item {
        content
    }

    /// Adds the next.
    public static func buildPartialBlock<First, Second>(
        accumulated first: First,
        next second: Second
    ) -> JoinedRepresentation<First, Second>
    where First: TransferRepresentation, First.Item == Item, Second.Item == Item {
        JoinedRepresentation(first: first, second: second)
    }
}

/// Two representations, the better one first.
public struct JoinedRepresentation<First, Second>: TransferRepresentation
where First: TransferRepresentation, Second: TransferRepresentation, First.Item == Second.Item {
    /// The type whose values are transferred.
    public typealias Item = First.Item

    let first: First
    let second: Second
}

/// One content type with how it is exported and imported; all representations come down to it.
struct ConcreteRepresentation<Item: Transferable>: Sendable {
    let contentType: UTType
    var exporting: (@Sendable (Item) async throws -> TransferContent)?
    var importing: (@Sendable (TransferContent) async throws -> Item)?

    /// Whether content of `type` can be imported; all content is data.
    func fits(_ type: UTType) -> Bool {
        contentType == .data || contentType == .item || type.conforms(to: contentType)
    }
}

/// A representation of this module: it says what it comes down to.
protocol BasicRepresentation: TransferRepresentation where Body == Never {
    var concrete: [ConcreteRepresentation<Item>] { get }
}

extension TransferRepresentation {
    /// What it comes down to, in order.
    func concrete<T: Transferable>(of type: T.Type) -> [ConcreteRepresentation<T>] {
        if let basic = self as? any BasicRepresentation { return basic.listed() }
        return Body.self == Never.self ? [] : body.concrete(of: type)
    }
}

extension BasicRepresentation {
    /// Empty if the representation is of another type, which its builder does not let through.
    fileprivate func listed<T: Transferable>() -> [ConcreteRepresentation<T>] {
        concrete as? [ConcreteRepresentation<T>] ?? []
    }
}

extension TransferRepresentation where Body == Never {
    /// Nothing: the representation is made of no others.
    public var body: Never {
        preconditionFailure("\(Self.self) is made of no other representations")
    }
}

extension JoinedRepresentation: BasicRepresentation {
    /// It is made of no others.
    public typealias Body = Never

    var concrete: [ConcreteRepresentation<Item>] {
        first.concrete(of: Item.self) + second.concrete(of: Item.self)
    }
}

extension Never: TransferRepresentation, Transferable {
    /// There is no value.
    public typealias Item = Never
    /// There is no value.
    public typealias Body = Never

    /// There is no value to represent.
    public static var transferRepresentation: EmptyRepresentation { EmptyRepresentation() }

    /// No representation at all.
    public struct EmptyRepresentation: TransferRepresentation {
        /// There is no value.
        public typealias Item = Never
        /// It is made of no others.
        public typealias Body = Never
    }
}
