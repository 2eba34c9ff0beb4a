import Huddle
import MeshWire

extension ControlServer {
    func getValue(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        let key = try request.text("key")
        let values = try await values(request, mustExist: false)
        guard let value = await values?[key] else { throw noValue(key) }
        return describe(key, value)
    }

    private func noValue(_ key: String) -> ControlFailure {
        ControlFailure(
            "noValue",
            "there is no value '\(key)'",
            hint: "'huddle values list' shows all"
        )
    }

    func listValues(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        let values = try await values(request, mustExist: false)
        let all = await values?.all ?? []
        return [JSON.Member("values", .array(all.map { .object(describe($0.key, $0.value)) }))]
    }

    func setValue(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        let key = try request.text("key")
        let value = Array(try request.text("value").utf8)
        let expected = try expectation(request)
        guard let values = try await values(request, mustExist: true) else { return [] }
        do {
            let revision = try await values.set(key, to: value, if: expected)
            return [
                JSON.Member("key", .string(key)),
                JSON.Member("revision", .string(revision.description)),
            ]
        } catch {
            throw ControlFailure(error)
        }
    }

    func deleteValue(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        let key = try request.text("key")
        let expected = try expectation(request)
        guard let values = try await values(request, mustExist: true) else { return [] }
        var wasThere = true
        do {
            if expected == .anything {
                wasThere = try await values.deletePresent(key)
            } else {
                try await values.delete(key, if: expected)
            }
        } catch {
            throw ControlFailure(error)
        }
        guard wasThere else { throw noValue(key) }
        return [JSON.Member("key", .string(key))]
    }

    private func expectation(
        _ request: ControlRequest
    ) throws(ControlFailure) -> Values.Expectation {
        if try request.flag("ifAbsent") { return .absent }
        if let text = try request.optionalText("expect") { return .value(Array(text.utf8)) }
        guard let text = try request.optionalText("ifRevision") else { return .anything }
        guard let revision = Revision(text) else {
            throw ControlFailure("request", "'\(text)' is no revision", exit: 2)
        }
        return .revision(revision)
    }

    /// The values that a request means; writers join the session first, readers need not.
    private func values(
        _ request: ControlRequest,
        mustExist: Bool
    ) async throws(ControlFailure) -> Values? {
        let room = try await requireRoom()
        let name = try request.optionalText("session") ?? "room"
        do {
            if mustExist, name == "room" {
                return try await room.standingSession("room").values
            }
            if name == "room" {
                if try !request.flag("local") { try await node.catchUp() }
                return room.shared.values
            }
            let session = try await session(request)
            if mustExist {
                try await session.join()
            } else if try !request.flag("local") {
                try await node.catchUp()
            }
            return session.values
        } catch let error as HuddleError {
            throw ControlFailure(error)
        } catch let error as ControlFailure {
            throw error
        } catch {
            preconditionFailure("no other error is thrown: \(error)")
        }
    }

    nonisolated func describe(_ key: String, _ value: Value) -> [JSON.Member] {
        var members = [JSON.Member("key", .string(key))]
        if let text = value.text {
            members.append(JSON.Member("value", .string(text)))
        } else {
            members.append(JSON.Member("value", .string(hexadecimal(value.bytes))))
            members.append(JSON.Member("encoding", "hex"))
        }
        members.append(JSON.Member("revision", .string(value.revision.description)))
        return members
    }
}
