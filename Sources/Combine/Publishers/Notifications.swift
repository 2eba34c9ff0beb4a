public import Foundation

extension NotificationCenter {
    /// Publishes the notifications of `name` that `object` posts, or everybody if it is nil.
    ///
    /// They arrive on the thread that posts them.
    public func publisher(
        for name: Notification.Name,
        object: AnyObject? = nil
    ) -> NotificationCenter.Publisher {
        Publisher(center: self, name: name, object: object)
    }

    /// A publisher of notifications; it never ends.
    public struct Publisher: Combine.Publisher {
        /// What is published.
        public typealias Output = Notification
        /// It cannot fail.
        public typealias Failure = Never

        /// Where the notifications are posted.
        public let center: NotificationCenter
        /// Their name.
        public let name: Notification.Name
        /// Who posts them; nil for everybody.
        public let object: AnyObject?

        /// The notifications of `name` that `object` posts to `center`.
        public init(
            center: NotificationCenter,
            name: Notification.Name,
            object: AnyObject? = nil
        ) {
            self.center = center
            self.name = name
            self.object = object
        }

        /// Observes the center for `subscriber`.
        public func receive<S: Subscriber>(subscriber: S)
        where S.Input == Notification, S.Failure == Never {
            Outlet.open(for: subscriber) { outlet in
                // The poster decides the thread.
                let handover = Handover(outlet)
                let token = center.addObserver(forName: name, object: object, queue: nil) {
                    handover.value.send($0)
                }
                outlet.hold(AnyCancellable { center.removeObserver(token) })
            }
        }
    }
}
