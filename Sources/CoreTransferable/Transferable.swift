package import Foundation

/// A type whose values can be handed to other processes and devices, as bytes or as a file.
///
/// ```swift
/// struct Sketch: Codable, Transferable {
///     var strokes: [Stroke]
///     static var transferRepresentation: some TransferRepresentation {
///         CodableRepresentation(contentType: UTType(exportedAs: "org.example.sketch"))
///         DataRepresentation(exportedContentType: .png) { try $0.rendered() }
///     }
/// }
/// ```
///
/// The order counts: a value is exported by the first representation that can, and imported by the
/// first that fits the type of the content.
public protocol Transferable: Sendable {
    /// What ``transferRepresentation`` returns.
    associatedtype Representation: TransferRepresentation

    /// How values are exported and imported.
    @TransferRepresentationBuilder<Self>
    static var transferRepresentation: Representation { get }
}

/// Why a value was not transferred.
public enum TransferError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The type has no representation that exports, or none as the content type asked for.
    case noExport(as: UTType?)
    /// The type has no representation that imports such content.
    case noImport(from: UTType?)
    /// The bytes are no text in UTF-8.
    case notUTF8
    /// The text is no address.
    case notURL

    /// One sentence, without a stop.
    public var description: String {
        switch self {
        case .noExport(let type?): "the value cannot be exported as \(type.identifier)"
        case .noExport(nil): "the value cannot be exported"
        case .noImport(let type?): "the type cannot be made of \(type.identifier)"
        case .noImport(nil): "the type cannot be made of this content"
        case .notUTF8: "the bytes are no text in UTF-8"
        case .notURL: "the text is no URL"
        }
    }
}

/// Exported content.
package enum TransferContent: Sendable {
    /// The bytes.
    case data(Data)
    /// A file; who exported it says whether it stays.
    case file(URL)

    /// The bytes, read from the file if it is one.
    package func bytes() throws -> Data {
        switch self {
        case .data(let data): data
        case .file(let url): try Data(contentsOf: url, options: .mappedIfSafe)
        }
    }
}

extension Transferable {
    /// The content types that values can be exported as, the best first.
    package static var exportedContentTypes: [UTType] {
        representations.filter { $0.exporting != nil }.map(\.contentType)
    }

    /// Exports the value by the first representation that exports, or that exports as `type`.
    ///
    /// Throws ``TransferError/noExport(as:)`` without one, and what the representation throws.
    package func exported(
        as type: UTType? = nil
    ) async throws -> (type: UTType, content: TransferContent) {
        for representation in Self.representations {
            guard let export = representation.exporting,
                type == nil || type == representation.contentType
            else { continue }
            return (representation.contentType, try await export(self))
        }
        throw TransferError.noExport(as: type)
    }

    /// Makes a value of `content` by the first representation that fits `type`.
    ///
    /// A representation fits the types that conform to its own; one for ``UTType/data`` fits all.
    /// Without a type each representation is tried in order. Throws
    /// ``TransferError/noImport(from:)`` if none fits, and what the last one tried throws.
    package static func imported(
        from content: TransferContent,
        as type: UTType?
    ) async throws -> Self {
        var failure: any Error = TransferError.noImport(from: type)
        for representation in representations {
            guard let importing = representation.importing else { continue }
            if let type {
                guard representation.fits(type) else { continue }
                return try await importing(content)
            }
            do { return try await importing(content) } catch { failure = error }
        }
        throw failure
    }

    private static var representations: [ConcreteRepresentation<Self>] {
        transferRepresentation.concrete(of: Self.self)
    }
}
