import MeshContent
import MeshCrypto
import MeshEngine
import MeshNet
import MeshSession
import MeshStore
import MeshWire

/// What a new attachment is made of.
struct UploadRequest: Sendable {
    var source: AttachmentSource
    var name: String
    var type: String
    var metadata: [UInt8]
}

// The journals of this node's sessions.
extension Node {
    // MARK: Readers

    func attachments(of session: SessionID) -> MailboxSequence<[Attachment]> {
        guard isRunning(session) else { return Self.ended() }
        useJournal(of: session)
        return hub(session).readAttachments(contents.told[session] ?? [])
    }

    func journalChanges(of session: SessionID) -> MailboxSequence<JournalChange> {
        guard isRunning(session) else { return Self.ended() }
        useJournal(of: session)
        return hub(session).readJournal()
    }

    private func isRunning(_ session: SessionID) -> Bool {
        !isStopped && (standings[session] != nil || engine.room?.session(session) != nil)
    }

    private static func ended<Element>() -> MailboxSequence<Element> {
        let mailbox = Mailbox<Element>(.newest(1))
        mailbox.finish()
        return mailbox.makeSequence()
    }

    /// From now on this node keeps what stands in the journal.
    func useJournal(of session: SessionID) {
        guard isRunning(session), contents.inUse.insert(session).inserted else { return }
        contents.news.isHere = true
        followJournals()
    }

    // MARK: What the log says

    func added(_ record: JournalRecord, to session: SessionID) {
        let attachment = Attachment(record, of: session)
        contents.told[session, default: []].append(attachment)
        hubs[session]?.deliver(contents.told[session] ?? [], .added(attachment))
        contents.news.added += [record.entry.root, record.entry.metadataRoot]
    }

    func removed(_ attachment: AttachmentID, from session: SessionID) {
        contents.told[session]?.removeAll { $0.id == attachment }
        hubs[session]?.deliver(contents.told[session] ?? [], .removed(attachment))
        contents.news.loss = contents.news.loss ?? .removed
    }

    /// A participant is there: if it is another, it may have what this node holds; if it is this one,
    /// it keeps what it uses.
    func takesPart(_ participant: MeshSession.Participant) {
        if participant.process == engine.process {
            contents.news.isHere = true
        } else {
            contents.news.peers.insert(participant.process.nodeID)
        }
    }

    /// The session is over, or this node's part in it.
    func journalEnded(of session: SessionID, _ reason: GroupSessionError, isOver: Bool) {
        contents.inUse.remove(session)
        if isOver { contents.told[session] = nil }
        contents.news.loss = .sessionInvalidated(reason)
    }

    /// Does what follows from the news of a turn, all at once: a newcomer hears of thousands of entries.
    func followJournals() {
        guard !contents.news.isEmpty else { return }
        let news = contents.news
        contents.news = ContentKeeper.News()
        contents.index = JournalIndex(isStopped ? nil : engine.room)
        if let loss = news.loss { collectContents(loss) }
        for peer in news.peers.sorted() { tellContents(to: peer) }
        for content in news.added where contents.exchange.holding(content) != .none {
            announce(content)
        }
        if news.isHere || !news.added.isEmpty { keepJournals() }
        settleContents()
    }

    /// Fetches what stands in the journals that are used here, as far as it may be kept.
    private func keepJournals() {
        var room = ContentKeeper.keptBytes
        for session in contents.inUse.sorted() {
            guard localParticipant(of: session) != nil,
                let found = engine.room?.session(session)
            else { continue }
            for record in found.journal {
                let size = min(record.entry.size, room)
                room -= size
                guard size == record.entry.size, size <= found.options.attachmentLimit else {
                    continue
                }
                fetch(record.entry.root, isUrgent: false)
                fetch(record.entry.metadataRoot, isUrgent: false)
            }
        }
    }

    private func fetch(_ content: ContentID, isUrgent: Bool) {
        guard content != .zero, contents.failures[content] == nil else { return }
        let sizes = contents.index.sizes(of: content)
        contents.exchange.fetch(content, sizes: sizes, isUrgent: isUrgent, now: loop.turnInstant)
    }

