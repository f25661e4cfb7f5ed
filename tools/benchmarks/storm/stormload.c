// Load client of the storm benchmark: C sessions on one thread enter one room at the same moment, and leave it again,
// for several rounds. Rounds after the first come back with `since`, as clients do whose node has died, and check that
// what they missed is whole. A 503 is obeyed: the session asks again after its retryAfterMs. Exit code 1 when a session
// was refused for another reason, or a check failed.

#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "chatroom.h"

static const char usage_text[] =
    "usage: stormload --room R --secret-file F [options]\n"
    "  --host H         address of the servers (127.0.0.1)\n"
    "  --ports P,P,...  of the gateways, the sessions spread evenly over them (7400)\n"
    "  --pid PID        the leader's process: measures its CPU time\n"
    "  --sessions C     (8000)\n"
    "  --rounds N       (5)\n"
    "  --missed M       messages that those who come back have missed (0)\n"
    "  --kid ID --secret-file F   HS256 key that signs the tokens (default)\n"
    "  --json           one line of JSON for each round instead of a report\n";

enum { SESSIONS_MAX = 60000, PORTS_MAX = 16, READ_SIZE = 64 * 1024, BUFFER_SIZE = 1 << 20, WHEEL = 131072 };

static struct {
    const char *host, *room, *secret_file;
    int ports[PORTS_MAX], port_count, pid, sessions, rounds, missed;
    bool json;
    struct signing_key key;
} options = {.host = "127.0.0.1", .ports = {7400}, .port_count = 1, .sessions = 8000, .rounds = 5, .key.kid = "default"};

struct session {
    int fd, index;
    int64_t id;          // of the request that is under way; 0: none
    bool is_in;
    uint64_t asked;      // when the first try of this round was due
    int64_t next_due;    // in the wheel: the session behind it, or -1
    char *rest;
    size_t rest_count;
};

static struct session *sessions;
static char *buffer;
static int epoll_fd, inside, outside;
static int64_t *wheel;  // sessions that ask again, by the millisecond modulo WHEEL
static uint64_t wheel_at;
static int64_t room_seq;
static char epoch[80];
static struct {
    uint64_t entered, put_off, pushes, bytes;
    struct histogram latency;
} result;

static void request(struct session *s, const char *text) {
    char out[1024];
    write_all(s->fd, out, frame_write(out, OPCODE_TEXT, text, strlen(text)));
}

static void ask_enter(struct session *s, bool comes_back) {
    char text[512];
    s->id++;
    if (comes_back && epoch[0])
        snprintf(text, sizeof text, "{\"id\":%lld,\"enter\":{\"room\":\"%s\",\"since\":%lld,\"epoch\":\"%s\"}}",
                 (long long)s->id, options.room, (long long)(room_seq > options.missed ? room_seq - options.missed : 0),
                 epoch);
    else
        snprintf(text, sizeof text, "{\"id\":%lld,\"enter\":{\"room\":\"%s\"}}", (long long)s->id, options.room);
    request(s, text);
}

static bool comes_back;

static void on_answer(struct session *s, const char *p, size_t count, uint64_t now) {
    if (memmem(p, count, "\"error\":", 8)) {
        int64_t wait = json_number(p, count, "retryAfterMs");
        if (json_number(p, count, "code") != 503 || wait < 0) die("session %d: %.*s", s->index, (int)count, p);
        result.put_off++;
        uint64_t due = now / 1000000 + (uint64_t)wait;
        s->next_due = wheel[due % WHEEL];
        wheel[due % WHEEL] = s->index;
        return;
    }
    if (memmem(p, count, "\"exit\":", 7)) {
        s->is_in = false;
        outside++;
        return;
    }
    if (s->is_in) die("session %d: a second reply: %.*s", s->index, (int)count, p);
    s->is_in = true;
    inside++;
    result.entered++;
    histogram_add(&result.latency, now - s->asked);
    if (!epoch[0]) {
        const char *found = memmem(p, count, "\"epoch\":\"", 9);
        if (!found || sscanf(found + 9, "%79[^\"]", epoch) != 1) die("an enter without epoch: %.*s", (int)count, p);
        room_seq = json_number(p, count, "seq");
    } else if (comes_back && options.missed > 0) {
        if (!memmem(p, count, "\"recovered\":true", 16)) die("session %d is not recovered: %.*s", s->index, (int)count, p);
    }
}

