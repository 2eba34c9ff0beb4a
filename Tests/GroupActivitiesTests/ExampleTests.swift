import Testing

@Suite("The example programs, as processes", .serialized, .timeLimit(.minutes(2)))
struct ExampleTests {
    @Test("a canvas: strokes arrive once, cursors follow, and a late comer has the whole drawing")
    func sharedCanvas() async throws {
        try await withUser { environment in
            let ada = try Peer("ada", "SharedCanvas", [], environment: environment)
            defer { ada.stop() }
            let bob = try Peer("bob", "SharedCanvas", [], environment: environment)
            defer { bob.stop() }
            try await start(ada, [ada, bob], until: "canvas open")
            for peer in [ada, bob] { try await peer.hears("people 2") }
            ada.tell("draw 1,1 2,1 3,2")
            try await bob.expect("strokes 1")
            bob.tell("draw 0,0")
            try await ada.expect("strokes 2")
            ada.tell("point 7,3")
            try await bob.expect("cursor")
            bob.tell("draw 99,1")
            try await bob.expect("start, draw X,Y")

            let cyd = try Peer("cyd", "SharedCanvas", [], environment: environment)
            defer { cyd.stop() }
            try await cyd.hears("strokes 2")
            // Of the cursor too, which has not moved since.
            try await cyd.hears("cursor")
            cyd.tell("show")
            try await cyd.expect("#" + String(repeating: "·", count: 47))
            try await cyd.expect("·##····")
            try await cyd.expect("···#···")
        }
    }

    @Test(
        "a game: seats and turns are settled in one order, a late comer sees it, leads are inherited"
    )
    func turnGame() async throws {
        try await withUser { environment in
            let ada = try Peer("ada", "TurnGame", [], environment: environment)
            defer { ada.stop() }
            let bob = try Peer("bob", "TurnGame", [], environment: environment)
            defer { bob.stop() }
            // Who starts it leads, whoever sits down first.
            try await start(ada, [ada, bob], until: "table open")
            ada.tell("sit x")
            try await ada.expect("you are x")
            bob.tell("sit x")
            try await bob.expect("no: somebody sits there")
            bob.tell("play 4")
            try await bob.expect("no: take a seat first")
            bob.tell("sit o")
            try await bob.expect("you are o")
            bob.tell("play 4")
            try await bob.expect("no: it is not your turn")
            bob.tell("deal")
            try await bob.expect("no: only who leads may do that")
            for (peer, cell, other, seen) in [
                (ada, 0, bob, "move 1, o"), (bob, 4, ada, "move 2, x"), (ada, 1, bob, "move 3, o"),
                (bob, 5, ada, "move 4, x"),
            ] {
                peer.tell("play \(cell)")
                try await other.hears("game 1: \(seen) to play")
            }
            ada.tell("play 4")
            try await ada.expect("no: that cell is not free")

            let cyd = try Peer("cyd", "TurnGame", [], environment: environment)
            defer { cyd.stop() }
            try await cyd.expect("x x 2")
            try await cyd.expect("3 o o")
            try await cyd.expect("game 1: move 4, x to play")
            ada.tell("play 2")
            for peer in [bob, cyd] { try await peer.expect("game 1: x wins") }
            ada.tell("deal")
            try await cyd.expect("game 2: move 0, x to play")
            // Whoever came second leads now, and the seat of the one who left is free.
            ada.tell("leave")
            try await ada.expect("table closed")
            bob.tell("deal")
            try await cyd.expect("game 3: move 0, x to play")
            cyd.tell("sit x")
            try await cyd.expect("you are x")
            cyd.tell("play 8")
            try await bob.expect("game 3: move 1, o to play")
        }
    }

    /// Starts it with one, once all are in the room, and waits for all.
    private func start(_ first: Peer, _ all: [Peer], until line: String) async throws {
        for peer in all { try await peer.hears("in the room") }
        first.tell("start")
        for peer in all { try await peer.hears(line) }
    }
}
