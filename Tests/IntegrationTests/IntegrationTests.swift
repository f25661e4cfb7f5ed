import Testing

/// The real program from outside: started as a process, spoken to over sockets, killed, and started again.
///
/// One after the other, because each test has a node of its own that wants the whole machine. The limit only ends tests
/// that hang, before `tools/test` gives up on all of them; a test can shorten it, but not lengthen it.
@Suite(.serialized, .timeLimit(.minutes(9)))
struct IntegrationTests {}
