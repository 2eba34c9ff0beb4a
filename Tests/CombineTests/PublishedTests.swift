import Combine
import Testing

@Suite("Published — 40-groupactivities §4.2") struct PublishedTests {
    /// Not an ObservableObject: @Published needs none.
    final class Room {
        @Published var guests: Set<Int> = []
        @Published var count = 0
    }

    /// The property of a session.
    final class Session {
        @Published(sparesSubscribers: true) var state = 0

        init(_ state: Int = 0) { self.state = state }
    }

    @Test("subtracting inside a sink gives the newcomers, for 0, 1, 3, 2 guests") func newcomers() {
        let room = Room()
        var newcomers: [Set<Int>] = []
        let subscription = room.$guests.sink { newcomers.append($0.subtracting(room.guests)) }
        room.guests = [1]
        room.guests = [1, 2, 3]
        room.guests = [2, 3]
        #expect(newcomers == [[], [1], [2, 3], []])
        subscription.cancel()
    }

    @Test("rule 1: subscribers are called before storage, in order of subscription") func order() {
        let room = Room()
        var calls: [String] = []
        let subscriptions = ["a", "b", "c"].map { name in
            room.$count.dropFirst().sink { calls.append("\(name)\($0)\(room.count)") }
        }
        room.count = 1
        #expect(calls == ["a10", "b10", "c10"])
        #expect(room.count == 1)
        #expect(subscriptions.count == 3)
    }

    @Test("rule 2: the current value comes before sink returns") func replay() {
        let room = Room()
        room.count = 7
        var received: [Int] = []
        let subscription = room.$count.sink { received.append($0) }
        #expect(received == [7])
        subscription.cancel()
        room.count = 8
        #expect(received == [7])
    }

    @Test("rule 3: a nested assignment publishes at once, and the outer value is stored last")
    func nested() {
        let room = Room()
        var calls: [String] = []
        var subscriptions: Set<AnyCancellable> = []
        room.$count.sink { value in
            calls.append("a\(value)")
            if value > 10 { room.count = 10 }
        }.store(in: &subscriptions)
        room.$count.sink { calls.append("b\($0)") }.store(in: &subscriptions)
        room.count = 11
        #expect(calls == ["a0", "b0", "a11", "a10", "b10", "b11"])
        #expect(room.count == 11)
        var fresh: [Int] = []
        room.$count.sink { fresh.append($0) }.store(in: &subscriptions)
        #expect(fresh == [11])
    }

    @Test("rule 3: a sink may subscribe to other properties and cancel itself") func reentrance() {
        let room = Room()
        var received: [Int] = []
        var inner: AnyCancellable?
        var outer: AnyCancellable?
        outer = room.$guests.dropFirst().sink { _ in
            inner = room.$count.sink { received.append($0) }
            outer?.cancel()
        }
        room.guests = [1]
        room.guests = [2]
        room.count = 5
        #expect(received == [0, 5])
        inner?.cancel()
    }

    @Test("rule 4: in a session, a subscriber made during an emission gets the old value alone")
    func sparedEmission() {
        let session = Session()
        var late: [Int] = []
        var subscriptions: Set<AnyCancellable> = []
        session.$state.sink { value in
            guard value == 1 else { return }
            session.$state.sink { late.append($0) }.store(in: &subscriptions)
        }.store(in: &subscriptions)
        session.state = 1
        #expect(late == [0])
        session.state = 2
        #expect(late == [0, 2])
    }

    @Test("rule 4: in a session, a subscriber made during a replay gets nothing then")
    func sparedReplay() {
        let session = Session(1)
        var calls: [Int] = []
        var subscriptions: Set<AnyCancellable> = []
        func observe() {
            session.$state.sink { value in
                calls.append(value)
                // A sink that subscribes again from a replay would never end.
                if value == 1 { observe() }
            }.store(in: &subscriptions)
        }
        observe()
        #expect(calls == [1])
        session.state = 2
        #expect(calls == [1, 2, 2])
        // Outside of a replay the value comes as ever.
        var fresh: [Int] = []
        session.$state.sink { fresh.append($0) }.store(in: &subscriptions)
        #expect(fresh == [2])
    }

