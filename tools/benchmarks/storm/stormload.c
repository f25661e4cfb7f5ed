// Load client of the storm benchmark: C sessions enter one room at the same moment, and leave it again,
// for several rounds. Rounds after the first come back with `since`, as clients do whose node has died, and check that
// what they missed is whole. A 503 is obeyed: the session asks again after its retryAfterMs. Exit code 1 when a session
// was refused for another reason, or a check failed.

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "client.h"

static const char usage_text[] =
    "usage: stormload --room R --secret-file F [options]\n" TARGET_USAGE
    "  --room R           required\n"
    "  --sessions C       (8000)\n"
    "  --processes P      that share the sessions: one may have only so many open files (1)\n"
    "  --rounds N         (5)\n"
    "  --missed M         messages that those who come back have missed (0)\n";

enum { SESSIONS_MAX = 1000000, PROCESSES_MAX = 64, WHEEL = 131072, BUNDLE = 64 };

static struct {
    const char *room;
    int sessions, processes, rounds, missed;
} options = {.sessions = 8000, .processes = 1, .rounds = 5};

struct session {
    struct stream stream;
    int index;
    int64_t id;        // of the request that is under way
    bool is_in;
    uint64_t asked;    // when it asked first in this round
    int64_t next_due;  // in the wheel: the session behind it, or -1
};

// The counts of a process in a round.
struct result {
    uint64_t begin, asked, end;
    uint64_t entered, put_off, pushes, bytes;
    struct histogram latency;
};

// The counts of all processes.
static struct {
    atomic_int arrived;  // at the places where they wait for each other, counted through
    struct result results[PROCESSES_MAX];
} *shared;
static int process_number, waits;

static struct session *sessions;
static int session_count;  // of this process
static int inside, outside;
static int64_t *wheel;  // sessions that ask again, by the millisecond modulo WHEEL
static uint64_t wheel_at;
static int64_t room_seq;
static char epoch[80];
static bool comes_back;
static struct result *result;

static void ask(struct session *s, const char *text) {
    stream_append(&s->stream, OPCODE_TEXT, text, strlen(text));
    stream_flush(&s->stream);
}

static void ask_enter(struct session *s) {
    char text[512];
    s->id++;
    if (comes_back)
        snprintf(text, sizeof text, "{\"id\":%lld,\"enter\":{\"room\":\"%s\",\"since\":%lld,\"epoch\":\"%s\"}}",
                 (long long)s->id, options.room, (long long)(room_seq > options.missed ? room_seq - options.missed : 0),
                 epoch);
    else
        snprintf(text, sizeof text, "{\"id\":%lld,\"enter\":{\"room\":\"%s\"}}", (long long)s->id, options.room);
    ask(s, text);
}

static void ask_exit(struct session *s) {
    char text[256];
    s->id++;
    snprintf(text, sizeof text, "{\"id\":%lld,\"exit\":{\"room\":\"%s\"}}", (long long)s->id, options.room);
    ask(s, text);
}

static void on_answer(struct session *s, const char *p, size_t count, uint64_t now) {
    if (json_number(p, count, "id") != s->id) die("session %d: an answer to nothing: %.*s", s->index, (int)count, p);
    if (memmem(p, count, "\"error\":", 8)) {
        int64_t wait = json_number(p, count, "retryAfterMs");
        if (json_number(p, count, "code") != 503 || wait < 0) die("session %d: %.*s", s->index, (int)count, p);
        result->put_off++;
        uint64_t due = now / 1000000 + (uint64_t)(wait < WHEEL - 1000 ? wait : WHEEL - 1000);
        s->next_due = wheel[due % WHEEL];
        wheel[due % WHEEL] = s->index;
        return;
    }
    if (memmem(p, count < 40 ? count : 40, "\"exit\":", 7)) {
        s->is_in = false;
        outside++;
        return;
    }
    if (s->is_in) die("session %d: a second reply: %.*s", s->index, (int)count, p);
    s->is_in = true;
    inside++;
    result->entered++;
    histogram_add(&result->latency, now - s->asked);
    if (!epoch[0]) {
        const char *found = memmem(p, count, "\"epoch\":\"", 9);
        if (!found || sscanf(found + 9, "%79[^\"]", epoch) != 1) die("an enter without epoch: %.*s", (int)count, p);
        room_seq = json_number(p, count, "seq");
    }
    if (!comes_back) return;
    if (!memmem(p, count, "\"recovered\":true", 16)) die("session %d is not recovered: %.*s", s->index, (int)count, p);
    // The answer's own, and one in each message that was missed.
    int seqs = 0;
    for (const char *at = p, *end = p + count; (at = memmem(at, (size_t)(end - at), "\"seq\":", 6)); at += 6) seqs++;
    int64_t missed = room_seq < options.missed ? room_seq : options.missed;
    if (seqs != missed + 1) die("session %d: %d messages instead of %lld", s->index, seqs - 1, (long long)missed);
}

