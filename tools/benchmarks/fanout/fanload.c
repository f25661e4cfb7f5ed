// Load client of the fan-out benchmark: one publisher, N subscribers, one thread. Counts what each subscriber gets,
// checks that nothing is missing, doubled or out of order, and relates it to the CPU time that the server used.
// It speaks to the reference (reference.c) or, with --room, to chatroomd; the subscribers are anonymous there.

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "chatroom.h"

static const char usage_text[] =
    "usage: fanload [options]\n"
    "  --host H           address of the server (127.0.0.1)\n"
    "  --port P           its port (7490)\n"
    "  --second-port P    of another node: every second subscriber is there\n"
    "  --pid PID          its process: measures its CPU time and memory\n"
    "  --case C           one: one message outstanding (default); max: --outstanding; lat: --rate; idle: connect only\n"
    "  --subscribers N    (1000); 0 with --room: nobody but the publisher, whose own messages come back to it\n"
    "  --stalled P        percent of the subscribers that read nothing once they are connected, in the case lat (0)\n"
    "  --outstanding K    messages that not everybody has, in the case max (40)\n"
    "  --rate R           messages a second, in the case lat (30)\n"
    "  --seconds S        length of the measurement (2)\n"
    "  --warmup S         before it (0.3)\n"
    "  --nap U            looks for input every U microseconds instead of sleeping in epoll (0: off)\n"
    "  --sources K        own addresses to connect from (1)\n"
    "  --payload B        bytes of a delivered message of the reference (200)\n"
    "  --room R           the server is chatroomd: this room\n"
    "  --text B           bytes of the text of a message of chatroomd (200)\n"
    "  --kid ID --secret-file F   HS256 key that signs the publisher's token (default; required with --room)\n"
    "  --json             one line of JSON instead of a report\n";

enum { RING = 4096, SUBSCRIBERS_MAX = 19500, READ_SIZE = 256 * 1024, BUFFER_SIZE = 4 << 20, OUT_SIZE = 4 << 20 };
enum { NUMBER_DIGITS = 12 };
// Before the measurement a subscriber that reads nothing gets this, so that its socket is full: 48 messages of 16 KB.
enum { FILLING_MESSAGES = 48, FILLING_BYTES = 16384 };

static struct {
    const char *host, *room, *kind, *secret_file;
    int port, second_port, pid, subscribers, outstanding, nap_us, sources, payload, text;
    double rate, seconds, warmup, stalled;
    bool json;
    struct signing_key key;
} options = {
    .host = "127.0.0.1", .kind = "one", .port = 7490, .subscribers = 1000, .outstanding = 40, .sources = 1,
    .payload = 200, .text = 200, .rate = 30, .seconds = 2, .warmup = 0.3, .key.kid = "default"};

struct connection {
    int fd;
    int64_t seq;      // of the last message that had one, 0 before
    uint64_t next;    // the number of ours that must come next
    char *rest;       // the beginning of a frame that has not come whole
    size_t rest_count;
};

static struct connection publisher, *subscribers;
static char *buffer;                              // of everything that is read
static char *out;                                 // what the publisher still has to write
static size_t out_begin, out_end;
static char run_id[24];
static int stalled_count;                         // subscribers from 0 on that read nothing
static uint32_t receivers;                        // how many have to get a message
static int filling;                               // messages that have still to be sent to fill the stalled sockets

// Message n is at n % RING: how many have it, and when it was sent (or should have been).
static uint32_t received[RING];
static uint64_t sent_at[RING], sent, finished;

// Counts since the measurement began.
static struct {
    uint64_t deliveries, messages, reads, gaps, skipped;
    struct histogram latency;
} result;
static uint64_t object_bytes;                     // size of a delivered message, without what frames it

// ---------------------------------------------------------------------------------------------------------------------
// What comes

// The place of `name` in a message. All messages of a run look alike, so the last place is tried first.
static const char *find(const char *object, size_t count, const char *name, size_t name_count, size_t *hint) {
    if (*hint + name_count <= count && !memcmp(object + *hint, name, name_count)) return object + *hint + name_count;
    const char *p = memmem(object, count, name, name_count);
    if (!p) return NULL;
    *hint = (size_t)(p - object);
    return p + name_count;
}

