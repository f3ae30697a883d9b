/* Start a child process, contained if asked, in one call: `process/native.py` is the only caller.
 *
 * Python can change neither the directory nor the umask of a child of posix_spawn, nor close everything else that is open, and
 * it cannot run code between fork and exec, which is where a process gives its rights up. Here all of it is one path: vfork,
 * then system calls only, then exec. The child shares our memory until then, so it changes nothing but its own stack, and `failure`
 * when it cannot go on.
 *
 * What a contained child cannot do is enforced by up to five layers, each of which the caller asks for by itself:
 *   mounts    a mount namespace in which everything is read-only but the named folders
 *   network   a network namespace that was made before, with nothing but loopback
 *   landlock  a ruleset that was made before: files, TCP ports, signals and abstract sockets outside
 *   seccomp   system calls that no hook needs, kinds of sockets, leaving the process group
 *   limits    of memory, processor time, files and processes
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Headers of older systems lack some of these; the numbers are the same on every processor. */
#define NR_IO_URING_SETUP 425
#define NR_IO_URING_ENTER 426
#define NR_IO_URING_REGISTER 427
#define NR_OPEN_TREE 428
#define NR_MOVE_MOUNT 429
#define NR_FSOPEN 430
#define NR_FSCONFIG 431
#define NR_FSMOUNT 432
#define NR_FSPICK 433
#define NR_PIDFD_OPEN 434
#define NR_CLONE3 435
#define NR_CLOSE_RANGE 436
#define NR_OPENAT2 437
#define NR_PIDFD_GETFD 438
#define NR_PROCESS_MADVISE 440
#define NR_MOUNT_SETATTR 442
#define NR_QUOTACTL_FD 443
#define NR_LANDLOCK_CREATE 444
#define NR_LANDLOCK_ADD 445
#define NR_LANDLOCK_RESTRICT 446
#define NR_FCHMODAT2 452
#define NR_OPEN_TREE_ATTR 467
#define TREE_CLONE 1
#define TREE_CLOEXEC O_CLOEXEC
#define TREE_RECURSIVE 0x8000
#define MOVE_EMPTY_PATHS 0x44
#define RANGE_CLOEXEC 4
#define MOUNT_READ_ONLY 1
#define MOUNT_NO_DEVICES 4
#define RESOLVE_WITHOUT_LINKS 4
#define IOPRIO_OF_USER 3
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
#ifndef TIOCLINUX
#define TIOCLINUX 0x541C
#endif
#define ALLOW_SPECULATION 4 /* SECCOMP_FILTER_FLAG_SPEC_ALLOW: without it every system call of the child is slower */

#define EXPORT __attribute__((visibility("default")))
#define MAX_LIMITS 8
#define MAX_FILTER 512
#define MAX_TREES 128
#define BACKLOG 64
#define MAX_STREAMS 4 /* stdin, stdout, stderr and one more */
#define NETWORK_DESCRIPTORS 3 /* of a listener, a network and a user namespace */
#define BLOCK 8 /* forbidden system calls that are compared one by one */

/* What the child was doing when it failed; `native.py` has the words for them. */
enum step {
  STEP_START,
  STEP_STREAMS,
  STEP_FOLDER,
  STEP_EXEC,
  STEP_MOUNTS,
  STEP_LIMITS,
  STEP_USER,
  STEP_LANDLOCK,
  STEP_SECCOMP,
  STEP_NETWORK
};

enum sockets { SOCKETS_ANY = -1, SOCKETS_NONE = 0, SOCKETS_TCP = 1, SOCKETS_INTERNET = 2, SOCKETS_UNIX = 4 };

struct limit {
  int32_t resource;
  int32_t unused;
  uint64_t value;
};

struct sandbox {
  int32_t ruleset;      /* descriptor of a landlock ruleset, or -1 */
  int32_t sockets;      /* enum sockets, or SOCKETS_ANY for no filter of system calls */
  int32_t has_mounts;   /* make a mount namespace */
  int32_t mount_count;
  const char *mounts;   /* "wPATH\0rPATH\0hPATH\0": writable, read-only in a writable folder, hidden; "p" is writable and cannot be
                           moved away, if it exists; "d" is a device, and then there are no others; "s" is a folder for shared
                           memory. All are real paths, but what is "r" or "p" may be a link, which then cannot be moved away. */
  const char *empty;    /* a folder with an empty folder "d" and an empty file "f", which hidden paths show */
  int64_t uid, gid;     /* another user, or -1 */
  uint64_t capabilities; /* those that are kept by root */
  int32_t keeps_group;   /* all processes of the child stay in its process group */
  int32_t own_session;   /* it has no terminal, and all its processes together get one share of the processor, not one each */
  int32_t user_namespace, network; /* descriptors that hookline_make_network made, or -1 */
  int32_t limit_count;
  struct limit limits[MAX_LIMITS];
};

struct failure {
  int32_t step;
  int32_t error;
};

