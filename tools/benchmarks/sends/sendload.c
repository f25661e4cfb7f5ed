// Load client of the durable-send benchmark: M senders on one thread, each alone in a room of its own, each with up to
// W sends that are not acknowledged yet. Checks that the acks of a room carry dense seqs, and that each sender gets its
// own pushes once and in order. Exit code 1 when a send was refused or a check failed. The rooms PREFIX-1 ... PREFIX-M have to exist.
//
// With --rate the sends are due at fixed times (open loop): the time to the ack is measured from when a send was due,
// so that a server that stalls is charged for all who wait behind the stall.

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "chatroom.h"

static const char usage_text[] =
    "usage: sendload --room-prefix P --secret-file F [options]\n"
    "  --host H         address of the server (127.0.0.1)\n"
    "  --port P         its port (7400)\n"
    "  --pid PID        its process: measures its CPU time\n"
    "  --senders M      (100)\n"
    "  --in-flight W    sends of one sender without an ack (16)\n"
    "  --text B         bytes of a text (200)\n"
    "  --rate R         sends a second, all senders together; 0 (default): as fast as acks come\n"
    "  --seconds S      length of the measurement (10)\n"
    "  --warmup S       before it (1)\n"
    "  --kid ID --secret-file F   HS256 key that signs the senders' tokens (default)\n"
    "  --json           one line of JSON instead of a report\n";

enum { SENDERS_MAX = 10000, IN_FLIGHT_MAX = 1024, READ_SIZE = 256 * 1024, BUFFER_SIZE = 4 << 20, CODES_MAX = 16 };
enum { FIRST_ID = 16 };  // requests before the sends have smaller IDs

static struct {
    const char *host, *room_prefix, *secret_file;
    int port, pid, senders, in_flight, text;
    double rate, seconds, warmup;
    bool json;
    struct signing_key key;
} options = {
    .host = "127.0.0.1", .port = 7400, .senders = 100, .in_flight = 16, .text = 200, .seconds = 10, .warmup = 1,
    .key.kid = "default"};

struct sender {
    int fd, index;
    uint64_t sent, answered;       // sends so far; the next ID is FIRST_ID + sent
    uint64_t due[IN_FLIGHT_MAX];   // when send n was due, at n % IN_FLIGHT_MAX; 0: answered
    int64_t ack_seq, push_seq;     // the last of each
    char *rest;                    // the beginning of a frame that has not come whole
    size_t rest_count;
    char *out;                     // what the socket has not taken
    size_t out_begin, out_end, out_size;
};

static struct sender *senders;
static char *buffer, *pad, run_id[24];
static int epoll_fd;

// Counts since the measurement began.
static struct {
    uint64_t acked, pushes;
    struct histogram latency;
} result;
// Errors by code, since the beginning: none is expected.
static struct {
    int64_t code;
    uint64_t count;
} errors[CODES_MAX];
static uint64_t sent_total, answered_total;

// ---------------------------------------------------------------------------------------------------------------------
// What goes

static void flush_out(struct sender *s) {
    bool was_waiting = s->out_begin > 0;
    while (s->out_begin < s->out_end) {
        ssize_t n = send(s->fd, s->out + s->out_begin, s->out_end - s->out_begin, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) break;
        if (n < 0) die("sender %d: %s", s->index, strerror(errno));
        s->out_begin += (size_t)n;
    }
    bool waits = s->out_begin < s->out_end;
    if (!waits) s->out_begin = s->out_end = 0;
    if (waits || was_waiting) {
        struct epoll_event event = {.events = waits ? EPOLLIN | EPOLLOUT : EPOLLIN, .data.ptr = s};
        epoll_ctl(epoll_fd, EPOLL_CTL_MOD, s->fd, &event);
    }
}

