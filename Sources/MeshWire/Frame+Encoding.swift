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