/* Room for the descriptors of a network in a message from a child. */
union network_message {
  struct cmsghdr header;
  char room[CMSG_SPACE(NETWORK_DESCRIPTORS * sizeof(int))];
};

struct filter;

struct start {
  const char *program;
  char **argv, **env;
  const char *cwd;
  const int32_t *streams, *kept;
  int32_t umask, stream_count, kept_count;
  const struct sandbox *sandbox;
  const struct filter *filter;
  char uid_map[64], gid_map[64]; /* of a user namespace, without which only root makes other namespaces */
  volatile struct failure *failure;
  int channel; /* where the descriptors of a network are sent to */
  int port;
};

/* ---- the filter of system calls ---- */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define ARCHITECTURE 0
#endif

#define NAMESPACES (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

/* No hook needs these. */
static const int32_t FORBIDDEN[] = {
    /* the memory and the descriptors of other processes */
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_migrate_pages, SYS_move_pages, NR_PIDFD_GETFD,
    NR_PROCESS_MADVISE,
    /* mounts and namespaces */
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_setns, NR_OPEN_TREE, NR_MOVE_MOUNT, NR_FSOPEN, NR_FSCONFIG, NR_FSMOUNT,
    NR_FSPICK, NR_MOUNT_SETATTR, NR_OPEN_TREE_ATTR,
    /* files that no path leads to */
    SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_fanotify_init,
    /* parts of the kernel with a long history of holes; requests of io_uring pass no filter */
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_keyctl, SYS_add_key, SYS_request_key, NR_IO_URING_SETUP, NR_IO_URING_ENTER,
    NR_IO_URING_REGISTER,
    /* the machine */
    SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_swapon, SYS_swapoff, SYS_reboot, SYS_acct,
    SYS_quotactl, NR_QUOTACTL_FD, SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex, SYS_sethostname,
    SYS_setdomainname, SYS_vhangup, SYS_syslog, SYS_lookup_dcookie,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef SYS_iopl
    SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_uselib,
#endif
    /* memory and queues of other programs of the user, which no layer for files guards */
    SYS_shmget, SYS_shmat, SYS_shmctl, SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_semget, SYS_semop, SYS_semctl,
    SYS_semtimedop, SYS_mq_open, SYS_mq_unlink,
};

#define FORBIDDEN_COUNT (sizeof FORBIDDEN / sizeof *FORBIDDEN)

enum test { IS, IS_NOT, HAS_BIT };

/* A call that fails with `error` if the lower half of an argument passes a test. The kernel looks at no more than that half for
 * any call in these tables, and both processors that are known here are little endian. */
struct rule {
  int32_t call;
  uint8_t argument, test;
  uint16_t error;
  uint32_t value;
};

static const struct rule RULES[] = {
    {SYS_clone, 0, HAS_BIT, EPERM, NAMESPACES},
    {SYS_unshare, 0, HAS_BIT, EPERM, NAMESPACES | CLONE_NEWTIME},
    /* landlock keeps signals inside, but not limits, priorities and processors, with which another process can be stopped too */
    {SYS_prlimit64, 0, IS_NOT, EPERM, 0},
    {SYS_setpriority, 0, IS, EPERM, PRIO_USER},
    {SYS_setpriority, 1, IS_NOT, EPERM, 0},
    {SYS_ioprio_set, 0, IS, EPERM, IOPRIO_OF_USER},
    {SYS_ioprio_set, 1, IS_NOT, EPERM, 0},
    /* these seem to work: C libraries name threads by number, and start none when that fails */
    {SYS_sched_setaffinity, 0, IS_NOT, 0, 0},
    {SYS_sched_setscheduler, 0, IS_NOT, 0, 0},
    {SYS_sched_setparam, 0, IS_NOT, 0, 0},
    {SYS_sched_setattr, 0, IS_NOT, 0, 0},
    /* every process, where landlock does not know signals */
    {SYS_kill, 0, IS, EPERM, (uint32_t)-1},
    /* a program that runs as its owner, left for anybody to start */
#ifdef SYS_chmod
    {SYS_chmod, 1, HAS_BIT, EPERM, S_ISUID},
#endif
    {SYS_fchmod, 1, HAS_BIT, EPERM, S_ISUID},
    {SYS_fchmodat, 2, HAS_BIT, EPERM, S_ISUID},
    {NR_FCHMODAT2, 2, HAS_BIT, EPERM, S_ISUID},
    /* typing into the terminal of the agent */
    {SYS_ioctl, 1, IS, EPERM, TIOCSTI},
    {SYS_ioctl, 1, IS, EPERM, TIOCLINUX},
    /* connections that landlock's rules for TCP do not see */
    {SYS_sendto, 3, HAS_BIT, EPERM, MSG_FASTOPEN},
    {SYS_sendmsg, 2, HAS_BIT, EPERM, MSG_FASTOPEN},
    {SYS_sendmmsg, 3, HAS_BIT, EPERM, MSG_FASTOPEN},
    /* other kinds of pairs are sockets of the network */
    {SYS_socketpair, 0, IS_NOT, EPERM, AF_UNIX},
};