// Appends a frame to what the sender has to write; flush_out writes it.
static void append_frame(struct sender *s, int opcode, const char *payload, size_t count) {
    size_t needed = s->out_end + count + 14;
    if (needed > s->out_size) {
        s->out = realloc(s->out, 2 * needed);
        if (!s->out) die("out of memory");
        s->out_size = 2 * needed;
    }
    s->out_end += frame_write(s->out + s->out_end, opcode, payload, count);
}

static void append_send(struct sender *s, uint64_t due) {
    char message[65536 + 512];
    int count = snprintf(
        message, sizeof message,
        "{\"id\":%llu,\"send\":{\"room\":\"%s-%d\",\"clientId\":\"%s-%llu\",\"type\":\"TEXT\",\"text\":\"%s\"}}",
        (unsigned long long)(FIRST_ID + s->sent), options.room_prefix, s->index, run_id, (unsigned long long)s->sent, pad);
    append_frame(s, OPCODE_TEXT, message, (size_t)count);
    s->due[s->sent % IN_FLIGHT_MAX] = due;
    s->sent++;
    sent_total++;
}

// Closed loop: fills the sender's window.
static void fill(struct sender *s, uint64_t now) {
    while (s->sent - s->answered < (uint64_t)options.in_flight) append_send(s, now);
    flush_out(s);
}

// Open loop: sends what is due by now, in turn over the senders. A sender whose window is full catches up later: its
// sends keep the times at which they were due. Returns the time until the next one, in ns.
static uint64_t send_due(uint64_t begin, uint64_t now) {
    // Send number n is due at n / rate: so many are by now.
    uint64_t due_total = (uint64_t)((double)(now - begin) * options.rate / 1e9) + 1;
    static uint64_t last_due;
    if (due_total != last_due || sent_total < due_total) {
        for (int i = 0; i < options.senders; i++) {
            struct sender *s = &senders[i];
            // Send n of sender i is number n * senders + i of all.
            uint64_t first = s->sent;
            while (s->sent * (uint64_t)options.senders + (uint64_t)i < due_total
                && s->sent - s->answered < (uint64_t)options.in_flight) {
                double number = (double)(s->sent * (uint64_t)options.senders + (uint64_t)i);
                append_send(s, begin + (uint64_t)(number * 1e9 / options.rate));
            }
            if (s->sent != first) flush_out(s);
        }
        last_due = due_total;
    }
    double next = (double)due_total * 1e9 / options.rate + (double)begin - (double)now;
    return next > 1000 ? (uint64_t)next : 1000;
}

// ---------------------------------------------------------------------------------------------------------------------
// What comes

static void on_error(const char *object, size_t count) {
    int64_t code = json_number(object, count, "code");
    static bool shown;
    if (!shown) fprintf(stderr, "sendload: first error: %.*s\n", (int)count, object);
    shown = true;
    for (int i = 0; i < CODES_MAX; i++) {
        if (errors[i].count > 0 && errors[i].code != code) continue;
        errors[i].code = code;
        errors[i].count++;
        return;
    }
}

static void on_reply(struct sender *s, const char *object, size_t count, uint64_t now) {
    int64_t id = json_number(object, count, "id");
    if (id < FIRST_ID || (uint64_t)id - FIRST_ID >= s->sent) die("a reply to nothing: %.*s", (int)count, object);
    uint64_t *due = &s->due[((uint64_t)id - FIRST_ID) % IN_FLIGHT_MAX];
    if (s->sent - ((uint64_t)id - FIRST_ID) > IN_FLIGHT_MAX || *due == 0)
        die("a second reply: %.*s", (int)count, object);
    uint64_t waited = now - *due;
    *due = 0;
    s->answered++;
    answered_total++;
    if (memmem(object, count, "\"error\":", 8)) {
        on_error(object, count);
        return;
    }
    int64_t seq = json_number(object, count, "seq");
    if (seq != s->ack_seq + 1)
        die("%s-%d: ack of seq %lld after %lld", options.room_prefix, s->index, (long long)seq, (long long)s->ack_seq);
    s->ack_seq = seq;
    result.acked++;
    histogram_add(&result.latency, waited);
}

