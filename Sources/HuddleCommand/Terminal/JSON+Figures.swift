import Huddle
import MeshTransport

extension JSON {
    /// What `peers` tells of a connection.
    static func figures(_ figures: TransportStatistics) -> [Member] {
        [
            Member("rttMilliseconds", .milliseconds(figures.roundTrip)),
            Member("rttMinimumMilliseconds", .milliseconds(figures.roundTripMinimum)),
            Member("jitterMilliseconds", .milliseconds(figures.jitter)),
            Member("lossPercent", .number((figures.loss * 10_000).rounded() / 100)),
            Member("datagramsSent", .count(figures.packetsSent)),
            Member("datagramsReceived", .count(figures.packetsReceived)),
            Member("bytesSent", .count(figures.bytesSent)),
            Member("bytesReceived", .count(figures.bytesReceived)),
            Member("datagramsLost", .count(figures.packetsLost)),
            Member("retransmittedBytes", .count(figures.retransmittedBytes)),
        ]
    }
}