/* A socket of a pair of datagrams sends to every other Unix socket. SOCK_RAW, which is the same, has the bit as well; those of
 * streams have not. */
static const struct rule PAIR_OF_DATAGRAMS = {SYS_socketpair, 1, HAS_BIT, EPERM, SOCK_DGRAM};

struct filter {
  struct sock_filter code[MAX_FILTER];
  unsigned short length;
};

/* A filter that is too long keeps the length MAX_FILTER + 1, which `make_filter` refuses. */
static void add(struct filter *filter, struct sock_filter one) {
  if (filter->length < MAX_FILTER) filter->code[filter->length] = one;
  if (filter->length <= MAX_FILTER) filter->length++;
}

#define LOAD(field) ((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field)))
#define IF_EQUAL(value, yes, no) ((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), yes, no))
#define IF_AT_LEAST(value, yes, no) ((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, value, yes, no))
#define IF_ABOVE(value, yes, no) ((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (uint32_t)(value), yes, no))
#define IF_ANY_BIT(value, yes, no) ((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)(value), yes, no))
#define SKIP(count) ((struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, count))
#define MASK(value) ((struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, value))
#define ALLOW ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW))
#define FAIL(number) ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (number)))

static int compare_numbers(const void *one, const void *other) {
  return *(const int32_t *)one - *(const int32_t *)other;
}

/* Refuse system calls that mean something else than their numbers say: those of other processors. */
static void add_processor(struct filter *filter) {
  add(filter, LOAD(arch));
  add(filter, IF_EQUAL(ARCHITECTURE, 1, 0));
  add(filter, FAIL(ENOSYS));
  add(filter, LOAD(nr));
#if defined(__x86_64__)
  add(filter, IF_AT_LEAST(0x40000000u, 0, 1)); /* x32 */
  add(filter, FAIL(ENOSYS));
#endif
}

/* Add the forbidden calls in blocks, of which all but one are skipped. The kernel runs a filter for each call that there is when it is
 * set, so that a list without blocks would take a third as long as starting a program. */
static void add_forbidden(struct filter *filter) {
  int32_t numbers[FORBIDDEN_COUNT];
  size_t blocks = (FORBIDDEN_COUNT + BLOCK - 1) / BLOCK;
  size_t left = FORBIDDEN_COUNT + 2 * blocks; /* instructions before the refusal */
  _Static_assert(FORBIDDEN_COUNT + 2 * ((FORBIDDEN_COUNT + BLOCK - 1) / BLOCK) < 255, "a jump has eight bits");
  memcpy(numbers, FORBIDDEN, sizeof numbers);
  qsort(numbers, FORBIDDEN_COUNT, sizeof *numbers, compare_numbers);
  for (size_t first = 0; first < FORBIDDEN_COUNT; first += BLOCK) {
    size_t size = FORBIDDEN_COUNT - first < BLOCK ? FORBIDDEN_COUNT - first : BLOCK;
    add(filter, IF_ABOVE(numbers[first + size - 1], (uint8_t)(size + 1), 0));
    left--;
    for (size_t index = 0; index < size; index++) {
      left--;
      add(filter, IF_EQUAL(numbers[first + index], (uint8_t)(left + 1), 0)); /* to the refusal, behind the skip before it */
    }
    left--;
    add(filter, SKIP((uint32_t)left + 2));
  }
  add(filter, SKIP(1));
  add(filter, FAIL(EPERM));
}

static void add_group(struct filter *filter) {
  /* They seem to work: what detaches itself goes on, and ends with the hook. */
  add(filter, IF_EQUAL(SYS_setsid, 1, 0));
  add(filter, IF_EQUAL(SYS_setpgid, 0, 1));
  add(filter, FAIL(0));
}

static void add_rule(struct filter *filter, const struct rule *rule) {
  add(filter, IF_EQUAL(rule->call, 0, 4));
  add(filter, LOAD(args[rule->argument]));
  if (rule->test == HAS_BIT)
    add(filter, IF_ANY_BIT(rule->value, 0, 1));
  else
    add(filter, IF_EQUAL(rule->value, rule->test == IS_NOT, rule->test == IS));
  add(filter, FAIL(rule->error));
  add(filter, LOAD(nr));
}

