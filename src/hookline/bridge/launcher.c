/* hookline-hook: the program that agents run.
 *
 *     hookline-hook [--prove] PYTHON hook [--if-broken POLICY] HOST EVENT     as `hookline install` writes it
 *     hookline-hook [--if-broken POLICY] HOST EVENT                           by hand
 *
 * The launcher sends the event on stdin to the daemon and passes the daemon's answer on. Where no daemon listens, the
 * launcher starts one and waits for its socket, half a second at most. Where the daemon cannot be asked, or goes away
 * before it has answered, the launcher starts a Python that answers the same event.
 *
 * The exit code says whether there was an answer: 0 and 2 are answers, anything else means that there is no answer and that
 * nothing was printed; the line in the agent's settings then gives the answer that was chosen for that case. With
 * --prove, and between the Python and the launcher, an answer ends with 100 or 102 instead: a program that is damaged may
 * end with 0 or 2 by accident, and does not end with these.
 *
 * A call that the daemon answers may cost no more than a process start. So there is no stdio, the buffers are static, and
 * what only the fallback needs (signals, pipes, a file for the event) is done there.
 */

#define _GNU_SOURCE /* struct ucred, memfd_create */
#define _DARWIN_C_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#ifndef HOOKLINE_VERSION
#define HOOKLINE_VERSION "unknown"
#endif
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* such systems have SO_NOSIGPIPE instead */
#endif

extern char **environ;

/* The Python reads one byte more than it takes, to know that there is more. */
static const size_t LARGEST_EVENT = ((size_t)256 << 20) + 1;
static const size_t LARGEST_ENVIRONMENT = (size_t)1 << 20;
static const size_t LARGEST_ANSWER = (size_t)64 << 20;

#ifndef HOOKLINE_PATIENCE
#define HOOKLINE_PATIENCE 20000
#endif
static const int FIRST_BYTE = 2000; /* milliseconds that a daemon may take to say anything */
static const int NEXT_BYTE = HOOKLINE_PATIENCE; /* and between two words: it says every 5 seconds that it is at it */

static const int STARTING = 500; /* milliseconds that a daemon which was just started has to listen */
static const int LOOK_AGAIN = 2; /* milliseconds between two looks for its socket */
static const int ON_ITS_WAY = 10; /* seconds after a start before another one is tried */

enum { CHUNK = 1 << 16, PATH_ROOM = 4096, FRAME = 5, ANSWERED = 0, BLOCKED = 2, FAILED = 1, CANNOT_RUN = 127, PROOF = 100 };

/* ---- bytes that grow ---- */

typedef struct {
    char *at;
    size_t used;
    size_t room;
    bool is_heap;
} Bytes;

/* Pages that are never written cost nothing, and most events and answers never need the heap. */
static char event_room[CHUNK], head_room[CHUNK], first_room[CHUNK], second_room[CHUNK];

#define BYTES(storage) {.at = (storage), .used = 0, .room = sizeof(storage), .is_heap = false}

static bool make_room(Bytes *bytes, size_t more) {
    if (bytes->room - bytes->used >= more) return true;
    if (more > SIZE_MAX / 4) return false;
    size_t wanted = bytes->room;
    while (wanted - bytes->used < more) wanted *= 2;
    char *grown = bytes->is_heap ? realloc(bytes->at, wanted) : malloc(wanted);
    if (!grown) return false;
    if (!bytes->is_heap) memcpy(grown, bytes->at, bytes->used);
    bytes->at = grown;
    bytes->room = wanted;
    bytes->is_heap = true;
    return true;
}

static bool add(Bytes *bytes, const void *more, size_t length) {
    if (!make_room(bytes, length)) return false;
    memcpy(bytes->at + bytes->used, more, length);
    bytes->used += length;
    return true;
}

static void put_number(char *place, uint32_t number) {
    for (int i = 0; i < 4; i++) place[i] = (char)(number >> (8 * i) & 0xff);
}

