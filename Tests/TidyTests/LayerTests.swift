import Testing

@Suite("Layers — overview, rules 1 to 4") struct LayerTests {
    @Test("every file imports only what its layer may") func imports() {
        for file in SourceTree.sources {
            let own = Layers.imports[file.module]
            #expect(own != nil, "\(file.path): the module is not in the table of layers")
            let allowed = (own ?? []).union(Layers.foreignImports[file.module] ?? [])
            for module in file.imports where !allowed.contains(module) {
                Issue.record("\(file.path) imports \(module), which its layer may not")
            }
        }
    }

    @Test("C libraries are imported by their wrappers alone") func wrappers() {
        for file in SourceTree.sources {
            for module in file.imports {
                guard let wrappers = Layers.wrappers[module] else { continue }
                let isWrapper = wrappers.contains { file.path.hasPrefix($0) }
                #expect(isWrapper, "\(file.path) imports \(module), which its wrappers hide")
            }
        }
    }

    @Test("the manifest gives a target no module that its layer may not import") func manifest()
        throws
    {
        // The compiler refuses what the manifest does not name; so the manifest must not name more.
        let manifest = SourceTree.text("Package.swift")
        for (module, allowed) in Layers.imports.sorted(by: { $0.key < $1.key }) {
            guard let start = manifest.firstRange(of: "layer(\"\(module)\"")?.upperBound,
                let end = manifest[start...].firstRange(of: ")")?.lowerBound
            else { continue }
            let names = manifest[start..<end].matches(of: /"(\w+)"/).map { String($0.1) }
            #expect(Set(names).isSubset(of: allowed), "\(module) depends on \(names)")
        }
    }

    @Test("unsafe stands in the listed files alone") func unsafeFiles() {
        for file in SourceTree.sources
        where !Layers.unsafeFiles.contains(file.path) && file.mentions(["unsafe"]) {
            // Every actor on the event loop names its executor, and there is no safe way to.
            for hit in file.hits(of: /\bunsafe\b|@unsafe\b/)
            where !hit.hasSuffix(": unsafe loop.asUnownedSerialExecutor()") {
                Issue.record("unsafe outside its files: \(hit)")
            }
        }
    }

    @Test("public stands at the fronts alone") func fronts() {
        for file in SourceTree.sources
        where !Layers.fronts.contains(where: { file.path.hasPrefix($0) }) {
            for hit in file.hits(of: /^\s*(@\S+ )*public (?!import\b)/) {
                Issue.record("public behind the fronts: \(hit)")
            }
        }
    }
}
