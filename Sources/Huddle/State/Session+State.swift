extension Session {
    /// Hands the state to participants that ask for it while this node's has the lead, or is the present one
    /// that joined first while the lead is away.
    ///
    /// `body` is called at a moment at which this node's readers of reliable channels have taken all that
    /// the others sent before the request, and nothing of what they sent after it; so a program that has
    /// applied what it read answers with its state. It has a second. What this node itself sends while
    /// `body` runs may be in the state and come to the newcomer too: apply what is sent before it is sent,
    /// and number it. Channels that this program does not read, and the fast lane, are no part of it.
    ///
    /// - Parameter body: Makes the state, at most ``SharedState/byteLimit`` bytes; it replaces the one
    ///   before, and `nil` ends that.
    public func provideState(_ body: (@Sendable () async -> [UInt8])?) async {
        await node.provideState(body, in: id)
    }

    /// Asks the participant that has the lead, or stands in for it, for the session's state.
    ///
    /// Call it after ``join()`` and before anything is read or sent. What others sent before the request is
    /// in the state and is dropped here; what they send after it is kept, senders waiting if it is much, and
    /// can be read once this has returned. That holds for the reliable lane; messages of the fast lane
    /// come as ever. Without a state (``SharedState/Content/empty(_:)``) messages of before are gone as well.
    ///
    /// A lead that is silent for a second is asked again, or who has the lead then, three times in all.
    /// Cancelling ends the wait.
    ///
    /// - Returns: The state, or why there is none; one for each call.
    /// - Throws: `notJoined` if this node is no participant; `refused` if a request of it is under way;
    ///   `tooFast` beyond 16 requests and one more a second; `noSession` if the participation ends meanwhile; `timedOut`, `suspended` if the room takes no request.
    public func state() async throws(HuddleError) -> SharedState {
        try await node.sharedState(of: id)
    }
}
