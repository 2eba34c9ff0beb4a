import Huddle

// What the node's errors are in the words of the control socket.
extension ControlFailure {
    /// The failure in the words of the control socket.
    init(_ error: HuddleError) {
        let exit: Int32 = error.kind == .timedOut ? 4 : 1
        self.init(error.kind.code, error.description, hint: error.hint, exit: exit)
    }

    init(_ error: JoinError) {
        self.init(error.code, error.description, hint: error.hint, exit: error.exitCode)
    }

    init(_ error: MessengerError) {
        let code =
            switch error {
            case .tooLarge: "tooLarge"
            case .badChannel: "badChannel"
            case .tooManyValues: "tooManyValues"
            case .sessionInvalidated: "notJoined"
            case .encoding: "encoding"
            case .notDelivered: "notDelivered"
            case .deadlineExceeded: "deadlineExceeded"
            case .cancelled: "cancelled"
            }
        self.init(code, error.description)
    }

    init(_ error: ValueError) {
        switch error {
        case .failed(let inner): self.init(inner)
        case .conflict(let current):
            self.init(
                "conflict",
                error.description,
                hint: current == nil
                    ? "'huddle values set KEY VALUE --if-absent' writes the first one"
                    : "read it again and decide: 'huddle values get KEY'",
                details: ["current": current.map { .string($0.description) } ?? .null]
            )
        case .tooLarge: self.init("tooLarge", error.description)
        case .full: self.init("full", error.description)
        case .wrongKind: self.init("wrongKind", error.description)
        }
    }
}
