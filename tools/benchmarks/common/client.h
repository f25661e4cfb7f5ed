// The part that load clients share: which server, connections with their input and output on one epoll, and how they
// come in.
#ifndef BENCHMARKS_CLIENT_H
#define BENCHMARKS_CLIENT_H

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "chatroom.h"
#include "settings.h"

// Which server, with which key, and how to report.
static struct {
    const char *host, *secret_file;
    struct list ports, pids;
    int sources;
    bool json, tls, primes;
    SSL_CTX *tls_context;
    struct signing_key key;
} target = {.host = "127.0.0.1", .ports = {1, {7400}}, .sources = 1, .key.kid = "default"};

#define TARGET_SETTINGS                                                                                                \
    {"--host", SETTING_TEXT, &target.host}, {"--port", SETTING_LIST, &target.ports},                                   \
        {"--pid", SETTING_LIST, &target.pids}, {"--sources", SETTING_INT, &target.sources},                            \
        {"--kid", SETTING_TEXT, &target.key.kid}, {"--secret-file", SETTING_TEXT, &target.secret_file},                \
        {"--json", SETTING_FLAG, &target.json}, {"--tls", SETTING_FLAG, &target.tls}

#define TARGET_USAGE                                                                                                   \
    "  --host H           address of the server (127.0.0.1)\n"                                                         \
    "  --port P[,P...]    its port; of several nodes the connections are spread over all (7400)\n"                     \
    "  --pid PID[,PID...] its processes: measures the CPU time of all together\n"                                      \
    "  --sources K        own addresses to connect from: one has some 28,000 ports (1)\n"                              \
    "  --kid ID --secret-file F   HS256 key that signs the tokens (default; required for users)\n"                     \
    "  --json             JSON instead of a report\n"                                                                 \
    "  --tls              by TLS; the certificate is not checked\n"

// The resources that the server's processes have used, all together.
static inline struct usage target_usage(void) {
    struct usage sum = {0};
    for (int i = 0; i < target.pids.count; i++) {
        struct usage one = process_usage(target.pids.list[i]);
        sum.cpu_ns += one.cpu_ns;
        sum.user_ns += one.user_ns;
        sum.threads += one.threads;
    }
    return sum;
}

enum { STREAM_READ_SIZE = 256 * 1024, STREAM_BUFFER_SIZE = 4 << 20, STREAM_OUT_MAX = 4 << 20 };

// One connection. Programs put it first in a struct of their own.
struct stream {
    int fd;
    char *rest;  // the beginning of a frame that has not come whole
    size_t rest_count;
    char *out;   // what the socket has not taken
    size_t out_begin, out_end, out_size;
    void *window;  // of its compressed frames, if the program reads them
    bool is_full;  // waits for the socket
};

static int epoll_fd;
static char *stream_buffer;  // of everything that is read

// Once, after the settings have been read.
static inline void client_begin(void) {
    signal(SIGPIPE, SIG_IGN);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    if (target.secret_file) read_secret(target.secret_file, &target.key);
    if (target.tls) target.tls_context = tls_context(NULL);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    stream_buffer = malloc(STREAM_BUFFER_SIZE);
    if (!stream_buffer) die("out of memory");
}

// ---------------------------------------------------------------------------------------------------------------------
// Connecting: blocking, one after the other

static inline void stream_keep(struct stream *s, const char *data, size_t count) {
    s->rest_count = count;
    if (count == 0) {
        free(s->rest);
        s->rest = NULL;
        return;
    }
    char *rest = realloc(s->rest, count);
    if (!rest) die("out of memory");
    memcpy(rest, data, count);
    s->rest = rest;
}

// Connection number `index` (from 0). Returns the port of the server that it goes to.
static inline int stream_connect(struct stream *s, int index, enum tcp_pace pace) {
    int port = target.ports.list[index % target.ports.count];
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    if (inet_pton(AF_INET, target.host, &server.sin_addr) != 1) die("--host needs an IPv4 address");
    s->fd = tcp_connect(&server, target.sources > 1 ? 1 + index % target.sources : 0, pace);
    if (target.tls) tls_begin(s->fd, target.tls_context, 0);
    return port;
}

// The same, up to the end of the WebSocket handshake.
static inline void stream_open(
    struct stream *s, int index, const char *path, const char *subprotocol, enum tcp_pace pace, bool offers) {
    int port = stream_connect(s, index, pace);
    websocket_handshake(s->fd, target.host, port, path, subprotocol, offers);
}

