import Foundation

/// Runs the simulator over nodes with a fault in them: `mutate run` builds one copy of the sources that carries all faults
/// of `mutants.txt`, switches them on one after the other, and tells which sentence of the checkers finds each. See
/// `docs/contributing/fault.md`.
let words = Array(CommandLine.arguments.dropFirst())
guard let command = MutateCommand(words) else {
    print("usage: mutate check | list | table | build | run [--seeds COUNT] [--from SEED] [--jobs COUNT]")
    print("              [--scratch DIRECTORY] [--simulator FILE] [--report FILE] [NAME…]")
    exit(2)
}
do {
    exit(try command.run())
} catch {
    print("mutate: \(error)")
    exit(2)
}