/* Allow everything but the kinds of sockets that are not named. This ends a filter. */
static void add_sockets(struct filter *filter, int sockets) {
  if (!(sockets & SOCKETS_UNIX)) add_rule(filter, &PAIR_OF_DATAGRAMS);
  add(filter, IF_EQUAL(SYS_socket, 1, 0));
  add(filter, ALLOW);
  add(filter, LOAD(args[0]));
  if (sockets & SOCKETS_UNIX) {
    add(filter, IF_EQUAL(AF_UNIX, 0, 1));
    add(filter, ALLOW);
  }
  if (sockets & SOCKETS_INTERNET) {
    add(filter, IF_EQUAL(AF_NETLINK, 0, 4)); /* addresses and routes of this machine, which getaddrinfo reads */
    add(filter, LOAD(args[2]));
    add(filter, IF_EQUAL(0, 0, 1));
    add(filter, ALLOW);
    add(filter, FAIL(EPERM));
  }
  if (sockets & (SOCKETS_TCP | SOCKETS_INTERNET)) {
    add(filter, IF_EQUAL(AF_INET, 2, 0));
    add(filter, IF_EQUAL(AF_INET6, 1, 0));
    add(filter, FAIL(EPERM));
    add(filter, LOAD(args[1]));
    add(filter, MASK(0xf));
    if (sockets & SOCKETS_INTERNET) {
      add(filter, IF_EQUAL(SOCK_DGRAM, 0, 1));
      add(filter, ALLOW);
    }
    add(filter, IF_EQUAL(SOCK_STREAM, 1, 0));
    add(filter, FAIL(EPERM));
    add(filter, LOAD(args[2])); /* other protocols, such as MPTCP, pass landlock's rules for TCP */
    add(filter, IF_EQUAL(0, 1, 0));
    add(filter, IF_EQUAL(IPPROTO_TCP, 0, 1));
    add(filter, ALLOW);
  }
  add(filter, FAIL(EPERM));
}

/* Make a filter; return 0, or minus the error where this processor is not known. */
static int make_filter(struct filter *filter, const struct sandbox *sandbox) {
  if (!ARCHITECTURE) return -ENOSYS;
  filter->length = 0;
  add_processor(filter);
  add_forbidden(filter);
  add(filter, IF_EQUAL(NR_CLONE3, 0, 1)); /* its flags are in memory, which no filter reads; C libraries use clone instead */
  add(filter, FAIL(ENOSYS));
  if (sandbox->keeps_group) add_group(filter);
  for (size_t index = 0; index < sizeof RULES / sizeof *RULES; index++) add_rule(filter, &RULES[index]);
  add_sockets(filter, sandbox->sockets);
  return filter->length > MAX_FILTER ? -E2BIG : 0;
}

/* ---- in the child: system calls only ---- */

static _Noreturn void fail(const struct start *start, enum step step) {
  start->failure->step = (int32_t)step;
  start->failure->error = errno;
  _exit(127);
}

static void write_file(const struct start *start, enum step step, const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0 || write(file, text, strlen(text)) < 0) fail(start, step);
  close(file);
}

static void make_namespace(const struct start *start, enum step step, int kind) {
  if (unshare(start->uid_map[0] ? kind | CLONE_NEWUSER : kind)) fail(start, step);
  if (!start->uid_map[0]) return;
  write_file(start, step, "/proc/self/setgroups", "deny");
  write_file(start, step, "/proc/self/uid_map", start->uid_map);
  write_file(start, step, "/proc/self/gid_map", start->gid_map);
}

/* Open a real path; a folder that was replaced by a link meanwhile leads to another one, which was not allowed. What is only kept
 * in its place may be a link itself. */
static int open_place(const char *entry) {
  struct { uint64_t flags, mode, resolve; } how = {O_PATH | O_NOFOLLOW | O_CLOEXEC, 0, RESOLVE_WITHOUT_LINKS};
  struct stat status;
  int place = (int)syscall(NR_OPENAT2, AT_FDCWD, entry + 1, &how, sizeof how);
  if (place < 0 || *entry == 'r' || *entry == 'p') return place;
  int error = fstat(place, &status) ? errno : S_ISLNK(status.st_mode) ? ELOOP : 0;
  if (!error) return place;
  close(place);
  errno = error;
  return -1;
}

static int copy_tree(int place) {
  return (int)syscall(NR_OPEN_TREE, place, "", TREE_CLONE | TREE_CLOEXEC | TREE_RECURSIVE | AT_EMPTY_PATH);
}

static int restrict_mounts(int tree, const char *path, unsigned flags, uint64_t restrictions) {
  struct { uint64_t set, clear, propagation, userns; } attributes = {restrictions, 0, MS_PRIVATE, 0};
  return (int)syscall(NR_MOUNT_SETATTR, tree, path, flags | TREE_RECURSIVE, &attributes, sizeof attributes);
}

/* Return whether a path cannot be opened because it is not there; one that is only kept in its place may lie behind a link, which
 * is kept in its place too, and a machine may have a link in the place of shared memory. */
static int is_missing(char kind, int error) {
  return error == ENOENT || error == ENOTDIR || (error == ELOOP && (kind == 'r' || kind == 'p' || kind == 's'));
}

static int is_cover(char kind) { return kind == 'r' || kind == 'h'; }

/* Copy the mounts of the paths that stay writable; -1 stands for one that does not exist. */
static void copy_writable(const struct start *start, int *trees, uint64_t *restrictions) {
  const char *entry = start->sandbox->mounts;
  int count = 0;
  for (int index = 0; index < start->sandbox->mount_count; index++, entry += strlen(entry) + 1) {
    if (is_cover(*entry)) continue;
    errno = E2BIG;
    if (count == MAX_TREES) fail(start, STEP_MOUNTS);
    int place = open_place(entry);
    int tree = place < 0 ? -1 : copy_tree(place);
    if (tree < 0 && !is_missing(*entry, errno)) fail(start, STEP_MOUNTS);
    if (place >= 0) close(place);
    if (*entry == 'd') *restrictions |= MOUNT_NO_DEVICES;
    trees[count++] = tree;
  }
}