    /// Lets go of what no session of this node names any more.
    func collectContents(_ reason: JournalError) {
        contents.index = JournalIndex(isStopped ? nil : engine.room)
        let known = Set(contents.files.keys).union(contents.exchange.known)
        for content in known.sorted() where contents.pinned[content] == nil {
            let isNamed = (contents.index.uses[content] ?? []).contains { use in
                localParticipant(of: use.session) != nil
            }
            guard !isNamed else { continue }
            contents.exchange.drop(content)
            contents.files[content] = nil
            contents.failures[content] = nil
            contents.end(content, .failure(reason))
            let waits = contents.holderWaits.filter { $0.content == content }
            contents.holderWaits.removeAll { $0.content == content }
            for wait in waits { wait.continuation.resume(returning: reason) }
        }
        settleContents()
    }

    // MARK: Adding and removing

    func upload(
        _ request: UploadRequest,
        to session: SessionID,
        _ reporter: TransferReporter
    ) async -> Result<Attachment, JournalError> {
        do throws(JournalError) {
            return .success(try await add(request, to: session, reporter))
        } catch {
            return .failure(error)
        }
    }

    private func add(
        _ request: UploadRequest,
        to session: SessionID,
        _ reporter: TransferReporter
    ) async throws(JournalError) -> Attachment {
        try requireParticipant(of: session)
        let limit = engine.room?.session(session)?.options.attachmentLimit ?? 0
        guard request.metadata.count <= Journal.metadataBytes else {
            throw .tooLarge(
                size: UInt64(request.metadata.count),
                limit: UInt64(Journal.metadataBytes)
            )
        }
        useJournal(of: session)
        let directory = configuration.places.contents
        let main = try await Self.store(request.source, limit: limit, in: directory, reporter).get()
        let isLong = request.metadata.count > Journal.shortMetadataBytes
        var pieces = [main]
        if isLong {
            let source = AttachmentSource.bytes(request.metadata)
            let most = UInt64(Journal.metadataBytes)
            pieces.append(try await Self.store(source, limit: most, in: directory, nil).get())
        }
        try requireParticipant(of: session)
        guard !Task.isCancelled else { throw .cancelled }
        for piece in pieces { hold(piece) }
        defer { release(pieces.map(\.id)) }
        var name = request.name
        while name.utf8.count > SessionLimits.attachmentNameBytes { name.removeLast() }
        let entry = JournalEntry(
            id: secrets.identifier(),
            kind: request.source.kind,
            size: main.tree.shape.size,
            root: main.id,
            name: name,
            type: request.type,
            files: request.source.kind == .file ? 1 : 0,
            metadata: isLong ? [] : request.metadata,
            metadataRoot: isLong ? pieces[1].id : .zero
        )
        reporter.report(
            TransferProgress(
                phase: .announcing,
                bytesDone: entry.size,
                bytesTotal: entry.size,
                holders: 0
            )
        )
        try await awaitJournalPace()
        // Once the room is asked, a cancellation comes too late.
        let submission = Task { () -> HuddleError? in
            do throws(HuddleError) {
                _ = try await submit(.addAttachment(entry), session: session)
                return nil
            } catch {
                return error
            }
        }
        if let error = await submission.value { throw JournalError(error, size: entry.size) }
        guard let participant = localParticipant(of: session) else {
            throw .sessionInvalidated(reasonOfEnd(session))
        }
        let author = participant.participantID
        return Attachment(JournalRecord(entry: entry, author: author, node: id), of: session)
    }

    private func hold(_ stored: StoredContent) {
        contents.pinned[stored.id, default: 0] += 1
        contents.failures[stored.id] = nil
        guard contents.exchange.holding(stored.id) != .all else { return }
        let directory = configuration.places.contents
        contents.files[stored.id] = LazyContentFile(stored.file, in: directory)
        contents.exchange.hold(stored.id, stored.tree)
        finishLoads(of: stored.id)
        settleContents()
    }

    private func release(_ pieces: [ContentID]) {
        for content in pieces {
            let count = (contents.pinned[content] ?? 1) - 1
            contents.pinned[content] = count == 0 ? nil : count
        }
        collectContents(.removed)
    }

    func remove(_ attachment: AttachmentID, from session: SessionID) async throws(JournalError) {
        try await awaitJournalPace()
        do {
            _ = try await submit(.removeAttachment(attachment), session: session)
        } catch {
            guard error.refusal != .noSuchAttachment else { return }
            throw JournalError(error)
        }
    }

    private func requireParticipant(of session: SessionID) throws(JournalError) {
        guard !isStopped, localParticipant(of: session) != nil else {
            throw .sessionInvalidated(reasonOfEnd(session))
        }
    }

