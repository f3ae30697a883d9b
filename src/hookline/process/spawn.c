/* Start a child process, contained if asked, in one call: `process/native.py` is the only caller.
 *
 * Python can change neither the directory nor the umask of a child of posix_spawn, nor close everything else that is open, and
 * it cannot run code between fork and exec, which is where a process gives its rights up. Here all of it is one path: vfork,
 * then system calls only, then exec. The child shares our memory until then, so it changes nothing but its own stack.
 *
 * What a contained child cannot do is enforced by up to four layers, each of which the caller asks for by itself:
 *   mounts    a mount namespace in which everything is read-only but the named folders
 *   landlock  a ruleset that was made before: files, TCP ports, signals and abstract sockets outside
 *   seccomp   system calls that no hook needs, kinds of sockets, leaving the process group
 *   limits    of memory, processor time, files and processes
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
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
#define NR_OPEN_TREE 428
#define NR_MOVE_MOUNT 429
#define NR_CLOSE_RANGE 436
#define NR_OPENAT2 437
#define NR_MOUNT_SETATTR 442
#define NR_LANDLOCK_CREATE 444
#define NR_LANDLOCK_ADD 445
#define NR_LANDLOCK_RESTRICT 446
#define TREE_CLONE 1
#define TREE_CLOEXEC O_CLOEXEC
#define TREE_RECURSIVE 0x8000
#define MOVE_EMPTY_PATHS 0x44
#define RANGE_CLOEXEC 4
#define MOUNT_READ_ONLY 1
#define MOUNT_NO_DEVICES 4
#define RESOLVE_WITHOUT_LINKS 4
#define ALLOW_SPECULATION 4 /* SECCOMP_FILTER_FLAG_SPEC_ALLOW: without it every system call of the child is slower */

#define EXPORT __attribute__((visibility("default")))
#define MAX_LIMITS 8
#define MAX_FILTER 256
#define MAX_TREES 128
#define BLOCK 8 /* forbidden system calls that are compared one by one */

/* What the child was doing when it failed; `native.py` has the words for them. */
enum step { STEP_START, STEP_STREAMS, STEP_FOLDER, STEP_EXEC, STEP_MOUNTS, STEP_LIMITS, STEP_USER, STEP_LANDLOCK, STEP_SECCOMP };

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
                           moved away, if it exists; "d" is a device, and then there are no others. All are real paths. */
  const char *empty;    /* a folder with an empty folder "d" and an empty file "f", which hidden paths show */
  int64_t uid, gid;     /* another user, or -1 */
  uint64_t capabilities; /* those that are kept by root */
  int32_t keeps_group; /* all processes of the child stay in its process group */
  int32_t limit_count;
  struct limit limits[MAX_LIMITS];
};

struct failure {
  int32_t step;
  int32_t error;
};

