extension Publisher {
    /// Writes a line for each event of each subscription, before it is passed on.
    ///
    /// - Parameters:
    ///   - prefix: Stands before each line, with a colon behind it; nothing if empty.
    ///   - stream: Takes the lines; without one they are printed.
    /// - Returns: A publisher of the same events.
    public func print(
        _ prefix: String = "",
        to stream: (any TextOutputStream)? = nil
    ) -> Publishers.Print<Self> {
        let head = prefix.isEmpty ? "" : "\(prefix): "
        let stream = Locked(stream)
        func write(_ line: String) {
            guard var target = stream.value else { return Swift.print(head + line) }
            target.write("\(head)\(line)\n")
            stream.replace(with: target)
        }
        return handleEvents(
            receiveSubscription: { write("receive subscription: (\($0))") },
            receiveOutput: { write("receive value: (\($0))") },
            receiveCompletion: { completion in
                switch completion {
                case .finished: write("receive finished")
                case .failure(let error): write("receive error: (\(error))")
                }
            },
            receiveCancel: { write("receive cancel") },
            receiveRequest: { write("request \($0)") }
        )
    }
}