static uint32_t get_number(const char *place) {
    uint32_t number = 0;
    for (int i = 0; i < 4; i++) number |= (uint32_t)(unsigned char)place[i] << (8 * i);
    return number;
}

static bool add_number(Bytes *bytes, uint32_t number) {
    char raw[4];
    put_number(raw, number);
    return add(bytes, raw, sizeof raw);
}

static bool add_text(Bytes *bytes, const char *text) {
    size_t length = strlen(text);
    return length <= UINT32_MAX && add_number(bytes, (uint32_t)length) && add(bytes, text, length);
}

/* ---- reading and writing ---- */

/* Wait until something can be done with a file; false when the time is over. */
static bool await(int file, short what, int milliseconds, short *happened) {
    struct pollfd one = {.fd = file, .events = what, .revents = 0};
    int count;
    do count = poll(&one, 1, milliseconds);
    while (count < 0 && errno == EINTR);
    if (happened) *happened = one.revents;
    return count > 0;
}

/* Read once, whatever comes first; 0 at the end, -1 when it cannot be read. Streams may be set not to block. */
static ssize_t read_some(int file, char *place, size_t room) {
    for (;;) {
        ssize_t got = read(file, place, room);
        if (got >= 0) return got;
        if (errno == EAGAIN || errno == EWOULDBLOCK) await(file, POLLIN, -1, NULL);
        else if (errno != EINTR) return -1;
    }
}

