import Huddle
import MessageCoding
import Synchronization

/// Shares attachments between the participants of a session, also with those who come later.
///
/// An attachment has at most 100,000,000 bytes, unless the session was started with another limit. It stays
/// until somebody removes it or the session ends; who added it may leave once another participant that uses
/// a journal has it.
public final class GroupSessionJournal: Sendable {
    private let core: SessionCore

    /// The journal of a session; this program keeps what stands in it from now on.
    public convenience init<Activity: GroupActivity>(session: GroupSession<Activity>) {
        self.init(core: session.core)
    }

    private init(core: SessionCore) {
        self.core = core
        // To have a journal is to keep what stands in it.
        Task { await core.session.journal.keep() }
    }

    /// All attachments, at once and at each change, in the order of the room.
    public var attachments: Attachments { Attachments(core: core) }

    // MARK: Adding

    /// Adds an item, exported by its first representation that exports.
    ///
    /// Waits until the session is joined, and returns when the attachment stands in the journal; its bytes
    /// still spread then. Cancelling gives it up if the room has not taken it.
    ///
    /// - Parameter item: What is added.
    /// - Returns: The attachment.
    /// - Throws: `JournalError`, or what the representation throws.
    @discardableResult
    public func add<ItemType: Transferable>(_ item: ItemType) async throws -> Attachment {
        try await add(item, metadata: [])
    }

    /// Adds an item with what the program says about it.
    ///
    /// - Parameters:
    ///   - item: What is added.
    ///   - metadata: What is said about it, at most 262,144 bytes encoded; up to 1,024 are with others as
    ///     soon as the attachment is.
    /// - Returns: The attachment.
    /// - Throws: `JournalError`, or what the representation throws.
    @discardableResult
    public func add<ItemType: Transferable, MetadataType: Codable>(
        _ item: ItemType,
        metadata: MetadataType
    ) async throws -> Attachment {
        let bytes: [UInt8]
        do {
            bytes = try MessageEncoder().encoded(metadata)
        } catch {
            throw JournalError.metadata("\(error)")
        }
        return try await add(item, metadata: bytes)
    }

    private func add<ItemType: Transferable>(
        _ item: ItemType,
        metadata: [UInt8]
    ) async throws -> Attachment {
        let (type, content): (UTType, TransferContent)
        do {
            (type, content) = try await item.exported()
        } catch TransferError.noExport {
            throw JournalError.noRepresentation(type: "\(ItemType.self)")
        }
        try await core.untilJoinedToJournal()
        let source: AttachmentSource
        var name = ""
        switch content {
        case .data(let data):
            source = .reader(size: UInt64(data.count)) { offset, count in
                let start = data.startIndex + Int(offset)
                return Array(data[start..<start + count])
            }
        case .file(let url):
            source = .file(url.path)
            name = url.lastPathComponent
        }
        let upload = core.session.journal.add(
            source,
            name: name,
            type: type.identifier,
            metadata: metadata
        )
        let added = try await withTaskCancellationHandler {
            try await upload.value
        } onCancel: {
            upload.cancel()
        }
        return Attachment(inner: added, core: core)
    }

    /// Removes an attachment for all; harmless if it is removed already.
    ///
    /// - Parameter attachment: What is removed.
    /// - Throws: `JournalError`.
    public func remove(attachment: Attachment) async throws {
        try await core.untilJoinedToJournal()
        try await core.session.journal.remove(attachment.inner)
    }

    // MARK: Attachments

    /// Something in the journal.
    public struct Attachment: Identifiable, Sendable {
        let inner: Huddle.Attachment
        let core: SessionCore

        /// The same on every node.
        public var id: UUID { inner.id.uuid }

        /// Makes a value of the attachment, by the first representation that fits its type; `Data` always
        /// does.
        ///
        /// Waits for the bytes, which are verified; at once if they are here. Data is mapped, not read.
        ///
        /// - Parameter attachmentType: What to make.
        /// - Returns: The value.
        /// - Throws: `JournalError`, or what the representation throws.
        public func load<AttachmentType: Transferable>(
            _ attachmentType: AttachmentType.Type
        ) async throws -> AttachmentType {
            try await core.untilJoinedToJournal()
            let download = core.session.journal.load(inner)
            let content = try await withTaskCancellationHandler {
                try await download.value
            } onCancel: {
                download.cancel()
            }
            // The mapping outlives the file's descriptor.
            let data =
                content.size == 0
                ? Data()
                : try Data(contentsOf: URL(fileURLWithPath: content.path), options: .alwaysMapped)
            let type = inner.type.isEmpty ? nil : UTType(inner.type)
            do {
                return try await AttachmentType.imported(from: .data(data), as: type)
            } catch TransferError.noImport {
                throw JournalError.noRepresentation(type: inner.type)
            }
        }

        /// What whoever added the attachment said about it.
        ///
        /// - Parameter type: What it was.
        /// - Returns: The value.
        /// - Throws: `JournalError`, of kind `metadata` if it is of another type.
        public func loadMetadata<MetadataType: Codable>(
            of type: MetadataType.Type
        ) async throws -> MetadataType {
            try await core.untilJoinedToJournal()
            let bytes = try await core.session.journal.metadata(of: inner)
            do {
                return try MessageDecoder().decode(MetadataType.self, from: bytes)
            } catch {
                throw JournalError.metadata("\(error)")
            }
        }
    }

    /// The whole set of attachments, again and again.
    public struct Attachments: AsyncSequence, Sendable {
        /// All attachments, in the order of the room.
        public typealias Element = [Attachment]
        /// It ends with the session and does not fail.
        public typealias Failure = Never

        let core: SessionCore

        /// A subscriber of its own: it gets the set as it is, and then each change.
        public func makeAsyncIterator() -> Iterator { Iterator(core: core) }

        /// One subscriber's sets.
        public struct Iterator: AsyncIteratorProtocol {
            let core: SessionCore
            private var inner: MailboxSequence<[Huddle.Attachment]>.Iterator?

            init(core: SessionCore) {
                self.core = core
            }

            /// The next set; `nil` when the session is over or the task is cancelled.
            public mutating func next() async -> Element? {
                await next(isolation: #isolation)
            }

            /// The next set; `nil` when the session is over or the task is cancelled.
            ///
            /// - Parameter isolation: The caller's isolation, which the wait does not leave.
            /// - Returns: The next set, or `nil`.
            public mutating func next(isolation: isolated (any Actor)?) async -> Element? {
                if inner == nil {
                    inner = await core.session.journal.attachments.makeAsyncIterator()
                }
                return await inner?.next(isolation: isolation)?.map { [core] in
                    Attachment(inner: $0, core: core)
                }
            }
        }
    }
}

extension SessionCore {
    /// Waits until this process has joined, in the words of the journal.
    fileprivate func untilJoinedToJournal() async throws(JournalError) {
        do {
            try await untilJoined()
        } catch {
            throw .sessionInvalidated(reason ?? .left)
        }
    }
}