struct start {
  const char *program;
  char **argv, **env;
  const char *cwd;
  const int32_t *streams, *kept;
  int32_t umask, stream_count, kept_count;
  const struct sandbox *sandbox;
  struct sock_fprog filter;
  char uid_map[64], gid_map[64];
  int report;
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

static const int32_t FORBIDDEN[] = {
#ifdef SYS_ptrace
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp,
#endif
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_setns, SYS_swapon, SYS_swapoff, SYS_reboot, SYS_acct, SYS_quotactl,
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_open_by_handle_at,
    SYS_name_to_handle_at, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_fanotify_init,
    SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex, SYS_sethostname, SYS_setdomainname, SYS_vhangup,
    SYS_syslog, SYS_lookup_dcookie,
    /* memory and queues of other programs of the user, which no layer for files guards */
    SYS_shmget, SYS_shmat, SYS_shmctl, SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_semget, SYS_semop, SYS_semctl,
    SYS_semtimedop, SYS_mq_open, SYS_mq_unlink,
#ifdef SYS_iopl
    SYS_iopl, SYS_ioperm, SYS_modify_ldt,
#endif
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
    425, 426, 427,                     /* io_uring: its requests pass no filter */
    NR_OPEN_TREE, NR_MOVE_MOUNT, 430, 431, 432, 433, NR_MOUNT_SETATTR, /* the newer calls for mounts */
    438, 440, 443, 467,                /* pidfd_getfd, process_madvise, quotactl_fd, open_tree_attr */
};

#define FORBIDDEN_COUNT (sizeof FORBIDDEN / sizeof *FORBIDDEN)

static void add(struct sock_filter *filter, unsigned short *length, struct sock_filter one) { filter[(*length)++] = one; }

#define LOAD(field) ((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field)))
/* the lower half of an argument; both processors that are known here are little endian */
#define ARGUMENT(index) LOAD(args[index])
#define IF_EQUAL(value, yes, no) ((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), yes, no))
#define IF_AT_LEAST(value, yes, no) ((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, value, yes, no))
#define IF_ABOVE(value, yes, no) ((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (uint32_t)(value), yes, no))
#define SKIP(count) ((struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, count))
#define IF_ANY_BIT(value, yes, no) ((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)(value), yes, no))
#define MASK(value) ((struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, value))
#define ALLOW ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW))
#define FAIL(number) ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (number)))
#define ADD(one) add(filter, &length, (one))

static int compare_numbers(const void *one, const void *other) {
  return *(const int32_t *)one - *(const int32_t *)other;
}

/* Add the forbidden calls in blocks, of which all but one are skipped. The kernel runs a filter for each call that there is when it is
 * set, so that a list without blocks would take a third as long as starting a program. */
static unsigned short add_forbidden(struct sock_filter *filter, unsigned short length) {
  int32_t numbers[FORBIDDEN_COUNT];
  size_t blocks = (FORBIDDEN_COUNT + BLOCK - 1) / BLOCK;
  size_t left = FORBIDDEN_COUNT + 2 * blocks; /* instructions before the refusal */
  _Static_assert(FORBIDDEN_COUNT + 2 * ((FORBIDDEN_COUNT + BLOCK - 1) / BLOCK) < 255, "a jump has eight bits");
  memcpy(numbers, FORBIDDEN, sizeof numbers);
  qsort(numbers, FORBIDDEN_COUNT, sizeof *numbers, compare_numbers);
  for (size_t first = 0; first < FORBIDDEN_COUNT; first += BLOCK) {
    size_t size = FORBIDDEN_COUNT - first < BLOCK ? FORBIDDEN_COUNT - first : BLOCK;
    ADD(IF_ABOVE(numbers[first + size - 1], (uint8_t)(size + 1), 0));
    left--;
    for (size_t index = 0; index < size; index++) {
      left--;
      ADD(IF_EQUAL(numbers[first + index], (uint8_t)(left + 1), 0)); /* to the refusal, behind the skip before it */
    }
    left--;
    ADD(SKIP((uint32_t)left + 2));
  }
  ADD(SKIP(1));
  ADD(FAIL(EPERM));
  return length;
}

/* Make a filter; return its length, or 0 where this processor is not known. */
static unsigned short make_filter(struct sock_filter *filter, const struct sandbox *sandbox) {
  unsigned short length = 0;
  int sockets = sandbox->sockets;
  if (!ARCHITECTURE) return 0;
  ADD(LOAD(arch));
  ADD(IF_EQUAL(ARCHITECTURE, 1, 0));
  ADD(FAIL(ENOSYS)); /* system calls of another processor mean other things */
  ADD(LOAD(nr));
#if defined(__x86_64__)
  ADD(IF_AT_LEAST(0x40000000u, 0, 1)); /* x32 */
  ADD(FAIL(ENOSYS));
#endif
  length = add_forbidden(filter, length);
  ADD(IF_EQUAL(435, 0, 1)); /* clone3: its flags are in memory, which no filter reads; C libraries use clone instead */
  ADD(FAIL(ENOSYS));
  if (sandbox->keeps_group) {
    /* They seem to work: what detaches itself goes on, and ends with the hook. */
    ADD(IF_EQUAL(SYS_setsid, 1, 0));
    ADD(IF_EQUAL(SYS_setpgid, 0, 1));
    ADD(FAIL(0));
  }
  /* Landlock keeps signals inside, but not limits, priorities and processors, with which another process can be stopped too. */
  ADD(IF_EQUAL(SYS_prlimit64, 0, 4));
  ADD(ARGUMENT(0));
  ADD(IF_EQUAL(0, 1, 0));
  ADD(FAIL(EPERM));
  ADD(ALLOW);
  ADD(IF_EQUAL(SYS_sched_setaffinity, 3, 0));
  ADD(IF_EQUAL(SYS_sched_setscheduler, 2, 0));
  ADD(IF_EQUAL(SYS_sched_setparam, 1, 0));
  ADD(IF_EQUAL(SYS_sched_setattr, 0, 4));
  ADD(ARGUMENT(0));
  ADD(IF_EQUAL(0, 1, 0));
  ADD(FAIL(0)); /* C libraries name threads by number, and start none when that fails */
  ADD(ALLOW);
  ADD(IF_EQUAL(SYS_setpriority, 0, 6));
  ADD(ARGUMENT(0));
  ADD(IF_EQUAL(PRIO_USER, 2, 0));
  ADD(ARGUMENT(1));
  ADD(IF_EQUAL(0, 1, 0));
  ADD(FAIL(EPERM));
  ADD(ALLOW);
  ADD(IF_EQUAL(SYS_ioprio_set, 0, 6));
  ADD(ARGUMENT(0));
  ADD(IF_EQUAL(3, 2, 0)); /* everything of the user */
  ADD(ARGUMENT(1));
  ADD(IF_EQUAL(0, 1, 0));
  ADD(FAIL(EPERM));
  ADD(ALLOW);
  ADD(IF_EQUAL(SYS_kill, 0, 4)); /* every process, where landlock does not know signals */
  ADD(ARGUMENT(0));
  ADD(IF_EQUAL(-1, 0, 1));
  ADD(FAIL(EPERM));
  ADD(ALLOW);
  /* a program that runs as its owner, left for anybody to start */
#ifdef SYS_chmod
  ADD(IF_EQUAL(SYS_chmod, 1, 0));
#endif
  ADD(IF_EQUAL(SYS_fchmod, 0, 4));
  ADD(ARGUMENT(1));
  ADD(IF_ANY_BIT(S_ISUID, 0, 1));
  ADD(FAIL(EPERM));
  ADD(ALLOW);
  ADD(IF_EQUAL(SYS_fchmodat, 1, 0));
  ADD(IF_EQUAL(452, 0, 4)); /* fchmodat2 */
  ADD(ARGUMENT(2));
  ADD(IF_ANY_BIT(S_ISUID, 0, 1));
  ADD(FAIL(EPERM));
  ADD(ALLOW);
  ADD(IF_EQUAL(SYS_clone, 1, 0));
  ADD(IF_EQUAL(SYS_unshare, 0, 4));
  ADD(ARGUMENT(0));
  ADD(IF_ANY_BIT(NAMESPACES, 0, 1));
  ADD(FAIL(EPERM));
  ADD(ALLOW);
  ADD(IF_EQUAL(SYS_ioctl, 0, 5)); /* typing into the terminal of the agent */
  ADD(ARGUMENT(1));
  ADD(IF_EQUAL(TIOCSTI, 1, 0));
  ADD(IF_EQUAL(0x541C, 0, 1)); /* TIOCLINUX */
  ADD(FAIL(EPERM));
  ADD(ALLOW);
  ADD(IF_EQUAL(SYS_socket, 1, 0));
  ADD(ALLOW);
  ADD(ARGUMENT(0));
  if (sockets & SOCKETS_UNIX) {
    ADD(IF_EQUAL(AF_UNIX, 0, 1));
    ADD(ALLOW);
  }
  if (sockets & SOCKETS_INTERNET) {
    ADD(IF_EQUAL(AF_NETLINK, 0, 4)); /* addresses and routes of this machine, which getaddrinfo reads */
    ADD(ARGUMENT(2));
    ADD(IF_EQUAL(0, 0, 1));
    ADD(ALLOW);
    ADD(FAIL(EPERM));
  }
  if (sockets & (SOCKETS_TCP | SOCKETS_INTERNET)) {
    ADD(IF_EQUAL(AF_INET, 2, 0));
    ADD(IF_EQUAL(AF_INET6, 1, 0));
    ADD(FAIL(EPERM));
    ADD(ARGUMENT(1));
    ADD(MASK(0xf));
    if (sockets & SOCKETS_INTERNET) {
      ADD(IF_EQUAL(SOCK_DGRAM, 0, 1));
      ADD(ALLOW);
    }
    ADD(IF_EQUAL(SOCK_STREAM, 1, 0));
    ADD(FAIL(EPERM));
    ADD(ARGUMENT(2)); /* other protocols, such as MPTCP, pass landlock's rules for TCP */
    ADD(IF_EQUAL(0, 1, 0));
    ADD(IF_EQUAL(6, 0, 1));
    ADD(ALLOW);
  }
  ADD(FAIL(EPERM));
  return length;
}

/* ---- in the child: system calls only ---- */

static _Noreturn void fail(const struct start *start, enum step step) {
  struct failure failure = {(int32_t)step, errno};
  if (write(start->report, &failure, sizeof failure) < 0) {}
  _exit(127);
}

static void write_file(const struct start *start, const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0 || write(file, text, strlen(text)) < 0) fail(start, STEP_MOUNTS);
  close(file);
}