static bool write_all(int file, const char *from, size_t length) {
    while (length > 0) {
        ssize_t done = write(file, from, length);
        if (done > 0) {
            from += done;
            length -= (size_t)done;
        } else if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            await(file, POLLOUT, -1, NULL);
        } else if (done == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* Read the rest of stdin and drop it: some agents fail when their pipe has no reader. */
static void read_rest(int file) {
    while (read_some(file, head_room, sizeof head_room) > 0) continue;
}

static void complain(const char *text) {
    static const char name[] = "hookline-hook: ";
    if (write_all(2, name, sizeof name - 1) && write_all(2, text, strlen(text))) write_all(2, "\n", 1);
}

/* Have 0, 1 and 2 open: otherwise the next file that is opened would get such a number, and everything that is said. */
static void fill_streams(void) {
    for (int number = 0; number <= 2; number++)
        if (fcntl(number, F_GETFD) < 0 && errno == EBADF) open("/dev/null", O_RDONLY); /* the lowest that is free */
}

/* ---- the call ---- */

typedef struct {
    bool is_installed; /* otherwise a person calls, who is told what is wrong */
    int proof; /* what is added to the exit code of an answer */
    const char *python;
    char **words; /* after `hook` */
    int count;
} Call;

typedef struct {
    int code;
    const char *out;
    size_t out_length;
    const char *err;
    size_t err_length;
} Answer;

static int say(const Call *call, const Answer *answer) {
    /* a closed pipe or a full disk is an error that we end with, not a signal that ends us */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    /* stderr first: some agents stop reading with the answer, which counts without it, too */
    write_all(2, answer->err, answer->err_length);
    bool is_said = write_all(1, answer->out, answer->out_length);
    /* a no that cannot be printed is still a no */
    if (!is_said && !answer->code) return FAILED;
    return answer->code == ANSWERED || answer->code == BLOCKED ? answer->code + call->proof : answer->code;
}

/* End without an answer. The line in the settings of the agent knows what to say then; a person is told why. */
static int give_up(const Call *call, const char *why) {
    if (call->is_installed) read_rest(0);
    else complain(why);
    return FAILED;
}

/* Codes 0 and 2 are answers; with any other there is none. A person is shown it as it is. */
static bool is_answer(const Call *call, int code) { return code == ANSWERED || code == BLOCKED || !call->is_installed; }

/* ---- the daemon ---- */

/* A person who calls by hand starts no daemon, and neither does `hookline doctor`, which tries us out. */
static bool may_start(const Call *call) { return call->is_installed && !getenv("HOOKLINE_CANARY"); }

/* Write the path of the daemon's socket: a folder that only this user can enter, and a name for the interpreter. */
static bool find_socket(const Call *call, struct sockaddr_un *place) {
    char *path = place->sun_path;
    size_t room = sizeof place->sun_path;
    uid_t me = geteuid();
    struct stat found;
    char digits[24];
    size_t first = sizeof digits - 1;
    digits[first] = 0;
    uintmax_t number = me;
    do digits[--first] = (char)('0' + number % 10);
    while (number /= 10);

    const char *given = getenv("XDG_RUNTIME_DIR");
    const char *folder = "/tmp/hookline-", *end = digits + first, *below = "";
    char usual[sizeof "/run/user/" + sizeof digits] = "/run/user/";
    memcpy(usual + strlen(usual), digits + first, sizeof digits - first);
    const char *known[] = {given ? given : "", usual};
    for (int i = 0; i < 2 && !*below; i++) {
        if (*known[i] != '/' || stat(known[i], &found) || !S_ISDIR(found.st_mode) || found.st_uid != me) continue;
        folder = known[i], end = "", below = "/hookline";
    }
    size_t length = strlen(folder) + strlen(end) + strlen(below);
    if (length + sizeof "/0123456789abcdef.sock" > room) return false;
    strcpy(path, folder);
    strcat(path, end);
    strcat(path, below);
    if (may_start(call) && mkdir(path, 0700) && errno != EEXIST) return false;
    /* a link, or a folder that others may write to, could lead to anybody */
    if (lstat(path, &found) || !S_ISDIR(found.st_mode) || found.st_uid != me || found.st_mode & 077) return false;

    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (const char *at = call->python; *at; at++) hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
    path[length++] = '/';
    for (int shift = 60; shift >= 0; shift -= 4) path[length++] = "0123456789abcdef"[hash >> shift & 15];
    strcpy(path + length, ".sock");
    return true;
}

static bool is_of_us(int socket_) {
#if defined(__linux__)
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(socket_, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
#else
    uid_t user;
    gid_t group;
    return getpeereid(socket_, &user, &group) == 0 && user == geteuid();
#endif
}

static int open_socket(void) {
#ifdef SOCK_CLOEXEC
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
#else
    int made = socket(AF_UNIX, SOCK_STREAM, 0);
    if (made < 0) return made;
    fcntl(made, F_SETFD, FD_CLOEXEC);
    fcntl(made, F_SETFL, O_NONBLOCK);
#ifdef SO_NOSIGPIPE
    int on = 1;
    setsockopt(made, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    return made;
#endif
}

static bool is_wanted(void) {
    const char *said = getenv("HOOKLINE_DAEMON");
    if (!said) return true;
    return strcasecmp(said, "off") && strcasecmp(said, "0") && strcasecmp(said, "false") && strcasecmp(said, "no");
}

/* Give a connection to our daemon, or -1. One that is too busy to take it does not keep us waiting. */
static int connect_to(const struct sockaddr_un *place) {
    int socket_ = open_socket();
    if (socket_ < 0) return -1;
    if (connect(socket_, (const struct sockaddr *)place, sizeof *place) == 0) {
        if (is_of_us(socket_)) return socket_;
        errno = EPERM;
    }
    int kept = errno;
    close(socket_);
    errno = kept;
    return -1;
}

/* Write the path of a file that lies beside the socket. */
static void find_beside(const struct sockaddr_un *place, const char *ending, char path[PATH_ROOM]) {
    strcpy(path, place->sun_path);
    strcpy(strrchr(path, '.'), ending);
}

static struct timespec changed_at(const struct stat *found) {
#ifdef __APPLE__
    return found->st_mtimespec;
#else
    return found->st_mtim;
#endif
}

/* Whether a call found that the daemon does not say a word; another daemon has another, younger socket. */
static bool is_hung(const struct sockaddr_un *place) {
    char path[PATH_ROOM];
    struct stat mark, socket_;
    find_beside(place, ".hung", path);
    if (lstat(path, &mark) || lstat(place->sun_path, &socket_)) return false;
    struct timespec marked = changed_at(&mark), bound = changed_at(&socket_);
    return marked.tv_sec > bound.tv_sec || (marked.tv_sec == bound.tv_sec && marked.tv_nsec >= bound.tv_nsec);
}

/* Leave a mark for the calls to come, so that only one of them waits for a daemon that hangs. */
static void mark_hung(const struct sockaddr_un *place) {
    char path[PATH_ROOM];
    find_beside(place, ".hung", path);
    int mark = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (mark < 0) return;
    futimens(mark, NULL);
    close(mark);
}

static void close_inherited(void) {
#if defined(__linux__) && defined(SYS_close_range)
    if (syscall(SYS_close_range, 3u, ~0u, 0u) == 0) return;
#endif
    long most = sysconf(_SC_OPEN_MAX);
    for (int file = 3; file < (most > 0 && most < CHUNK ? most : CHUNK); file++) close(file);
}

/* Become a daemon that shares nothing with the agent: no terminal, no pipe, no folder. It closes what the agent has
 * open, because an agent that waits for the end of a pipe must not wait for the daemon. */
static void become_daemon(const Call *call, const char *log) {
    static const int usual[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD};
    setsid();
    int nothing = open("/dev/null", O_RDONLY);
    int lines = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (nothing < 0 || lines < 0 || dup2(nothing, 0) < 0 || dup2(lines, 1) < 0 || dup2(lines, 2) < 0) _exit(CANNOT_RUN);
    close_inherited();
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) signal(usual[i], SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    unsetenv("HOOKLINE_NESTING");
    execl(call->python, call->python, "-E", "-P", "-m", "hookline", "daemon", "run", "--auto", (char *)NULL);
    _exit(CANNOT_RUN);
}

static int64_t milliseconds_since(const struct timespec *then, clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)(now.tv_sec - then->tv_sec) * 1000 + (now.tv_nsec - then->tv_nsec) / 1000000;
}

/* Start a daemon where none listens, and give a connection to it, or -1 when it does not listen in time. */
static int start_daemon(const Call *call, const struct sockaddr_un *place) {
    char path[PATH_ROOM];
    struct stat found;
    struct timespec begun;
    pid_t started = 0;
    /* the settings of the person say that they want none */
    find_beside(place, ".off", path);
    if (lstat(path, &found) == 0) return -1;
    find_beside(place, ".starting", path);
    int64_t age = -1;
    if (stat(path, &found) == 0) {
        begun = changed_at(&found);
        age = milliseconds_since(&begun, CLOCK_REALTIME);
    }
    if (age >= STARTING && age < ON_ITS_WAY * 1000) return -1;
    if (age < 0 || age >= STARTING) {
        int mark = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (mark < 0) return -1;
        futimens(mark, NULL);
        close(mark);
        find_beside(place, ".log", path);
        started = fork();
        if (started == 0) become_daemon(call, path);
        if (started < 0) return -1;
        age = 0;
    }
    clock_gettime(CLOCK_MONOTONIC, &begun);
    while (milliseconds_since(&begun, CLOCK_MONOTONIC) < STARTING - age) {
        poll(NULL, 0, LOOK_AGAIN);
        int socket_ = connect_to(place);
        if (socket_ >= 0) return socket_;
        int status;
        /* one that ends with 0 found another daemon, which may be about to listen */
        if (started > 0 && waitpid(started, &status, WNOHANG) == started) {
            if (status) return -1;
            started = 0;
        }
    }
    return -1;
}

/* Give a connection to our daemon, which is started where there is none, or -1. */
static int reach_daemon(const Call *call, struct sockaddr_un *place) {
    /* a program that runs with another user's rights than its caller's asks no daemon */
    if (!is_wanted() || getuid() != geteuid() || !find_socket(call, place) || is_hung(place)) return -1;
    int socket_ = connect_to(place);
    bool is_absent = socket_ < 0 && (errno == ENOENT || errno == ECONNREFUSED);
    return is_absent && may_start(call) ? start_daemon(call, place) : socket_;
}

/* Write everything of the request that comes before the event itself. */
static bool make_head(const Call *call, Bytes *head) {
    static char folder[PATH_ROOM];
    /* a folder that is gone, or lies outside of what we see, can only be found out by a process that stands in it */
    if (!getcwd(folder, sizeof folder) || *folder != '/') return false;
    mode_t mask = umask(077);
    umask(mask);
    bool is_made = add(head, "HKL1\0\0\0\0", 8) && add_number(head, mask) && add_number(head, (uint32_t)call->count);
    for (int i = 0; is_made && i < call->count; i++) is_made = add_text(head, call->words[i]);
    is_made = is_made && add_text(head, folder) && add_number(head, 0);
    size_t start = head->used;
    for (char **variable = environ; is_made && *variable; variable++) {
        is_made = add(head, *variable, strlen(*variable) + 1) && head->used - start <= LARGEST_ENVIRONMENT;
    }
    if (!is_made) return false;
    put_number(head->at + start - 4, (uint32_t)(head->used - start));
    return add_number(head, 0);
}

static bool read_event(Bytes *event) {
    for (;;) {
        if (!make_room(event, 1)) return false;
        ssize_t got = read_some(0, event->at + event->used, event->room - event->used);
        if (got <= 0) return got == 0;
        event->used += (size_t)got;
        if (event->used >= LARGEST_EVENT) {
            event->used = LARGEST_EVENT;
            read_rest(0);
            return true;
        }
    }
}

static bool send_request(int daemon, Bytes *head, const Bytes *event) {
    put_number(head->at + 4, (uint32_t)(head->used - 8 + event->used));
    put_number(head->at + head->used - 4, (uint32_t)event->used);
    struct iovec parts[] = {{head->at, head->used}, {event->at, event->used}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    while (message.msg_iovlen) {
        ssize_t sent = sendmsg(daemon, &message, MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno == EINTR) continue;
            if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
            short happened;
            /* a daemon that answers before it has read the whole request does not need the rest */
            if (!await(daemon, POLLIN | POLLOUT, FIRST_BYTE, &happened) || happened & POLLIN) return false;
            continue;
        }
        while (message.msg_iovlen && (size_t)sent >= message.msg_iov->iov_len) {
            sent -= (ssize_t)message.msg_iov->iov_len;
            message.msg_iov++;
            message.msg_iovlen--;
        }
        if (message.msg_iovlen) {
            message.msg_iov->iov_base = (char *)message.msg_iov->iov_base + sent;
            message.msg_iov->iov_len -= (size_t)sent;
        }
    }
    return true;
}

/* Take an answer apart; false when it is not one, to the last byte. */
static bool read_answer(const char *raw, size_t length, Answer *answer) {
    if (length < 12) return false;
    answer->code = (int)get_number(raw);
    size_t out = get_number(raw + 4);
    if (out > length - 12) return false;
    size_t err = get_number(raw + 8 + out);
    if (err != length - 12 - out || answer->code < 0 || answer->code > 255) return false;
    answer->out = raw + 8;
    answer->out_length = out;
    answer->err = raw + 12 + out;
    answer->err_length = err;
    return true;
}

/* Wait for the answer; false when there will be none. */
static bool hear_answer(int daemon, Bytes *heard, Answer *answer, bool *is_silent) {
    int patience = FIRST_BYTE;
    for (;;) {
        while (heard->used >= FRAME) {
            size_t length = get_number(heard->at + 1);
            char kind = heard->at[0];
            if ((kind != 'k' && kind != 'a') || length > LARGEST_ANSWER || (kind == 'k' && length)) return false;
            if (!make_room(heard, FRAME + length)) return false;
            if (heard->used < FRAME + length) break;
            if (kind == 'a') return read_answer(heard->at + FRAME, length, answer);
            heard->used -= FRAME;
            memmove(heard->at, heard->at + FRAME, heard->used);
        }
        if (!await(daemon, POLLIN, patience, NULL)) {
            *is_silent = true;
            return false;
        }
        if (!make_room(heard, 1)) return false;
        ssize_t got = recv(daemon, heard->at + heard->used, heard->room - heard->used, 0);
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)) return false;
        if (got > 0) {
            heard->used += (size_t)got;
            patience = NEXT_BYTE;
        }
    }
}

/* ---- a Python of our own ---- */

static volatile sig_atomic_t told; /* the last signal that was passed on */
static volatile pid_t child;
static int wake[2]; /* a byte in it ends the waiting: a child that ends is noticed although others hold its pipes */

static void on_signal(int number) {
    int kept = errno;
    if (number != SIGCHLD && child > 0) {
        told = number;
        kill(child, number);
    } else if (number != SIGCHLD) {
        /* no child to pass the signal on to: it ends the launcher as soon as this returns */
        signal(number, SIG_DFL);
        raise(number);
    }
    ssize_t done = write(wake[1], "", 1);
    (void)done; /* full: then it is woken anyway */
    errno = kept;
}

static bool open_pipe(int ends[2]) {
    if (pipe(ends)) return false;
    for (int i = 0; i < 2; i++) fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return true;
}

/* Give the event once more, from the start: in a file without a name. */
static int make_file(const Bytes *event) {
    int file = -1;
#ifdef MFD_CLOEXEC
    file = memfd_create("event", MFD_CLOEXEC);
#endif
    if (file < 0) {
        char name[] = "/tmp/hookline-event-XXXXXX";
        file = mkstemp(name);
        if (file < 0) return -1;
        unlink(name);
        fcntl(file, F_SETFD, FD_CLOEXEC);
    }
    /* an event that is longer than files may be here is an error, not a signal that ends us */
    void (*usual)(int) = signal(SIGXFSZ, SIG_IGN);
    bool is_kept = write_all(file, event->at, event->used) && lseek(file, 0, SEEK_SET) == 0;
    signal(SIGXFSZ, usual);
    if (is_kept) return file;
    close(file);
    return -1;
}

/* An agent that times out kills the launcher; the fallback Python must then end its hooks as well. */
static void end_with(pid_t parent) {
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
    if (getppid() != parent) _exit(CANNOT_RUN);
}

static void become_python(const Call *call, int event, const int *out, const int *err, const sigset_t *mask) {
    if ((event && dup2(event, 0) < 0) || dup2(out[1], 1) < 0 || dup2(err[1], 2) < 0) _exit(CANNOT_RUN);
    sigprocmask(SIG_SETMASK, mask, NULL);
    char **words = calloc((size_t)call->count + 8, sizeof *words);
    if (!words) _exit(CANNOT_RUN);
    int at = 0;
    words[at++] = (char *)call->python;
    words[at++] = "-E";
    words[at++] = "-P";
    words[at++] = "-m";
    words[at++] = "hookline";
    words[at++] = "hook";
    if (call->is_installed) words[at++] = "--prove";
    memcpy(words + at, call->words, (size_t)call->count * sizeof *words);
    execv(call->python, words);
    _exit(CANNOT_RUN);
}

/* Read what is there; false when no more will come, or more than anybody says, or than there is room for. */
static bool take(int pipe_, Bytes *said) {
    while (said->used <= LARGEST_ANSWER) {
        if (!make_room(said, 1)) {
            /* a truncated answer counts as none */
            said->used = LARGEST_ANSWER + 1;
            return false;
        }
        ssize_t got = read(pipe_, said->at + said->used, said->room - said->used);
        if (got > 0) said->used += (size_t)got;
        else if (got == 0) return false;
        else if (errno != EINTR) return errno == EAGAIN || errno == EWOULDBLOCK;
    }
    return false;
}

/* Read both pipes until the child has ended. What others that hold them say later is not waited for. */
static int attend(Bytes *said, const int *pipes) {
    struct pollfd watched[] = {{pipes[0], POLLIN, 0}, {pipes[1], POLLIN, 0}, {wake[0], POLLIN, 0}};
    char woken[64];
    int status = 0;
    for (;;) {
        pid_t ended = waitpid(child, &status, WNOHANG);
        bool is_over = ended > 0 || (ended < 0 && errno != EINTR);
        if (is_over) child = 0;
        for (int i = 0; i < 2; i++) {
            if (watched[i].fd >= 0 && !take(pipes[i], &said[i])) watched[i].fd = -1;
            if (said[i].used > LARGEST_ANSWER && child > 0) kill(child, SIGKILL);
        }
        if (is_over) return ended > 0 ? status : -1;
        poll(watched, 3, -1);
        while (read(wake[0], woken, sizeof woken) > 0) continue;
    }
}

/* End as a process that was told to, by the signal that it died of. */
static int end_by(int number) {
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    signal(number, SIG_DFL);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    return 128 + number;
}

/* Pass on the signals that would end the launcher, except those that its parent ignores. */
static void pass_signals_on(void) {
    static const int passed[] = {SIGTERM, SIGHUP, SIGINT, SIGCHLD};
    struct sigaction ours = {.sa_handler = on_signal}, present;
    sigemptyset(&ours.sa_mask);
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++) {
        bool is_ignored = sigaction(passed[i], NULL, &present) == 0 && present.sa_handler == SIG_IGN;
        if (!is_ignored || passed[i] == SIGCHLD) sigaction(passed[i], &ours, NULL);
    }
}

