import Testing

/// The real program from outside: started as a process, spoken to over sockets, killed, and started again.
///
/// One after the other, because each test has a node of its own that wants the whole machine.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct IntegrationTests {}
