public import Foundation

/// A representation of values as bytes.
public struct DataRepresentation<Item: Transferable>: TransferRepresentation, BasicRepresentation {
    /// It is made of no others.
    public typealias Body = Never

    let concrete: [ConcreteRepresentation<Item>]

    /// Exports and imports `contentType`.
    public init(
        contentType: UTType,
        exporting: @escaping @Sendable (Item) async throws -> Data,
        importing: @escaping @Sendable (Data) async throws -> Item
    ) {
        self.init(contentType, exporting, importing)
    }

    /// Exports `exportedContentType`.
    public init(
        exportedContentType: UTType,
        exporting: @escaping @Sendable (Item) async throws -> Data
    ) {
        self.init(exportedContentType, exporting, nil)
    }

    /// Imports `importedContentType`.
    public init(
        importedContentType: UTType,
        importing: @escaping @Sendable (Data) async throws -> Item
    ) {
        self.init(importedContentType, nil, importing)
    }

    private init(
        _ contentType: UTType,
        _ exporting: (@Sendable (Item) async throws -> Data)?,
        _ importing: (@Sendable (Data) async throws -> Item)?
    ) {
        var representation = ConcreteRepresentation<Item>(contentType: contentType)
        if let exporting {
            representation.exporting = { .data(try await exporting($0)) }
        }
        if let importing {
            representation.importing = { try await importing(try $0.bytes()) }
        }
        concrete = [representation]
    }
}

/// Something that makes bytes of a value.
public protocol TopLevelEncoder {
    /// What it makes.
    associatedtype Output

    /// Encodes `value`.
    func encode<T: Encodable>(_ value: T) throws -> Output
}

/// Something that makes a value of bytes.
public protocol TopLevelDecoder {
    /// What it reads.
    associatedtype Input

    /// Decodes a value of `type`.
    func decode<T: Decodable>(_ type: T.Type, from input: Input) throws -> T
}

extension JSONEncoder: TopLevelEncoder {}
extension JSONDecoder: TopLevelDecoder {}
extension PropertyListEncoder: TopLevelEncoder {}
extension PropertyListDecoder: TopLevelDecoder {}

/// A representation of values by their Codable conformance, JSON if nothing else is said.
public struct CodableRepresentation<Item, Encoder, Decoder>: TransferRepresentation,
    BasicRepresentation
where
    Item: Transferable & Codable,
    Encoder: TopLevelEncoder & Sendable,
    Decoder: TopLevelDecoder & Sendable,
    Encoder.Output == Data,
    Decoder.Input == Data
{
    /// It is made of no others.
    public typealias Body = Never

    let concrete: [ConcreteRepresentation<Item>]

    /// Exports and imports `contentType` by `encoder` and `decoder`.
    public init(
        for itemType: Item.Type = Item.self,
        contentType: UTType,
        encoder: Encoder,
        decoder: Decoder
    ) {
        concrete = [
            ConcreteRepresentation(
                contentType: contentType,
                exporting: { .data(try encoder.encode($0)) },
                importing: { try decoder.decode(Item.self, from: $0.bytes()) }
            )
        ]
    }

    /// Exports and imports `contentType` as JSON.
    public init(for itemType: Item.Type = Item.self, contentType: UTType)
    where Encoder == JSONEncoder, Decoder == JSONDecoder {
        self.init(contentType: contentType, encoder: JSONEncoder(), decoder: JSONDecoder())
    }
}
