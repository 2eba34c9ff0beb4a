/// A representation of values by those of another type, with all of that type's representations.
public struct ProxyRepresentation<Item: Transferable, Proxy: Transferable>: TransferRepresentation,
    BasicRepresentation
{
    /// It is made of no others.
    public typealias Body = Never

    let concrete: [ConcreteRepresentation<Item>]

    /// Exports what `exporting` makes of a value; a key path serves too.
    public init(exporting: @escaping @Sendable (Item) throws -> Proxy) {
        self.init(exporting, nil)
    }

    /// Imports what `importing` makes of the other type's value.
    public init(importing: @escaping @Sendable (Proxy) async throws -> Item) {
        self.init(nil, importing)
    }

    /// Exports and imports by way of the other type.
    public init(
        exporting: @escaping @Sendable (Item) throws -> Proxy,
        importing: @escaping @Sendable (Proxy) throws -> Item
    ) {
        self.init(exporting, importing)
    }

    /// Exports and imports by way of the other type.
    public init(
        exporting: @escaping @Sendable (Item) async throws -> Proxy,
        importing: @escaping @Sendable (Proxy) async throws -> Item
    ) {
        self.init(exporting, importing)
    }

    /// Exports what `exporting` makes of a value.
    public init(exporting: @escaping @Sendable (Item) async throws -> Proxy) {
        self.init(exporting, nil)
    }

    private init(
        _ exporting: (@Sendable (Item) async throws -> Proxy)?,
        _ importing: (@Sendable (Proxy) async throws -> Item)?
    ) {
        concrete = Proxy.transferRepresentation.concrete(of: Proxy.self).map { proxy in
            var result = ConcreteRepresentation<Item>(contentType: proxy.contentType)
            if let exporting, let export = proxy.exporting {
                result.exporting = { try await export(try await exporting($0)) }
            }
            if let importing, let take = proxy.importing {
                result.importing = { try await importing(try await take($0)) }
            }
            return result
        }
    }
}
