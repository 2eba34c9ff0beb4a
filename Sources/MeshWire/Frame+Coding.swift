extension Array<UInt8> {
    /// Appends a varint in its shortest form (RFC 9000 §16); `value` must be below 2^62.
    package mutating func append(variable value: UInt64) {
        switch VariableInteger.byteCount(value) {
        case 1:
            append(UInt8(truncatingIfNeeded: value))
        case 2:
            append(UInt8(truncatingIfNeeded: value >> 8 | 0x40))
            append(UInt8(truncatingIfNeeded: value))
        case 4:
            append(bigEndian: value | 0x8000_0000, count: 4)
        default:
            append(bigEndian: value | 0xc000_0000_0000_0000, count: 8)
        }
    }

    /// Appends a little-endian integer.
    package mutating func append(littleEndian value: UInt64) {
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    private mutating func append(bigEndian value: UInt64, count: Int) {
        for index in (0..<count).reversed() {
            append(UInt8(truncatingIfNeeded: value >> UInt64(8 * index)))
        }
    }

    /// Appends bytes behind their length as a varint.
    fileprivate mutating func append(blob: [UInt8]) {
        append(variable: UInt64(blob.count))
        append(contentsOf: blob)
    }
}

// MARK: - Encoding

extension Frame {
    /// Appends the frame to `buffer`.
    ///
    /// Traps if the frame breaks a limit of its type: such a frame must not be made.
    package func encode(into buffer: inout [UInt8]) {
        switch self {
        case .padding:
            buffer.append(Kind.padding)
        case .authentication(let bytes):
            Self.append(bytes, Self.authenticationBytes, Kind.authentication, to: &buffer)
        case .pathChallenge(let bytes):
            Self.append(bytes, Self.pathBytes, Kind.pathChallenge, to: &buffer)
        case .pathResponse(let bytes):
            Self.append(bytes, Self.pathBytes, Kind.pathResponse, to: &buffer)
        case .grant(let bytes):
            Self.append(bytes, Self.grantBytes, Kind.grant, to: &buffer)
        case .close(let reason, let text):
            precondition(text.utf8.count <= Self.closeTextBytes, "a text to close with is short")
            buffer.append(Kind.close)
            buffer.append(reason.rawValue)
            buffer.append(blob: Array(text.utf8))
        case .ping:
            buffer.append(Kind.ping)
        case .acknowledgment(let frame):
            frame.encode(into: &buffer)
        case .settings(let settings):
            precondition(settings.count <= Self.settings, "too many settings")
            buffer.append(Kind.settings)
            buffer.append(variable: UInt64(settings.count))
            for setting in settings {
                buffer.append(variable: setting.identifier)
                buffer.append(variable: setting.value)
            }
        case .message(let header, let bytes):
            header.encode(length: bytes.count, into: &buffer)
            buffer.append(contentsOf: bytes)
        case .fast(let header, let bytes):
            header.encode(length: bytes.count, into: &buffer)
            buffer.append(contentsOf: bytes)
        case .cancel, .resume, .channelOpen, .channelClose, .window, .windowAll:
            encodeChannelFrame(into: &buffer)
        case .control(let machine, let bytes):
            buffer.append(Kind.control)
            buffer.append(machine)
            buffer.append(blob: bytes)
        case .relay(let target, let origin, let bytes):
            buffer.append(Kind.relay)
            buffer.append(littleEndian: target)
            buffer.append(littleEndian: origin)
            buffer.append(blob: bytes)
        case .unknown(let type, let bytes):
            precondition(type & 0x80 != 0, "only types with bit 7 can be skipped")
            buffer.append(type)
            buffer.append(blob: bytes)
        }
    }

    private static func append(
        _ bytes: [UInt8],
        _ count: Int,
        _ kind: UInt8,
        to buffer: inout [UInt8]
    ) {
        precondition(bytes.count == count, "frame \(kind) has \(count) bytes, not \(bytes.count)")
        buffer.append(kind)
        buffer.append(contentsOf: bytes)
    }

    private func encodeChannelFrame(into buffer: inout [UInt8]) {
        switch self {
        case .cancel(let channel, let first, let count):
            buffer.append(Kind.cancel)
            buffer.append(variable: channel)
            buffer.append(variable: first)
            buffer.append(variable: count)
        case .resume(let points):
            precondition(points.count <= Self.resumePoints, "too many channels to resume")
            buffer.append(Kind.resume)
            buffer.append(variable: UInt64(points.count))
            for point in points {
                buffer.append(variable: point.channel)
                buffer.append(variable: point.next)
            }
        case .channelOpen(let channel, let trafficClass, let name):
            precondition(name.count <= Limits.channelNameBytes, "a channel's name is short")
            buffer.append(Kind.channelOpen)
            buffer.append(variable: channel)
            buffer.append(trafficClass.rawValue)
            buffer.append(blob: name)
        case .channelClose(let channel, let final):
            buffer.append(Kind.channelClose)
            buffer.append(variable: channel)
            buffer.append(variable: final)
        case .window(let channel, let limit):
            buffer.append(Kind.window)
            buffer.append(variable: channel)
            buffer.append(variable: limit)
        case .windowAll(let limit):
            buffer.append(Kind.windowAll)
            buffer.append(variable: limit)
        default:
            preconditionFailure("not a frame of a channel")
        }
    }
}

extension AcknowledgmentFrame {
    /// Appends the frame: largest, delay, count, first length, then gaps and lengths.
    package func encode(into buffer: inout [UInt8]) {
        precondition(!ranges.isEmpty, "an acknowledgment names a packet")
        precondition(ranges.count <= Frame.acknowledgmentRanges + 1, "too many ranges")
        buffer.append(
            congestion == nil ? Frame.Kind.acknowledgment : Frame.Kind.acknowledgmentECN
        )
        buffer.append(variable: ranges[0].upperBound)
        buffer.append(variable: delay)
        buffer.append(variable: UInt64(ranges.count - 1))
        buffer.append(variable: ranges[0].upperBound - ranges[0].lowerBound)
        for index in ranges.indices.dropFirst() {
            // RFC 9000 §19.3.1: the gap is one less than the numbers missing between two ranges.
            buffer.append(variable: ranges[index - 1].lowerBound - ranges[index].upperBound - 2)
            buffer.append(variable: ranges[index].upperBound - ranges[index].lowerBound)
        }
        if let congestion {
            buffer.append(variable: congestion.ect0)
            buffer.append(variable: congestion.ect1)
            buffer.append(variable: congestion.experienced)
        }
    }
}

extension MessageHeader {
    private enum Flag {
        static let fragment: UInt8 = 1
        static let unordered: UInt8 = 2
        static let acknowledgeAtOnce: UInt8 = 4
        static let all: UInt8 = 7
    }

    /// Appends type, flags and fields up to the length; the bytes follow.
    package func encode(length: Int, into buffer: inout [UInt8]) {
        buffer.append(Frame.Kind.message)
        buffer.append(
            (fragment == nil ? 0 : Flag.fragment)
                | (isUnordered ? Flag.unordered : 0)
                | (acknowledgesAtOnce ? Flag.acknowledgeAtOnce : 0)
        )
        buffer.append(variable: channel)
        buffer.append(variable: sequence)
        if let fragment {
            buffer.append(variable: UInt64(fragment.total))
            buffer.append(variable: UInt64(fragment.offset))
        }
        buffer.append(variable: UInt64(length))
    }

    /// The number of bytes ``encode(length:into:)`` appends.
    package func byteCount(length: Int) -> Int {
        var count = 2 + VariableInteger.byteCount(channel) + VariableInteger.byteCount(sequence)
        if let fragment {
            count += VariableInteger.byteCount(UInt64(fragment.total))
            count += VariableInteger.byteCount(UInt64(fragment.offset))
        }
        return count + VariableInteger.byteCount(UInt64(length))
    }

    /// Reads the fields behind the type byte, and the bytes, which stay borrowed.
    @_lifetime(copy reader)
    package static func read(
        _ reader: inout ByteReader,
        header: inout MessageHeader
    ) throws(WireError) -> RawSpan {
        let start = reader.offset
        let flags: UInt8 = try reader.read()
        guard flags & ~Flag.all == 0 else { throw .reserved(at: start) }
        header.isUnordered = flags & Flag.unordered != 0
        header.acknowledgesAtOnce = flags & Flag.acknowledgeAtOnce != 0
        header.channel = try reader.readVariable()
        header.sequence = try reader.readVariable()
        header.fragment = nil
        var room = Limits.messageBytes
        if flags & Flag.fragment != 0 {
            let total = try reader.readCount(limit: Limits.messageBytes)
            let offset = try reader.readCount(limit: total)
            header.fragment = Fragment(total: total, offset: offset)
            room = total - offset
        }
        return try reader.readSpan(try reader.readCount(limit: room))
    }
}

extension FastHeader {
    private enum Flag {
        static let fragment: UInt8 = 1
        static let acknowledgeAtOnce: UInt8 = 2
        static let latest: UInt8 = 4
        static let all: UInt8 = 7
    }

    /// Appends type, flags and fields up to the length; the bytes follow.
    package func encode(length: Int, into buffer: inout [UInt8]) {
        buffer.append(Frame.Kind.fast)
        buffer.append(
            (fragment == nil ? 0 : Flag.fragment)
                | (acknowledgesAtOnce ? Flag.acknowledgeAtOnce : 0)
                | (isLatest ? Flag.latest : 0)
        )
        buffer.append(variable: channel)
        buffer.append(variable: key)
        buffer.append(variable: sequence)
        if let fragment {
            buffer.append(fragment.index)
            buffer.append(fragment.count)
        }
        buffer.append(variable: UInt64(length))
    }

    /// The number of bytes ``encode(length:into:)`` appends.
    package func byteCount(length: Int) -> Int {
        2 + VariableInteger.byteCount(channel) + VariableInteger.byteCount(key)
            + VariableInteger.byteCount(sequence) + (fragment == nil ? 0 : 2)
            + VariableInteger.byteCount(UInt64(length))
    }

    /// Reads the fields behind the type byte, and the bytes, which stay borrowed.
    @_lifetime(copy reader)
    package static func read(
        _ reader: inout ByteReader,
        header: inout FastHeader
    ) throws(WireError) -> RawSpan {
        let start = reader.offset
        let flags: UInt8 = try reader.read()
        guard flags & ~Flag.all == 0 else { throw .reserved(at: start) }
        header.acknowledgesAtOnce = flags & Flag.acknowledgeAtOnce != 0
        header.isLatest = flags & Flag.latest != 0
        header.channel = try reader.readVariable()
        header.key = try reader.readVariable()
        header.sequence = try reader.readVariable()
        header.fragment = nil
        if flags & Flag.fragment != 0 {
            let place = reader.offset
            let index: UInt8 = try reader.read()
            let count: UInt8 = try reader.read()
            guard count <= Limits.fastFragments else { throw .overLimit(UInt64(count), at: place) }
            guard index < count else { throw .invalid(at: place) }
            header.fragment = Fragment(index: index, count: count)
        }
        return try reader.readSpan(try reader.readCount(limit: Limits.datagramCeilingBytes))
    }
}

// MARK: - Decoding

extension Frame {
    /// Reads one frame.
    ///
    /// Throws a `WireError` for an unknown type without bit 7, a field cut short, a varint in a
    /// longer form, a bit that is reserved or a value above its limit.
    package init(reading reader: inout ByteReader) throws(WireError) {
        try self.init(kind: try reader.read(), reading: &reader)
    }

    /// Reads one frame whose type byte was read already.
    package init(kind: UInt8, reading reader: inout ByteReader) throws(WireError) {
        let start = reader.offset - 1
        switch kind {
        case Kind.padding:
            self = .padding
        case Kind.authentication:
            self = .authentication(try reader.readBytes(Self.authenticationBytes))
        case Kind.pathChallenge:
            self = .pathChallenge(try reader.readBytes(Self.pathBytes))
        case Kind.pathResponse:
            self = .pathResponse(try reader.readBytes(Self.pathBytes))
        case Kind.close:
            let reason: UInt8 = try reader.read()
            let text = try reader.readString(limit: Self.closeTextBytes)
            self = .close(CloseReason(rawValue: reason), text: text)
        case Kind.grant:
            self = .grant(try reader.readBytes(Self.grantBytes))
        case Kind.ping:
            self = .ping
        case Kind.acknowledgment, Kind.acknowledgmentECN:
            let hasCongestion = kind == Kind.acknowledgmentECN
            self = .acknowledgment(try AcknowledgmentFrame(&reader, hasCongestion: hasCongestion))
        case Kind.settings:
            var settings: [Setting] = []
            for _ in 0..<(try reader.readCount(limit: Self.settings)) {
                settings.append(Setting(try reader.readVariable(), try reader.readVariable()))
            }
            self = .settings(settings)
        case Kind.message:
            var header = MessageHeader(channel: 0, sequence: 0)
            let bytes = try MessageHeader.read(&reader, header: &header)
            self = .message(header, bytes.copied)
        case Kind.fast:
            var header = FastHeader(channel: 0, key: 0, sequence: 0)
            let bytes = try FastHeader.read(&reader, header: &header)
            self = .fast(header, bytes.copied)
        case Kind.cancel, Kind.resume, Kind.channelOpen, Kind.channelClose, Kind.window,
            Kind.windowAll:
            self = try Self.channelFrame(kind, &reader)
        case Kind.control:
            let machine: UInt8 = try reader.read()
            self = .control(
                machine: machine,
                try reader.readBlob(limit: Limits.datagramCeilingBytes)
            )
        case Kind.relay:
            let target: UInt64 = try reader.read()
            let origin: UInt64 = try reader.read()
            let bytes = try reader.readBlob(limit: Limits.datagramCeilingBytes)
            self = .relay(target: target, origin: origin, bytes)
        case 0x80...:
            self = .unknown(type: kind, try reader.readBlob(limit: Limits.datagramCeilingBytes))
        default:
            throw .unknownType(kind, at: start)
        }
    }

    private static func channelFrame(
        _ kind: UInt8,
        _ reader: inout ByteReader
    ) throws(WireError) -> Frame {
        switch kind {
        case Kind.cancel:
            let channel = try reader.readVariable()
            let first = try reader.readVariable()
            return .cancel(channel: channel, first: first, count: try reader.readVariable())
        case Kind.resume:
            var points: [ResumePoint] = []
            for _ in 0..<(try reader.readCount(limit: resumePoints)) {
                let channel = try reader.readVariable()
                points.append(ResumePoint(channel: channel, next: try reader.readVariable()))
            }
            return .resume(points)
        case Kind.channelOpen:
            let channel = try reader.readVariable()
            let place = reader.offset
            guard let trafficClass = TrafficClass(rawValue: try reader.read()) else {
                throw .invalid(at: place)
            }
            let name = try reader.readBlob(limit: Limits.channelNameBytes)
            return .channelOpen(channel: channel, class: trafficClass, name: name)
        case Kind.channelClose:
            let channel = try reader.readVariable()
            return .channelClose(channel: channel, final: try reader.readVariable())
        case Kind.window:
            let channel = try reader.readVariable()
            return .window(channel: channel, limit: try reader.readVariable())
        default:
            return .windowAll(limit: try reader.readVariable())
        }
    }
}

extension AcknowledgmentFrame {
    /// Reads the fields behind the type byte; ranges below zero are `invalid` (RFC 9000 §19.3.1).
    fileprivate init(
        _ reader: inout ByteReader,
        hasCongestion: Bool
    ) throws(WireError) {
        let start = reader.offset
        let largest = try reader.readVariable()
        delay = try reader.readVariable()
        let count = try reader.readCount(limit: Frame.acknowledgmentRanges)
        let first = try reader.readVariable()
        guard first <= largest else { throw .invalid(at: start) }
        ranges = [largest - first...largest]
        ranges.reserveCapacity(count + 1)
        var lowest = largest - first
        for _ in 0..<count {
            let place = reader.offset
            // Both are below 2^62, so that their sums cannot overflow.
            let gap = try reader.readVariable()
            let length = try reader.readVariable()
            guard gap + 2 + length <= lowest else { throw .invalid(at: place) }
            let upper = lowest - gap - 2
            lowest = upper - length
            ranges.append(lowest...upper)
        }
        guard hasCongestion else {
            congestion = nil
            return
        }
        congestion = Congestion(
            ect0: try reader.readVariable(),
            ect1: try reader.readVariable(),
            experienced: try reader.readVariable()
        )
    }
}