static void on_message(struct connection *c, const char *object, size_t count, uint64_t now) {
    static size_t seq_hint, text_hint;
    const char *end = object + count, *p = find(object, count, "\"seq\":", 6, &seq_hint);
    if (p) {
        int64_t seq = 0;
        while (p < end && *p >= '0' && *p <= '9') seq = seq * 10 + (*p++ - '0');
        if (c->seq != 0 && seq != c->seq + 1)
            die("order: seq %lld came after %lld", (long long)seq, (long long)c->seq);
        c->seq = seq;
    }
    if (c == &publisher && options.subscribers > 0) return;
    p = find(object, count, "\"text\":\"f", 9, &text_hint);
    if (!p || end - p < NUMBER_DIGITS) return;
    uint64_t number = 0;
    for (int i = 0; i < NUMBER_DIGITS; i++) number = number * 10 + (uint64_t)(p[i] - '0');
    if (number != c->next || number >= sent)
        die("order: message %llu came instead of %llu", (unsigned long long)number, (unsigned long long)c->next);
    c->next++;
    received[number % RING]++;
    object_bytes = count;
    result.deliveries++;
    histogram_add(&result.latency, now - sent_at[number % RING]);
    while (finished < sent && received[finished % RING] == receivers) {
        received[finished % RING] = 0;
        finished++;
        result.messages++;
    }
}

static void on_text(struct connection *c, char *p, size_t count, uint64_t now) {
    char *end = p + count;
    while (p < end) {
        char *newline = memchr(p, '\n', (size_t)(end - p)), *next = newline ? newline : end;
        size_t size = (size_t)(next - p);
        if (starts_with(p, size, "{\"message\":")) on_message(c, p, size, now);
        else if (starts_with(p, size, "{\"gap\":")) result.gaps++;
        else if (starts_with(p, size, "{\"skipped\":")) result.skipped++;
        else if (memmem(p, size, "\"error\":", 8)) die("refused: %.*s", (int)size, p);
        p = next + 1;
    }
}

static void send_pong(struct connection *c, const struct frame *ping) {
    char pong[CONTROL_MAX + 14];
    size_t count = frame_write(pong, OPCODE_PONG, ping->payload, ping->count <= CONTROL_MAX ? ping->count : CONTROL_MAX);
    if (c == &publisher && out_begin < out_end) {
        if (out_end + count > OUT_SIZE) die("the server does not read what the publisher sends");
        memcpy(out + out_end, pong, count);  // behind what waits, not into the middle of a frame
        out_end += count;
    } else {
        write_all(c->fd, pong, count);       // a subscriber sends nothing else: its socket is never full
    }
}

