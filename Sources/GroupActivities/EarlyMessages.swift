/// Messages that nobody has asked for yet (`40-groupactivities.md` D13).
struct EarlyMessages {
    private var kept: [MessageHub.Topic: [MessageHub.Inbound]] = [:]
    private var byteCount = 0
    /// Messages that had no place, or lost theirs to newer ones.
    private(set) var unclaimed: UInt64 = 0

    private static let messagesOfTopic = 256
    private static let bytesOfTopic = 1 << 20
    private static let topics = 64
    private static let bytes = 4 << 20

    mutating func take(_ topic: MessageHub.Topic) -> [MessageHub.Inbound] {
        let messages = kept.removeValue(forKey: topic) ?? []
        byteCount -= messages.reduce(0) { $0 + $1.payload.count }
        return messages
    }

    /// Keeps a message; the oldest of its topic go for it.
    mutating func keep(_ message: MessageHub.Inbound, _ topic: MessageHub.Topic) {
        guard kept[topic] != nil || kept.count < Self.topics else {
            unclaimed += 1
            return
        }
        var messages = take(topic)
        messages.append(message)
        var count = messages.reduce(0) { $0 + $1.payload.count }
        while messages.count > Self.messagesOfTopic
            || messages.count > 1 && (count > Self.bytesOfTopic || byteCount + count > Self.bytes)
        {
            count -= messages.removeFirst().payload.count
            unclaimed += 1
        }
        guard byteCount + count <= Self.bytes else {
            unclaimed += UInt64(messages.count)
            return
        }
        byteCount += count
        kept[topic] = messages
    }
}