/* Open a real path; a folder that was replaced by a link meanwhile leads to another one, which was not allowed. */
static int open_place(const char *path) {
  struct { uint64_t flags, mode, resolve; } how = {O_PATH | O_CLOEXEC, 0, RESOLVE_WITHOUT_LINKS};
  return (int)syscall(NR_OPENAT2, AT_FDCWD, path, &how, sizeof how);
}

static int copy_tree(int place) {
  return (int)syscall(NR_OPEN_TREE, place, "", TREE_CLONE | TREE_CLOEXEC | TREE_RECURSIVE | AT_EMPTY_PATH);
}

static int restrict_mounts(int tree, const char *path, unsigned flags, uint64_t restrictions) {
  struct { uint64_t set, clear, propagation, userns; } attributes = {restrictions, 0, MS_PRIVATE, 0};
  return (int)syscall(NR_MOUNT_SETATTR, tree, path, flags | TREE_RECURSIVE, &attributes, sizeof attributes);
}

static int is_missing(int error) { return error == ENOENT || error == ENOTDIR; }

/* Copy the mounts of the paths that stay writable; -1 stands for one that does not exist. */
static void copy_writable(const struct start *start, int *trees, uint64_t *restrictions) {
  const char *entry = start->sandbox->mounts;
  int count = 0;
  for (int index = 0; index < start->sandbox->mount_count; index++, entry += strlen(entry) + 1) {
    if (*entry != 'w' && *entry != 'p' && *entry != 'd') continue;
    errno = E2BIG;
    if (count == MAX_TREES) fail(start, STEP_MOUNTS);
    int place = open_place(entry + 1);
    int tree = place < 0 ? -1 : copy_tree(place);
    if (tree < 0 && !is_missing(errno) && !(*entry == 'p' && errno == ELOOP)) fail(start, STEP_MOUNTS);
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
  if (start->uid_map[0]) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS)) fail(start, STEP_MOUNTS);
    write_file(start, "/proc/self/setgroups", "deny");
    write_file(start, "/proc/self/uid_map", start->uid_map);
    write_file(start, "/proc/self/gid_map", start->gid_map);
  } else if (unshare(CLONE_NEWNS)) {
    fail(start, STEP_MOUNTS);
  }
  copy_writable(start, trees, &restrictions);
  if (restrict_mounts(AT_FDCWD, "/", 0, restrictions)) fail(start, STEP_MOUNTS);
  const char *entry = sandbox->mounts;
  for (int index = 0; index < sandbox->mount_count; index++, entry += strlen(entry) + 1) {
    int is_cover = *entry == 'r' || *entry == 'h';
    int tree = is_cover ? -1 : trees[count++];
    if (!is_cover && tree < 0) continue;
    int place = open_place(entry + 1);
    if (place < 0) {
      /* what a project has as a link cannot be covered; a secret has been a real path when it was found */
      if (is_missing(errno) || (*entry == 'r' && errno == ELOOP)) {
        if (tree >= 0) close(tree);
        continue;
      }
      fail(start, STEP_MOUNTS);
    }
    if (is_cover) tree = cover_place(start, *entry, place);
    if (syscall(NR_MOVE_MOUNT, tree, "", place, "", MOVE_EMPTY_PATHS)) fail(start, STEP_MOUNTS);
    close(place);
    close(tree);
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
  if (sandbox->uid < 0 && !start->uid_map[0])
    for (int half = 0; half < 2; half++)
      data[half].permitted = data[half].effective = held[half].permitted & (uint32_t)(sandbox->capabilities >> (32 * half));
  if (syscall(SYS_capset, &header, data)) fail(start, STEP_USER);
}