/* Return the mounts to be put over a place; they are read-only. */
static int cover_place(const struct start *start, char kind, int place) {
  struct stat status;
  int tree;
  if (kind == 'r') {
    tree = copy_tree(place);
  } else {
    int empty = open(start->sandbox->empty, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (empty < 0 || fstat(place, &status)) fail(start, STEP_MOUNTS);
    tree = (int)syscall(NR_OPEN_TREE, empty, S_ISDIR(status.st_mode) ? "d" : "f", TREE_CLONE | TREE_CLOEXEC);
    close(empty);
  }
  if (tree < 0 || restrict_mounts(tree, "", AT_EMPTY_PATH, MOUNT_READ_ONLY)) fail(start, STEP_MOUNTS);
  return tree;
}

/* Make everything read-only but the writable paths, and put what is read-only or hidden in them on top. */
static void enter_mounts(const struct start *start) {
  const struct sandbox *sandbox = start->sandbox;
  uint64_t restrictions = MOUNT_READ_ONLY;
  int trees[MAX_TREES], count = 0;
  copy_writable(start, trees, &restrictions);
  if (restrict_mounts(AT_FDCWD, "/", 0, restrictions)) fail(start, STEP_MOUNTS);
  const char *entry = sandbox->mounts;
  for (int index = 0; index < sandbox->mount_count; index++, entry += strlen(entry) + 1) {
    int tree = is_cover(*entry) ? -1 : trees[count++];
    if (!is_cover(*entry) && tree < 0) continue;
    int place = open_place(*entry == 's' ? "s/dev/shm" : entry);
    if (place < 0) {
      if (!is_missing(*entry, errno)) fail(start, STEP_MOUNTS);
      if (tree >= 0) close(tree);
      continue;
    }
    if (is_cover(*entry)) tree = cover_place(start, *entry, place);
    if (syscall(NR_MOVE_MOUNT, tree, "", place, "", MOVE_EMPTY_PATHS)) fail(start, STEP_MOUNTS);
    close(place);
    close(tree);
  }
}

static void enter_namespaces(const struct start *start) {
  const struct sandbox *sandbox = start->sandbox;
  if (sandbox->network >= 0) {
    if (sandbox->user_namespace >= 0 && setns(sandbox->user_namespace, CLONE_NEWUSER)) fail(start, STEP_NETWORK);
    if (setns(sandbox->network, CLONE_NEWNET)) fail(start, STEP_NETWORK);
    if (sandbox->has_mounts && unshare(CLONE_NEWNS)) fail(start, STEP_MOUNTS);
  } else if (sandbox->has_mounts) {
    make_namespace(start, STEP_MOUNTS, CLONE_NEWNS);
  }
}

static void set_limits(const struct start *start) {
  for (int index = 0; index < start->sandbox->limit_count; index++) {
    const struct limit *limit = &start->sandbox->limits[index];
    struct rlimit held, wanted = {limit->value, limit->value};
    if (getrlimit(limit->resource, &held)) fail(start, STEP_LIMITS);
    if (wanted.rlim_cur > held.rlim_max) wanted.rlim_cur = wanted.rlim_max = held.rlim_max;
    /* one second for a program that wants to say that its processor time is over */
    if (limit->resource == RLIMIT_CPU && wanted.rlim_max < held.rlim_max) wanted.rlim_max++;
    if (setrlimit(limit->resource, &wanted)) fail(start, STEP_LIMITS);
  }
}

static void change_user(const struct start *start) {
  const struct sandbox *sandbox = start->sandbox;
  /* not the functions of the C library, which would change every thread of the parent */
  if (sandbox->gid >= 0) {
    gid_t gid = (gid_t)sandbox->gid;
    if (syscall(SYS_setgroups, 0, NULL) || syscall(SYS_setresgid, gid, gid, gid)) fail(start, STEP_USER);
  }
  if (sandbox->uid >= 0) {
    uid_t uid = (uid_t)sandbox->uid;
    if (syscall(SYS_setresuid, uid, uid, uid)) fail(start, STEP_USER);
  }
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct held[2], data[2];
  memset(data, 0, sizeof data);
  if (syscall(SYS_capget, &header, held)) fail(start, STEP_USER);
  if (sandbox->uid < 0 && !start->uid_map[0] && sandbox->user_namespace < 0)
    for (int half = 0; half < 2; half++)
      data[half].permitted = data[half].effective = held[half].permitted & (uint32_t)(sandbox->capabilities >> (32 * half));
  if (syscall(SYS_capset, &header, data)) fail(start, STEP_USER);
}

static void reset_signals(void) {
  static const int ended_by[] = {SIGINT, SIGQUIT, SIGTERM, SIGCHLD, SIGPIPE, SIGXFSZ};
  struct sigaction action, plain;
  memset(&plain, 0, sizeof plain);
  plain.sa_handler = SIG_DFL;
  /* A handler of ours must not run here, where it would find the memory of the parent. Those behind SIGSYS are sent by programs, and none
   * knows this process yet; asking for all of them takes a fiftieth of a start. */
  for (int number = 1; number <= SIGSYS; number++)
    if (!sigaction(number, NULL, &action) && action.sa_handler != SIG_IGN && action.sa_handler != SIG_DFL)
      sigaction(number, &plain, NULL);
  for (size_t index = 0; index < sizeof ended_by / sizeof *ended_by; index++) sigaction(ended_by[index], &plain, NULL);
}

static void close_others(const struct start *start) {
  if (syscall(NR_CLOSE_RANGE, (unsigned)start->stream_count, ~0u, RANGE_CLOEXEC)) {
    struct rlimit files;
    int last = getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur > 65536 ? 65536 : (int)files.rlim_cur;
    for (int number = start->stream_count; number < last; number++) fcntl(number, F_SETFD, FD_CLOEXEC);
  }
  for (int index = 0; index < start->kept_count; index++)
    if (fcntl(start->kept[index], F_SETFD, 0)) fail(start, STEP_STREAMS);
}

static int set_filter(const struct filter *filter) {
  struct sock_fprog program = {filter->length, (struct sock_filter *)(uintptr_t)filter->code};
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, ALLOW_SPECULATION, &program);
}

