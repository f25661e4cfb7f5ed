// Load client of the media benchmark: D connections read content and U connections send some, each direction at a rate of
// its own, all on one thread. It goes on until it gets SIGTERM, and then says how much it has moved. Exit code 1 when an
// answer was another than 200. The file of targets has one on each line: "GET PATH", read again and again in turn, or "PUT
// SIZE PATH", sent once.

#include "client.h"

static const char usage_text[] =
    "usage: transferload --targets F [options]\n" TARGET_USAGE
    "  --targets F        required\n"
    "  --bearer-file F    the key by which content is read\n"
    "  --downloads D      connections that read (0)\n"
    "  --uploads U        connections that send (0)\n"
    "  --down-rate B      bytes a second of all that read (0: without a limit)\n"
    "  --up-rate B        bytes a second of all that send\n"
    "  --chunk B          bytes that one connection moves in its turn (65536)\n";

enum { TARGETS_MAX = 20000, CHUNK_MAX = 1 << 20 };

static struct {
    const char *targets, *bearer_file;
    int downloads, uploads, chunk;
    double down_rate, up_rate;
} options = {.chunk = 64 * 1024};

struct target_line {
    char path[512];
    int64_t size;
};

// One of the two directions.
struct direction {
    bool is_up;
    struct target_line *targets;
    int target_count, next_target;
    struct transfer *transfers;
    int count, next;
    double rate;
    uint64_t allowed_until;  // the bytes before this time have been used
    uint64_t moved, ended;
};

struct transfer {
    int fd;        // 0: none
    int64_t left;  // bytes of content to come or to go; -1: its number is not known yet
};

static struct direction down, up = {.is_up = true};
static char chunk[CHUNK_MAX], bearer[256];
static volatile sig_atomic_t is_over;

static void on_signal(int number) {
    (void)number;
    is_over = 1;
}

static void read_targets(void) {
    FILE *file = fopen(options.targets, "r");
    if (!file) die("cannot read %s", options.targets);
    char line[1024];
    down.targets = calloc(TARGETS_MAX, sizeof *down.targets);
    up.targets = calloc(TARGETS_MAX, sizeof *up.targets);
    if (!down.targets || !up.targets) die("out of memory");
    while (fgets(line, sizeof line, file)) {
        long long size = 0;
        char path[512];
        struct direction *d = sscanf(line, "PUT %lld %511s", &size, path) == 2 ? &up : &down;
        if (d == &down && sscanf(line, "GET %511s", path) != 1) die("no target: %s", line);
        if (d->target_count == TARGETS_MAX) die("too many targets");
        struct target_line *target = &d->targets[d->target_count++];
        memcpy(target->path, path, sizeof target->path);
        target->size = size;
    }
    fclose(file);
}

// False when all has been sent.
static bool begin_transfer(struct direction *d, struct transfer *t, int index) {
    if (d->is_up && d->next_target == d->target_count) return false;
    if (d->target_count == 0) die("there is nothing to %s", d->is_up ? "send" : "read");
    const struct target_line *content = &d->targets[d->next_target++ % d->target_count];
    struct stream stream = {0};
    stream_connect(&stream, index, TCP_FAST);
    char head[2048];
    int count = d->is_up ? snprintf(
                               head, sizeof head, "PUT %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %lld\r\n\r\n",
                               content->path, target.host, (long long)content->size)
                         : snprintf(
                               head, sizeof head, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n",
                               content->path, target.host, bearer);
    if (count >= (int)sizeof head) die("a target is too long");
    write_all(stream.fd, head, (size_t)count);
    set_nonblocking(stream.fd);
    *t = (struct transfer){.fd = stream.fd, .left = d->is_up ? content->size : -1};
    return true;
}

static void end_transfer(struct direction *d, struct transfer *t) {
    close(t->fd);
    t->fd = 0;
    d->ended++;
}

// Reads the head of an answer. Returns the bytes of content that came with it; -1 when it has not come.
static int64_t take_head(struct transfer *t) {
    char head[4096];
    ssize_t n = recv(t->fd, head, sizeof head - 1, MSG_PEEK);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return -1;
    if (n <= 0) die("the server has ended a connection: %s", n < 0 ? strerror(errno) : "closed");
    head[n] = 0;
    char *end = strstr(head, "\r\n\r\n"), *length = strcasestr(head, "content-length: ");
    if (!end) return -1;
    if (strncmp(head, "HTTP/1.1 200", 12)) die("an answer was not 200: %s", head);
    if (!length || length > end) die("an answer has no length: %s", head);
    if (recv(t->fd, head, (size_t)(end + 4 - head), 0) != end + 4 - head) die("a head came twice in different ways");
    t->left = strtoll(length + 16, NULL, 10);
    return 0;
}