static void on_text(struct session *s, char *p, size_t count, uint64_t now) {
    char *end = p + count;
    while (p < end) {
        char *newline = memchr(p, '\n', (size_t)(end - p)), *next = newline ? newline : end;
        size_t size = (size_t)(next - p);
        if (starts_with(p, size, "{\"id\":")) on_answer(s, p, size, now);
        else if (starts_with(p, size, "{\"error\":")) die("session %d: %.*s", s->index, (int)size, p);
        else result.pushes++;
        p = next + 1;
    }
}

static void on_readable(struct session *s) {
    if (s->rest_count > 0) memcpy(buffer, s->rest, s->rest_count);
    ssize_t n = recv(s->fd, buffer + s->rest_count, READ_SIZE, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) die("session %d: the server closed: %s", s->index, n < 0 ? strerror(errno) : "end");
    result.bytes += (uint64_t)n;
    uint64_t now = now_ns();
    size_t count = s->rest_count + (size_t)n, taken = 0, used;
    struct frame frame;
    while ((used = frame_parse(buffer + taken, count - taken, &frame)) > 0) {
        taken += used;
        switch (frame.opcode) {
        case OPCODE_TEXT: on_text(s, frame.payload, frame.count, now); break;
        case OPCODE_PING: {
            char out[CONTROL_MAX + 14];
            write_all(s->fd, out, frame_write(out, OPCODE_PONG, frame.payload, frame.count));
            break;
        }
        case OPCODE_PONG: break;
        default: die("session %d: a frame with opcode %d", s->index, frame.opcode);
        }
    }
    s->rest_count = count - taken;
    if (s->rest_count > BUFFER_SIZE - READ_SIZE) die("a frame is too large");
    if (s->rest_count > 0) {
        s->rest = realloc(s->rest, s->rest_count);
        if (!s->rest) die("out of memory");
        memcpy(s->rest, buffer + taken, s->rest_count);
    } else if (s->rest) {
        free(s->rest);
        s->rest = NULL;
    }
}

// Takes what comes until `count` reaches `wanted`.
static void run_until(const int *count, int wanted) {
    uint64_t last = now_ns(), seen = result.entered + (uint64_t)outside + result.put_off;
    wheel_at = last / 1000000;
    while (*count < wanted) {
        struct epoll_event events[512];
        int n = epoll_wait(epoll_fd, events, 512, 1);
        for (int i = 0; i < n; i++) on_readable(events[i].data.ptr);
        uint64_t now = now_ns();
        for (; wheel_at <= now / 1000000; wheel_at++) {
            int64_t index = wheel[wheel_at % WHEEL];
            wheel[wheel_at % WHEEL] = -1;
            while (index >= 0) {
                struct session *s = &sessions[index];
                index = s->next_due;
                ask_enter(s, comes_back);
            }
        }
        uint64_t sum = result.entered + (uint64_t)outside + result.put_off;
        if (sum != seen) seen = sum, last = now;
        else if (now - last > 90000000000u) die("nothing came for 90 s; %d of %d", *count, wanted);
    }
}

static void open_session(struct session *s, int index) {
    char user[64], token[1024], text[2048];
    size_t have = 0;
    s->index = index;
    int port = options.ports[index % options.port_count];
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    if (inet_pton(AF_INET, options.host, &server.sin_addr) != 1) die("--host needs an IPv4 address");
    s->fd = tcp_connect(&server, index);
    websocket_handshake(s->fd, options.host, port, "/v1/ws", "chatroom.v1.json");
    snprintf(user, sizeof user, "guest-%d", index);
    make_token(&options.key, user, token, sizeof token);
    snprintf(text, sizeof text, "{\"id\":1,\"connect\":{\"token\":\"%s\"}}", token);
    chatroom_request(s->fd, text, 1, buffer, BUFFER_SIZE, &have);
    if (have > 0) die("session %d: bytes before anything was asked", index);
    s->id = 1;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = s};
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, s->fd, &event) < 0) die("epoll_ctl: %s", strerror(errno));
}