static _Noreturn void run_program(const struct start *start) {
  const struct sandbox *sandbox = start->sandbox;
  sigset_t none;
  if (!sandbox || !sandbox->own_session || setsid() < 0) setpgid(0, 0);
  for (int index = 0; index < start->stream_count; index++)
    if (start->streams[index] == index ? fcntl(index, F_SETFD, 0) : dup2(start->streams[index], index) < 0)
      fail(start, STEP_STREAMS);
  if (start->umask >= 0) umask((mode_t)start->umask);
  if (sandbox) enter_namespaces(start);
  if (sandbox && sandbox->has_mounts) enter_mounts(start);
  if (start->cwd && chdir(start->cwd)) fail(start, STEP_FOLDER);
  close_others(start);
  if (sandbox) {
    set_limits(start);
    change_user(start);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) fail(start, STEP_LANDLOCK);
    if (sandbox->ruleset >= 0 && syscall(NR_LANDLOCK_RESTRICT, sandbox->ruleset, 0)) fail(start, STEP_LANDLOCK);
  }
  reset_signals();
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  if (start->filter && set_filter(start->filter)) fail(start, STEP_SECCOMP);
  execve(start->program, start->argv, start->env);
  fail(start, STEP_EXEC);
}

/* Make a network with nothing but loopback and a listener there, and send their descriptors to the parent. */
static _Noreturn void run_network(const struct start *start) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)start->port)};
  struct ifreq loopback = {.ifr_name = "lo"};
  char done = 0;
  struct iovec text = {&done, sizeof done};
  union network_message message;
  make_namespace(start, STEP_NETWORK, CLONE_NEWNET);
  int made[NETWORK_DESCRIPTORS] = {
      socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
      open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC),
      open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC),
  };
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (made[0] < 0 || made[1] < 0 || made[2] < 0) fail(start, STEP_NETWORK);
  if (ioctl(made[0], SIOCGIFFLAGS, &loopback)) fail(start, STEP_NETWORK);
  loopback.ifr_flags |= IFF_UP;
  if (ioctl(made[0], SIOCSIFFLAGS, &loopback)) fail(start, STEP_NETWORK);
  if (bind(made[0], (struct sockaddr *)&address, sizeof address) || listen(made[0], BACKLOG)) fail(start, STEP_NETWORK);
  struct msghdr header = {.msg_iov = &text, .msg_iovlen = 1, .msg_control = &message, .msg_controllen = sizeof message};
  memset(&message, 0, sizeof message);
  message.header.cmsg_level = SOL_SOCKET;
  message.header.cmsg_type = SCM_RIGHTS;
  message.header.cmsg_len = CMSG_LEN(sizeof made);
  memcpy(CMSG_DATA(&message.header), made, sizeof made);
  if (sendmsg(start->channel, &header, 0) < 0) fail(start, STEP_NETWORK);
  _exit(0);
}

/* ---- in the parent ---- */

/* Split texts that follow each other, each with its NUL, into a list. */
static char **split(const char *texts, int count) {
  char **list = malloc(((size_t)count + 1) * sizeof *list);
  if (!list) return NULL;
  for (int index = 0; index < count; index++, texts += strlen(texts) + 1) list[index] = (char *)(uintptr_t)texts;
  list[count] = NULL;
  return list;
}

/* Not inlined: the frame that calls vfork must not be changed by the child and be used afterwards. */
static __attribute__((noinline)) pid_t call_vfork(const struct start *start, void (*run)(const struct start *)) {
  pid_t pid = vfork();
  if (!pid) run(start);
  return pid;
}

