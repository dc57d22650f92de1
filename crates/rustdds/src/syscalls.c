/*
 * Three functions of the C library, for the whole program, so that RustDDS 0.15 outlives a process that stands still.
 *
 * epoll_wait: no signal ends it. A process that is stopped and continued (Ctrl-Z and fg, a debugger, docker pause, suspend) finds its
 * epoll_wait ended with EINTR. RustDDS takes that for the end of its network: its threads return, with everything that waits in their
 * sockets, and the node is deaf. The kernel leaves no way to mask that; a wait that goes on is what every caller wants. The thread of
 * RustDDS that gives up silent participants is held back for a moment then: the other one has to read first, from what came meanwhile,
 * that they were not silent.
 *
 * It also counts how often threads of RustDDS begin and end to wait, so that others can tell when they have done what they were asked
 * for.
 *
 * recvmsg: what participants announce of themselves is changed in two places. Each announcement gets a number of its own: Cyclone DDS
 * repeats one under one number, RustDDS takes that for what it knows already, and never meets a participant again that it has given
 * up, or whose first announcement was lost on the way to the thread that wants it. And the lease is longer: Cyclone DDS asks to be
 * given up after 10 s of silence. (RTPS 2.5, sections 8.3.8.2, 9.4.2.11, 9.6.3.2.)
 *
 * sendto: so is the lease of what RustDDS announces of itself, 50 s. It is longer than the other by as much as passes between two
 * announcements: who has given us up was silent for so long that we have given it up, and notice when it is back. And heartbeats are
 * fewer: while one reader has not acknowledged something, RustDDS sends all readers of that writer a heartbeat every 100 ms, and each
 * answers. With a writer for each of twenty robots and as many listeners, one of which stands still, that is 8000 datagrams a second,
 * which overrun the sockets of a busy machine: then more is not acknowledged. What repeats a heartbeat comes half as often each time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* What the kernel keeps of "RustDDS discovery thread". */
static const char DISCOVERY[] = "RustDDS discove";
static const int MOMENT = 250; /* ms */
/* How long a silent participant is kept, in s, unless URDF_USD_DDS_PATIENCE says otherwise. */
static const uint32_t PATIENCE = 70;
/* How long others are asked to keep us. */
static const uint32_t LEASE = 80;
/* No announcement of RustDDS is longer. */
enum { LONGEST = 2048 };
/* How long a repeated heartbeat waits, in ms: at first, and at most, that who comes late is told soon of what is latched. */
static const uint32_t HEARTBEAT_FIRST = 90, HEARTBEAT_LAST = 1000;
/* Of how many writers and destinations the last heartbeat is known; of more, some are repeated as often as RustDDS wants. */
enum { HEARTBEATS = 1 << 14 };
/* ENTITYID_SPDP_BUILTIN_PARTICIPANT_WRITER */
static const uint8_t ANNOUNCER[4] = {0, 1, 0, 0xc2};

/* Whether this thread's name begins with `start`. */
static int is_thread(const char *start)
{
    char name[16] = "";
    return prctl(PR_GET_NAME, name) == 0 && strncmp(name, start, strlen(start)) == 0;
}

/* Whether this thread is one of RustDDS, which names it before it does anything. */
static int is_rustdds(void)
{
    static _Thread_local enum { UNKNOWN, OTHER, RUSTDDS } kind;
    if (kind == UNKNOWN)
        kind = is_thread("RustDDS") ? RUSTDDS : OTHER;
    return kind == RUSTDDS;
}

static void hold_back_discovery(void)
{
    int saved = errno;
    if (is_thread(DISCOVERY))
        poll(NULL, 0, MOMENT);
    errno = saved;
}

static long long milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* What is known of a thread of RustDDS. */
struct thread {
    _Atomic int number;      /* 0: free */
    _Atomic int epoll;       /* what it waits for */
    _Atomic uint64_t count;  /* how often it has begun or ended waiting: odd while it waits */
};
static struct thread threads[256];

/* The entry of a thread, or NULL. */
static struct thread *find_thread(int number)
{
    for (size_t n = 0; n < sizeof threads / sizeof *threads; n++)
        if (number && threads[n].number == number)
            return &threads[n];
    return NULL;
}

/* An entry for this thread: a free one, or of one that has ended; NULL if there is none. */
static struct thread *add_thread(void)
{
    int own = (int)syscall(SYS_gettid), process = getpid();
    for (size_t n = 0; n < sizeof threads / sizeof *threads; n++) {
        int other = threads[n].number;
        if (other && !(syscall(SYS_tgkill, process, other, 0) < 0 && errno == ESRCH))
            continue;
        if (atomic_compare_exchange_strong(&threads[n].number, &other, own)) {
            threads[n].count = 0;
            return &threads[n];
        }
    }
    return NULL;
}

