import Huddle
import MessageCoding
import Synchronization

/// Sends and receives values of any `Codable` type, between the participants of a session.
///
/// Messengers of one session and mode share one channel; those of different modes never see each other's
/// messages. Nobody gets its own. What comes before anybody asks for it is kept: of each type the newest
/// 256 messages, at most 1 MiB.
public final class GroupSessionMessenger: Sendable {
    /// How messages travel.
    public typealias DeliveryMode = Huddle.DeliveryMode

    /// How this messenger's messages travel.
    public let deliveryMode: DeliveryMode

    private let hub: MessageHub

    /// A messenger whose messages arrive once each, in their sender's order.
    public convenience init<Activity: GroupActivity>(session: GroupSession<Activity>) {
        self.init(session: session, deliveryMode: .reliable)
    }

    /// A messenger of this mode.
    public init<Activity: GroupActivity>(
        session: GroupSession<Activity>,
        deliveryMode: DeliveryMode
    ) {
        self.deliveryMode = deliveryMode
        hub = session.core.hub(deliveryMode)
    }

    // MARK: Sending

    /// Sends a value, and returns when everybody addressed has it, or in the unreliable mode when it is
    /// on its way.
    ///
    /// Waits until the session is joined, and while earlier messages fill the way. The value is encoded
    /// before the first wait. Cancelling does not take it back.
    ///
    /// - Parameters:
    ///   - value: At most 262,144 bytes encoded.
    ///   - participants: Who gets it; the sender among them is left out.
    /// - Throws: `MessengerError`.
    public func send<Message: Codable>(
        _ value: Message,
        to participants: Participants = .all
    ) async throws {
        try await hub.send(try Self.bytes(of: value), to: participants.recipients)
    }

    /// Sends bytes as they are.
    ///
    /// - Parameters:
    ///   - value: At most 262,144 bytes.
    ///   - participants: Who gets it; the sender among them is left out.
    /// - Throws: `MessengerError`.
    public func send(_ value: Data, to participants: Participants = .all) async throws {
        try await hub.send(try Self.bytes(of: value), to: participants.recipients)
    }

    /// Sends a value, and calls `completion` once on the main actor: with `nil` when everybody addressed
    /// has it, else with a `MessengerError`.
    public func send<Message: Codable>(
        _ value: Message,
        to participants: Participants = .all,
        completion: @escaping ((any Error)?) -> Void
    ) {
        enqueue(to: participants, completion) { () throws(MessengerError) in
            try Self.bytes(of: value)
        }
    }

    /// Sends bytes as they are, and calls `completion` once on the main actor.
    public func send(
        _ value: Data,
        to participants: Participants = .all,
        completion: @escaping ((any Error)?) -> Void
    ) {
        enqueue(to: participants, completion) { () throws(MessengerError) in
            try Self.bytes(of: value)
        }
    }

    private func enqueue(
        to participants: Participants,
        _ completion: @escaping ((any Error)?) -> Void,
        _ bytes: () throws(MessengerError) -> [UInt8]
    ) {
        // Called on the main actor alone, where Apple's completions run too.
        let completion = UncheckedBox(completion)
        let done: @Sendable (MessengerError?) -> Void = { failure in
            Task { @MainActor in completion.value(failure) }
        }
        do throws(MessengerError) {
            hub.enqueue(
                try bytes(),
                to: participants.recipients,
                isForAll: true,
                done: done
            )
        } catch {
            done(error)
        }
    }

    private static func bytes(of value: some Encodable) throws(MessengerError) -> [UInt8] {
        do {
            let hash = TypeHash.of(type(of: value))
            guard hash != TypeHash.none else {
                throw MessengerError.encoding(
                    "the type's name is longer than \(MessageLimits.nameBytes) bytes: "
                        + "give it a messageIdentifier",
                    path: ""
                )
            }
            return try checked(.value(type: hash), try MessageEncoder().encoded(value))
        } catch let problem as CodingProblem {
            throw .encoding(problem.reason, path: problem.path)
        } catch let error as MessengerError {
            throw error
        } catch {
            throw .encoding("\(error)", path: "")
        }
    }

    private static func bytes(of value: Data) throws(MessengerError) -> [UInt8] {
        try checked(.raw(), Array(value))
    }

    private static func checked(
        _ envelope: MessageEnvelope,
        _ payload: [UInt8]
    ) throws(MessengerError) -> [UInt8] {
        guard payload.count <= MessageLimits.payloadBytes else {
            throw .tooLarge(size: payload.count, limit: MessageLimits.payloadBytes)
        }
        return envelope.encode(payload)
    }