static void on_object(struct stream *stream, char *p, size_t count, uint64_t now) {
    struct session *s = (struct session *)stream;
    result->bytes += count;
    if (starts_with(p, count, "{\"id\":")) on_answer(s, p, count, now);
    else if (starts_with(p, count, "{\"error\":")) die("session %d: %.*s", s->index, (int)count, p);
    else result->pushes++;
}

// Lets those ask again whose time has come, and takes what has come.
static void serve(uint64_t wait_ns) {
    streams_serve(wait_ns, on_object, NULL);
    for (uint64_t now = now_ns() / 1000000; wheel_at <= now; wheel_at++) {
        int64_t index = wheel[wheel_at % WHEEL];
        wheel[wheel_at % WHEEL] = -1;
        while (index >= 0) {
            struct session *s = &sessions[index];
            index = s->next_due;
            ask_enter(s);
        }
    }
}

static void run_until(const int *count) {
    uint64_t last = now_ns(), seen = 0;
    while (*count < session_count) {
        serve(1000000);
        uint64_t now = now_ns(), sum = result->entered + (uint64_t)outside + result->put_off;
        if (sum != seen) seen = sum, last = now;
        else if (now - last > 90000000000u) die("nothing came for 90 s; %d of %d", *count, session_count);
    }
}

// Waits until all processes are here.
static void meet(void) {
    waits++;
    atomic_fetch_add(&shared->arrived, 1);
    while (atomic_load(&shared->arrived) < waits * options.processes) {
        serve(200000);
        int status;
        if (process_number == 0 && waitpid(-1, &status, WNOHANG) > 0 && status != 0)
            die("a process of the load client has failed");
    }
}

static void open_session(struct session *s, int index, int number) {
    char user[64];
    s->index = index;
    snprintf(user, sizeof user, "guest-%d", number);
    chatroom_open(&s->stream, number, user, TCP_FAST);
    s->id = 1;
    stream_watch(&s->stream);
    // Pings of those who have connected already.
    if (index % 256 == 255) streams_serve(0, on_object, NULL);
}

static void histogram_merge(struct histogram *into, const struct histogram *from) {
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) into->buckets[i] += from->buckets[i];
    into->count += from->count;
    if (from->max > into->max) into->max = from->max;
}

