// Load client of the benchmarks of taps and of polls: sessions that tap, or vote, at a fixed rate each, and count what is
// answered. One thread. Each request has an ID, so what it stands for is on disk when it is answered.

#include "client.h"

static const char usage_text[] =
    "usage: tapload --room R --secret-file F [options]\n" TARGET_USAGE
    "  --room R           required\n"
    "  --sessions N       (1000)\n"
    "  --rate R           requests a second of each (20)\n"
    "  --delta D          taps of a request (50)\n"
    "  --poll ID          votes in it, for another option each time, in place of taps\n"
    "  --seconds S        length of the measurement (10)\n"
    "  --warmup S         before it (3)\n"
    "  --others PID[,...] processes whose CPU time is told beside that of --pid\n";

enum { SESSIONS_MAX = 20000, STEP_NS = 5000000, PATIENCE_S = 30 };

static struct {
    const char *room, *poll;
    int sessions, delta;
    double rate, seconds, warmup;
    struct list others;
} options = {.sessions = 1000, .delta = 50, .rate = 20, .seconds = 10, .warmup = 3};

struct session {
    struct stream stream;
    uint64_t sent;
};

static struct session *sessions;
static uint64_t sent_total, answered_total, pushed_total;

static void on_object(struct stream *stream, char *p, size_t count, uint64_t now) {
    (void)now;
    (void)stream;
    if (starts_with(p, count, "{\"tallies\":")) {
        pushed_total++;
    } else if (memmem(p, count, "\"error\":", 8)) {
        die("refused: %.*s", (int)count, p);
    } else if (starts_with(p, count, "{\"id\":")) {
        answered_total++;
    }
}

static int write_request(const struct session *s, int index, char *text, size_t size) {
    unsigned long long id = s->sent + 2;
    if (options.poll)
        return snprintf(
            text, size, "{\"id\":%llu,\"vote\":{\"room\":\"%s\",\"poll\":\"%s\",\"option\":%llu,\"clientId\":\"%d-%llu\"}}", id,
            options.room, options.poll, (unsigned long long)(s->sent & 1), index, id);
    return snprintf(
        text, size, "{\"id\":%llu,\"tally\":{\"room\":\"%s\",\"key\":\"like\",\"delta\":%d}}", id, options.room,
        options.delta);
}

// Sends what is due by now; each session has its own place in the second. Returns the time until the next look, in ns.
static uint64_t send_due(uint64_t begin, uint64_t now) {
    char text[256];
    double elapsed = (double)(now - begin) / 1e9;
    for (int i = 0; i < options.sessions; i++) {
        struct session *s = &sessions[i];
        double phase = (double)i / options.sessions / options.rate;
        if (elapsed < phase) continue;
        uint64_t due = (uint64_t)((elapsed - phase) * options.rate) + 1;
        if (s->sent >= due) continue;
        while (s->sent < due) {
            s->sent++;
            int size = write_request(s, i, text, sizeof text);
            stream_append(&s->stream, OPCODE_TEXT, text, (size_t)size);
            sent_total++;
        }
        stream_flush(&s->stream);
    }
    return STEP_NS;
}

static double others_seconds(void) {
    double sum = 0;
    for (int i = 0; i < options.others.count; i++) sum += (double)process_usage(options.others.list[i]).cpu_ns / 1e9;
    return sum;
}

static void read_settings(int argc, char **argv) {
    const struct setting settings[] = {
        TARGET_SETTINGS,
        {"--room", SETTING_TEXT, &options.room},
        {"--sessions", SETTING_INT, &options.sessions},
        {"--rate", SETTING_DOUBLE, &options.rate},
        {"--delta", SETTING_INT, &options.delta},
        {"--poll", SETTING_TEXT, &options.poll},
        {"--seconds", SETTING_DOUBLE, &options.seconds},
        {"--warmup", SETTING_DOUBLE, &options.warmup},
        {"--others", SETTING_LIST, &options.others},
        {0},
    };
    settings_read(argc, argv, settings, usage_text);
    if (!options.room || !target.secret_file) die("%s", usage_text);
    if (options.sessions < 1 || options.sessions > SESSIONS_MAX || options.rate <= 0 || options.delta < 1
        || options.delta > 100 || options.seconds <= 0 || options.warmup < 0)
        die("an option has a value that makes no sense\n%s", usage_text);
}

int main(int argc, char **argv) {
    read_settings(argc, argv);
    client_begin();
    sessions = calloc((size_t)options.sessions, sizeof *sessions);
    if (!sessions) die("out of memory");
    for (int i = 0; i < options.sessions; i++) {
        char user[64];
        snprintf(user, sizeof user, "tapper-%d", i);
        chatroom_open(&sessions[i].stream, i, user, TCP_FAST);
        chatroom_enter(&sessions[i].stream, options.room, i);
        stream_watch(&sessions[i].stream);
    }

    struct usage before = {0}, after = {0};
    double others = 0;
    uint64_t start = now_ns(), now = start, begin = 0, ended = 0, sent_before = 0, sent_in = 0, pushed_in = 0;
    uint64_t warm = start + (uint64_t)(options.warmup * 1e9), end = UINT64_MAX;
    while (ended == 0 || answered_total < sent_total) {
        uint64_t wait = ended ? STEP_NS : send_due(start, now);
        streams_serve(wait, on_object, NULL);
        now = now_ns();
        if (begin == 0 && now >= warm) {
            before = target_usage();
            others = others_seconds();
            begin = now;
            sent_before = sent_total;
            pushed_in = pushed_total;
            end = begin + (uint64_t)(options.seconds * 1e9);
        } else if (ended == 0 && now >= end) {
            after = target_usage();
            others = others_seconds() - others;
            ended = now;
            sent_in = sent_total - sent_before;
            pushed_in = pushed_total - pushed_in;
        } else if (ended && now - ended > (uint64_t)PATIENCE_S * 1000000000u) {
            die("%llu of %llu requests were answered", (unsigned long long)answered_total, (unsigned long long)sent_total);
        }
    }
    int each = options.poll ? 1 : options.delta;
    double seconds = (double)(ended - begin) / 1e9, cores = (double)(after.cpu_ns - before.cpu_ns) / 1e9 / seconds;
    printf(target.json
               ? "{\"sessions\":%d,\"seconds\":%.3f,\"requestsPerSecond\":%.0f,\"tapsPerSecond\":%.0f,\"cores\":%.4f,"
                 "\"otherCores\":%.3f,\"pushesPerSecond\":%.2f,\"answeredTaps\":%llu}\n"
               : "%d sessions, %.2f s: %.0f requests/s, %.0f taps or votes/s; --pid: %.4f of a core, --others: %.3f; %.2f pushes/s "
                 "of totals to each; %llu taps or votes answered in all\n",
           options.sessions, seconds, (double)sent_in / seconds, (double)sent_in * each / seconds, cores,
           others / seconds, (double)pushed_in / options.sessions / seconds,
           (unsigned long long)(answered_total * (uint64_t)each));
    return 0;
}
