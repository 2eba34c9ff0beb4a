/// One step of a coding path: a name in a map, or a place in an array.
package struct MessageKey: CodingKey, Hashable, CustomStringConvertible {
    package var stringValue: String
    package var intValue: Int?

    package init(stringValue: String) {
        self.stringValue = stringValue
        intValue = Int(stringValue)
    }

    package init(intValue: Int) {
        stringValue = "\(intValue)"
        self.intValue = intValue
    }

    package init(name: String) {
        stringValue = name
    }

    /// The key under which a superclass stands.
    static let `super` = MessageKey(name: "super")

    package var description: String { stringValue }
}

extension CodingKey {
    /// A key of any type as this codec's own, which needs no more than its name.
    init?(name: String) {
        if let key = Self(stringValue: name) {
            self = key
        } else if let number = Int(name), let key = Self(intValue: number) {
            self = key
        } else {
            return nil
        }
    }
}
