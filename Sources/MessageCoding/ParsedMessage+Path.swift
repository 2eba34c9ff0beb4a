/// One entry of a container on the way to an item.
struct PathStep {
    var container: Int
    /// The offset of the entry: of its key in a map.
    var entry: Int
    var index: Int
}

extension ParsedMessage {
    /// The coding path of the item at `offset`; of a key the path of its map.
    ///
    /// Paths are not kept while decoding; who asks for one walks from the root, or on from where the
    /// last walk came to, so that failures at one element after another cost one walk together. In a
    /// message that failed its check, a container without an end is the one that holds the flaw.
    func path(to offset: Int) -> [MessageKey] {
        var path: [MessageKey] = []
        var container = 0
        while container < offset, let (key, child) = step(path.count, from: container, to: offset) {
            path.append(key)
            container = child
        }
        return path
    }

    /// The element or entry of a container in which `offset` lies.
    private func step(
        _ depth: Int,
        from container: Int,
        to offset: Int
    ) -> (key: MessageKey, child: Int)? {
        let head = head(at: container)
        let isMap = head.major == Head.Major.map
        guard isMap || head.major == Head.Major.array else { return nil }
        var step = PathStep(container: container, entry: head.end, index: 0)
        if depth < trail.count, trail[depth].container == container, trail[depth].entry <= offset {
            step = trail[depth]
        }
        // Bytes from the offset on may not have been checked; a key there is not looked at.
        while step.index < Int(head.argument), isMap ? step.entry < offset : step.entry <= offset {
            work += 1
            let key = isMap ? self.head(at: step.entry) : nil
            let child = key.map { content(of: $0).upperBound } ?? step.entry
            guard child < offset, let end = end(ofItemAt: child), end <= offset else {
                trail.removeLast(max(0, trail.count - depth))
                trail.append(step)
                return (key.map { .init(name: text(of: $0)) } ?? .init(intValue: step.index), child)
            }
            step.entry = end
            step.index += 1
        }
        return nil
    }
}