/* Notes that this thread begins or ends to wait. */
static void count_wait(int epoll)
{
    static _Thread_local int is_known;
    static _Thread_local struct thread *own;
    int saved = errno;
    if (!is_known) {
        is_known = 1;
        own = is_rustdds() ? add_thread() : NULL;
    }
    if (own) {
        own->epoll = epoll;
        own->count++;
    }
    errno = saved;
}

/* How often a thread has begun or ended waiting; 0 if it is not known. */
uint64_t urdf_usd_waits(int number)
{
    struct thread *thread = find_thread(number);
    return thread ? thread->count : 0;
}

/* Whether there is news for a thread that waits. */
int urdf_usd_is_woken(int number)
{
    struct thread *thread = find_thread(number);
    struct pollfd what = {.fd = thread ? thread->epoll : -1, .events = POLLIN};
    return thread && poll(&what, 1, 0) > 0;
}

static int wait_on(int epoll, struct epoll_event *events, int most, int timeout)
{
    long long end = timeout > 0 ? milliseconds() + timeout : 0;
    for (;;) {
        int found = epoll_pwait(epoll, events, most, timeout, NULL);
        if (found >= 0 || errno != EINTR)
            return found;
        hold_back_discovery();
        if (timeout > 0) {
            long long left = end - milliseconds();
            timeout = left > 0 ? (int)left : 0;
        }
    }
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout)
{
    count_wait(epoll);
    int found = wait_on(epoll, events, most, timeout);
    count_wait(epoll);
    return found;
}

static uint32_t patience(void)
{
    const char *text = getenv("URDF_USD_DDS_PATIENCE");
    char *end = NULL;
    unsigned long wanted = text ? strtoul(text, &end, 10) : 0;
    return end && end != text && !*end && wanted < 1u << 31 ? (uint32_t)wanted : PATIENCE;
}

static uint16_t read16(const uint8_t *at, int is_little)
{
    return (uint16_t)(is_little ? at[0] | at[1] << 8 : at[0] << 8 | at[1]);
}

static uint32_t read32(const uint8_t *at, int is_little)
{
    uint32_t first = read16(at, is_little), second = read16(at + 2, is_little);
    return is_little ? first | second << 16 : first << 16 | second;
}

static void write32(uint8_t *at, int is_little, uint32_t value)
{
    for (int n = 0; n < 4; n++)
        at[is_little ? n : 3 - n] = (uint8_t)(value >> 8 * n);
}

/* The next parameter of a list, or NULL after the last: `at` is moved behind it, `id` and `size` are its own. */
static uint8_t *next_parameter(uint8_t **at, const uint8_t *end, int is_little, uint16_t *id, uint16_t *size)
{
    if (end - *at < 4)
        return NULL;
    *id = read16(*at, is_little);
    *size = read16(*at + 2, is_little);
    uint8_t *value = *at + 4;
    if (*id == 1 || end - value < *size) /* PID_SENTINEL */
        return NULL;
    *at = value + *size;
    return value;
}

/* The number of an announcement, higher than those before. */
static uint64_t next_number(void)
{
    static _Atomic uint64_t last = 1ull << 32;
    return ++last;
}

/*
 * Changes a DATA submessage, from `at` to `end`, if it announces a participant: the lease is `lease` s at least, and the number is a
 * new one if that is wanted.
 */
static void change_announcement(uint8_t *at, uint8_t *end, uint8_t flags, uint32_t lease, int is_renumbered)
{
    int is_little = flags & 1;
    uint16_t id, size;
    if (end - at < 20 || memcmp(at + 8, ANNOUNCER, 4) != 0 || !is_rustdds())
        return;
    if (is_renumbered) {
        uint64_t number = next_number();
        write32(at + 12, is_little, (uint32_t)(number >> 32));
        write32(at + 16, is_little, (uint32_t)number);
    }
    if (!(flags & 4)) /* no data, as of one that leaves */
        return;
    uint16_t to_inline_qos = read16(at + 2, is_little);
    if (end - (at + 4) < to_inline_qos)
        return;
    at += 4 + to_inline_qos;
    if (flags & 2) {
        while (next_parameter(&at, end, is_little, &id, &size))
            ;
        if (end - at < 4)
            return;
        at += 4; /* the sentinel */
    }
    if (end - at < 4 || at[0] != 0 || (at[1] != 2 && at[1] != 3)) /* PL_CDR */
        return;
    is_little = at[1] == 3;
    at += 4;
    for (uint8_t *value; (value = next_parameter(&at, end, is_little, &id, &size));)
        if (id == 2 && size >= 4 && read32(value, is_little) < lease) /* PID_PARTICIPANT_LEASE_DURATION: seconds, fraction */
            write32(value, is_little, lease);
}