static void reset_signals(void) {
  static const int ended_by[] = {SIGINT, SIGQUIT, SIGTERM, SIGCHLD, SIGPIPE, SIGXFSZ};
  struct sigaction action, plain;
  memset(&plain, 0, sizeof plain);
  plain.sa_handler = SIG_DFL;
  /* a handler of ours must not run here, where it would find the memory of the parent */
  for (int number = 1; number < NSIG; number++)
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

static _Noreturn void run_child(const struct start *start) {
  const struct sandbox *sandbox = start->sandbox;
  sigset_t none;
  setpgid(0, 0);
  for (int index = 0; index < start->stream_count; index++)
    if (start->streams[index] == index ? fcntl(index, F_SETFD, 0) : dup2(start->streams[index], index) < 0)
      fail(start, STEP_STREAMS);
  if (start->umask >= 0) umask((mode_t)start->umask);
  if (sandbox && sandbox->has_mounts) enter_mounts(start);
  if (start->cwd && chdir(start->cwd)) fail(start, STEP_FOLDER);
  close_others(start);
  if (sandbox) {
    for (int index = 0; index < sandbox->limit_count; index++) {
      const struct limit *limit = &sandbox->limits[index];
      struct rlimit held, wanted = {limit->value, limit->value};
      if (getrlimit(limit->resource, &held)) fail(start, STEP_LIMITS);
      if (wanted.rlim_cur > held.rlim_max) wanted.rlim_cur = wanted.rlim_max = held.rlim_max;
      /* one second for a program that wants to say that its processor time is over */
      if (limit->resource == RLIMIT_CPU && wanted.rlim_max < held.rlim_max) wanted.rlim_max++;
      if (setrlimit(limit->resource, &wanted)) fail(start, STEP_LIMITS);
    }
    change_user(start);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) fail(start, STEP_LANDLOCK);
    if (sandbox->ruleset >= 0 && syscall(NR_LANDLOCK_RESTRICT, sandbox->ruleset, 0)) fail(start, STEP_LANDLOCK);
  }
  reset_signals();
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  if (start->filter.len && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, ALLOW_SPECULATION, &start->filter))
    fail(start, STEP_SECCOMP);
  execve(start->program, start->argv, start->env);
  fail(start, STEP_EXEC);
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
static __attribute__((noinline)) pid_t start_child(const struct start *start) {
  pid_t pid = vfork();
  if (!pid) run_child(start);
  return pid;
}