/* Start a Python with the event on its stdin, hold back what it says until it ends, and see what that is worth. */
static int ask_python(const Call *call, int event) {
    int out[2], err[2];
    if (!open_pipe(out) || !open_pipe(err) || !open_pipe(wake)) return give_up(call, strerror(errno));
    fcntl(wake[1], F_SETFL, O_NONBLOCK);
    sigset_t all, before;
    sigfillset(&all);
    /* none may come between the start and the note of what was started */
    sigprocmask(SIG_BLOCK, &all, &before);
    pass_signals_on();
    pid_t us = getpid();
    child = fork();
    if (child == 0) {
        end_with(us);
        become_python(call, event, out, err, &before);
    }
    if (child < 0) return give_up(call, strerror(errno));
    sigset_t open = before;
    sigdelset(&open, SIGCHLD);
    sigprocmask(SIG_SETMASK, &open, NULL);
    close(out[1]);
    close(err[1]);

    Bytes said[] = {BYTES(first_room), BYTES(second_room)};
    int pipes[] = {out[0], err[0]};
    int status = attend(said, pipes);
    bool is_too_much = said[0].used > LARGEST_ANSWER || said[1].used > LARGEST_ANSWER;
    int code = status >= 0 && WIFEXITED(status) && !is_too_much ? WEXITSTATUS(status) : CANNOT_RUN;
    if (told && status >= 0 && WIFSIGNALED(status)) return end_by(WTERMSIG(status));
    if (call->is_installed && !told) code = code == PROOF + ANSWERED || code == PROOF + BLOCKED ? code - PROOF : CANNOT_RUN;
    if (is_answer(call, code) || told) {
        Answer answer = {code, said[0].at, said[0].used, said[1].at, said[1].used};
        return say(call, &answer);
    }
    return give_up(call, "its Python cannot answer");
}

