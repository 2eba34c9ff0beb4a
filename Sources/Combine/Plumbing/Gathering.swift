/// Several upstreams of one outlet: it finishes when all have, and fails with the first that does.
final class Gathering<Output, Failure: Error> {
    /// One upstream.
    final class Member {
        fileprivate weak var upstream: (any Cancellable & AnyObject)?
        fileprivate let isOver = Locked(false)
    }

    private let outlet: Outlet<Output, Failure>
    private let running = Locked(1)

    private init(_ outlet: Outlet<Output, Failure>) {
        self.outlet = outlet
    }

    /// Runs `setup`, which includes the first upstreams; those that end meanwhile end nothing yet.
    static func open(_ outlet: Outlet<Output, Failure>, _ setup: (Gathering) -> Void) {
        let gathering = Gathering(outlet)
        setup(gathering)
        gathering.countDown()
    }

    /// Hears `publisher`, unless the outlet is closed.
    @discardableResult
    func include<P: Publisher>(_ publisher: P, _ value: @escaping (P.Output) -> Void) -> Member
    where P.Failure == Failure {
        let member = Member()
        running.withLock { $0 += 1 }
        member.upstream = outlet.listen(
            to: publisher,
            completion: { [self] completion in
                switch completion {
                case .finished: end(member)
                case .failure: outlet.send(completion: completion)
                }
            },
            value: value
        )
        return member
    }

    /// Stops hearing `member`.
    func drop(_ member: Member) {
        if let upstream = member.upstream { outlet.drop(upstream) }
        end(member)
    }

    private func end(_ member: Member) {
        if !member.isOver.replace(with: true) { countDown() }
    }

    private func countDown() {
        let left = running.withLock { running in
            running -= 1
            return running
        }
        if left == 0 { outlet.send(completion: .finished) }
    }
}