    private func reasonOfEnd(_ session: SessionID) -> GroupSessionError {
        ends.last { $0.session == session }?.reason ?? (isStopped ? .roomLeft : .left)
    }

    /// Copies and hashes a source, on a thread of the pool.
    @concurrent
    private static func store(
        _ source: AttachmentSource,
        limit: UInt64,
        in directory: String,
        _ reporter: TransferReporter?
    ) async -> Result<StoredContent, JournalError> {
        var size: UInt64 = 0
        do throws(ContentSourceError) {
            switch source {
            case .bytes(let bytes):
                size = UInt64(bytes.count)
                return .success(
                    try StoredContent(size: size, limit: limit, in: directory) { offset, count in
                        Array(bytes[Int(offset)..<Int(offset) + count])
                    }
                )
            case .file(let path):
                return .success(try StoredContent(path: path, limit: limit, in: directory))
            case .reader(let length, let read):
                size = length
                return .success(
                    try StoredContent(size: size, limit: limit, in: directory) { offset, count in
                        reporter?.report(
                            TransferProgress(
                                phase: .reading,
                                bytesDone: offset,
                                bytesTotal: length,
                                holders: 0
                            )
                        )
                        return read(offset, count)
                    }
                )
            }
        } catch {
            return .failure(JournalError(error, needed: size))
        }
    }

    // MARK: Loading

    func load(
        _ content: ContentID,
        size: UInt64?,
        of attachment: AttachmentID,
        in session: SessionID,
        _ reporter: TransferReporter
    ) async -> Result<Content, JournalError> {
        do throws(JournalError) {
            try requireParticipant(of: session)
        } catch {
            return .failure(error)
        }
        guard engine.room?.session(session)?.attachment(attachment) != nil else {
            return .failure(.removed)
        }
        useJournal(of: session)
        if contents.exchange.holding(content) == .all {
            guard let file = contents.files[content] else { return .failure(.removed) }
            let opened = await Self.open(content, file)
            guard case .success(let found) = opened, let size, found.size != size else {
                return opened
            }
            return .failure(.badManifest)
        }
        contents.failures[content] = nil
        let number = contents.takeNumber()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation {
                (continuation: CheckedContinuation<Result<Content, JournalError>, Never>) in
                guard !Task.isCancelled else {
                    return continuation.resume(returning: .failure(.cancelled))
                }
                contents.loads.append(
                    ContentKeeper.Load(
                        number: number,
                        content: content,
                        session: session,
                        reporter: reporter,
                        continuation: continuation,
                        lonelySince: nil
                    )
                )
                fetch(content, isUrgent: true)
                settleContents()
                report(content)
            }
        } onCancel: {
            Task { await self.cancelLoad(number) }
        }
        guard case .success(let found) = result, let size, found.size != size else { return result }
        return .failure(.badManifest)
    }

    private func cancelLoad(_ number: UInt64) {
        guard let index = contents.loads.firstIndex(where: { $0.number == number }) else { return }
        contents.loads.remove(at: index).continuation.resume(returning: .failure(.cancelled))
    }

    /// Waits until so many other nodes hold all of a content.
    func waitForHolders(of content: ContentID, count: Int) async throws(JournalError) {
        guard contents.exchange.holders(of: content).count < count else { return }
        guard contents.exchange.holding(content) == .all else { throw .removed }
        let number = contents.takeNumber()
        let error = await withTaskCancellationHandler {
            await withCheckedContinuation {
                (continuation: CheckedContinuation<JournalError?, Never>) in
                guard !Task.isCancelled else { return continuation.resume(returning: .cancelled) }
                contents.holderWaits.append(
                    ContentKeeper.HolderWait(
                        number: number,
                        content: content,
                        count: count,
                        continuation: continuation
                    )
                )
            }
        } onCancel: {
            Task { await self.cancelHolderWait(number) }
        }
        if let error { throw error }
    }

    private func cancelHolderWait(_ number: UInt64) {
        guard let index = contents.holderWaits.firstIndex(where: { $0.number == number }) else {
            return
        }
        contents.holderWaits.remove(at: index).continuation.resume(returning: .cancelled)
    }
}

extension AttachmentSource {
    fileprivate var kind: JournalEntry.Kind {
        switch self {
        case .bytes, .reader: .data
        case .file: .file
        }
    }
}