static void on_readable(struct connection *c) {
    if (c->rest_count > 0) memcpy(buffer, c->rest, c->rest_count);
    ssize_t n = recv(c->fd, buffer + c->rest_count, READ_SIZE, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) die("the server closed a connection without a close frame: %s", n < 0 ? strerror(errno) : "end");
    if (c != &publisher) result.reads++;
    uint64_t now = now_ns();
    size_t count = c->rest_count + (size_t)n, taken = 0, used;
    struct frame frame;
    while ((used = frame_parse(buffer + taken, count - taken, &frame)) > 0) {
        taken += used;
        switch (frame.opcode) {
        case OPCODE_TEXT:
            if (!frame.fin) die("the server sent a fragmented message");
            on_text(c, frame.payload, frame.count, now);
            break;
        case OPCODE_PING:
            send_pong(c, &frame);
            break;
        case OPCODE_PONG: break;
        case OPCODE_CLOSE:
            die("the server closed with %d", frame.count >= 2
                    ? (uint8_t)frame.payload[0] << 8 | (uint8_t)frame.payload[1] : 1005);
        default: die("the server sent a frame with opcode %d", frame.opcode);
        }
    }
    c->rest_count = count - taken;
    if (c->rest_count == 0) {
        free(c->rest);
        c->rest = NULL;
    } else {
        if (c->rest_count > BUFFER_SIZE - READ_SIZE) die("a frame is too large");
        char *rest = realloc(c->rest, c->rest_count);
        if (!rest) die("out of memory");
        memcpy(rest, buffer + taken, c->rest_count);
        c->rest = rest;
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// What goes

static void flush_publisher(void) {
    while (out_begin < out_end) {
        ssize_t n = send(publisher.fd, out + out_begin, out_end - out_begin, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n < 0) die("publisher: %s", strerror(errno));
        out_begin += (size_t)n;
    }
    out_begin = out_end = 0;
}

static void publish(uint64_t at) {
    static char pad[65536], text[65536], message[65536 + 512];
    int text_size = filling > 0 ? FILLING_BYTES : options.text, payload = filling > 0 ? FILLING_BYTES : options.payload;
    if (!pad[0]) memset(pad, 'x', sizeof pad - 1);
    int count;
    if (options.room) {
        snprintf(text, sizeof text, "f%0*llu%.*s", NUMBER_DIGITS, (unsigned long long)sent,
                 text_size - NUMBER_DIGITS - 1, pad);
        count = snprintf(
            message, sizeof message,
            "{\"id\":%llu,\"send\":{\"room\":\"%s\",\"clientId\":\"%s-%llu\",\"type\":\"TEXT\",\"text\":\"%s\"}}",
            (unsigned long long)(sent % 4000000000u + 10), options.room, run_id, (unsigned long long)sent, text);
    } else {
        // The look of a push of chatroomd, so that reading it costs this program the same.
        int fixed = (int)strlen("{\"message\":{\"seq\":1000000000,\"text\":\"f\"}}") + NUMBER_DIGITS;
        count = snprintf(
            message, sizeof message, "{\"message\":{\"seq\":%llu,\"text\":\"f%0*llu%.*s\"}}",
            (unsigned long long)(1000000000 + sent), NUMBER_DIGITS, (unsigned long long)sent, payload - fixed, pad);
    }
    if (out_end + (size_t)count + 256 > OUT_SIZE) die("the server does not read what the publisher sends");
    out_end += frame_write(out + out_end, OPCODE_TEXT, message, (size_t)count);
    sent_at[sent % RING] = at;
    sent++;
}

// Publishes what is due. Returns the time until the next message is, in ns; UINT64_MAX when that depends on receipts.
static uint64_t publish_due(uint64_t now) {
    static uint64_t begin, sent_before;
    uint64_t wait = UINT64_MAX;
    if (filling > 0) {
        if (sent == finished) {
            publish(now);
            filling--;
        }
    } else if (!strcmp(options.kind, "lat")) {
        if (begin == 0) {
            begin = now;
            sent_before = sent;
        }
        for (;;) {
            uint64_t due = begin + (uint64_t)((double)(sent - sent_before) * 1e9 / options.rate);
            if (due > now) {
                wait = due - now;
                break;
            }
            if (sent - finished >= RING - 1) break;
            publish(due);  // measured from when it was due, also if this program or the server was late
        }
    } else {
        uint64_t window = !strcmp(options.kind, "one") ? 1 : (uint64_t)options.outstanding;
        while (sent - finished < window) publish(now);
    }
    flush_publisher();
    return wait;
}

// ---------------------------------------------------------------------------------------------------------------------
// Connecting

static void open_connection(struct connection *c, const struct sockaddr_in *server, int index, const char *token) {
    char request[2048];
    bool publishes = c == &publisher;
    int source = options.sources > 1 ? 1 + index % options.sources : 0;
    c->fd = tcp_connect(server, source);
    if (!publishes && index < stalled_count) {
        int small = 4096;
        setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    }
    websocket_handshake(
        c->fd, options.host, options.port, options.room ? "/v1/ws" : publishes ? "/publish" : "/subscribe",
        options.room ? "chatroom.v1.json" : NULL);
    size_t have = 0;
    if (options.room) {
        if (token) snprintf(request, sizeof request, "{\"id\":1,\"connect\":{\"token\":\"%s\"}}", token);
        else snprintf(request, sizeof request, "{\"id\":1,\"connect\":{\"anonymous\":true}}");
        chatroom_request(c->fd, request, 1, buffer, BUFFER_SIZE, &have);
        if (strcmp(options.kind, "idle")) {
            snprintf(
                request, sizeof request, "{\"id\":2,\"enter\":{\"room\":\"%s\",\"nick\":\"v%d\",\"avatar\":\"a\"}}",
                options.room, index);
            c->seq = chatroom_request(c->fd, request, 2, buffer, BUFFER_SIZE, &have);
            if (c->seq < 0) die("the reply to enter has no seq");
        }
    }
    if (have > 0) {
        if (!(c->rest = malloc(have))) die("out of memory");
        memcpy(c->rest, buffer, have);
        c->rest_count = have;
    }
    set_nonblocking(c->fd);
}

// Leaves the room, so that the next run finds it empty: a dropped connection would stay for the grace.
static void leave(struct connection *c) {
    char request[256];
    int flags = fcntl(c->fd, F_GETFL);
    fcntl(c->fd, F_SETFL, flags & ~O_NONBLOCK);
    size_t have = c->rest_count;
    if (have > 0) memcpy(buffer, c->rest, have);
    snprintf(request, sizeof request, "{\"id\":3,\"exit\":{\"room\":\"%s\"}}", options.room);
    chatroom_request(c->fd, request, 3, buffer, BUFFER_SIZE, &have);
}

// ---------------------------------------------------------------------------------------------------------------------

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
        else if (!strcmp(name, "--second-port")) options.second_port = atoi(value);
        else if (!strcmp(name, "--pid")) options.pid = atoi(value);
        else if (!strcmp(name, "--case")) options.kind = value;
        else if (!strcmp(name, "--subscribers")) options.subscribers = atoi(value);
        else if (!strcmp(name, "--stalled")) options.stalled = atof(value);
        else if (!strcmp(name, "--outstanding")) options.outstanding = atoi(value);
        else if (!strcmp(name, "--rate")) options.rate = atof(value);
        else if (!strcmp(name, "--seconds")) options.seconds = atof(value);
        else if (!strcmp(name, "--warmup")) options.warmup = atof(value);
        else if (!strcmp(name, "--nap")) options.nap_us = atoi(value);
        else if (!strcmp(name, "--sources")) options.sources = atoi(value);
        else if (!strcmp(name, "--payload")) options.payload = atoi(value);
        else if (!strcmp(name, "--room")) options.room = value;
        else if (!strcmp(name, "--text")) options.text = atoi(value);
        else if (!strcmp(name, "--kid")) options.key.kid = value;
        else if (!strcmp(name, "--secret-file")) options.secret_file = value;
        else die("unknown option %s\n%s", name, usage_text);
    }
    bool known = !strcmp(options.kind, "one") || !strcmp(options.kind, "max") || !strcmp(options.kind, "lat")
        || !strcmp(options.kind, "idle");
    bool alone = options.room && options.subscribers == 0;
    if (!known || (options.subscribers < 1 && !alone) || options.stalled < 0 || options.stalled > 99 ||
        (options.stalled > 0 && strcmp(options.kind, "lat")) || options.subscribers > SUBSCRIBERS_MAX || options.outstanding < 1
        || options.outstanding >= RING || options.payload < 60 || options.payload > 32768 || options.text < 14
        || options.text > 32768 || options.rate <= 0 || options.sources < 1 || options.sources > 60000)
        die("an option has a value that makes no sense\n%s", usage_text);
    if (options.secret_file) read_secret(options.secret_file, &options.key);
    else if (options.room && strcmp(options.kind, "idle")) die("--room needs --secret-file");
}

