// Load client of the barrage benchmark: senders at a fixed total rate, viewers that check what they are shown. One
// thread. All viewers that are no senders must see the same sample; what they saw and what they were told as skipped is
// the sum of what was sent.

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "chatroom.h"

static const char usage_text[] =
    "usage: barrageload [options]\n"
    "  --host H           address of the server (127.0.0.1)\n"
    "  --port P           its port (7490)\n"
    "  --pid PID          its process: measures its CPU time\n"
    "  --room R           of chatroomd (required)\n"
    "  --senders N        connections that send, and view what they are shown (50)\n"
    "  --viewers N        connections that only view (5000); 0 leaves ingress and sampling alone\n"
    "  --rate R           items a second in all (20000)\n"
    "  --text B           bytes of a text (20)\n"
    "  --budget B         items a second that a viewer may be shown (200)\n"
    "  --seconds S        length of the measurement (5)\n"
    "  --warmup S         before it (2)\n"
    "  --sources K        own addresses to connect from (1)\n"
    "  --kid ID --secret-file F   HS256 key that signs the senders' tokens (default; required)\n"
    "  --json             one line of JSON instead of a report\n";

enum { RING = 1 << 20, CONNECTIONS_MAX = 19500, READ_SIZE = 256 * 1024, BUFFER_SIZE = 4 << 20, NUMBER_DIGITS = 9 };
enum { OUT_SIZE = 256 * 1024 };

static struct {
    const char *host, *room, *secret_file;
    int port, pid, senders, viewers, text, budget, sources;
    double rate, seconds, warmup;
    bool json;
    struct signing_key key;
} options = {
    .host = "127.0.0.1", .port = 7490, .senders = 50, .viewers = 5000, .text = 20, .budget = 200, .sources = 1,
    .rate = 20000, .seconds = 5, .warmup = 2, .key.kid = "default"};

struct connection {
    int fd;
    bool sends;
    uint64_t items, hash, skipped;  // shown, what (order does not matter), told as skipped; since the first item
    uint64_t own;                   // of those shown, its own
    uint64_t sent;
    char *rest;  // the beginning of a frame that has not come whole
    size_t rest_count;
    char *out;   // what still has to be written
    size_t out_begin, out_end;
};

static struct connection *connections;
static int connection_count, epoll_fd;
static char *buffer, *pad;
static uint64_t *sent_at, sent_total;

static struct {
    uint64_t shown;  // items to viewers
    struct histogram latency;
    uint64_t per_second_max;
} result;
static bool measuring;

// What one viewer that does not send was shown, second by second: all see the same, so one is enough.
static uint64_t window_start, window_items;

// ---------------------------------------------------------------------------------------------------------------------
// What comes

static void on_barrage(struct connection *c, char *p, char *end, uint64_t now) {
    while ((p = memmem(p, (size_t)(end - p), "\"text\":\"b", 9))) {
        p += 9;
        if (end - p < NUMBER_DIGITS) break;
        uint64_t number = 0;
        for (int i = 0; i < NUMBER_DIGITS; i++) number = number * 10 + (uint64_t)(p[i] - '0');
        if (number >= sent_total) die("a barrage that was not sent: %llu", (unsigned long long)number);
        c->items++;
        // Every sender sends in turn, so the number tells whose it is.
        if (c->sends && (int)(number % (uint64_t)options.senders) == (int)(c - connections)) c->own++;
        uint64_t z = (number + 1) * 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        c->hash += z ^ (z >> 27);
        if (!c->sends && measuring) {
            histogram_add(&result.latency, now - sent_at[number % RING]);
            result.shown++;
        }
        if (c == &connections[options.senders]) {
            if (now - window_start >= 1000000000u) window_start = now, window_items = 0;
            if (++window_items > result.per_second_max) result.per_second_max = window_items;
        }
    }
}

