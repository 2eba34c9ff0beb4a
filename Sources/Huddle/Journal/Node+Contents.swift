import MeshContent
import MeshEngine
import MeshNet
import MeshSession
import MeshStore
import MeshWire

// The exchange of contents: what comes from the engine goes in, what it asks for is done.
extension Node {
    // MARK: From the engine

    func heard(_ event: ContentEvent) {
        let now = loop.turnInstant
        switch event {
        case .message(let peer, let bytes):
            contents.exchange.receive(
                bytes,
                from: peer,
                isAllowed: { mayHave($0, peer) },
                now: now
            )
        case .taken(let peer, let count):
            for _ in 0..<count { contents.exchange.taken(by: peer) }
        case .connected(let peer):
            // Whatever was under way with a former pair is over.
            contents.exchange.disconnected(peer, now: now)
            contents.exchange.connected(peer)
            tellContents(to: peer)
        case .disconnected(let peer):
            contents.exchange.disconnected(peer, now: now)
        }
        settleContents()
    }

    /// Whether a node takes part in a session whose journal names the content.
    private func mayHave(_ content: ContentID, _ peer: NodeID) -> Bool {
        (contents.index.uses[content] ?? []).contains { use in
            engine.room?.session(use.session)?.participants.contains {
                $0.process.nodeID == peer
            } ?? false
        }
    }

    /// Tells a node what this one holds of the journals that they share.
    func tellContents(to peer: NodeID) {
        let shared = contents.index.uses.keys.filter { mayHave($0, peer) }.sorted()
        contents.exchange.announce(shared, to: peer)
    }

    /// Tells those who may have a content what this node holds of it.
    func announce(_ content: ContentID) {
        let peers = (contents.index.uses[content] ?? []).flatMap { use in
            engine.room?.session(use.session)?.participants.map(\.process.nodeID) ?? []
        }
        for peer in Set(peers).sorted() where peer != id {
            contents.exchange.announce([content], to: peer)
        }
    }

    // MARK: What the exchange asks for

    func settleContents() {
        while true {
            let actions = contents.exchange.takeActions()
            if actions.isEmpty { break }
            for action in actions { perform(action) }
        }
        noteLonely()
        armContents()
    }

    private func armContents() {
        guard !isStopped, timers.count > 3 else { return }
        loop.arm(timers[3], at: contents.deadline)
    }

    func contentsDue() {
        contents.exchange.advance(to: loop.turnInstant)
        settleContents()
    }

    private func perform(_ action: ContentExchange.Action) {
        switch action {
        case .send(let peer, let bytes, let isPart):
            guard !isStopped else { return }
            handle(.sendContent(peer, bytes, isPart: isPart))
        case .verify(let part):
            let file = contents.files[part.content]
            Task {
                let verdict = await Self.verify(part, file)
                verified(part, verdict)
            }
        case .read(let content, let chunk, let peer):
            let file = contents.files[content]
            Task {
                let bytes = await Self.read(chunk, file)
                contents.exchange.read(content, chunk, for: peer, bytes: bytes)
                settleContents()
            }
        case .mapped(let content, let size):
            guard let shape = ContentShape(size: size) else { return }
            let file = LazyContentFile(in: configuration.places.contents, shape: shape)
            contents.files[content] = file
        case .held(let content, _):
            contents.failures[content] = nil
            finishLoads(of: content)
        case .failed(let content):
            give(up: content, .badManifest)
        case .progress(let content):
            report(content)
        case .holders(let content):
            holdersChanged(of: content)
        case .announce(let content):
            announce(content)
        case .misbehaved:
            break  // counted; it is not heard any more
        }
    }

    private func verified(
        _ part: ContentExchange.Verification,
        _ verdict: (ContentExchange.Verdict, FileError?)
    ) {
        contents.exchange.verified(part, verdict.0, now: loop.turnInstant)
        if let error = verdict.1 {
            let size = contents.index.sizes(of: part.content).maximum
            give(up: part.content, JournalError(error, needed: size))
        }
        settleContents()
    }

