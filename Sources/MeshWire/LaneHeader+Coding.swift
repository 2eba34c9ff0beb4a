// The headers of MESSAGE and FAST, whose bytes stay where they are: the hot path reads and writes
// them without a `Frame`.

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