static void on_text(struct connection *c, char *p, size_t count, uint64_t now) {
    char *end = p + count;
    while (p < end) {
        char *newline = memchr(p, '\n', (size_t)(end - p)), *next = newline ? newline : end;
        size_t size = (size_t)(next - p);
        if (starts_with(p, size, "{\"barrage\":")) {
            on_barrage(c, p, next, now);
        } else if (starts_with(p, size, "{\"skipped\":")) {
            int64_t skipped = json_number(p, size, "barrage");
            if (skipped > 0) c->skipped += (uint64_t)skipped;
        } else if (memmem(p, size, "\"error\":", 8)) {
            die("refused: %.*s", (int)size, p);
        }
        p = next + 1;
    }
}

static void flush_out(struct connection *c) {
    while (c->out_begin < c->out_end) {
        ssize_t n = send(c->fd, c->out + c->out_begin, c->out_end - c->out_begin, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) {
            struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.ptr = c};
            epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &event);
            return;
        }
        if (n < 0) die("sender: %s", strerror(errno));
        c->out_begin += (size_t)n;
    }
    c->out_begin = c->out_end = 0;
}

static void on_readable(struct connection *c) {
    if (c->rest_count > 0) memcpy(buffer, c->rest, c->rest_count);
    ssize_t n = recv(c->fd, buffer + c->rest_count, READ_SIZE, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) die("the server closed a connection without a close frame: %s", n < 0 ? strerror(errno) : "end");
    uint64_t now = now_ns();
    size_t count = c->rest_count + (size_t)n, taken = 0, used;
    struct frame frame;
    while ((used = frame_parse(buffer + taken, count - taken, &frame)) > 0) {
        taken += used;
        if (frame.opcode == OPCODE_TEXT) on_text(c, frame.payload, frame.count, now);
        else if (frame.opcode == OPCODE_CLOSE) die("the server closed a connection");
        // Pings are not answered: a run is shorter than 2.5 heartbeats, and senders send.
    }
    c->rest_count = count - taken;
    if (c->rest_count == 0) {
        free(c->rest);
        c->rest = NULL;
        return;
    }
    if (c->rest_count > BUFFER_SIZE - READ_SIZE) die("a frame is too large");
    char *rest = realloc(c->rest, c->rest_count);
    if (!rest) die("out of memory");
    memcpy(rest, buffer + taken, c->rest_count);
    c->rest = rest;
}

// ---------------------------------------------------------------------------------------------------------------------
// What goes

static void append_item(uint64_t due) {
    struct connection *c = &connections[sent_total % (uint64_t)options.senders];
    char message[8192];
    int count = snprintf(
        message, sizeof message, "{\"barrage\":{\"room\":\"%s\",\"text\":\"b%0*llu%.*s\"}}", options.room, NUMBER_DIGITS,
        (unsigned long long)sent_total, options.text - NUMBER_DIGITS - 1, pad);
    if (c->out_end + (size_t)count + 256 > OUT_SIZE) die("the server does not read what a sender sends");
    c->out_end += frame_write(c->out + c->out_end, OPCODE_TEXT, message, (size_t)count);
    sent_at[sent_total % RING] = due;
    sent_total++;
    c->sent++;
}

// Sends what is due by now. Returns the time until the next one, in ns.
static uint64_t send_due(uint64_t begin, uint64_t now) {
    uint64_t due = (uint64_t)((double)(now - begin) * options.rate / 1e9);
    uint64_t first = sent_total;
    while (sent_total < due) append_item(begin + (uint64_t)((double)sent_total * 1e9 / options.rate));
    uint64_t count = sent_total - first < (uint64_t)options.senders ? sent_total - first : (uint64_t)options.senders;
    for (uint64_t i = 0; i < count; i++) flush_out(&connections[(first + i) % (uint64_t)options.senders]);
    return 2000000;  // in small bundles, as many clients would
}

// ---------------------------------------------------------------------------------------------------------------------