static void report_idle(long resident_before, uint64_t cpu_before) {
    long resident = process_resident_kb(options.pid);
    double per_connection = 1024.0 * (double)(resident - resident_before) / options.subscribers;
    double cpu_us = (double)(process_usage(options.pid).cpu_ns - cpu_before) / 1e3 / options.subscribers;
    printf(options.json ? "{\"case\":\"idle\",\"connections\":%d,\"residentBeforeKB\":%ld,\"residentKB\":%ld,"
                          "\"bytesPerConnection\":%.0f,\"cpuMicrosPerConnection\":%.1f}\n"
                        : "%d idle connections: resident memory %ld KB before, %ld KB now, %.0f bytes a connection; "
                          "%.1f us of CPU for each\n",
           options.subscribers, resident_before, resident, per_connection, cpu_us);
}

static uint64_t own_cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void report(double seconds, struct usage before, struct usage after, double own_cpu) {
    double deliveries = (double)result.deliveries, cpu = (double)(after.cpu_ns - before.cpu_ns) / 1e9;
    double user = (double)(after.user_ns - before.user_ns) / 1e9;
    double p50 = (double)histogram_quantile(&result.latency, 0.5) / 1e6;
    double p99 = (double)histogram_quantile(&result.latency, 0.99) / 1e6;
    double reads = result.reads ? deliveries / (double)result.reads : 0;
    if (options.json) {
        printf("{\"case\":\"%s\",\"subscribers\":%d,\"seconds\":%.3f,\"messages\":%llu,\"deliveries\":%llu,"
               "\"deliveriesPerSecond\":%.0f,\"objectBytes\":%llu,\"p50Ms\":%.3f,\"p99Ms\":%.3f,\"maxMs\":%.3f,"
               "\"deliveriesPerRead\":%.2f,\"gaps\":%llu,\"skipped\":%llu,\"stalled\":%d,\"clientBusy\":%.3f,"
               "\"allMessages\":%llu",
               options.kind, options.subscribers, seconds, (unsigned long long)result.messages,
               (unsigned long long)result.deliveries, deliveries / seconds, (unsigned long long)object_bytes, p50, p99,
               (double)result.latency.max / 1e6, reads, (unsigned long long)result.gaps,
               (unsigned long long)result.skipped, stalled_count, own_cpu / seconds, (unsigned long long)sent);
        if (options.pid)
            printf(",\"cpuSeconds\":%.4f,\"deliveriesPerCpuSecond\":%.0f,\"cpuMicrosPerDelivery\":%.4f,"
                   "\"userMicrosPerDelivery\":%.4f,\"cpuMicrosPerMessage\":%.3f,\"serverBusy\":%.3f",
                   cpu, deliveries / cpu, cpu * 1e6 / deliveries, user * 1e6 / deliveries,
                   cpu * 1e6 * (double)receivers / deliveries, cpu / seconds);
        printf("}\n");
        return;
    }
    printf("%s: %d subscribers, %.2f s, %llu messages of %llu bytes, %llu deliveries\n", options.kind,
           options.subscribers, seconds, (unsigned long long)result.messages, (unsigned long long)object_bytes,
           (unsigned long long)result.deliveries);
    printf("  %.0f deliveries/s, %.1f in one read; latency p50 %.3f ms, p99 %.3f ms, max %.3f ms; this client %.2f of a core\n",
           deliveries / seconds, reads, p50, p99, (double)result.latency.max / 1e6, own_cpu / seconds);
    if (options.pid)
        printf("  server: %.3f s CPU (%.2f of a core), %.0f deliveries per CPU second; %.3f us each, %.3f us in user mode\n",
               cpu, cpu / seconds, deliveries / cpu, cpu * 1e6 / deliveries, user * 1e6 / deliveries);
}

