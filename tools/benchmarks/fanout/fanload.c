// Load client of the fan-out benchmark: one publisher, N subscribers, one thread. Counts what each subscriber gets,
// checks that nothing is missing, doubled or out of order, and relates it to the CPU time that the server used.
// It speaks to the reference (reference.c) or, with --room, to chatroomd; the subscribers are anonymous there.

#include "client.h"
#include "inflate.h"

static const char usage_text[] =
    "usage: fanload [options]\n" TARGET_USAGE
    "  --case C           one: one message outstanding (default); max: --outstanding; lat: --rate; idle: connect only\n"
    "  --subscribers N    (1000); 0 with --room: nobody but the publisher, whose own messages come back to it\n"
    "  --stalled P        percent of the subscribers that read nothing once they are connected, in the case lat (0)\n"
    "  --outstanding K    messages that not everybody has, in the case max (40)\n"
    "  --rate R           messages a second, in the case lat (30)\n"
    "  --seconds S        length of the measurement (2)\n"
    "  --warmup S         before it (0.3)\n"
    "  --nap U            looks for input every U microseconds instead of sleeping in epoll (0: off)\n"
    "  --payload B        bytes of a delivered message of the reference (200)\n"
    "  --room R           the server is chatroomd: this room\n"
    "  --text B           bytes of the text of a message of chatroomd (200)\n"
    "  --words            the text is words, by chance, in the place of one letter\n"
    "  --prime            the subscribers read the room's compressed stream (`connect {prime: true}`)\n";

enum { RING = 4096, SUBSCRIBERS_MAX = 100000, NUMBER_DIGITS = 12 };
// Before the measurement a subscriber that reads nothing gets this, so that its socket is full: 48 messages of 16 KB.
enum { FILLING_MESSAGES = 48, FILLING_BYTES = 16384 };

static struct {
    const char *room, *kind;
    int subscribers, outstanding, nap_us, payload, text;
    double rate, seconds, warmup, stalled;
    bool words;
} options = {
    .kind = "one", .subscribers = 1000, .outstanding = 40, .payload = 200, .text = 200, .rate = 30, .seconds = 2,
    .warmup = 0.3};

struct connection {
    struct stream stream;
    int64_t seq;      // of the last message that had one, 0 before
    uint64_t next;    // the number of ours that must come next
};

static struct connection publisher, *subscribers;
static char run_id[24];
static int stalled_count;                         // subscribers from 0 on that read nothing
static uint32_t receivers;                        // how many have to get a message
static int filling;                               // messages that have still to be sent to fill the stalled sockets

// Message n is at n % RING: how many have it, and when it was sent (or should have been).
static uint32_t received[RING];
static uint64_t sent_at[RING], sent, finished;

// Counts since the measurement began.
static struct {
    uint64_t deliveries, messages, reads, gaps, skipped, compressed, wire_bytes;
    struct histogram latency;
} result;
static uint64_t object_bytes;                     // size of a delivered message, without what frames it

// ---------------------------------------------------------------------------------------------------------------------
// Input

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
        // A primer has what was shown before.
        if (target.primes && c != &publisher && seq <= c->seq) return;
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

static void on_object(struct stream *stream, char *p, size_t count, uint64_t now) {
    if (starts_with(p, count, "{\"message\":")) on_message((struct connection *)stream, p, count, now);
    else if (starts_with(p, count, "{\"gap\":")) result.gaps++;
    else if (starts_with(p, count, "{\"skipped\":")) result.skipped++;
    else if (memmem(p, count, "\"error\":", 8)) die("refused: %.*s", (int)count, p);
}

static char *on_compressed(struct stream *stream, char *payload, size_t *count) {
    if (!stream->window) stream->window = inflate_begin();
    result.compressed++;
    result.wire_bytes += *count;
    return inflate_message(stream->window, payload, count);
}

static void on_read(struct stream *stream) {
    if (stream != &publisher.stream) result.reads++;
}

// ---------------------------------------------------------------------------------------------------------------------
// Output

static void fill_with_words(char *out, size_t count) {
    static const char *words[] = {
        "the", "and", "stream", "hello", "what", "a", "great", "show", "tonight", "from", "here", "to", "everyone",
        "music", "love", "this", "song", "again", "please", "who", "is", "that", "on", "stage", "lights", "amazing",
        "come", "back", "next", "week", "never", "seen", "so", "many", "people", "camera", "left", "right", "now"};
    static uint64_t chance = 88172645463325252u;
    size_t filled = 0;
    while (filled < count) {
        chance ^= chance << 13, chance ^= chance >> 7, chance ^= chance << 17;
        const char *word = words[chance % (sizeof words / sizeof *words)];
        for (; *word && filled < count; word++) out[filled++] = *word;
        if (filled < count) out[filled++] = ' ';
    }
}