// One request, and the wait for its answer. Returns the answer's seq, or -1 when it has none.
static inline int64_t stream_request(struct stream *s, int64_t id, const char *request) {
    size_t have = s->rest_count;
    if (have > 0) memcpy(stream_buffer, s->rest, have);
    int64_t seq = chatroom_request(s->fd, request, id, stream_buffer, STREAM_BUFFER_SIZE, &have);
    stream_keep(s, stream_buffer, have);
    return seq;
}

// A connection to chatroomd that has connected (request 1) as `user`; NULL: anonymous, and with target.primes one that
// reads its room's compressed stream.
static inline void chatroom_open(struct stream *s, int index, const char *user, enum tcp_pace pace) {
    char token[1024], request[2048];
    bool primes = !user && target.primes;
    stream_open(s, index, "/v1/ws", "chatroom.v1.json", pace, primes);
    if (user) {
        make_token(&target.key, user, token, sizeof token);
        snprintf(request, sizeof request, "{\"id\":1,\"connect\":{\"token\":\"%s\"}}", token);
    } else {
        snprintf(request, sizeof request, "{\"id\":1,\"connect\":{\"anonymous\":true%s}}", primes ? ",\"prime\":true" : "");
    }
    stream_request(s, 1, request);
}

// Enters (request 2) and returns the seq from which the stream goes on.
static inline int64_t chatroom_enter(struct stream *s, const char *room, int index) {
    char request[512];
    snprintf(request, sizeof request, "{\"id\":2,\"enter\":{\"room\":\"%s\",\"nick\":\"n%d\",\"avatar\":\"a\"}}", room, index);
    int64_t seq = stream_request(s, 2, request);
    if (seq < 0) die("the reply to enter has no seq");
    return seq;
}

// Leaves the room (request 3), so that the next run finds it empty: a dropped connection would stay for the grace.
static inline void chatroom_leave(struct stream *s, const char *room) {
    char request[256];
    fcntl(s->fd, F_SETFL, fcntl(s->fd, F_GETFL) & ~O_NONBLOCK);
    passes_compressed = 1;
    snprintf(request, sizeof request, "{\"id\":3,\"exit\":{\"room\":\"%s\"}}", room);
    stream_request(s, 3, request);
}

// ---------------------------------------------------------------------------------------------------------------------
// From then on: nothing blocks

static inline void stream_want(struct stream *s, int operation, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = s};
    if (epoll_ctl(epoll_fd, operation, s->fd, &event) < 0) die("epoll_ctl: %s", strerror(errno));
}

static inline void stream_watch(struct stream *s) {
    set_nonblocking(s->fd);
    stream_want(s, EPOLL_CTL_ADD, EPOLLIN);
}

// Writes what waits, as far as the socket takes it.
static inline void stream_flush(struct stream *s) {
    while (s->out_begin < s->out_end) {
        ssize_t n = net_send(s->fd, s->out + s->out_begin, s->out_end - s->out_begin);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) break;
        if (n < 0) die("the server does not take what is sent: %s", strerror(errno));
        s->out_begin += (size_t)n;
    }
    bool waits = s->out_begin < s->out_end;
    if (!waits) s->out_begin = s->out_end = 0;
    if (waits != s->is_full) stream_want(s, EPOLL_CTL_MOD, waits ? EPOLLIN | EPOLLOUT : EPOLLIN);
    s->is_full = waits;
}

// Room for `count` bytes behind what waits; the caller fills it and adds what it took to out_end. stream_flush writes it.
static inline char *stream_reserve(struct stream *s, size_t count) {
    size_t needed = s->out_end + count;
    if (needed > STREAM_OUT_MAX) die("the server does not read what it is sent");
    if (needed > s->out_size) {
        size_t size = 2 * needed < 512 ? 512 : 2 * needed;
        s->out = realloc(s->out, size);
        if (!s->out) die("out of memory");
        s->out_size = size;
    }
    return s->out + s->out_end;
}

// Appends bytes to what waits.
static inline void stream_append_bytes(struct stream *s, const void *bytes, size_t count) {
    memcpy(stream_reserve(s, count), bytes, count);
    s->out_end += count;
}