static void change_announcements(uint8_t *datagram, size_t size, uint32_t lease, int is_renumbered)
{
    if (size < 20 || memcmp(datagram, "RTPS", 4) != 0)
        return;
    uint8_t *at = datagram + 20, *end = datagram + size;
    while (end - at >= 4) {
        uint8_t kind = at[0], flags = at[1];
        uint16_t length = read16(at + 2, flags & 1);
        at += 4;
        /* The last one may leave its length out. */
        uint8_t *next = length == 0 && kind != 1 && kind != 9 ? end : end - at < length ? end : at + length;
        if (kind == 0x15) /* DATA */
            change_announcement(at, next, flags, lease, is_renumbered);
        at = next;
    }
}

ssize_t recvmsg(int socket, struct msghdr *message, int flags)
{
    ssize_t size = syscall(SYS_recvmsg, socket, message, flags);
    if (size > 0 && message->msg_iovlen == 1 && (size_t)size <= message->msg_iov[0].iov_len) {
        int saved = errno;
        change_announcements(message->msg_iov[0].iov_base, (size_t)size, patience(), 1);
        errno = saved;
    }
    return size;
}

/* The last heartbeat of a writer to a destination. */
struct heartbeat {
    uint64_t key;     /* writer and destination */
    uint64_t news;    /* which messages it told of */
    long long due;    /* when it may be repeated */
    uint32_t wait;    /* how long it waits then */
};
static struct heartbeat heartbeats[HEARTBEATS];
static pthread_mutex_t heartbeats_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t hash(uint64_t seed, const void *data, size_t size)
{
    const uint8_t *at = data;
    for (size_t n = 0; n < size; n++)
        seed = (seed ^ at[n]) * 0x100000001b3ull; /* FNV-1a */
    return seed;
}

/*
 * Whether this is a heartbeat and nothing else, of a writer of the program's own, that repeats the one before too early. (RTPS 2.5,
 * sections 8.3.8.6, 9.4.5.7.)
 */
static int is_too_early(const uint8_t *datagram, size_t size, const struct sockaddr *to, socklen_t to_size)
{
    static const uint64_t SEED = 0xcbf29ce484222325ull;
    enum { HEADER = 20, TIME = 12, HEARTBEAT = 32 };
    const uint8_t *at = datagram + HEADER;
    if (size != HEADER + TIME + HEARTBEAT || memcmp(datagram, "RTPS", 4) != 0 || at[0] != 9 || at[TIME] != 7)
        return 0;
    at += TIME;
    /* That of a builtin writer, one that wants no answer, or that says that the writer is there. */
    if ((at[11] & 0xc0) == 0xc0 || at[1] & 6 || !is_rustdds())
        return 0;
    uint64_t key = hash(hash(hash(SEED, datagram + 8, 12), at + 4, 8), to, to_size), news = hash(SEED, at + 12, 16);
    long long now = milliseconds();
    struct heartbeat *last = &heartbeats[key % HEARTBEATS];
    pthread_mutex_lock(&heartbeats_lock);
    int repeats = last->key == key && last->news == news;
    int is_early = repeats && now < last->due;
    if (!is_early) {
        uint32_t wait = repeats ? last->wait * 2 : HEARTBEAT_FIRST;
        wait = wait < HEARTBEAT_LAST ? wait : HEARTBEAT_LAST;
        *last = (struct heartbeat){.key = key, .news = news, .due = now + wait, .wait = wait};
    }
    pthread_mutex_unlock(&heartbeats_lock);
    return is_early;
}

ssize_t sendto(int socket, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t to_size)
{
    uint8_t copy[LONGEST];
    if (size <= LONGEST && memmem(data, size, ANNOUNCER, sizeof ANNOUNCER)) {
        memcpy(copy, data, size);
        change_announcements(copy, size, LEASE, 0);
        data = copy;
    } else if (to && is_too_early(data, size, to, to_size)) {
        return (ssize_t)size;
    }
    return syscall(SYS_sendto, socket, data, size, flags, to, to_size);
}