    @Test("an app's own property hands a nested subscriber the new value — OpenCombine#198")
    func nestedSubscriber() {
        let room = Room()
        var late: [Int] = []
        var subscriptions: Set<AnyCancellable> = []
        room.$count.sink { value in
            guard value == 1 else { return }
            room.$count.sink { late.append($0) }.store(in: &subscriptions)
        }.store(in: &subscriptions)
        room.count = 1
        #expect(late == [1])
    }

    @Test("rule 4: one cancelled during an emission gets nothing more") func cancelled() {
        let room = Room()
        var received: [Int] = []
        var victim: AnyCancellable?
        let killer = room.$count.sink { if $0 == 1 { victim?.cancel() } }
        victim = room.$count.sink { received.append($0) }
        room.count = 1
        room.count = 2
        #expect(received == [0])
        killer.cancel()
    }

    @Test("a mutation in place publishes once") func inPlace() {
        let room = Room()
        var counts: [Int] = []
        let subscription = room.$guests.sink { counts.append($0.count) }
        room.guests.insert(4)
        #expect(counts == [0, 1])
        subscription.cancel()
    }

    @Test("assign(to:) feeds the property as long as it lives, and fires objectWillChange")
    func assign() {
        final class Mirror: ObservableObject {
            @Published var value = 0
        }
        let source = PassthroughSubject<Int, Never>()
        var mirror: Mirror? = Mirror()
        weak let weakMirror = mirror
        var changes = 0
        let observer = mirror?.objectWillChange.sink { changes += 1 }
        if let mirror { source.assign(to: &mirror.$value) }
        source.send(3)
        #expect(mirror?.value == 3)
        #expect(changes == 1)
        mirror = nil
        #expect(weakMirror == nil)
        source.send(4)
        #expect(changes == 1)
        observer?.cancel()
    }

    @Test("an object is not kept alive by those who subscribed to it") func lifetime() {
        var room: Room? = Room()
        weak let weakRoom = room
        let subscription = room?.$count.map { $0 + 1 }.sink { _ in }
        room = nil
        #expect(weakRoom == nil)
        subscription?.cancel()
    }
}

@Suite("ObservableObject") struct ObservableObjectTests {
    class Model: ObservableObject {
        @Published var title = "a"
        @Published var size = 0
    }

    final class Submodel: Model {
        @Published var detail = 0
    }

    final class Plain: ObservableObject {
        var value = 0 { willSet { objectWillChange.send() } }
    }

    final class Custom: ObservableObject {
        let objectWillChange = PassthroughSubject<Void, Never>()
        @Published var value = 0
    }

    @Test("each change fires once, before it, also in a subclass") func fires() {
        let model = Submodel()
        var seen: [String] = []
        let subscription = model.objectWillChange.sink {
            seen.append("\(model.title)\(model.size)\(model.detail)")
        }
        model.title = "b"
        model.size = 1
        model.detail = 1
        #expect(seen == ["a00", "b00", "b10"])
        #expect(model.objectWillChange === model.objectWillChange)
        subscription.cancel()
    }

    @Test("it fires before the subscribers of the property") func firesFirst() {
        let model = Model()
        var calls: [String] = []
        let property = model.$size.dropFirst().sink { _ in calls.append("property") }
        let object = model.objectWillChange.sink { calls.append("object") }
        model.size = 1
        #expect(calls == ["object", "property"])
        property.cancel()
        object.cancel()
    }

    @Test("a class without published properties sends by itself") func plain() {
        let plain = Plain()
        var changes = 0
        let subscription = plain.objectWillChange.sink { changes += 1 }
        plain.value = 1
        #expect(changes == 1)
        subscription.cancel()
    }

    @Test("a class with a publisher of its own fires it itself") func custom() {
        let custom = Custom()
        var changes = 0
        let subscription = custom.objectWillChange.sink { changes += 1 }
        custom.value = 1
        #expect(changes == 0)
        custom.objectWillChange.send()
        #expect(changes == 1)
        subscription.cancel()
    }

    @Test("an object at the address of a dead one has a publisher of its own") func reuse() {
        // Each round is likely to get the addresses of the one before.
        var publishers: [ObservableObjectPublisher] = []
        for _ in 0..<4 {
            let objects = (0..<40).map { _ in Plain() }
            publishers += objects.map(\.objectWillChange)
        }
        #expect(Set(publishers.map(ObjectIdentifier.init)).count == publishers.count)
    }
}