static void report(int round, struct usage before, struct usage after) {
    static struct result all;
    all = shared->results[0];
    for (int i = 1; i < options.processes; i++) {
        const struct result *one = &shared->results[i];
        if (one->begin < all.begin) all.begin = one->begin;
        if (one->asked > all.asked) all.asked = one->asked;
        if (one->end > all.end) all.end = one->end;
        all.entered += one->entered, all.put_off += one->put_off, all.pushes += one->pushes, all.bytes += one->bytes;
        histogram_merge(&all.latency, &one->latency);
    }
    double seconds = (double)(all.end - all.begin) / 1e9, asking = (double)(all.asked - all.begin) / 1e9;
    double cpu = (double)(after.cpu_ns - before.cpu_ns) / 1e9, entered = (double)all.entered;
    double p50 = (double)histogram_quantile(&all.latency, 0.5) / 1e6;
    double p99 = (double)histogram_quantile(&all.latency, 0.99) / 1e6;
    printf(target.json
               ? "{\"round\":%d,\"sessions\":%d,\"seconds\":%.3f,\"entersPerSecond\":%.0f,\"p50Ms\":%.1f,\"p99Ms\":%.1f,"
                 "\"maxMs\":%.1f,\"putOff\":%llu,\"pushes\":%llu,\"bytes\":%llu,\"askingSeconds\":%.3f,"
                 "\"cpuMicrosPerEnter\":%.2f,\"entersPerCpuSecond\":%.0f}\n"
               : "round %d: %d sessions in %.3f s: %.0f enters/s; p50 %.1f ms, p99 %.1f ms, max %.1f ms; %llu put off, "
                 "%llu pushes, %llu bytes; all had asked after %.3f s; server %.2f us CPU for an enter, %.0f in a CPU second\n",
           round, options.sessions, seconds, entered / seconds, p50, p99, (double)all.latency.max / 1e6,
           (unsigned long long)all.put_off, (unsigned long long)all.pushes, (unsigned long long)all.bytes, asking,
           cpu * 1e6 / entered, cpu > 0 ? entered / cpu : 0);
    fflush(stdout);
}

static void read_settings(int argc, char **argv) {
    const struct setting settings[] = {
        TARGET_SETTINGS,
        {"--room", SETTING_TEXT, &options.room},
        {"--sessions", SETTING_INT, &options.sessions},
        {"--processes", SETTING_INT, &options.processes},
        {"--rounds", SETTING_INT, &options.rounds},
        {"--missed", SETTING_INT, &options.missed},
        {0},
    };
    settings_read(argc, argv, settings, usage_text);
    if (!options.room || !target.secret_file) die("%s", usage_text);
    if (options.sessions < 1 || options.sessions > SESSIONS_MAX || options.rounds < 1 || options.missed < 0
        || options.processes < 1 || options.processes > PROCESSES_MAX || options.processes > options.sessions)
        die("an option has a value that makes no sense\n%s", usage_text);
}

static void start_processes(void) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) die("out of memory");
    for (int i = 1; i < options.processes && process_number == 0; i++) {
        pid_t child = fork();
        if (child < 0) die("fork: %s", strerror(errno));
        if (child > 0) continue;
        process_number = i;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    result = &shared->results[process_number];
}

int main(int argc, char **argv) {
    read_settings(argc, argv);
    start_processes();
    client_begin();
    int first = (int)((long long)options.sessions * process_number / options.processes);
    session_count = (int)((long long)options.sessions * (process_number + 1) / options.processes) - first;
    sessions = calloc((size_t)session_count, sizeof *sessions);
    wheel = malloc(WHEEL * sizeof *wheel);
    if (!sessions || !wheel) die("out of memory");
    for (int i = 0; i < WHEEL; i++) wheel[i] = -1;
    wheel_at = now_ns() / 1000000;
    for (int i = 0; i < session_count; i++) open_session(&sessions[i], i, first + i);

    for (int round = 1; round <= options.rounds; round++) {
        meet();
        memset(result, 0, sizeof *result);
        inside = outside = 0;
        comes_back = round > 1;
        struct usage before = process_number == 0 ? target_usage() : (struct usage){0};
        meet();
        result->begin = now_ns();
        // All at the same moment, as far as one thread can that takes the first answers while it asks for the others.
        for (int i = 0; i < session_count; i++) {
            sessions[i].asked = now_ns();
            ask_enter(&sessions[i]);
            if (i % BUNDLE == BUNDLE - 1) serve(0);
        }
        result->asked = now_ns();
        run_until(&inside);
        result->end = now_ns();
        meet();
        if (process_number == 0) report(round, before, target_usage());
        for (int i = 0; i < session_count; i++) {
            ask_exit(&sessions[i]);
            if (i % BUNDLE == BUNDLE - 1) serve(0);
        }
        run_until(&outside);
    }
    meet();
    return 0;
}