// Moves at most `count` bytes. Returns how many.
static int64_t move(struct direction *d, struct transfer *t, size_t count) {
    if (d->is_up && t->left == 0) {
        if (take_head(t) == 0) end_transfer(d, t);
        return 0;
    }
    if (t->left < 0 && take_head(t) < 0) return 0;
    if ((int64_t)count > t->left) count = (size_t)t->left;
    // Bytes that are only counted are not copied out of the socket.
    ssize_t n = d->is_up ? send(t->fd, chunk, count, MSG_NOSIGNAL) : recv(t->fd, NULL, count, MSG_TRUNC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (n <= 0) die("the server has ended a transfer: %s", n < 0 ? strerror(errno) : "closed");
    t->left -= n;
    if (!d->is_up && t->left == 0) end_transfer(d, t);
    return n;
}

// Lets each connection of a direction have a turn, as far as its rate allows. Returns whether something was moved.
static bool serve(struct direction *d, uint64_t now) {
    bool has_moved = false;
    // Time that nobody has used is worth 50 ms of bytes at most.
    if (d->allowed_until + 50000000 < now) d->allowed_until = now - 50000000;
    for (int i = 0; i < d->count; i++) {
        if (d->rate > 0 && d->allowed_until >= now) break;
        int index = d->next++ % d->count;
        struct transfer *t = &d->transfers[index];
        if (!t->fd && !begin_transfer(d, t, index)) continue;
        int64_t n = move(d, t, (size_t)options.chunk);
        d->moved += (uint64_t)n;
        if (d->rate > 0) d->allowed_until += (uint64_t)((double)n * 1e9 / d->rate);
        if (n > 0) has_moved = true;
    }
    return has_moved;
}

static void prepare(struct direction *d, int count, double rate) {
    d->count = count;
    d->rate = rate;
    d->transfers = calloc((size_t)count + 1, sizeof *d->transfers);
    if (!d->transfers) die("out of memory");
    // All are open from the beginning, so that slow ones are as many as was asked for.
    for (int i = 0; i < count; i++) begin_transfer(d, &d->transfers[i], i);
}

static void read_settings(int argc, char **argv) {
    const struct setting settings[] = {
        TARGET_SETTINGS,
        {"--targets", SETTING_TEXT, &options.targets},
        {"--bearer-file", SETTING_TEXT, &options.bearer_file},
        {"--downloads", SETTING_INT, &options.downloads},
        {"--uploads", SETTING_INT, &options.uploads},
        {"--down-rate", SETTING_DOUBLE, &options.down_rate},
        {"--up-rate", SETTING_DOUBLE, &options.up_rate},
        {"--chunk", SETTING_INT, &options.chunk},
        {0},
    };
    settings_read(argc, argv, settings, usage_text);
    if (!options.targets) die("%s", usage_text);
    if (options.downloads < 0 || options.uploads < 0 || options.chunk < 1 || options.chunk > CHUNK_MAX)
        die("an option has a value that makes no sense\n%s", usage_text);
}

int main(int argc, char **argv) {
    read_settings(argc, argv);
    client_begin();
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    read_targets();
    if (options.bearer_file) {
        struct signing_key key;
        read_secret(options.bearer_file, &key);
        memcpy(bearer, key.secret, sizeof bearer);
    }
    prepare(&down, options.downloads, options.down_rate);
    prepare(&up, options.uploads, options.up_rate);
    uint64_t start = now_ns();
    double cpu_before = (double)own_cpu_ns();
    down.allowed_until = up.allowed_until = start;
    while (!is_over) {
        uint64_t now = now_ns();
        bool has_moved = serve(&down, now);
        has_moved |= serve(&up, now);
        if (!has_moved) usleep(500);
    }
    double seconds = (double)(now_ns() - start) / 1e9, cpu = ((double)own_cpu_ns() - cpu_before) / 1e9;
    printf("{\"seconds\":%.3f,\"downBytesPerSecond\":%.0f,\"upBytesPerSecond\":%.0f,\"downEnded\":%llu,\"upEnded\":%llu,"
           "\"clientBusy\":%.3f}\n",
        seconds, (double)down.moved / seconds, (double)up.moved / seconds, (unsigned long long)down.ended,
        (unsigned long long)up.ended, cpu / seconds);
    return 0;
}