int main(int argc, char **argv) {
    parse_options(argc, argv);
    signal(SIGPIPE, SIG_IGN);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    stalled_count = (int)(options.stalled * options.subscribers / 100);
    receivers = options.subscribers > 0 ? (uint32_t)(options.subscribers - stalled_count) : 1;
    filling = stalled_count > 0 ? FILLING_MESSAGES : 0;
    subscribers = calloc((size_t)options.subscribers + 1, sizeof *subscribers);
    buffer = malloc(BUFFER_SIZE);
    out = malloc(OUT_SIZE);
    if (!subscribers || !buffer || !out) die("out of memory");
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons((uint16_t)options.port)};
    if (inet_pton(AF_INET, options.host, &server.sin_addr) != 1) die("--host needs an IPv4 address");
    snprintf(run_id, sizeof run_id, "%llx", (unsigned long long)now_ns() ^ (unsigned long long)getpid() << 40);

    bool idle = !strcmp(options.kind, "idle");
    long resident_before = options.pid ? process_resident_kb(options.pid) : 0;
    struct usage before = process_usage(options.pid);
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < options.subscribers; i++) {
        struct sockaddr_in its = server;
        if (options.second_port && i % 2 == 1) its.sin_port = htons((uint16_t)options.second_port);
        open_connection(&subscribers[i], &its, i, NULL);
        if (i < stalled_count) continue;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &subscribers[i]};
        if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, subscribers[i].fd, &event) < 0) die("epoll_ctl: %s", strerror(errno));
    }
    if (!idle) {
        char user[64], token[1024];
        snprintf(user, sizeof user, "publisher-%s", run_id);
        if (options.room) make_token(&options.key, user, token, sizeof token);
        open_connection(&publisher, &server, options.subscribers, token);
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = &publisher};
        if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, publisher.fd, &event) < 0) die("epoll_ctl: %s", strerror(errno));
    }

    uint64_t start = now_ns(), begin = 0, now = start, own_before = 0;
    uint64_t warm = start + (uint64_t)(options.warmup * 1e9), end = UINT64_MAX;
    while (now < end) {
        uint64_t wait = idle ? UINT64_MAX : publish_due(now);
        struct epoll_event events[1024];
        if (options.nap_us > 0) {
            usleep((useconds_t)options.nap_us);
        } else {
            // ppoll, because the next message may be due in less than epoll's millisecond.
            uint64_t limit = wait < 50000000 ? wait : 50000000;
            struct timespec timeout = {.tv_nsec = (long)limit};
            struct pollfd input = {.fd = epoll_fd, .events = POLLIN};
            ppoll(&input, 1, &timeout, NULL);
        }
        int n = epoll_wait(epoll_fd, events, 1024, 0);
        for (int i = 0; i < n; i++) {
            struct connection *c = events[i].data.ptr;
            if (c == &publisher) {
                // Edge-triggered, so read until there is nothing.
                char byte;
                while (events[i].events & EPOLLIN && recv(c->fd, &byte, 1, MSG_PEEK) > 0) on_readable(c);
                if (events[i].events & (EPOLLERR | EPOLLHUP)) on_readable(c);
            } else {
                on_readable(c);
            }
        }
        now = now_ns();
        if (filling > 0) warm = now + (uint64_t)(options.warmup * 1e9);
        if (begin == 0 && now >= warm) {
            // Waiting messages of the warm-up may be delivered in the window, and the window's at its end are not:
            // the same at both ends.
            memset(&result, 0, sizeof result);
            if (!idle) before = process_usage(options.pid);
            own_before = own_cpu_ns();
            begin = now_ns();
            end = begin + (uint64_t)(options.seconds * 1e9);
        } else if (now - start > 30000000000u && finished == 0 && !idle) {
            die("nobody has received the first message for 30 s");
        }
    }

    if (idle) {
        if (!options.pid) die("the case idle needs --pid");
        report_idle(resident_before, before.cpu_ns);
        return 0;
    }
    double own_cpu = (double)(own_cpu_ns() - own_before) / 1e9;
    struct usage after = process_usage(options.pid);
    report((double)(now_ns() - begin) / 1e9, before, after, own_cpu);
    if (options.room) {
        // What is under way ends first: a subscriber that waits for nothing else leaves soonest.
        leave(&publisher);
        for (int i = 0; i < options.subscribers; i++) leave(&subscribers[i]);
    }
    if (result.messages == 0) die("no message was received by everybody");
    return result.gaps + result.skipped > 0;
}