static void publish(uint64_t at) {
    static char pad[65536], text[65536], message[65536 + 512];
    int text_size = filling > 0 ? FILLING_BYTES : options.text, payload = filling > 0 ? FILLING_BYTES : options.payload;
    if (!pad[0]) memset(pad, 'x', sizeof pad - 1);
    if (options.words) fill_with_words(pad, (size_t)text_size);
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
    stream_append(&publisher.stream, OPCODE_TEXT, message, (size_t)count);
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
    stream_flush(&publisher.stream);
    return wait;
}

// ---------------------------------------------------------------------------------------------------------------------
// Connecting

// Subscriber number `index`, or the publisher behind all of them.
static void open_connection(struct connection *c, int index) {
    bool publishes = c == &publisher, stalls = !publishes && index < stalled_count;
    enum tcp_pace pace = stalls ? TCP_SLOW : TCP_FAST;
    // The publisher is at the first of several nodes.
    int place = publishes ? 0 : index;
    if (options.room) {
        char user[64];
        snprintf(user, sizeof user, "publisher-%s", run_id);
        chatroom_open(&c->stream, place, publishes ? user : NULL, pace);
        if (strcmp(options.kind, "idle")) c->seq = chatroom_enter(&c->stream, options.room, index);
    } else {
        stream_open(&c->stream, place, publishes ? "/publish" : "/subscribe", NULL, pace, false);
    }
    if (stalls) set_nonblocking(c->stream.fd);
    else stream_watch(&c->stream);
}

// ---------------------------------------------------------------------------------------------------------------------

static void read_settings(int argc, char **argv) {
    const struct setting settings[] = {
        TARGET_SETTINGS,
        {"--case", SETTING_TEXT, &options.kind},
        {"--subscribers", SETTING_INT, &options.subscribers},
        {"--stalled", SETTING_DOUBLE, &options.stalled},
        {"--outstanding", SETTING_INT, &options.outstanding},
        {"--rate", SETTING_DOUBLE, &options.rate},
        {"--seconds", SETTING_DOUBLE, &options.seconds},
        {"--warmup", SETTING_DOUBLE, &options.warmup},
        {"--nap", SETTING_INT, &options.nap_us},
        {"--payload", SETTING_INT, &options.payload},
        {"--room", SETTING_TEXT, &options.room},
        {"--text", SETTING_INT, &options.text},
        {"--words", SETTING_FLAG, &options.words},
        {"--prime", SETTING_FLAG, &target.primes},
        {0},
    };
    settings_read(argc, argv, settings, usage_text);
    bool idle = !strcmp(options.kind, "idle"), latency = !strcmp(options.kind, "lat");
    bool known = !strcmp(options.kind, "one") || !strcmp(options.kind, "max") || latency || idle;
    bool alone = options.room && options.subscribers == 0;
    if (!known || (options.subscribers < 1 && !alone) || options.stalled < 0 || options.stalled > 99
        || (options.stalled > 0 && !latency) || options.subscribers > SUBSCRIBERS_MAX || options.outstanding < 1
        || options.outstanding >= RING || options.payload < 60 || options.payload > 32768 || options.text < 14
        || options.text > 32768 || options.rate <= 0 || target.sources < 1 || target.sources > 60000)
        die("an option has a value that makes no sense\n%s", usage_text);
    if (options.room && !target.secret_file && !idle) die("--room needs --secret-file");
    if (idle && !target.pids.count) die("the case idle needs --pid");
}

static void report_idle(long resident_before, uint64_t cpu_before) {
    long resident = process_resident_kb(target.pids.list[0]);
    double per_connection = 1024.0 * (double)(resident - resident_before) / options.subscribers;
    double cpu_us = (double)(target_usage().cpu_ns - cpu_before) / 1e3 / options.subscribers;
    printf(target.json ? "{\"case\":\"idle\",\"connections\":%d,\"residentBeforeKB\":%ld,\"residentKB\":%ld,"
                          "\"bytesPerConnection\":%.0f,\"cpuMicrosPerConnection\":%.1f}\n"
                        : "%d idle connections: resident memory %ld KB before, %ld KB now, %.0f bytes a connection; "
                          "%.1f us of CPU for each\n",
           options.subscribers, resident_before, resident, per_connection, cpu_us);
}