static void reap(pid_t pid) {
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
}

/* Have a child run a function that does not return; return its pid, or minus the error, with the step it happened at in `step`. No
 * handler of ours runs in it. vfork returns when the child has ended or executes its program: by then it has said what failed. */
static pid_t start_child(struct start *start, void (*run)(const struct start *), int32_t *step) {
  volatile struct failure failure = {STEP_START, 0};
  sigset_t all, old;
  start->failure = &failure;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  pid_t pid = call_vfork(start, run);
  int error = errno;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  *step = failure.step;
  if (pid < 0) return -error;
  if (!failure.error) return pid;
  reap(pid);
  return -failure.error;
}

static void map_user(struct start *start) {
  if (!geteuid()) return;
  snprintf(start->uid_map, sizeof start->uid_map, "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
  snprintf(start->gid_map, sizeof start->gid_map, "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
}

/* Take what the caller counted up: the umask or -1, how many streams there are and their descriptors, how many others are kept and
 * those. */
static void read_numbers(struct start *start, const int32_t *numbers) {
  start->umask = numbers[0];
  start->stream_count = numbers[1];
  start->streams = numbers + 2;
  start->kept_count = numbers[2 + start->stream_count];
  start->kept = numbers + 3 + start->stream_count;
}

/* Start a program; return its pid, or minus the error, with the step it happened at in `step`. */
static pid_t start_program(struct start *start, const char *argv, int argc, const char *env, int envc, int32_t *step) {
  const struct sandbox *sandbox = start->sandbox;
  struct filter filter;
  if (sandbox && sandbox->has_mounts) map_user(start);
  if (sandbox && sandbox->sockets != SOCKETS_ANY) {
    *step = STEP_SECCOMP;
    start->filter = &filter;
    int error = make_filter(&filter, sandbox);
    if (error) return error;
  }
  *step = STEP_START;
  start->argv = split(argv, argc);
  start->env = split(env, envc);
  pid_t pid = start->argv && start->env ? start_child(start, run_program, step) : -ENOMEM;
  free(start->argv);
  free(start->env);
  return pid;
}

/* Start a child with streams that the caller has opened; return its pid, or minus the error. */
EXPORT int hookline_spawn(const char *program, const char *argv, int argc, const char *env, int envc, const char *cwd,
                          const int32_t *numbers, const struct sandbox *sandbox, int32_t *step) {
  struct start start = {.program = program, .cwd = cwd, .sandbox = sandbox};
  read_numbers(&start, numbers);
  return start_program(&start, argv, argc, env, envc, step);
}

static void close_all(const int32_t *descriptors, int count) {
  for (int index = 0; index < count; index++)
    if (descriptors[index] >= 0) close(descriptors[index]);
}

/* Open a pipe whose ends are in nobody's way: this process may run without stdin, stdout or stderr. */
static int open_pipe(int32_t *read_end, int32_t *write_end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC)) return -1;
  for (int index = 0; index < 2; index++)
    if (ends[index] < MAX_STREAMS) {
      int moved = fcntl(ends[index], F_DUPFD_CLOEXEC, MAX_STREAMS), error = errno;
      close(ends[index]);
      ends[index] = moved;
      errno = error;
    }
  *read_end = ends[0];
  *write_end = ends[1];
  return ends[0] < 0 || ends[1] < 0 ? -1 : 0;
}

/* Write all of an input into a pipe if it has room for it; return whether it did. */
static int fill_pipe(int pipe, const char *input, int size) {
  int room = fcntl(pipe, F_GETPIPE_SZ);
  if (size > room) room = fcntl(pipe, F_SETPIPE_SZ, size);
  return size <= room && write(pipe, input, (size_t)size) == size;
}

/* Start a child with pipes as its streams. `numbers` may name a fourth stream. An `input` that fits into the pipe of its stdin is there
 * before the child starts, and that end is closed. Return the pid, or minus the error; `made` are our ends of stdin (-1 once it is closed),
 * stdout and stderr, of which the last two do not block, and a pidfd. */
EXPORT int hookline_start(const char *program, const char *argv, int argc, const char *env, int envc, const char *cwd,
                          const int32_t *numbers, const struct sandbox *sandbox, int32_t *step, const char *input, int size,
                          int32_t made[MAX_STREAMS]) {
  struct start start = {.program = program, .cwd = cwd, .sandbox = sandbox};
  int32_t streams[MAX_STREAMS] = {-1, -1, -1, -1};
  pid_t pid = 0;
  read_numbers(&start, numbers);
  if (start.stream_count) streams[3] = start.streams[0];
  start.stream_count += 3;
  start.streams = streams;
  *step = STEP_START;
  memset(made, -1, MAX_STREAMS * sizeof *made);
  if (open_pipe(&streams[0], &made[0]) || open_pipe(&made[1], &streams[1]) || open_pipe(&made[2], &streams[2])) pid = -errno;
  if (!pid && size && fill_pipe(made[0], input, size)) {
    close(made[0]);
    made[0] = -1;
  }
  if (!pid) pid = start_program(&start, argv, argc, env, envc, step);
  close_all(streams, 3);
  if (pid > 0) {
    made[3] = (int)syscall(NR_PIDFD_OPEN, pid, 0);
    if (made[3] < 0) { /* a child that cannot be watched must not run */
      int error = errno;
      *step = STEP_START;
      kill(-pid, SIGKILL);
      reap(pid);
      pid = error == ESRCH ? -ECHILD : -error;
    }
  }
  if (pid > 0) {
    fcntl(made[1], F_SETFL, O_NONBLOCK);
    fcntl(made[2], F_SETFL, O_NONBLOCK);
  } else close_all(made, MAX_STREAMS);
  return pid;
}