static int answer(const Call *call) {
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    int daemon = reach_daemon(call, &place);
    if (daemon < 0) return ask_python(call, 0);
    Bytes head = BYTES(head_room), event = BYTES(event_room), heard = BYTES(first_room);
    if (!make_head(call, &head)) {
        close(daemon);
        return ask_python(call, 0);
    }
    if (!read_event(&event)) return give_up(call, "the event cannot be read");
    Answer said;
    bool is_small = event.used < LARGEST_EVENT, is_silent = false;
    if (is_small && send_request(daemon, &head, &event) && hear_answer(daemon, &heard, &said, &is_silent)) {
        return is_answer(call, said.code) ? say(call, &said) : give_up(call, "");
    }
    /* a daemon that is only slow sees that its caller has gone */
    close(daemon);
    if (is_silent) mark_hung(&place);
    int file = make_file(&event);
    return file < 0 ? give_up(call, "the event cannot be kept") : ask_python(call, file);
}

/* ---- by hand ---- */

static bool find_self(const char *name, char *path, size_t room) {
#if defined(__linux__)
    (void)name;
    ssize_t length = readlink("/proc/self/exe", path, room - 1);
    if (length <= 0) return false;
    path[length] = 0;
    return true;
#elif defined(__APPLE__)
    (void)name;
    uint32_t size = (uint32_t)room;
    return _NSGetExecutablePath(path, &size) == 0;
#else
    if (!strchr(name, '/') || strlen(name) >= room) return false;
    strcpy(path, name);
    return true;
#endif
}