    /// A content cannot be had: whoever waits for it hears why, and it is not tried again by itself.
    private func give(up content: ContentID, _ error: JournalError) {
        contents.exchange.drop(content)
        contents.files[content] = nil
        contents.failures[content] = error
        contents.end(content, .failure(error))
    }

    func finishLoads(of content: ContentID) {
        guard let file = contents.files[content] else { return }
        guard contents.loads.contains(where: { $0.content == content }) else { return }
        Task {
            let result = await Self.open(content, file)
            for load in contents.loads where load.content == content { report(load) }
            contents.end(content, result)
        }
    }

    private func holdersChanged(of content: ContentID) {
        let count = contents.exchange.holders(of: content).count
        let ready = contents.holderWaits.filter { $0.content == content && $0.count <= count }
        contents.holderWaits.removeAll { $0.content == content && $0.count <= count }
        for wait in ready { wait.continuation.resume(returning: nil) }
        for use in contents.index.uses[content] ?? [] {
            let meant = contents.told[use.session]?.filter { $0.content == content } ?? []
            for attachment in meant {
                hubs[use.session]?.deliver(.stateChanged(attachment, holders: count))
            }
        }
        report(content)
    }

    // MARK: Who waits

    func report(_ content: ContentID) {
        for load in contents.loads where load.content == content { report(load) }
    }

    private func report(_ load: ContentKeeper.Load) {
        let total = contents.index.sizes(of: load.content).maximum
        let progress = contents.exchange.progress(of: load.content)
        let isHeld = contents.exchange.holding(load.content) == .all
        let chunk = UInt64(ContentLimits.chunkBytes)
        let done = isHeld ? total : min(UInt64(progress?.verified ?? 0) * chunk, total)
        load.reporter.report(
            TransferProgress(
                phase: load.lonelySince == nil ? .fetching : .blocked,
                bytesDone: done,
                bytesTotal: total,
                holders: contents.exchange.holders(of: load.content).count
            )
        )
    }

    /// Notes since when loads have nobody to ask, and ends those that had nobody for too long.
    private func noteLonely() {
        let now = loop.turnInstant
        var over: [ContentID] = []
        for index in contents.loads.indices {
            let content = contents.loads[index].content
            if contents.exchange.hasHolder(of: content) {
                contents.loads[index].lonelySince = nil
            } else if let since = contents.loads[index].lonelySince {
                if since + ContentKeeper.lonelyTime <= now { over.append(content) }
            } else if contents.exchange.holding(content) != .all {
                contents.loads[index].lonelySince = now
                report(contents.loads[index])
            }
        }
        for content in over {
            let progress = contents.exchange.progress(of: content)
            let missing = progress.map { $0.chunks - $0.verified } ?? 0
            contents.end(content, .failure(.noHolder(missing: missing)))
        }
    }

    // MARK: Off the loop

    /// Hashes a part, and keeps a chunk that is true.
    @concurrent
    private static func verify(
        _ part: ContentExchange.Verification,
        _ file: LazyContentFile?
    ) async -> (ContentExchange.Verdict, FileError?) {
        guard StoredContent.hash(part.hash, part.bytes) == part.expected else {
            return (.wrong, nil)
        }
        guard case .chunk(let chunk) = part.part else { return (.genuine, nil) }
        // Without a file the content was given up meanwhile.
        guard let file else { return (.notKept, nil) }
        do throws(FileError) {
            try file.file().write(part.bytes, chunk: chunk)
            return (.genuine, nil)
        } catch {
            return (.notKept, error)
        }
    }

    @concurrent
    private static func read(_ chunk: Int, _ file: LazyContentFile?) async -> [UInt8]? {
        try? file?.file().read(chunk: chunk)
    }

    @concurrent
    static func open(
        _ content: ContentID,
        _ file: LazyContentFile
    ) async -> Result<Content, JournalError> {
        do throws(FileError) {
            return .success(Content(content, try file.file()))
        } catch {
            return .failure(JournalError(error, needed: 0))
        }
    }
}

/// What the engine says about contents and the pairs that they travel by.
enum ContentEvent {
    case message(NodeID, [UInt8])
    case taken(NodeID, Int)
    case connected(NodeID)
    case disconnected(NodeID)
}