static void report(double seconds, struct usage before, struct usage after, double own_cpu) {
    double deliveries = (double)result.deliveries, cpu = (double)(after.cpu_ns - before.cpu_ns) / 1e9;
    double user = (double)(after.user_ns - before.user_ns) / 1e9;
    double p50 = (double)histogram_quantile(&result.latency, 0.5) / 1e6;
    double p99 = (double)histogram_quantile(&result.latency, 0.99) / 1e6;
    double reads = result.reads ? deliveries / (double)result.reads : 0;
    if (target.json) {
        printf("{\"case\":\"%s\",\"subscribers\":%d,\"seconds\":%.3f,\"messages\":%llu,\"deliveries\":%llu,"
               "\"deliveriesPerSecond\":%.0f,\"objectBytes\":%llu,\"p50Ms\":%.3f,\"p99Ms\":%.3f,\"maxMs\":%.3f,"
               "\"deliveriesPerRead\":%.2f,\"gaps\":%llu,\"skipped\":%llu,\"stalled\":%d,\"clientBusy\":%.3f,"
               "\"allMessages\":%llu,\"compressedFrames\":%llu,\"compressedBytes\":%llu",
               options.kind, options.subscribers, seconds, (unsigned long long)result.messages,
               (unsigned long long)result.deliveries, deliveries / seconds, (unsigned long long)object_bytes, p50, p99,
               (double)result.latency.max / 1e6, reads, (unsigned long long)result.gaps,
               (unsigned long long)result.skipped, stalled_count, own_cpu / seconds, (unsigned long long)sent,
               (unsigned long long)result.compressed, (unsigned long long)result.wire_bytes);
        if (target.pids.count)
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
    if (target.pids.count)
        printf("  server: %.3f s CPU (%.2f of a core), %.0f deliveries per CPU second; %.3f us each, %.3f us in user mode\n",
               cpu, cpu / seconds, deliveries / cpu, cpu * 1e6 / deliveries, user * 1e6 / deliveries);
}

int main(int argc, char **argv) {
    read_settings(argc, argv);
    client_begin();
    websocket_inflate = target.primes ? on_compressed : NULL;
    stalled_count = (int)(options.stalled * options.subscribers / 100);
    receivers = options.subscribers > 0 ? (uint32_t)(options.subscribers - stalled_count) : 1;
    filling = stalled_count > 0 ? FILLING_MESSAGES : 0;
    subscribers = calloc((size_t)options.subscribers + 1, sizeof *subscribers);
    if (!subscribers) die("out of memory");
    snprintf(run_id, sizeof run_id, "%llx", (unsigned long long)now_ns() ^ (unsigned long long)getpid() << 40);

    bool idle = !strcmp(options.kind, "idle");
    long resident_before = target.pids.count ? process_resident_kb(target.pids.list[0]) : 0;
    struct usage before = target_usage();
    for (int i = 0; i < options.subscribers; i++) open_connection(&subscribers[i], i);
    if (!idle) open_connection(&publisher, options.subscribers);

    uint64_t start = now_ns(), begin = 0, now = start, own_before = 0;
    uint64_t warm = start + (uint64_t)(options.warmup * 1e9), end = UINT64_MAX;
    while (now < end) {
        uint64_t wait = idle ? UINT64_MAX : publish_due(now);
        if (options.nap_us > 0) {
            usleep((useconds_t)options.nap_us);
            wait = 0;
        }
        streams_serve(wait < 50000000 ? wait : 50000000, on_object, on_read);
        now = now_ns();
        if (filling > 0) warm = now + (uint64_t)(options.warmup * 1e9);
        if (begin == 0 && now >= warm) {
            // Waiting messages of the warm-up may be delivered in the window, and the window's at its end are not:
            // the same at both ends.
            memset(&result, 0, sizeof result);
            if (!idle) before = target_usage();
            own_before = own_cpu_ns();
            begin = now_ns();
            end = begin + (uint64_t)(options.seconds * 1e9);
        } else if (now - start > 30000000000u && finished == 0 && !idle) {
            die("nobody has received the first message for 30 s");
        }
    }

    if (idle) {
        report_idle(resident_before, before.cpu_ns);
        return 0;
    }
    double own_cpu = (double)(own_cpu_ns() - own_before) / 1e9;
    struct usage after = target_usage();
    report((double)(now_ns() - begin) / 1e9, before, after, own_cpu);
    if (options.room) {
        // Requests under way end first: a subscriber that waits for nothing else leaves soonest.
        chatroom_leave(&publisher.stream, options.room);
        for (int i = 0; i < options.subscribers; i++) chatroom_leave(&subscribers[i].stream, options.room);
    }
    if (result.messages == 0) die("no message was received by everybody");
    return result.gaps + result.skipped > 0;
}