/* Put together how to start a program; return 0, or minus the error. `numbers` are the umask or -1, how many streams there are and
 * their descriptors, how many others are kept and those. */
static int prepare(struct start *start, struct sock_filter *filter, const int32_t *numbers, int32_t *step) {
  const struct sandbox *sandbox = start->sandbox;
  start->umask = numbers[0];
  start->stream_count = numbers[1];
  start->streams = numbers + 2;
  start->kept_count = numbers[2 + start->stream_count];
  start->kept = numbers + 3 + start->stream_count;
  *step = STEP_START;
  if (sandbox && sandbox->sockets != SOCKETS_ANY) {
    start->filter.filter = filter;
    start->filter.len = make_filter(filter, sandbox);
    *step = STEP_SECCOMP;
    if (!start->filter.len) return -ENOSYS;
    *step = STEP_START;
  }
  if (sandbox && sandbox->has_mounts && geteuid()) {
    snprintf(start->uid_map, sizeof start->uid_map, "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
    snprintf(start->gid_map, sizeof start->gid_map, "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
  }
  return 0;
}

/* Start a child; return its pid, or minus the error, with the step it happened at in `step`. */
EXPORT int hookline_spawn(const char *program, const char *argv, int argc, const char *env, int envc, const char *cwd,
                          const int32_t *numbers, const struct sandbox *sandbox, int32_t *step) {
  struct sock_filter filter[MAX_FILTER];
  struct start start = {.program = program, .cwd = cwd, .sandbox = sandbox};
  struct failure failure = {STEP_START, 0};
  int report[2];
  sigset_t all, old;
  int error = -prepare(&start, filter, numbers, step);
  if (error) return -error;
  if (pipe2(report, O_CLOEXEC)) return -errno;
  start.report = report[1];
  if (start.report < start.stream_count) { /* out of the way of the streams of the child */
    start.report = fcntl(report[1], F_DUPFD_CLOEXEC, start.stream_count);
    close(report[1]);
  }
  error = start.report < 0 ? errno : ENOMEM;
  start.argv = split(argv, argc);
  start.env = split(env, envc);
  pid_t pid = -1;
  if (start.report >= 0 && start.argv && start.env) {
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pid = start_child(&start);
    error = errno;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
  }
  free(start.argv);
  free(start.env);
  if (start.report >= 0) close(start.report);
  if (pid > 0) {
    ssize_t size;
    do size = read(report[0], &failure, sizeof failure);
    while (size < 0 && errno == EINTR);
    error = size > 0 ? failure.error : 0;
    *step = failure.step;
    if (error)
      while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
  }
  close(report[0]);
  return error ? -error : pid;
}

/* Keep everything that this process starts in its process group from now on. */
EXPORT int hookline_keep_group(void) {
  struct sock_filter filter[] = {LOAD(arch),  IF_EQUAL(ARCHITECTURE, 1, 0), FAIL(ENOSYS), LOAD(nr),
                                 IF_EQUAL(SYS_setsid, 1, 0), IF_EQUAL(SYS_setpgid, 0, 1), FAIL(0), ALLOW};
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (!ARCHITECTURE) return -ENOSYS;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -errno;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, ALLOW_SPECULATION, &program) ? -errno : 0;
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