static void on_push(struct sender *s, const char *object, size_t count) {
    int64_t seq = json_number(object, count, "seq");
    if (seq < 0) return;  // a message that is not kept
    if (seq != s->push_seq + 1)
        die("%s-%d: push of seq %lld after %lld", options.room_prefix, s->index, (long long)seq, (long long)s->push_seq);
    s->push_seq = seq;
    result.pushes++;
}

static void on_text(struct sender *s, char *p, size_t count, uint64_t now) {
    char *end = p + count;
    while (p < end) {
        char *newline = memchr(p, '\n', (size_t)(end - p)), *next = newline ? newline : end;
        size_t size = (size_t)(next - p);
        if (starts_with(p, size, "{\"message\":")) on_push(s, p, size);
        else if (starts_with(p, size, "{\"gap\":")) die("a gap although the sender reads all: %.*s", (int)size, p);
        else if (memmem(p, size, "\"send\":", 7) || memmem(p, size, "\"error\":", 8)) on_reply(s, p, size, now);
        p = next + 1;
    }
}

static void on_readable(struct sender *s) {
    if (s->rest_count > 0) memcpy(buffer, s->rest, s->rest_count);
    ssize_t n = recv(s->fd, buffer + s->rest_count, READ_SIZE, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) die("the server closed a connection without a close frame: %s", n < 0 ? strerror(errno) : "end");
    uint64_t now = now_ns();
    size_t count = s->rest_count + (size_t)n, taken = 0, used;
    struct frame frame;
    while ((used = frame_parse(buffer + taken, count - taken, &frame)) > 0) {
        taken += used;
        switch (frame.opcode) {
        case OPCODE_TEXT:
            if (!frame.fin) die("the server sent a fragmented message");
            on_text(s, frame.payload, frame.count, now);
            break;
        case OPCODE_PING:
            append_frame(s, OPCODE_PONG, frame.payload, frame.count);
            flush_out(s);
            break;
        case OPCODE_PONG: break;
        case OPCODE_CLOSE:
            die("the server closed with %d", frame.count >= 2
                    ? (uint8_t)frame.payload[0] << 8 | (uint8_t)frame.payload[1] : 1005);
        default: die("the server sent a frame with opcode %d", frame.opcode);
        }
    }
    s->rest_count = count - taken;
    if (s->rest_count > BUFFER_SIZE - READ_SIZE) die("a frame is too large");
    if (s->rest_count > 0) {
        s->rest = realloc(s->rest, s->rest_count);
        if (!s->rest) die("out of memory");
        memcpy(s->rest, buffer + taken, s->rest_count);
    }
}

// ---------------------------------------------------------------------------------------------------------------------

static void open_sender(struct sender *s, const struct sockaddr_in *server, int index) {
    char user[64], token[1024], request[2048];
    size_t have = 0;
    s->index = index;
    s->fd = tcp_connect(server, 0);
    websocket_handshake(s->fd, options.host, options.port, "/v1/ws", "chatroom.v1.json");
    snprintf(user, sizeof user, "sender-%d", index);
    make_token(&options.key, user, token, sizeof token);
    snprintf(request, sizeof request, "{\"id\":1,\"connect\":{\"token\":\"%s\"}}", token);
    chatroom_request(s->fd, request, 1, buffer, BUFFER_SIZE, &have);
    snprintf(request, sizeof request, "{\"id\":2,\"enter\":{\"room\":\"%s-%d\"}}", options.room_prefix, index);
    s->ack_seq = s->push_seq = chatroom_request(s->fd, request, 2, buffer, BUFFER_SIZE, &have);
    if (s->ack_seq < 0) die("the reply to enter has no seq");
    if (have > 0) {
        if (!(s->rest = malloc(have))) die("out of memory");
        memcpy(s->rest, buffer, have);
        s->rest_count = have;
    }
    set_nonblocking(s->fd);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = s};
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, s->fd, &event) < 0) die("epoll_ctl: %s", strerror(errno));
}

