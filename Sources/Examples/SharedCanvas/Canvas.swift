import GroupActivities

/// The activity: one canvas for everybody in the room.
struct Canvas: GroupActivity {
    static let activityIdentifier = "huddle.examples.canvas"

    var metadata: GroupActivityMetadata {
        var metadata = GroupActivityMetadata()
        metadata.title = "Shared canvas"
        metadata.type = .createTogether
        return metadata
    }
}

/// A place on the canvas, in columns and rows from the top left.
struct Point: Codable, Hashable {
    var column: Int
    var row: Int
}

/// What one person drew in one go.
struct Stroke: Codable, Hashable, Identifiable {
    var id = UUID()
    var points: [Point]
}

/// All there is, for somebody who came later.
struct Drawing: Codable {
    var strokes: [Stroke]
}

extension Drawing {
    static let columns = 48
    static let rows = 12

    /// The drawing as lines of text; `cursors` are the marks of those who point somewhere.
    func rendered(_ cursors: [Point: Character]) -> String {
        var picture = Array(
            repeating: Array(repeating: Character("·"), count: Self.columns),
            count: Self.rows
        )
        func put(_ mark: Character, at point: Point) {
            guard picture.indices.contains(point.row),
                picture[point.row].indices.contains(point.column)
            else { return }
            picture[point.row][point.column] = mark
        }
        for point in strokes.flatMap(\.points) { put("#", at: point) }
        for (point, mark) in cursors { put(mark, at: point) }
        return picture.map { String($0) }.joined(separator: "\n")
    }
}
