import Foundation

/// A copy of the sources that carries all mutants, each behind its switch. Production code has no trace of them.
struct MutatedSources {
    let root: URL
    let scratch: URL
    let list: MutantList

    /// Added to the copy: what `MUTANT` becomes asks it.
    private static let switchFile = "Sources/ChatModel/MutantSwitch.swift"
    private static let switchText = """
        import Glibc

        /// Which faults are on: numbers in the environment's `MUTANT`.
        public enum MutantSwitch {
            private static let numbers: [Bool] = {
                var on = [Bool](repeating: false, count: 1_000)
                let text = getenv("MUTANT").map { String(cString: $0) } ?? ""
                for number in text.split(separator: ",").compactMap({ Int($0) }) where on.indices.contains(number) {
                    on[number] = true
                }
                return on
            }()

            @inline(never)
            public static func on(_ number: Int) -> Bool { numbers[number] }
        }

        """

    /// The changed files, or everything that does not match: sources change, and the list has to follow.
    func mutated() throws -> [String: String] {
        var edits: [String: [(range: Range<String.Index>, new: String, name: String)]] = [:]
        var originals: [String: String] = [:]
        var failures: [String] = []
        for (index, mutant) in list.mutants.enumerated() {
            for replacement in mutant.replacements {
                let file = replacement.file
                if originals[file] == nil {
                    originals[file] = try? String(contentsOf: root.appending(path: file), encoding: .utf8)
                }
                guard let text = originals[file] else {
                    failures.append("\(mutant.name): there is no file \(file)")
                    continue
                }
                let places = text.ranges(of: replacement.old)
                guard places.count == 1 else {
                    failures.append("\(mutant.name): \(places.count) places in \(file) match\n\(replacement.old)")
                    continue
                }
                guard replacement.new.contains("MUTANT") else {
                    failures.append("\(mutant.name): its text has no switch")
                    continue
                }
                let new = replacement.new.replacingOccurrences(of: "MUTANT", with: "MutantSwitch.on(\(index + 1))")
                edits[file, default: []].append((places[0], new, mutant.name))
            }
        }
        var result: [String: String] = [:]
        for (file, all) in edits {
            var text = originals[file] ?? ""
            let sorted = all.sorted { $0.range.lowerBound > $1.range.lowerBound }
            for (later, earlier) in zip(sorted, sorted.dropFirst())
            where earlier.range.upperBound > later.range.lowerBound {
                failures.append("\(earlier.name) and \(later.name) change the same text of \(file)")
            }
            for edit in sorted { text.replaceSubrange(edit.range, with: edit.new) }
            if !text.contains("import ChatModel"), !file.hasPrefix("Sources/ChatModel/") {
                text = "import ChatModel\n" + text
            }
            result[file] = text
        }
        guard failures.isEmpty else { throw MutateError(failures.joined(separator: "\n")) }
        result[Self.switchFile] = Self.switchText
        return result
    }

    /// Writes the copy; what is as it was keeps its date, so that a build compiles only what has changed.
    func write() throws {
        let changed = try mutated()
        let tracked = try Self.output(
            "/usr/bin/env", ["git", "-C", root.path, "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        let files = tracked.split(separator: "\0").map(String.init)
        var wanted = Set(files)
        for file in files where changed[file] == nil {
            guard let data = try? Data(contentsOf: root.appending(path: file)) else { continue }
            try put(data, file)
        }
        for (file, text) in changed {
            wanted.insert(file)
            try put(Data(text.utf8), file)
        }
        // A text that the sources have no more.
        for directory in ["Sources", "Tests", "tools"] {
            let place = scratch.appending(path: directory)
            guard let found = FileManager.default.enumerator(atPath: place.path) else { continue }
            for case let name as String in found {
                let file = directory + "/" + name
                var isDirectory: ObjCBool = false
                let path = scratch.appending(path: file).path
                guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), !isDirectory.boolValue,
                    !wanted.contains(file)
                else { continue }
                try FileManager.default.removeItem(atPath: path)
            }
        }
    }

    private func put(_ data: Data, _ file: String) throws {
        let place = scratch.appending(path: file)
        if let known = try? Data(contentsOf: place), known == data { return }
        try FileManager.default.createDirectory(
            at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
        try data.write(to: place)
    }

    /// Builds the simulator of the copy. Returns where it is.
    func build() throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "swift", "build", "-c", "release", "--product", "simulate", "--package-path", scratch.path,
        ]
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw MutateError("the mutated sources do not build") }
        return scratch.path + "/.build/release/simulate"
    }

    static func output(_ program: String, _ arguments: [String]) throws -> String {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.standardOutput = pipe
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }
}
