public import Foundation

/// A file that is exported.
public struct SentTransferredFile: Sendable {
    /// Where the file is.
    public let file: URL
    /// Whether the receiver may read the file itself, not only a copy.
    public let allowAccessingOriginalFile: Bool

    /// Exports `file`.
    public init(_ file: URL, allowAccessingOriginalFile: Bool = false) {
        (self.file, self.allowAccessingOriginalFile) = (file, allowAccessingOriginalFile)
    }
}

/// A file that is imported.
public struct ReceivedTransferredFile: Sendable {
    /// Where the file is; a copy is gone when the import ends, so move it or read it.
    public let file: URL
    /// Whether it is the file itself, which must be left in its place.
    public let isOriginalFile: Bool
}

/// A representation of values as files, for content that should not be in memory as a whole.
public struct FileRepresentation<Item: Transferable>: TransferRepresentation, BasicRepresentation {
    /// It is made of no others.
    public typealias Body = Never

    let concrete: [ConcreteRepresentation<Item>]

    /// Exports and imports `contentType`.
    ///
    /// The import gets the original file if it is there and `shouldAttemptToOpenInPlace`, else a
    /// copy.
    public init(
        contentType: UTType,
        shouldAttemptToOpenInPlace: Bool = false,
        exporting: @escaping @Sendable (Item) async throws -> SentTransferredFile,
        importing: @escaping @Sendable (ReceivedTransferredFile) async throws -> Item
    ) {
        self.init(contentType, shouldAttemptToOpenInPlace, exporting, importing)
    }

    /// Exports `exportedContentType`.
    public init(
        exportedContentType: UTType,
        shouldAllowToOpenInPlace: Bool = false,
        exporting: @escaping @Sendable (Item) async throws -> SentTransferredFile
    ) {
        self.init(exportedContentType, shouldAllowToOpenInPlace, exporting, nil)
    }

    /// Imports `importedContentType`.
    public init(
        importedContentType: UTType,
        shouldAttemptToOpenInPlace: Bool = false,
        importing: @escaping @Sendable (ReceivedTransferredFile) async throws -> Item
    ) {
        self.init(importedContentType, shouldAttemptToOpenInPlace, nil, importing)
    }

    private init(
        _ contentType: UTType,
        _ isInPlace: Bool,
        _ exporting: (@Sendable (Item) async throws -> SentTransferredFile)?,
        _ importing: (@Sendable (ReceivedTransferredFile) async throws -> Item)?
    ) {
        var representation = ConcreteRepresentation<Item>(contentType: contentType)
        if let exporting {
            representation.exporting = { .file(try await exporting($0).file) }
        }
        if let importing {
            representation.importing = { content in
                if isInPlace, case .file(let url) = content {
                    return try await importing(
                        ReceivedTransferredFile(file: url, isOriginalFile: true)
                    )
                }
                let copy = try TemporaryCopy(of: content, type: contentType)
                defer { copy.remove() }
                return try await importing(
                    ReceivedTransferredFile(file: copy.file, isOriginalFile: false)
                )
            }
        }
        concrete = [representation]
    }
}

/// Content as a file in a folder of its own, for the time of one import.
private struct TemporaryCopy {
    let file: URL
    private let folder: URL

    init(of content: TransferContent, type: UTType) throws {
        let files = FileManager.default
        folder = files.temporaryDirectory.appending(path: "transfer-\(UUID().uuidString)")
        try files.createDirectory(
            at: folder,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        do {
            switch content {
            case .data(let data):
                let name = type.preferredFilenameExtension.map { "content.\($0)" } ?? "content"
                file = folder.appending(path: name)
                try data.write(to: file)
            case .file(let url):
                file = folder.appending(path: url.lastPathComponent)
                try files.copyItem(at: url, to: file)
            }
        } catch {
            // The reason that counts is the one above.
            try? files.removeItem(at: folder)
            throw error
        }
    }

    func remove() {
        // A folder of temporary files that stays is cleaned by the system.
        try? FileManager.default.removeItem(at: folder)
    }
}