static void report(int round, double seconds, double spent, struct usage before, struct usage after) {
    double quantiles[2], fractions[2] = {0.5, 0.99};
    double cpu = (double)(after.cpu_ns - before.cpu_ns) / 1e9, rate = (double)result.entered / seconds;
    for (int i = 0; i < 2; i++) quantiles[i] = (double)histogram_quantile(&result.latency, fractions[i]) / 1e6;
    double max = (double)result.latency.max / 1e6;
    const char *format = options.json
        ? "{\"round\":%d,\"sessions\":%d,\"seconds\":%.3f,\"entersPerSecond\":%.0f,\"p50Ms\":%.1f,\"p99Ms\":%.1f,"
          "\"maxMs\":%.1f,\"putOff\":%llu,\"pushes\":%llu,\"bytes\":%llu,\"clientSeconds\":%.3f,\"cpuMicrosPerEnter\":%.2f}\n"
        : "round %d: %d sessions in %.3f s: %.0f enters/s; p50 %.1f ms, p99 %.1f ms, max %.1f ms; %llu put off, %llu "
          "pushes, %llu bytes; %.3f s of it writing; server %.2f us CPU for an enter\n";
    printf(format, round, options.sessions, seconds, rate, quantiles[0], quantiles[1], max,
           (unsigned long long)result.put_off, (unsigned long long)result.pushes, (unsigned long long)result.bytes, spent,
           cpu * 1e6 / (double)result.entered);
    fflush(stdout);
}

static void parse_options(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(name, "--json")) {
            options.json = true;
            continue;
        }
        if (!value) die("%s", usage_text);
        i++;
        if (!strcmp(name, "--host")) options.host = value;
        else if (!strcmp(name, "--ports")) {
            options.port_count = 0;
            for (const char *p = value; p && options.port_count < PORTS_MAX; p = strchr(p, ','), p = p ? p + 1 : NULL)
                options.ports[options.port_count++] = atoi(p);
        } else if (!strcmp(name, "--pid")) options.pid = atoi(value);
        else if (!strcmp(name, "--sessions")) options.sessions = atoi(value);
        else if (!strcmp(name, "--rounds")) options.rounds = atoi(value);
        else if (!strcmp(name, "--missed")) options.missed = atoi(value);
        else if (!strcmp(name, "--room")) options.room = value;
        else if (!strcmp(name, "--kid")) options.key.kid = value;
        else if (!strcmp(name, "--secret-file")) options.secret_file = value;
        else die("unknown option %s\n%s", name, usage_text);
    }
    if (!options.room || !options.secret_file) die("%s", usage_text);
    if (options.sessions < 1 || options.sessions > SESSIONS_MAX || options.rounds < 1 || options.missed < 0)
        die("an option has a value that makes no sense\n%s", usage_text);
    read_secret(options.secret_file, &options.key);
}

int main(int argc, char **argv) {
    parse_options(argc, argv);
    signal(SIGPIPE, SIG_IGN);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    sessions = calloc((size_t)options.sessions, sizeof *sessions);
    wheel = malloc(WHEEL * sizeof *wheel);
    buffer = malloc(BUFFER_SIZE);
    if (!sessions || !wheel || !buffer) die("out of memory");
    for (int i = 0; i < WHEEL; i++) wheel[i] = -1;
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < options.sessions; i++) open_session(&sessions[i], i);

    for (int round = 1; round <= options.rounds; round++) {
        memset(&result, 0, sizeof result);
        inside = 0;
        comes_back = round > 1;
        struct usage before = process_usage(options.pid);
        uint64_t begin = now_ns();
        // All at the same moment, as far as one thread can: what it takes to write is part of the storm.
        for (int i = 0; i < options.sessions; i++) {
            sessions[i].asked = now_ns();
            ask_enter(&sessions[i], comes_back);
        }
        uint64_t written = now_ns();
        run_until(&inside, options.sessions);
        uint64_t end = now_ns();
        report(round, (double)(end - begin) / 1e9, (double)(written - begin) / 1e9, before, process_usage(options.pid));
        outside = 0;
        for (int i = 0; i < options.sessions; i++) {
            char text[256];
            sessions[i].id++;
            snprintf(text, sizeof text, "{\"id\":%lld,\"exit\":{\"room\":\"%s\"}}", (long long)sessions[i].id, options.room);
            request(&sessions[i], text);
        }
        run_until(&outside, options.sessions);
    }
    return 0;
}
