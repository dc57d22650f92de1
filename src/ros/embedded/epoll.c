/*
 * epoll_wait for the whole program, which no signal ends.
 *
 * A process that is stopped and continued (Ctrl-Z and fg, a debugger, docker pause, suspend) finds its epoll_wait ended with EINTR.
 * RustDDS 0.15 takes that for the end of its network: its threads return, with everything that waits in their sockets, and the node is
 * deaf. The kernel leaves no way to mask that; a wait that goes on is what every caller wants.
 *
 * A wait whose time is over when the process goes on lasts a little longer: what came meanwhile is to be heard first. Otherwise the
 * thread of RustDDS that gives up silent participants does so before the other one has read that they were not silent.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/epoll.h>
#include <time.h>

static const int GRACE = 300; /* ms */

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
        if (timeout > 0) {
            long long left = end - milliseconds();
            timeout = left > 0 ? (int)left : GRACE;
            end = left > 0 ? end : milliseconds() + GRACE;
        }
    }
}