    /// Sends that were given as done, since a recipient had been silent for a second, and failed for it later.
    ///
    /// A session goes on while one of its machines sleeps; who wants to know who missed what reads this.
    public var deliveryFailures: some AsyncSequence<MessengerError, Never> & Sendable {
        hub.failures()
    }

    /// What came and nobody got, in this session and mode, since the first messenger of it was made.
    public struct Statistics: Hashable, Sendable {
        /// Messages of types that nobody asked for, beyond those that are kept: the newest 256 of a type.
        public let unclaimed: UInt64
        /// Messages that a reader of the unreliable mode was too slow for, each reader counted.
        public let overrun: UInt64
    }

    /// What nobody got so far.
    public var statistics: Statistics { hub.statistics }

    // MARK: Receiving

    /// The messages of a type, each with who sent it.
    ///
    /// Each iteration is a subscriber of its own. What does not decode as the type is left out.
    public func messages<Message: Codable>(of type: Message.Type) -> Messages<Message> {
        Messages(hub: hub, topic: .type(TypeHash.of(type)))
    }

    /// The messages that were sent as bytes, each with who sent it.
    public func messages(of type: Data.Type) -> Messages<Data> {
        Messages(hub: hub, topic: .data)
    }

    /// Who sent a message.
    public struct MessageContext: Sendable {
        /// The participant that sent it.
        public var source: Participant
    }

    /// The messages of one type.
    public struct Messages<Message: Codable>: AsyncSequence {
        /// A message and where it comes from.
        public typealias Element = (Message, MessageContext)
        /// It ends with the session and does not fail.
        public typealias Failure = Never

        let hub: MessageHub
        let topic: MessageHub.Topic

        /// A subscriber: it gets what comes from now on, the first of its type also what came before.
        public func makeAsyncIterator() -> Iterator {
            Iterator(inner: hub.subscribe(topic).makeAsyncIterator(), topic: topic)
        }

        /// One subscriber's messages.
        public struct Iterator: AsyncIteratorProtocol {
            var inner: MailboxSequence<MessageHub.Inbound>.Iterator
            let topic: MessageHub.Topic

            /// The next message; `nil` when the session is over or the task is cancelled.
            public mutating func next() async -> Element? {
                await next(isolation: #isolation)
            }

            /// The next message; `nil` when the session is over or the task is cancelled.
            ///
            /// - Parameter isolation: The caller's isolation, which the wait does not leave.
            /// - Returns: The next message, or `nil`.
            public mutating func next(isolation: isolated (any Actor)?) async -> Element? {
                while let inbound = await inner.next(isolation: isolation) {
                    let message =
                        topic == .data
                        ? Data(inbound.payload) as? Message
                        : try? MessageDecoder().decode(Message.self, from: inbound.payload)
                    guard let message else { continue }
                    return (message, MessageContext(source: inbound.source))
                }
                return nil
            }
        }
    }
}

extension GroupSessionMessenger.Messages: Sendable where Message: Sendable {}

/// A type that names its messages itself, so that its name in the source may change.
public protocol CustomMessageIdentifiable {
    /// The name, the same in every version of every program; 1 to 254 bytes of UTF-8.
    static var messageIdentifier: String { get }
}

/// Who a message is for.
public enum Participants: Sendable {
    /// Everybody in the session but the sender.
    case all
    /// These.
    case only(Set<Participant>)

    /// This one.
    public static func only(_ participant: Participant) -> Participants { .only([participant]) }

    var recipients: MessageRecipients {
        switch self {
        case .all: .all
        case .only(let chosen): .only(Set(chosen.map(\.participantID)))
        }
    }
}

/// The short names of types, found once each.
enum TypeHash {
    /// What stands for a type without a usable name; no message carries it.
    static let none: UInt64 = 0

    private static let known = Known()

    private final class Known: Sendable {
        let hashes = Mutex<[ObjectIdentifier: UInt64]>([:])
    }

    static func of(_ type: Any.Type) -> UInt64 {
        known.hashes.withLock { hashes in
            if let hash = hashes[ObjectIdentifier(type)] { return hash }
            let custom = (type as? any CustomMessageIdentifiable.Type)?.messageIdentifier
            let name =
                custom.flatMap { try? TypeName(custom: $0) } ?? (try? TypeName(of: type))
            let hash = name.map { $0.hash(by: MessageHash.blake2b256) } ?? none
            hashes[ObjectIdentifier(type)] = hash
            return hash
        }
    }
}

/// A value that its user promises to touch in one place only.
struct UncheckedBox<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}
