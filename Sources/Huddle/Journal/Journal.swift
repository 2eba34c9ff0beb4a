import MeshWire

/// A session's attachments: bytes that all participants share, also those who come later.
///
/// The room's log says what there is; the bytes go from node to node behind all other traffic, and are
/// verified chunk by chunk. A node that has read a session's journal, added to it or loaded from it, or was
/// told to ``keep()`` it, keeps what stands in it, up to the session's ``Session/Options/attachmentLimit`` each
/// and 1 GB in all, so that whoever added something may leave. What is kept goes with the session.
public struct Journal: Sendable {
    let session: SessionID
    let node: Node

    /// Metadata of at most this many bytes stand in the log; it is there with the entry.
    public static let shortMetadataBytes = 1024
    /// The most metadata that an attachment has, 256 KiB.
    public static let metadataBytes = 256 << 10

    /// From now on this node keeps what stands in the journal, for others and for later.
    public func keep() async { await node.useJournal(of: session) }

    /// All attachments, at once and at each change, in the order of the room's log.
    ///
    /// Also the changes of this node itself. Ends with this node's part in the session. A reader more than
    /// 64 changes behind loses the oldest.
    public var attachments: MailboxSequence<[Attachment]> {
        get async { await node.attachments(of: session) }
    }

    /// What changes from now on; a reader more than 4,096 changes behind loses the oldest.
    public var changes: MailboxSequence<JournalChange> {
        get async { await node.journalChanges(of: session) }
    }

    /// Adds an attachment: reads and hashes the source, then puts an entry into the room's log.
    ///
    /// A node changes journals 20 times a second, and 100 times at once after a rest; who is faster waits
    /// up to 5 s, and is then refused with `tooFast`.
    ///
    /// The transfer ends when the entry is in the log; the bytes still spread then. Throws `tooLarge` before
    /// anything is read, `quotaExceeded`, `tooFast`, `changedWhileReading`, `unreadable`, `noSpace`,
    /// `sessionInvalidated`, `refused`, `cancelled`. A cancelled upload leaves no trace unless the room has
    /// it already.
    ///
    /// - Parameters:
    ///   - source: The bytes.
    ///   - name: What others see as its name, cut after 200 bytes of UTF-8.
    ///   - type: Its type, at most 128 bytes.
    ///   - metadata: What the application says about it, at most 256 KiB.
    /// - Returns: The transfer, whose value is the attachment.
    public func add(
        _ source: AttachmentSource,
        name: String = "",
        type: String = "",
        metadata: [UInt8] = []
    ) -> Upload {
        Transfer(node: node, content: { $0.content }) { [session, node] reporter in
            await node.upload(
                UploadRequest(source: source, name: name, type: type, metadata: metadata),
                to: session,
                reporter
            )
        }
    }

    /// Gets the bytes of an attachment; free if they are here already.
    ///
    /// Throws `noHolder` after 30 s in which nobody in reach had any of them, `removed`, `badManifest`,
    /// `noSpace`, `unreadable`, `sessionInvalidated`, `cancelled`.
    public func load(_ attachment: Attachment) -> Download {
        Transfer(node: node, content: { $0.id }) { [session, node] reporter in
            await node.load(
                attachment.content,
                size: attachment.size,
                of: attachment.id,
                in: session,
                reporter
            )
        }
    }

    /// Gets what the application said about an attachment; at once if that is at most 1 KiB.
    ///
    /// Throws as ``load(_:)`` does.
    public func metadata(of attachment: Attachment) async throws(JournalError) -> [UInt8] {
        guard attachment.metadataContent != .zero else { return attachment.metadata }
        let loaded = await node.load(
            attachment.metadataContent,
            size: nil,
            of: attachment.id,
            in: session,
            TransferReporter()
        )
        let content = try loaded.get()
        return try content.read(Int(content.size))
    }

    /// Removes an attachment for all; harmless if it is removed already.
    ///
    /// Throws `sessionInvalidated`, `tooFast`, `cancelled`, and `refused` unless ``Session/Options/mayRemove``
    /// lets this node.
    public func remove(_ attachment: Attachment) async throws(JournalError) {
        try await node.remove(attachment.id, from: session)
    }
}

extension Session {
    /// The session's attachments.
    public var journal: Journal { Journal(session: id, node: node) }
}
