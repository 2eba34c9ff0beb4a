// What apps write, as a package in Swift 5 language mode compiles it.
import Combine
import CoreTransferable
import Foundation
import Testing

protocol Shape { var area: Double { get } }
struct Square: Shape { var area: Double { 4 } }

/// Not an ObservableObject; the orders of modifiers that occur; a first value given in `init`.
final class Manager {
    /// Its value comes in `init`.
    @Published final public internal(set) var first: Int
    /// Fed by the first.
    @Published public private(set) var second: String
    @Published private(set) final var third: [Int] = []
    @Published var optional: (any Shape)?
    var cancellables: [AnyCancellable] = []
    private var copied: Int = 0

    init(first: Int, second: String) {
        self.first = first
        self.second = second
        $first.map { $0 + 1 }.assign(to: \.copied, on: self).store(in: &cancellables)
        $first.map(String.init).assign(to: &$second)
    }

    func raise() -> Int {
        first += 1
        third.append(first)
        return copied
    }
}

final class ViewModel: ObservableObject {
    @Combine.Published var isPlaying = false
    @Published var progress: Double = 0
    private var subscriptions = Set<AnyCancellable>()
    var isPlayingPublisher: Published<Bool>.Publisher { $isPlaying }
    var qualified: Combine.Published<Bool>.Publisher { $isPlaying }

    init(center: NotificationCenter) {
        center.publisher(for: Notification.Name("toggle"))
            .receive(on: ImmediateScheduler.shared)
            .sink { [weak self] _ in self?.isPlaying.toggle() }
            .store(in: &subscriptions)
    }

    func combined() -> AnyPublisher<String, Never> {
        Publishers.CombineLatest($isPlaying, $progress)
            .map { isPlaying, progress in "\(isPlaying) \(progress)" }
            .removeDuplicates()
            .eraseToAnyPublisher()
    }

    func slow() -> AnyCancellable {
        $progress
            .debounce(for: .milliseconds(300), scheduler: RunLoop.main)
            .throttle(for: .seconds(0.5), scheduler: DispatchQueue.main, latest: true)
            .receive(on: DispatchQueue.main)
            .sink { _ in }
    }
}

extension Publisher {
    /// A helper as apps write it, with the types that operators return.
    func withPrevious() -> AnyPublisher<(previous: Output?, current: Output), Failure> {
        scan((Output?, Output)?.none) { ($0?.1, $1) }
            .compactMap { $0 }
            .map { (previous: $0.0, current: $0.1) }
            .eraseToAnyPublisher()
    }

    func evens() -> Publishers.Filter<Publishers.Map<Self, Int>> where Output == Int {
        map { $0 }.filter { $0 % 2 == 0 }
    }
}

/// A subscriber of the app's own.
final class Collector: Subscriber {
    typealias Input = Int
    typealias Failure = Never
    var values: [Int] = []

    func receive(subscription: Subscription) { subscription.request(.unlimited) }
    func receive(_ input: Int) -> Subscribers.Demand {
        values.append(input)
        return .none
    }
    func receive(completion: Subscribers.Completion<Never>) {}
}

@MainActor
final class Screen: ObservableObject {
    @Published var titles: [String] = []
    var task: Task<Void, Never>?

    func follow(_ manager: Manager) {
        task = Task { [weak self] in
            for await value in manager.$first.prefix(2).values { self?.titles.append("\(value)") }
        }
    }
}

@Suite("Idioms of apps, in Swift 5 mode") struct ClientIdiomTests {
    @Test("properties in every order of modifiers work, with a first value from init")
    func manager() {
        let manager = Manager(first: 1, second: "x")
        #expect(manager.second == "1")
        #expect(manager.raise() == 3)
        #expect(manager.second == "2")
        #expect(manager.third == [2])
        var areas: [Double?] = []
        manager.$optional.sink { areas.append($0?.area) }.store(in: &manager.cancellables)
        manager.optional = Square()
        #expect(areas == [nil, 4])
    }

    @Test("a view model listens to notifications and combines its properties") func viewModel() {
        let center = NotificationCenter()
        let model = ViewModel(center: center)
        var texts: [String] = []
        let subscription = model.combined().sink { texts.append($0) }
        center.post(name: Notification.Name("toggle"), object: nil)
        model.progress = 0.5
        #expect(texts == ["false 0.0", "true 0.0", "true 0.5"])
        subscription.cancel()
        model.slow().cancel()
    }

    @Test("labelled tuples, existentials, an own subscriber and own operators") func own() {
        let events = PassthroughSubject<(name: String, count: Int), Never>()
        let shapes = CurrentValueSubject<any Shape, Never>(Square())
        var names: [String] = []
        let subscription = events.map(\.name).sink { names.append($0) }
        events.send((name: "a", count: 1))
        #expect(names == ["a"])
        #expect(shapes.value.area == 4)
        let collector = Collector()
        (1...6).publisher.evens().subscribe(collector)
        #expect(collector.values == [2, 4, 6])
        var steps: [String] = []
        let stepping = [1, 2].publisher.withPrevious()
            .sink { steps.append("\($0.previous ?? 0)-\($0.current)") }
        #expect(steps == ["0-1", "1-2"])
        subscription.cancel()
        stepping.cancel()
    }

    @Test("values are followed on the main actor") @MainActor func values() async {
        let screen = Screen()
        screen.follow(Manager(first: 4, second: ""))
        while screen.titles.isEmpty { await Task.yield() }
        screen.task?.cancel()
        await screen.task?.value
        #expect(screen.titles == ["4"])
    }
}