/* Put a name in the place of the last one of a path. */
static bool set_name(char *path, size_t room, const char *name) {
    char *last = strrchr(path, '/');
    if (!last || (size_t)(last + 1 - path) + strlen(name) >= room) return false;
    strcpy(last + 1, name);
    return true;
}

/* Write the path of the Python that hookline is installed for: it is beside us, or named by the script that is. */
static bool find_python(const char *name, char *path, size_t room) {
    if (!find_self(name, path, room)) return false;
    for (int i = 0; i < 2; i++)
        if (set_name(path, room, i ? "python3" : "python") && access(path, X_OK) == 0) return true;
    int script = set_name(path, room, "hookline") ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (script < 0) return false;
    ssize_t length = read_some(script, path, room - 1);
    close(script);
    if (length < 4 || memcmp(path, "#!/", 3)) return false;
    path[length] = 0;
    path[strcspn(path, "\r\n")] = 0;
    memmove(path, path + 2, strlen(path + 2) + 1);
    const char *last = strrchr(path, '/');
    return last && strncmp(last, "/python", 7) == 0 && access(path, X_OK) == 0;
}

static int use_by_hand(int argc, char **argv) {
    static char python[PATH_ROOM];
    static const char option[] = "--if-broken";
    bool is_equated = argc == 4 && strncmp(argv[1], "--if-broken=", sizeof option) == 0;
    bool is_spaced = argc == 5 && strcmp(argv[1], option) == 0;
    bool is_plain = argc == 3 && *argv[1] != '-';
    if (!is_plain && !is_spaced && !is_equated) {
        complain("wanted: hookline-hook [--if-broken block|allow] HOST EVENT, with the event on stdin");
        return FAILED;
    }
    if (!find_python(argv[0], python, sizeof python)) {
        complain("there is no Python beside it, so there is no hookline to ask");
        return FAILED;
    }
    Call call = {.python = python, .words = argv + 1, .count = argc - 1};
    return answer(&call);
}

int main(int argc, char **argv) {
    fill_streams();
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        static const char version[] = "hookline-hook " HOOKLINE_VERSION " native\n";
        return write_all(1, version, sizeof version - 1) ? 0 : FAILED;
    }
    bool is_proven = argc > 1 && strcmp(argv[1], "--prove") == 0;
    char **words = argv + 1 + is_proven;
    if (argc < 3 + is_proven || strcmp(words[1], "hook")) return use_by_hand(argc, argv);
    Call call = {.is_installed = true, .proof = is_proven ? PROOF : 0, .python = words[0], .words = words + 2};
    call.count = argc - 3 - is_proven;
    /* the shell that runs the line in the settings may be killed by the agent, and does not pass that on */
    pid_t parent = getppid();
    end_with(parent);
    return answer(&call);
}