/* Make a network that has nothing but loopback, and a listener at a port there. Return 0, or minus the error; `made` are the
 * descriptors of the listener, the network, and the user namespace that it belongs to, -1 where that is the one of this process. */
EXPORT int hookline_make_network(int port, int32_t made[NETWORK_DESCRIPTORS]) {
  struct start start = {.port = port};
  char done;
  struct iovec text = {&done, sizeof done};
  union network_message message;
  struct msghdr header = {.msg_iov = &text, .msg_iovlen = 1, .msg_control = &message, .msg_controllen = sizeof message};
  int channel[2], error = EPROTO;
  int32_t step;
  map_user(&start);
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel)) return -errno;
  start.channel = channel[1];
  pid_t pid = start_child(&start, run_network, &step);
  close(channel[1]);
  if (pid > 0) {
    /* it has ended: what it sent is there, or will never be */
    ssize_t received = recvmsg(channel[0], &header, MSG_CMSG_CLOEXEC);
    error = received > 0 ? 0 : received < 0 ? errno : EPROTO;
    reap(pid);
  }
  close(channel[0]);
  if (pid < 0) return pid;
  if (error) return -error;
  size_t size = header.msg_controllen ? message.header.cmsg_len - CMSG_LEN(0) : 0;
  memcpy(made, CMSG_DATA(&message.header), size);
  if (size < NETWORK_DESCRIPTORS * sizeof *made) { /* there is no room for more descriptors in this process */
    for (size_t index = 0; index < size / sizeof *made; index++) close(made[index]);
    return -EMFILE;
  }
  if (!start.uid_map[0]) {
    close(made[2]);
    made[2] = -1;
  }
  return 0;
}

/* Keep everything that this process starts in its process group from now on; return 0, or minus the error. */
EXPORT int hookline_keep_group(void) {
  struct filter filter = {.length = 0};
  if (!ARCHITECTURE) return -ENOSYS;
  add_processor(&filter);
  add_group(&filter);
  add(&filter, ALLOW);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -errno;
  return set_filter(&filter) ? -errno : 0;
}

/* Return 0 where system calls can be filtered, else minus the error. */
EXPORT int hookline_check_filter(void) {
  uint32_t action = SECCOMP_RET_ERRNO;
  if (!ARCHITECTURE) return -ENOSYS;
  return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) ? -errno : 0;
}

/* ---- landlock rulesets ---- */

/* Return the version of landlock that the kernel has, or minus the error. */
EXPORT int hookline_landlock_version(void) {
  int version = (int)syscall(NR_LANDLOCK_CREATE, NULL, 0, 1);
  return version < 0 ? -errno : version;
}

/* Return the descriptor of a new ruleset, or minus the error; what an older kernel does not know must be 0. */
EXPORT int hookline_create_ruleset(uint64_t files, uint64_t ports, uint64_t scopes) {
  struct { uint64_t files, ports, scopes; } attributes = {files, ports, scopes};
  size_t size = scopes ? 24 : ports ? 16 : 8;
  int ruleset = (int)syscall(NR_LANDLOCK_CREATE, &attributes, size, 0);
  return ruleset < 0 ? -errno : ruleset;
}

/* Allow access to a file, or to everything in a folder; `directory_only` rights are dropped for a file. */
EXPORT int hookline_allow_path(int ruleset, const char *path, uint64_t access, uint64_t directory_only) {
  struct { uint64_t access; int32_t parent; } __attribute__((packed)) rule = {access, -1};
  struct stat status;
  rule.parent = open(path, O_PATH | O_CLOEXEC);
  if (rule.parent < 0) return -errno;
  if (!fstat(rule.parent, &status) && !S_ISDIR(status.st_mode)) rule.access &= ~directory_only;
  int error = rule.access && syscall(NR_LANDLOCK_ADD, ruleset, 1, &rule, 0) ? errno : 0;
  close(rule.parent);
  return -error;
}

/* Allow connections to a TCP port. */
EXPORT int hookline_allow_port(int ruleset, uint64_t access, uint64_t port) {
  struct { uint64_t access, port; } rule = {access, port};
  return syscall(NR_LANDLOCK_ADD, ruleset, 2, &rule, 0) ? -errno : 0;
}
