import MeshWire

extension RoomState {
    /// Applies a command of the values; the caller may change them.
    mutating func write(
        _ command: RoomCommand,
        by author: ParticipantID,
        sessionAt index: Int,
        at position: Position
    ) throws(CommandRefusal) -> CommandResult {
        switch command {
        case .put(let key, let bytes):
            try store(.bytes(bytes), key, by: author, sessionAt: index, at: position)
            return .stored(version: position)
        case .compareAndSet(let key, let expected, let bytes):
            try require(expected, of: sessions[index].values[key])
            try store(.bytes(bytes), key, by: author, sessionAt: index, at: position)
            return .stored(version: position)
        case .delete(let key, let expected):
            let present = sessions[index].values[key]
            try require(expected, of: present)
            guard present != nil else { return .done }
            sessions[index].values.remove(key)
            events.append(.valueChanged(sessions[index].id, key: key, value: nil, by: author))
            return .done
        case .add(let key, let amount):
            let sum = try sum(of: sessions[index].values[key], amount)
            try store(.counter(sum), key, by: author, sessionAt: index, at: position)
            return .counted(sum, version: position)
        case .insert(let key, let element):
            return try change(key, by: author, sessionAt: index, at: position) { elements in
                let place = elements.firstIndex { !$0.lexicographicallyPrecedes(element) }
                guard let place else { return elements.append(element) }
                if elements[place] != element { elements.insert(element, at: place) }
            }
        case .withdraw(let key, let element):
            return try change(key, by: author, sessionAt: index, at: position) { elements in
                elements.removeAll { $0 == element }
            }
        default:
            preconditionFailure("not a command of the values: \(command.type)")
        }
    }

    private func require(
        _ expected: Expectation,
        of present: StoredValue?
    ) throws(CommandRefusal) {
        let isMet =
            switch expected {
            case .anything: true
            case .absent: present == nil
            case .version(let version): present?.version == version
            case .value(let bytes): present?.content == .bytes(bytes)
            }
        guard isMet else { throw .versionMismatch(current: present?.version) }
    }

    private func sum(
        of present: StoredValue?,
        _ amount: Int64
    ) throws(CommandRefusal) -> Int64 {
        guard let present else { return amount }
        guard case .counter(let value) = present.content else { throw .wrongKind }
        let (sum, isOverflow) = value.addingReportingOverflow(amount)
        guard !isOverflow else { throw .outOfRange }
        return sum
    }

    /// Changes a set; one that does not change keeps its version and makes no event.
    private mutating func change(
        _ key: String,
        by author: ParticipantID,
        sessionAt index: Int,
        at position: Position,
        _ body: (inout [[UInt8]]) -> Void
    ) throws(CommandRefusal) -> CommandResult {
        let present = sessions[index].values[key]
        var elements: [[UInt8]] = []
        if let present {
            guard case .set(let stored) = present.content else { throw .wrongKind }
            elements = stored
        }
        let before = elements
        body(&elements)
        if let present, elements == before { return .stored(version: present.version) }
        guard present != nil || !elements.isEmpty else { return .done }
        try store(.set(elements), key, by: author, sessionAt: index, at: position)
        return .stored(version: position)
    }

    private mutating func store(
        _ content: ValueContent,
        _ key: String,
        by author: ParticipantID,
        sessionAt index: Int,
        at position: Position
    ) throws(CommandRefusal) {
        guard content.byteCount <= Limits.valueBytes else {
            throw .tooLarge(limit: Limits.valueBytes)
        }
        let values = sessions[index].values
        let present = values[key]
        guard present != nil || values.entries.count < Limits.valueKeys else {
            throw .full(.keys, limit: Limits.valueKeys)
        }
        let freed = present.map { ValueTable.cost(key, $0.content) } ?? 0
        let growth = ValueTable.cost(key, content) - freed
        guard growth <= 0 || values.byteCount + growth <= Limits.sessionValueBytes else {
            throw .full(.values, limit: Limits.sessionValueBytes)
        }
        try requireRoom(forBytes: growth)
        let value = StoredValue(content: content, version: position, author: author)
        sessions[index].values.set(key, to: value)
        events.append(.valueChanged(sessions[index].id, key: key, value: value, by: author))
    }
}