// Appends a WebSocket frame to what waits.
static inline void stream_append(struct stream *s, int opcode, const char *payload, size_t count) {
    s->out_end += frame_write(stream_reserve(s, count + 14), opcode, payload, count);
}

// Told of all bytes that have come and are not taken yet; returns how many it takes, which are whole frames of its
// protocol. The rest comes again, with more behind it.
typedef size_t (*bytes_handler)(struct stream *s, char *bytes, size_t count, uint64_t now);
// Told of each read, when its bytes have been told.
typedef void (*read_handler)(struct stream *s);

// Reads once. Returns how many bytes came.
static inline size_t stream_read(struct stream *s, bytes_handler take) {
    if (s->rest_count > 0) memcpy(stream_buffer, s->rest, s->rest_count);
    ssize_t n = net_recv(s->fd, stream_buffer + s->rest_count, STREAM_READ_SIZE, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (n <= 0) die("the server closed a connection without a word: %s", n < 0 ? strerror(errno) : "end");
    size_t count = s->rest_count + (size_t)n, taken = take(s, stream_buffer, count, now_ns());
    if (count - taken > STREAM_BUFFER_SIZE - STREAM_READ_SIZE) die("a frame is too large");
    stream_keep(s, stream_buffer + taken, count - taken);
    return (size_t)n;
}

// Sleeps until there is something to read or `ns` have passed, and serves what is there (`on_read` may be NULL). Returns
// how many connections had something. ppoll, because what is due next may be due in less than epoll's millisecond.
static inline int streams_serve_bytes(uint64_t ns, bytes_handler take, read_handler on_read) {
    struct timespec timeout = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    struct pollfd input = {.fd = epoll_fd, .events = POLLIN};
    if (ns > 0) ppoll(&input, 1, &timeout, NULL);
    struct epoll_event events[1024];
    int n = epoll_wait(epoll_fd, events, 1024, 0);
    for (int i = 0; i < n; i++) {
        struct stream *s = events[i].data.ptr;
        if (events[i].events & EPOLLOUT) stream_flush(s);
        if (events[i].events & ~(uint32_t)EPOLLOUT && stream_read(s, take) > 0 && on_read) on_read(s);
    }
    return n;
}

// ---------------------------------------------------------------------------------------------------------------------
// JSON objects in WebSocket frames

// Told of each JSON object.
typedef void (*object_handler)(struct stream *s, char *object, size_t count, uint64_t now);

// Reads the message of a compressed frame. A program that sets target.primes gives it.
static char *(*websocket_inflate)(struct stream *s, char *payload, size_t *count);

// The bytes_handler of connections that chatroom_open opened; it hands each object to websocket_object.
static object_handler websocket_object;
static inline size_t websocket_take(struct stream *s, char *bytes, size_t count, uint64_t now) {
    size_t taken = 0, used;
    struct frame frame;
    while ((used = frame_parse(bytes + taken, count - taken, &frame)) > 0) {
        taken += used;
        switch (frame.opcode) {
        case OPCODE_TEXT:
            if (!frame.fin) die("the server sent a fragmented message");
            if (frame.is_compressed) {
                if (!websocket_inflate) die("the server sent a compressed message");
                frame.payload = websocket_inflate(s, frame.payload, &frame.count);
            }
            for (char *p = frame.payload, *end = p + frame.count; p < end;) {
                char *newline = memchr(p, '\n', (size_t)(end - p)), *next = newline ? newline : end;
                websocket_object(s, p, (size_t)(next - p), now);
                p = next + 1;
            }
            break;
        case OPCODE_PING:
            stream_append(s, OPCODE_PONG, frame.payload, frame.count);
            stream_flush(s);
            break;
        case OPCODE_PONG: break;
        case OPCODE_CLOSE:
            die("the server closed with %d: %.*s", frame.count >= 2
                    ? (uint8_t)frame.payload[0] << 8 | (uint8_t)frame.payload[1] : 1005,
                frame.count > 2 ? (int)frame.count - 2 : 0, frame.payload + (frame.count > 2 ? 2 : 0));
        default: die("the server sent a frame with opcode %d", frame.opcode);
        }
    }
    return taken;
}

// As streams_serve_bytes, and each JSON object goes to `on_object`.
static inline int streams_serve(uint64_t ns, object_handler on_object, read_handler on_read) {
    websocket_object = on_object;
    return streams_serve_bytes(ns, websocket_take, on_read);
}

#endif