static void open_connection(struct connection *c, const struct sockaddr_in *server, int index) {
    char user[64], token[1024], request[2048];
    size_t have = 0;
    c->sends = index < options.senders;
    c->fd = tcp_connect(server, options.sources > 1 ? 1 + index % options.sources : 0);
    websocket_handshake(c->fd, options.host, options.port, "/v1/ws", "chatroom.v1.json");
    if (c->sends) {
        snprintf(user, sizeof user, "sender-%d", index);
        make_token(&options.key, user, token, sizeof token);
        snprintf(request, sizeof request, "{\"id\":1,\"connect\":{\"token\":\"%s\"}}", token);
        if (!(c->out = malloc(OUT_SIZE))) die("out of memory");
    } else {
        snprintf(request, sizeof request, "{\"id\":1,\"connect\":{\"anonymous\":true}}");
    }
    chatroom_request(c->fd, request, 1, buffer, BUFFER_SIZE, &have);
    snprintf(request, sizeof request, "{\"id\":2,\"enter\":{\"room\":\"%s\",\"nick\":\"n%d\",\"avatar\":\"a\"}}",
             options.room, index);
    if (chatroom_request(c->fd, request, 2, buffer, BUFFER_SIZE, &have) < 0) die("the reply to enter has no seq");
    if (have > 0) {
        if (!(c->rest = malloc(have))) die("out of memory");
        memcpy(c->rest, buffer, have);
        c->rest_count = have;
    }
    set_nonblocking(c->fd);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, c->fd, &event) < 0) die("epoll_ctl: %s", strerror(errno));
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
        else if (!strcmp(name, "--room")) options.room = value;
        else if (!strcmp(name, "--senders")) options.senders = atoi(value);
        else if (!strcmp(name, "--viewers")) options.viewers = atoi(value);
        else if (!strcmp(name, "--rate")) options.rate = atof(value);
        else if (!strcmp(name, "--text")) options.text = atoi(value);
        else if (!strcmp(name, "--budget")) options.budget = atoi(value);
        else if (!strcmp(name, "--seconds")) options.seconds = atof(value);
        else if (!strcmp(name, "--warmup")) options.warmup = atof(value);
        else if (!strcmp(name, "--sources")) options.sources = atoi(value);
        else if (!strcmp(name, "--kid")) options.key.kid = value;
        else if (!strcmp(name, "--secret-file")) options.secret_file = value;
        else die("unknown option %s\n%s", name, usage_text);
    }
    if (!options.room || !options.secret_file) die("%s", usage_text);
    connection_count = options.senders + options.viewers;
    if (options.senders < 1 || options.viewers < 0 || connection_count > CONNECTIONS_MAX || options.rate <= 0
        || options.text < NUMBER_DIGITS + 1 || options.text > 4096
        || options.rate * (options.seconds + options.warmup) > 900000000.0)
        die("an option has a value that makes no sense\n%s", usage_text);
    read_secret(options.secret_file, &options.key);
}

// All must have seen the same, and each the sum of what was sent. Returns what is wrong, NULL if nothing.
static const char *check(void) {
    static char problem[256];
    const struct connection *model = options.viewers > 0 ? &connections[options.senders] : NULL;
    for (int i = 0; i < connection_count; i++) {
        const struct connection *c = &connections[i];
        if (!c->sends && (c->items != model->items || c->hash != model->hash))
            snprintf(problem, sizeof problem, "viewer %d saw another sample than viewer %d", i, options.senders);
        else if (c->items + c->skipped != sent_total)
            snprintf(problem, sizeof problem, "connection %d was shown %llu and skipped %llu of %llu", i,
                     (unsigned long long)c->items, (unsigned long long)c->skipped, (unsigned long long)sent_total);
        else if (c->sends && c->own != c->sent)
            snprintf(problem, sizeof problem, "sender %d got %llu of its own %llu", i, (unsigned long long)c->own,
                     (unsigned long long)c->sent);
        else
            continue;
        return problem;
    }
    return NULL;
}