static void leave(struct sender *s) {
    char request[256];
    fcntl(s->fd, F_SETFL, fcntl(s->fd, F_GETFL) & ~O_NONBLOCK);
    size_t have = s->rest_count;
    if (have > 0) memcpy(buffer, s->rest, have);
    snprintf(request, sizeof request, "{\"id\":3,\"exit\":{\"room\":\"%s-%d\"}}", options.room_prefix, s->index);
    chatroom_request(s->fd, request, 3, buffer, BUFFER_SIZE, &have);
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
        else if (!strcmp(name, "--port")) options.port = atoi(value);
        else if (!strcmp(name, "--pid")) options.pid = atoi(value);
        else if (!strcmp(name, "--senders")) options.senders = atoi(value);
        else if (!strcmp(name, "--in-flight")) options.in_flight = atoi(value);
        else if (!strcmp(name, "--text")) options.text = atoi(value);
        else if (!strcmp(name, "--rate")) options.rate = atof(value);
        else if (!strcmp(name, "--seconds")) options.seconds = atof(value);
        else if (!strcmp(name, "--warmup")) options.warmup = atof(value);
        else if (!strcmp(name, "--room-prefix")) options.room_prefix = value;
        else if (!strcmp(name, "--kid")) options.key.kid = value;
        else if (!strcmp(name, "--secret-file")) options.secret_file = value;
        else die("unknown option %s\n%s", name, usage_text);
    }
    if (!options.room_prefix || !options.secret_file) die("%s", usage_text);
    if (options.senders < 1 || options.senders > SENDERS_MAX || options.in_flight < 1 || options.in_flight > IN_FLIGHT_MAX
        || options.text < 1 || options.text > 32768 || options.rate < 0)
        die("an option has a value that makes no sense\n%s", usage_text);
    read_secret(options.secret_file, &options.key);
}

static void report(double seconds, struct usage before, struct usage after, uint64_t late) {
    double acked = (double)result.acked, cpu = (double)(after.cpu_ns - before.cpu_ns) / 1e9;
    double user = (double)(after.user_ns - before.user_ns) / 1e9;
    double quantiles[3], fractions[3] = {0.5, 0.99, 0.999};
    for (int i = 0; i < 3; i++) quantiles[i] = (double)histogram_quantile(&result.latency, fractions[i]) / 1e6;
    double max = (double)result.latency.max / 1e6;
    if (options.json) {
        printf("{\"senders\":%d,\"inFlight\":%d,\"textBytes\":%d,\"rate\":%.0f,\"seconds\":%.3f,\"acked\":%llu,"
               "\"ackedPerSecond\":%.0f,\"pushes\":%llu,\"p50Ms\":%.3f,\"p99Ms\":%.3f,\"p999Ms\":%.3f,\"maxMs\":%.3f,"
               "\"behind\":%llu,\"errors\":{",
               options.senders, options.in_flight, options.text, options.rate, seconds, (unsigned long long)result.acked,
               acked / seconds, (unsigned long long)result.pushes, quantiles[0], quantiles[1], quantiles[2], max,
               (unsigned long long)late);
        for (int i = 0; i < CODES_MAX && errors[i].count > 0; i++)
            printf("%s\"%lld\":%llu", i ? "," : "", (long long)errors[i].code, (unsigned long long)errors[i].count);
        printf("}");
        if (options.pid)
            printf(",\"cpuSeconds\":%.3f,\"cpuMicrosPerSend\":%.3f,\"userMicrosPerSend\":%.3f", cpu, cpu * 1e6 / acked,
                   user * 1e6 / acked);
        printf("}\n");
        return;
    }
    printf("%d senders, %d in flight, %d bytes, %.2f s: %.0f acked/s", options.senders, options.in_flight, options.text,
           seconds, acked / seconds);
    if (options.rate > 0) printf(" of %.0f that were due (%llu still waiting)", options.rate, (unsigned long long)late);
    printf("\n  ack: p50 %.3f ms, p99 %.3f ms, p99.9 %.3f ms, max %.3f ms\n", quantiles[0], quantiles[1], quantiles[2], max);
    for (int i = 0; i < CODES_MAX && errors[i].count > 0; i++)
        printf("  error %lld: %llu times\n", (long long)errors[i].code, (unsigned long long)errors[i].count);
    if (options.pid)
        printf("  server: %.2f s CPU (%.2f of a core), %.1f us for a send, %.1f us in user mode\n", cpu, cpu / seconds,
               cpu * 1e6 / acked, user * 1e6 / acked);
}

