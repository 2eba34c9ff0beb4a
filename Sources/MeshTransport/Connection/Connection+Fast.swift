import MeshWire

extension Connection {
    /// Bytes of a fast message that fit into one packet, whatever its numbers.
    var fastFragmentBytes: Int {
        // Type, flags, three varints of 8 bytes, two bytes of a fragment, a length of 4.
        // A fragment is as small as every path carries: it is cut once and may leave again later.
        Self.floorBytes - 32
    }

    mutating func sendFast(
        _ bytes: [UInt8],
        _ index: Int,
        _ token: SendToken,
        _ options: SendOptions,
        now: Instant
    ) throws(SendError) {
        let limit = fastFragmentBytes * Limits.fastFragments
        guard bytes.count <= limit else { throw .tooLarge(size: bytes.count, limit: limit) }
        let fragmentCount = max(1, (bytes.count + fastFragmentBytes - 1) / fastFragmentBytes)
        let isLatest = options.isLatest && options.key != 0
        let sequence = outgoing[index].fastSequences[options.key, default: 0]
        outgoing[index].fastSequences[options.key] = sequence + 1
        if options.key != 0 { replaceUnsent(token.channel, key: options.key) }
        if isLatest {
            keepLatest(bytes, index, token, options, sequence, fragmentCount, now: now)
        }
        fast.append(
            PendingFast(
                token: token.number,
                header: FastHeader(
                    channel: token.channel,
                    key: options.key,
                    sequence: sequence,
                    acknowledgesAtOnce: options.acknowledgesAtOnce,
                    isLatest: isLatest
                ),
                bytes: bytes,
                queued: now,
                expires: options.expires,
                fragmentCount: fragmentCount,
                fragmentBytes: fastFragmentBytes,
                reportsOutcome: options.reportsOutcome
            )
        )
        while fast.pending.count > FastSender.countMaximum
            || fast.byteCount > FastSender.byteMaximum
        {
            drop(fast.remove(at: 0), outcome: .expired)
        }
    }

    /// Of several with the same key only the newest goes.
    private mutating func replaceUnsent(_ channel: ChannelNumber, key: UInt64) {
        let older = fast.pending.firstIndex {
            $0.header.channel == channel && $0.header.key == key && $0.fragment == 0
        }
        if let older { drop(fast.remove(at: older), outcome: .expired) }
    }

    /// Counts a fast message that does not leave; a `latest` value still settles later.
    mutating func drop(_ message: PendingFast, outcome: SendOutcome) {
        counters.fastDropped += 1
        fastAwaited[message.token] = nil
        guard !message.header.isLatest else { return }
        report(
            SendToken(channel: message.header.channel, number: message.token),
            outcome,
            wanted: message.reportsOutcome
        )
    }

    private mutating func keepLatest(
        _ bytes: [UInt8],
        _ index: Int,
        _ token: SendToken,
        _ options: SendOptions,
        _ sequence: UInt64,
        _ fragmentCount: Int,
        now: Instant
    ) {
        let old = outgoing[index].latest[options.key]
        if let old {
            // Superseded: the newer one converges in its place.
            report(
                SendToken(channel: token.channel, number: old.token),
                .expired,
                wanted: old.reportsOutcome
            )
        }
        var value = LatestValue(
            token: token.number,
            sequence: sequence,
            bytes: bytes,
            changed: now,
            fragmentCount: fragmentCount,
            fragmentBytes: fastFragmentBytes,
            reportsOutcome: options.reportsOutcome
        )
        value.isTimed = old?.isTimed ?? false
        if !value.isTimed {
            value.isTimed = true
            latestTimers.append(
                LatestTimer(
                    due: now + configuration.latestStillness,
                    channel: token.channel,
                    key: options.key
                )
            )
        }
        outgoing[index].latest[options.key] = value
        if options.isFinal { settle(index, options.key) }
    }

    /// Lets the values that stood still settle.
    mutating func advanceLatest(now: Instant) {
        while let timer = latestTimers.first, timer.due <= now {
            latestTimers.popFirst()
            guard let index = outgoing.index(of: timer.channel),
                let value = outgoing[index].latest[timer.key]
            else { continue }
            let due = value.changed + configuration.latestStillness
            guard due <= now else {
                latestTimers.append(LatestTimer(due: due, channel: timer.channel, key: timer.key))
                continue
            }
            outgoing[index].latest[timer.key]?.isTimed = false
            settle(index, timer.key)
        }
    }

    /// From now on the value is sent until the peer has it.
    mutating func settle(_ index: Int, _ key: UInt64) {
        guard let value = outgoing[index].latest[key], !value.isSettled else { return }
        outgoing[index].latest[key]?.isSettled = true
        for fragment in 0..<value.fragmentCount where value.acknowledged >> fragment & 1 == 0 {
            enqueue(
                .latest(
                    outgoing[index].number,
                    key: key,
                    sequence: value.sequence,
                    fragment: UInt8(fragment)
                )
            )
        }
    }

    /// The peer has a fragment of a `latest` value.
    mutating func acknowledgedLatest(
        _ channel: ChannelNumber,
        key: UInt64,
        sequence: UInt64,
        fragment: UInt8
    ) {
        guard let index = outgoing.index(of: channel), let old = outgoing[index].latest[key],
            old.sequence == sequence
        else { return }
        var value = old
        value.acknowledged |= 1 << UInt32(fragment)
        outgoing[index].latest[key] = value
        guard value.isWhole else { return }
        outgoing[index].latest[key] = nil
        report(
            SendToken(channel: channel, number: value.token),
            .delivered,
            wanted: value.reportsOutcome
        )
        finishClosing(index)
    }

    /// Drops what waited too long.
    mutating func advanceFast(now: Instant) {
        for index in fast.pending.indices.reversed()
        where fast.pending[index].dropped(after: configuration.fastWaitMaximum) <= now {
            drop(fast.remove(at: index), outcome: .expired)
        }
        counters.fastStale += fastReassembly.expire(now: now)
    }
}
