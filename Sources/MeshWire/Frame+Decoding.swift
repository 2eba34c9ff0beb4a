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