int main(int argc, char **argv) {
    parse_options(argc, argv);
    signal(SIGPIPE, SIG_IGN);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    senders = calloc((size_t)options.senders, sizeof *senders);
    buffer = malloc(BUFFER_SIZE);
    pad = malloc((size_t)options.text + 1);
    if (!senders || !buffer || !pad) die("out of memory");
    memset(pad, 'x', (size_t)options.text);
    pad[options.text] = 0;
    snprintf(run_id, sizeof run_id, "%llx", (unsigned long long)now_ns() ^ (unsigned long long)getpid() << 40);
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons((uint16_t)options.port)};
    if (inet_pton(AF_INET, options.host, &server.sin_addr) != 1) die("--host needs an IPv4 address");
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < options.senders; i++) open_sender(&senders[i], &server, i + 1);

    struct usage before = {0}, after = {0};
    uint64_t start = now_ns(), now = start, begin = 0, end = UINT64_MAX, last_answer = start, answered_seen = 0, late = 0;
    uint64_t warm = start + (uint64_t)(options.warmup * 1e9), window_ns = 0;
    bool sending = true;
    if (options.rate == 0)
        for (int i = 0; i < options.senders; i++) fill(&senders[i], now);
    // After the measurement: until all is answered, so that the check of the acks covers every send.
    while (sending || answered_total < sent_total) {
        uint64_t wait = 50000000;
        if (sending && options.rate > 0) {
            uint64_t next = send_due(start, now);
            if (next < wait) wait = next;
        }
        // ppoll, because the next send may be due in less than epoll's millisecond.
        struct timespec timeout = {.tv_nsec = (long)wait};
        struct pollfd input = {.fd = epoll_fd, .events = POLLIN};
        ppoll(&input, 1, &timeout, NULL);
        struct epoll_event events[256];
        int n = epoll_wait(epoll_fd, events, 256, 0);
        for (int i = 0; i < n; i++) {
            struct sender *s = events[i].data.ptr;
            if (events[i].events & EPOLLOUT) flush_out(s);
            if (events[i].events & ~(uint32_t)EPOLLOUT) on_readable(s);
            if (sending && options.rate == 0) fill(s, now_ns());
        }
        now = now_ns();
        if (answered_total != answered_seen) {
            answered_seen = answered_total;
            last_answer = now;
        } else if (now - last_answer > 30000000000u) {
            die("no answer for 30 s; %llu sends wait", (unsigned long long)(sent_total - answered_total));
        }
        if (begin == 0 && now >= warm) {
            memset(&result, 0, sizeof result);
            before = process_usage(options.pid);
            begin = now_ns();
            end = begin + (uint64_t)(options.seconds * 1e9);
        } else if (sending && now >= end) {
            after = process_usage(options.pid);
            window_ns = now_ns() - begin;
            sending = false;
            if (options.rate > 0) late = (uint64_t)((double)(now - start) * options.rate / 1e9) - answered_total;
            // What is answered from here on is checked and no longer counted.
            report((double)window_ns / 1e9, before, after, late);
            if (result.acked == 0) die("nothing was acknowledged");
        }
    }
    for (int i = 0; i < options.senders; i++) leave(&senders[i]);
    return errors[0].count > 0;
}