int main(int argc, char **argv) {
    parse_options(argc, argv);
    signal(SIGPIPE, SIG_IGN);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    connections = calloc((size_t)connection_count, sizeof *connections);
    buffer = malloc(BUFFER_SIZE);
    pad = malloc((size_t)options.text + 1);
    sent_at = calloc(RING, sizeof *sent_at);
    if (!connections || !buffer || !pad || !sent_at) die("out of memory");
    memset(pad, 'x', (size_t)options.text);
    pad[options.text] = 0;
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons((uint16_t)options.port)};
    if (inet_pton(AF_INET, options.host, &server.sin_addr) != 1) die("--host needs an IPv4 address");
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < connection_count; i++) open_connection(&connections[i], &server, i);

    struct usage before = {0}, after = {0};
    uint64_t start = now_ns(), now = start, begin = 0, ended = 0, last_input = start, sent_before = 0, sent_in = 0;
    uint64_t warm = start + (uint64_t)(options.warmup * 1e9), end = UINT64_MAX;
    double seconds = 0;
    // After the measurement: until nothing has come for two seconds.
    while (ended == 0 || now - last_input < 2000000000u) {
        uint64_t wait = ended ? 50000000 : send_due(start, now);
        struct timespec timeout = {.tv_nsec = (long)wait};
        struct pollfd input = {.fd = epoll_fd, .events = POLLIN};
        ppoll(&input, 1, &timeout, NULL);
        struct epoll_event events[1024];
        int n = epoll_wait(epoll_fd, events, 1024, 0);
        for (int i = 0; i < n; i++) {
            struct connection *c = events[i].data.ptr;
            if (events[i].events & EPOLLOUT) {
                struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
                epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &event);
                flush_out(c);
            }
            if (events[i].events & ~(uint32_t)EPOLLOUT) on_readable(c);
        }
        now = now_ns();
        if (n > 0) last_input = now;
        if (begin == 0 && now >= warm) {
            before = process_usage(options.pid);
            begin = now_ns();
            sent_before = sent_total;
            measuring = true;
            end = begin + (uint64_t)(options.seconds * 1e9);
        } else if (ended == 0 && now >= end) {
            after = process_usage(options.pid);
            ended = now_ns();
            seconds = (double)(ended - begin) / 1e9;
            sent_in = sent_total - sent_before;
            measuring = false;
        }
    }
    const char *problem = check();
    double cpu = (double)(after.cpu_ns - before.cpu_ns) / 1e9;
    double p50 = (double)histogram_quantile(&result.latency, 0.5) / 1e6;
    double p99 = (double)histogram_quantile(&result.latency, 0.99) / 1e6;
    double shown = options.viewers > 0 ? (double)result.shown / options.viewers / seconds : 0;
    printf(options.json ? "{\"senders\":%d,\"viewers\":%d,\"seconds\":%.3f,\"sentPerSecond\":%.0f,\"shownPerSecond\":%.1f,"
                          "\"mostInASecond\":%llu,\"p50Ms\":%.1f,\"p99Ms\":%.1f,\"maxMs\":%.1f,\"cores\":%.3f,"
                          "\"cpuMicrosPerItem\":%.2f}\n"
                        : "%d senders, %d viewers, %.2f s: %.0f items/s sent, %.1f/s shown (at most %llu in a second)\n"
                          "  p50 %.1f ms, p99 %.1f ms, max %.1f ms; server: %.3f of a core, %.2f us for an item sent\n",
           options.senders, options.viewers, seconds, (double)sent_in / seconds, shown,
           (unsigned long long)result.per_second_max, p50, p99, (double)result.latency.max / 1e6, cpu / seconds,
           cpu * 1e6 / (double)(sent_in > 0 ? sent_in : 1));
    if (problem) die("%s", problem);
    return 0;
}
