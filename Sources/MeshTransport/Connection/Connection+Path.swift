import MeshWire

/// The size of packets, as the path's search finds it.
extension Connection {
    /// Bytes of frames that every path carries.
    static let floorBytes = Limits.datagramFloorBytes - Limits.sealOverheadBytes

    /// Writes a probe of the path's size, if one is due and may leave.
    mutating func writePathProbe(
        _ draft: inout PacketDraft,
        into buffer: inout [UInt8],
        now: Instant
    ) -> Bool {
        // Beside a silence a probe would tell nothing.
        guard probeCount == 0, roundTrip.hasSample, areSettingsAcknowledged,
            inFlightBytes < congestion.window, pacer.isOpen()
        else { return false }
        let bytes = path.probe(
            maximum: min(configuration.datagramBytes, peerDatagramBytes),
            rate: congestion.rate(smoothed: roundTrip.smoothed),
            now: now
        )
        guard let bytes else { return false }
        buffer.append(Frame.Kind.ping)
        let padding = bytes - Limits.sealOverheadBytes - 1
        buffer.append(contentsOf: repeatElement(Frame.Kind.padding, count: padding))
        draft.hasMessage = true
        draft.elicits = true
        draft.frames.append(.pathProbe(bytes: bytes))
        return true
    }

    /// A packet is lost: what that says of the sizes the path carries.
    mutating func noteVanished(_ packet: SentPacket, now: Instant) {
        if packet.isPathProbe {
            path.probeLost(packet.byteCount, loss: congestion.loss, now: now)
        } else if path.lost(packet.byteCount, sent: packet.time, loss: congestion.loss) {
            counters.blackHoles += 1
            resizePackets()
        }
    }

    /// Once a round: the size that suits the rate.
    mutating func fitPackets() {
        if path.fit(rate: congestion.rate(smoothed: roundTrip.smoothed)) { resizePackets() }
    }

    /// Tells all who reckon in packets how large they are now.
    mutating func resizePackets() {
        packetBytes = path.datagramBytes - Limits.sealOverheadBytes
        congestion.packet = Double(packetBytes)
        background.packet = Double(packetBytes)
        scheduler.packetBytes = Double(packetBytes)
    }
}
