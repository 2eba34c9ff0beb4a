import Huddle

/// What a participant did, to be shown to the others: "Ada paused".
public struct GroupSessionEvent: Sendable {
    /// Who did it.
    public let originator: Participant
    /// What was done.
    public let action: Action
    /// Where it can be looked at, if anywhere.
    public let url: URL?

    /// An event of this participant.
    public init(originator: Participant, action: Action, url: URL?) {
        self.originator = originator
        self.action = action
        self.url = url
    }

    /// What was done.
    public struct Action: Hashable, Sendable {
        /// A few words that stand behind the name of whoever did it.
        let words: String

        /// Playback was begun or resumed.
        public static let play = Action(words: "started playing")
        /// Playback was paused.
        public static let pause = Action(words: "paused")
        /// Playback was moved to another place.
        public static let seek = Action(words: "moved to another place")

        /// Playback went on with another item; `item` names it.
        public static func skip(item: String) -> Action {
            Action(words: "skipped to \(item)")
        }

        /// What is played next was changed.
        public static let updatedQueue = Action(words: "changed what is played next")

        /// What is played next was changed in this way.
        public static func updatedQueue(_ change: QueueChange) -> Action {
            Action(words: change.words)
        }

        /// A change of what is played next.
        public struct QueueChange: Hashable, Sendable {
            let words: String

            /// This is played next.
            public static func setUpNext(_ item: Item) -> QueueChange {
                QueueChange(words: "put \(item.words) next")
            }

            /// This was put behind the others.
            public static func added(_ item: Item) -> QueueChange {
                QueueChange(words: "added \(item.words)")
            }

            /// What is played.
            public struct Item: Hashable, Sendable {
                let words: String

                /// One song of this title.
                public static func song(_ title: String) -> Item { Item(words: "'\(title)'") }

                /// An album or a list of this title.
                public static func container(_ title: String) -> Item {
                    Item(words: "the collection '\(title)'")
                }
            }
        }
    }

    /// What is shown behind the originator's name.
    var text: String {
        guard let url else { return action.words }
        return "\(action.words) (\(url.absoluteString))"
    }
}

extension GroupSession {
    /// Shows the others that something was done: their programs and the nodes of `huddle up` say who did what.
    ///
    /// Of a sender's notices five a second are shown, and of each the first 1,024 bytes. Does nothing unless
    /// this program has joined.
    public func showNotice(_ event: GroupSessionEvent) {
        notify(event.text, by: event.originator)
    }

    /// What a participant did, in the program's own words.
    @available(*, deprecated, renamed: "GroupSessionEvent")
    public struct Event: Sendable {
        /// Who did it.
        public let originator: Participant
        /// What was done, in words that stand behind the originator's name.
        public var localizedDescription: String

        /// An event of this participant.
        public init(originator: Participant, localizedDescription: String) {
            self.originator = originator
            self.localizedDescription = localizedDescription
        }
    }

    /// Shows the others that something was done.
    @available(*, deprecated, renamed: "showNotice(_:)")
    public func postEvent(_ event: Event) {
        notify(event.localizedDescription, by: event.originator)
    }

    private func notify(_ text: String, by participant: Participant) {
        core.notify(text.cut(toBytes: Notice.textLimit), by: participant.participantID)
    }
}

extension String {
    /// The text up to `count` bytes of UTF-8, cut between characters.
    func cut(toBytes count: Int) -> String {
        guard utf8.count > count else { return self }
        var end = utf8.startIndex
        var index = startIndex
        while index < endIndex {
            let next = self.index(after: index)
            guard utf8.distance(from: startIndex, to: next) <= count else { break }
            end = next
            index = next
        }
        return String(self[..<end])
    }
}
