/*
 * epoll_wait for the whole program, which no signal ends.
 *
 * A process that is stopped and continued (Ctrl-Z and fg, a debugger, docker pause, suspend) finds its epoll_wait ended with EINTR.
 * RustDDS 0.15 takes that for the end of its network: its threads return, with everything that waits in their sockets, and the node is
 * deaf. The kernel leaves no way to mask that; a wait that goes on is what every caller wants.
 *
 * The thread of RustDDS that gives up silent participants is held back for a moment then: the other one has to read first, from what
 * came meanwhile, that they were not silent.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>

/* What the kernel keeps of "RustDDS discovery thread". */
static const char DISCOVERY[] = "RustDDS discove";
static const int MOMENT = 250; /* ms */

static void hold_back_discovery(void)
{
    char name[16] = "";
    int saved = errno;
    if (prctl(PR_GET_NAME, name) == 0 && strncmp(name, DISCOVERY, sizeof name) == 0)
        poll(NULL, 0, MOMENT);
    errno = saved;
}

static long long milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout)
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
