"""Attempts to break out of a contained process: a table, and the program that tries its rows.

A row is a function: its name, what it tries (its sentence), what stops it, and where it is not stopped. It returns whether it
got through; an error of the system is a no. `driver.py` makes the world that they attack, and runs this file in it, by itself
and without anything of Hookline: it must run with the Python of the system.
"""

import ctypes
import errno
import fcntl
import json
import mmap
import os
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

LANDLOCK, MOUNTS, HIDDEN, ALWAYS, NOTHING = "landlock", "mounts", "hidden", "always", "nothing"
"""What stops a row: one of two layers that a machine may lack, mounts that hide secrets in the place of landlock, what holds
wherever a process is contained, or nothing: it must work."""

ANYBODY, ROOT, NOBODY = "anybody", "root", "nobody"
"""Who gets through with it when nothing contains him; with NOBODY, that would harm the machine, or depends on it."""


class Attack(NamedTuple):
    """One row of the table."""

    name: str
    run: Callable[[], object]
    stops: tuple[str, ...]
    control: str
    allowed: tuple[str, ...]
    is_inside: bool

    @property
    def tries(self) -> str:
        """What it tries, in words."""
        return (self.run.__doc__ or "").strip()


ATTACKS: dict[str, Attack] = {}


def attack(
    *stops: str, control: str = ANYBODY, allowed: tuple[str, ...] = (), is_inside: bool = False
) -> Callable[[Callable[[], object]], Callable[[], object]]:
    """Add a row: what stops it, who succeeds without containment, and at which levels it is allowed.

    What is tried inside the project is stopped by either layer where the project cannot be written at all.
    """

    def add(run: Callable[[], object]) -> Callable[[], object]:
        name = run.__name__
        ATTACKS[name] = Attack(name, run, stops or (LANDLOCK, MOUNTS), control, allowed, is_inside)
        return run

    return add


WORLD: dict[str, Any] = json.loads(sys.argv[1]) if __name__ == "__main__" else {}
LIBC = ctypes.CDLL(None, use_errno=True)
SECRET = b"the secret"
UNUSED_USER = 64242
"""The number of a user who has no processes beside those of the test."""


def call(number: int, *arguments: Any) -> int:
    """Make a system call by its number.

    Raises:
        OSError: It failed.
    """
    ctypes.set_errno(0)
    LIBC.syscall.restype = ctypes.c_long
    words = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    result = int(LIBC.syscall(ctypes.c_long(number), *words))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def victim() -> str:
    """Return the file outside that is there for the row that asks."""
    return f"{WORLD['outside']}/{sys._getframe(1).f_code.co_name}"


def own(name: str) -> str:
    """Return a path in the temporary folder of the hook."""
    return f"{os.environ['TMPDIR']}/{name}-{os.getpid()}"


def write(path: str | int, text: bytes = b"changed", flags: int = 0) -> bool:
    descriptor = os.open(path, os.O_WRONLY | flags, 0o644) if isinstance(path, str) else path
    return os.write(descriptor, text) == len(text)


def read(path: str | int) -> bool:
    """Return whether a file can be read, and holds a secret."""
    descriptor = os.open(path, os.O_RDONLY) if isinstance(path, str) else path
    return SECRET in os.read(descriptor, 100)


def open_existing(*paths: str) -> int:
    """Open the first file that exists for writing.

    Raises:
        NotImplementedError: This machine has none of them.
    """
    for path in paths:
        if os.path.exists(path):
            return os.open(path, os.O_WRONLY)
    raise NotImplementedError


# ---- files outside ----


@attack()
def write_file() -> object:
    """Write a file outside."""
    return write(victim())


@attack()
def append_to_file() -> object:
    """Append to a file outside."""
    return write(victim(), flags=os.O_APPEND)


@attack()
def truncate_file() -> object:
    """Truncate a file outside by its path."""
    os.truncate(victim(), 0)
    return True


@attack()
def open_truncating() -> object:
    """Truncate a file outside by opening it for reading only."""
    os.open(victim(), os.O_RDONLY | os.O_TRUNC)
    return True


@attack()
def create_file() -> object:
    """Create a file outside."""
    return write(victim() + ".new", flags=os.O_CREAT)


@attack()
def create_unnamed_file() -> object:
    """Create a file without a name outside, and give it one."""
    folder = os.open(WORLD["outside"], os.O_TMPFILE | os.O_WRONLY, 0o644)
    return not call(265, -100, f"/proc/self/fd/{folder}".encode(), -100, os.fsencode(victim() + ".new"), 0x400)


@attack()
def rename_file() -> object:
    """Rename a file outside."""
    os.rename(victim(), victim() + ".new")
    return True


@attack()
def replace_file() -> object:
    """Move a file of its own over one outside."""
    write(own("replace"), flags=os.O_CREAT)
    os.rename(own("replace"), victim())
    return True


@attack()
def take_file() -> object:
    """Move a file outside into its own folder."""
    os.rename(victim(), own("take"))
    return True


@attack()
def exchange_files() -> object:
    """Exchange a file of its own with one outside (renameat2)."""
    write(own("exchange"), flags=os.O_CREAT)
    call(316, -100, os.fsencode(own("exchange")), -100, os.fsencode(victim()), 2)
    return True


@attack()
def unlink_file() -> object:
    """Delete a file outside."""
    os.unlink(victim())
    return True


@attack()
def make_folder() -> object:
    """Make a folder outside."""
    os.mkdir(victim() + ".new")
    return True


@attack()
def remove_folder() -> object:
    """Remove a folder outside."""
    os.rmdir(WORLD["outside"] + "/empty")
    return True


@attack()
def make_symlink() -> object:
    """Make a symbolic link outside."""
    os.symlink("/", victim() + ".new")
    return True


@attack()
def make_hard_link() -> object:
    """Make a hard link outside."""
    os.link(victim(), victim() + ".new")
    return True


@attack()
def take_hard_link() -> object:
    """Make a hard link to a file outside in its own folder, and write through it."""
    os.link(victim(), own("link"))
    return write(own("link"))


@attack()
def make_fifo() -> object:
    """Make a named pipe outside."""
    os.mkfifo(victim() + ".new")
    return True


@attack(LANDLOCK)
def write_fifo() -> object:
    """Write into a named pipe of another program."""
    return write(WORLD["fifo"], b"w", os.O_NONBLOCK)


@attack()
def write_through_own_symlink() -> object:
    """Write a file outside through a symbolic link that it made."""
    os.symlink(victim(), own("sym"))
    return write(own("sym"))


@attack()
def write_through_project_symlink() -> object:
    """Write a file outside through a symbolic link that is in the project."""
    return write(WORLD["project"] + "/leads-out/write_through_project_symlink")


@attack()
def write_through_process_root() -> object:
    """Write a file outside through /proc/self/root."""
    return write(f"/proc/self/root{victim()}")


@attack()
def write_through_process_folder() -> object:
    """Write a file outside through /proc/self/cwd/.. ."""
    return write("/proc/self/cwd/../outside/write_through_process_folder")


@attack()
def write_through_parent_root() -> object:
    """Write a file outside through /proc/PPID/root of the engine."""
    return write(f"/proc/{WORLD['engine']}/root{victim()}")


@attack()
def reopen_path_descriptor() -> object:
    """Open a file outside as a path only, and again for writing through /proc/self/fd."""
    return write(f"/proc/self/fd/{os.open(victim(), os.O_PATH)}")


@attack()
def reopen_read_descriptor() -> object:
    """Open a file outside for reading, and again for writing through /dev/fd."""
    return write(f"/dev/fd/{os.open(victim(), os.O_RDONLY)}")


@attack()
def write_relative_to_folder() -> object:
    """Write a file outside relative to the descriptor of its folder."""
    folder = os.open(WORLD["outside"], os.O_PATH | os.O_DIRECTORY)
    return write(os.open("write_relative_to_folder", os.O_WRONLY, dir_fd=folder))


@attack()
def map_file_shared() -> object:
    """Change a file outside through memory."""
    file = os.open(victim(), os.O_RDWR)
    mmap.mmap(file, 6)[0:1] = b"X"
    return True


@attack()
def write_from_shell() -> object:
    """Have a shell write a file outside."""
    return not subprocess.run(["sh", "-c", 'echo changed >"$0"', victim()], stderr=-3, check=False).returncode


@attack()
def write_from_memory_program() -> object:
    """Run a program that exists in memory only (memfd, fexecve), and have it write outside."""
    memory = os.memfd_create("program", 0)
    os.write(memory, f"#!/bin/sh\necho changed >{victim()}\n".encode())
    return not subprocess.run([f"/proc/self/fd/{memory}"], pass_fds=[memory], stderr=-3, check=False).returncode


@attack()
def write_after_execveat() -> object:
    """Run a program by its descriptor (execveat), and have it write outside."""
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        words = (ctypes.c_char_p * 4)(b"sh", b"-c", f"echo changed >{victim()}".encode(), None)
        call(322, os.open("/bin/sh", os.O_PATH), b"", words, None, 0x1000)
        os._exit(1)
    return not os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@attack(MOUNTS)
def change_mode() -> object:
    """Change the mode of a file outside."""
    os.chmod(victim(), 0o777)
    return True


@attack(MOUNTS)
def change_mode_newer() -> object:
    """Change the mode of a file outside (fchmodat2)."""
    call(452, -100, os.fsencode(victim()), 0o777, 0)
    return True


@attack(MOUNTS)
def change_owner() -> object:
    """Change the owner of a file outside, to the one that it has."""
    os.chown(victim(), os.getuid(), os.getgid())
    return True


@attack(MOUNTS)
def change_times() -> object:
    """Change the times of a file outside."""
    os.utime(victim(), (1, 1))
    return True


@attack(MOUNTS)
def set_attribute() -> object:
    """Set an extended attribute of a file outside."""
    os.setxattr(victim(), "user.changed", b"1")
    return True


@attack(MOUNTS)
def set_flags() -> object:
    """Set a flag of a file outside, as chattr does."""
    file = os.open(victim(), os.O_RDONLY)
    flags = struct.unpack("l", fcntl.ioctl(file, 0x80086601, b"\0" * 8))[0]
    fcntl.ioctl(file, 0x40086602, struct.pack("l", flags | 0x80))  # no access times
    return True


@attack()
def write_spool() -> object:
    """Plant a job for cron, at or systemd, with a program that writes where those do."""
    return not subprocess.run([WORLD["crontab"]], stderr=-3, check=False).returncode


@attack()
def write_own_configuration() -> object:
    """Write Hookline's own configuration."""
    return write(WORLD["protected"] + "/hookline.toml")


@attack()
def write_shell_profile() -> object:
    """Append to the profile that the user's shell runs."""
    return write(WORLD["home"] + "/.profile", flags=os.O_APPEND)


# ---- secrets ----


@attack()
def read_key() -> object:
    """Read an SSH key."""
    return read(WORLD["key"])


@attack()
def list_keys() -> object:
    """List the folder of the SSH keys."""
    return os.listdir(WORLD["home"] + "/.ssh")


@attack()
def read_key_from_shell() -> object:
    """Have a program read an SSH key."""
    return SECRET in subprocess.run(["cat", WORLD["key"]], capture_output=True, check=False).stdout


@attack()
def read_through_earlier_symlink() -> object:
    """Read an SSH key through a symbolic link in the project."""
    return read(WORLD["project"] + "/key")


@attack()
def read_through_own_symlink() -> object:
    """Read an SSH key through a symbolic link that it made."""
    os.symlink(WORLD["key"], own("sym"))
    return read(own("sym"))


@attack()
def read_through_own_hard_link() -> object:
    """Read an SSH key through a hard link that it made."""
    os.link(WORLD["key"], own("hard"))
    return read(own("hard"))


@attack()
def read_moved_key() -> object:
    """Move the folder of the keys elsewhere in the home folder, and read there."""
    os.rename(WORLD["home"] + "/.gnupg", WORLD["home"] + "/moved")
    return read(WORLD["home"] + "/moved/ring")


@attack()
def read_through_process_root() -> object:
    """Read an SSH key through /proc/self/root."""
    return read(f"/proc/self/root{WORLD['key']}")


@attack()
def read_through_thread_root() -> object:
    """Read an SSH key through the root of its thread."""
    return read(f"/proc/thread-self/root{WORLD['key']}")


@attack()
def read_through_process_folder() -> object:
    """Read an SSH key through /proc/self/cwd/.. ."""
    return read("/proc/self/cwd/../home/.ssh/id_rsa")


@attack()
def read_through_parent_root() -> object:
    """Read an SSH key through /proc/PPID/root of the engine."""
    return read(f"/proc/{WORLD['engine']}/root{WORLD['key']}")


@attack()
def read_through_sibling_folder() -> object:
    """Read an SSH key through /proc/PID/cwd of a process that works in its folder."""
    return read(f"/proc/{WORLD['sibling']}/cwd/id_rsa")


@attack()
def read_reopened_path() -> object:
    """Open an SSH key as a path only, and again for reading."""
    return read(f"/proc/self/fd/{os.open(WORLD['key'], os.O_PATH)}")


@attack(ALWAYS, control=ROOT)
def read_by_handle() -> object:
    """Open an SSH key by its handle."""
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + b"\0" * 128)
    call(303, -100, os.fsencode(WORLD["key"]), handle, ctypes.byref(ctypes.c_int()), 0)
    return read(call(304, os.open(WORLD["home"], os.O_RDONLY), handle, os.O_RDONLY))


@attack()
def execute_key() -> object:
    """Execute what lies with the SSH keys, which prints itself."""
    return (
        SECRET
        in subprocess.run(["sh", "-c", ". " + WORLD["home"] + "/.ssh/script"], capture_output=True, check=False).stdout
    )


@attack()
def read_history() -> object:
    """Read the history of the shell."""
    return read(WORLD["home"] + "/.bash_history")


@attack()
def read_own_configuration() -> object:
    """Read Hookline's own folder."""
    return read(WORLD["protected"] + "/approvals")


@attack(control=ROOT)
def read_passwords() -> object:
    """Read the passwords of the machine."""
    return os.read(os.open("/etc/shadow", os.O_RDONLY), 10)


@attack()
def read_through_other_mount() -> object:
    """Read an SSH key where the same file system is mounted a second time."""
    if not WORLD["second_mount"]:
        raise NotImplementedError
    return read(WORLD["second_mount"] + "/.ssh/id_rsa")


@attack()
def read_environment_of_engine() -> object:
    """Read the variables of the engine."""
    with open(f"/proc/{WORLD['engine']}/environ", "rb") as file:
        return SECRET in file.read()


@attack()
def read_descriptor_of_engine() -> object:
    """Read what the engine has open, through /proc/PPID/fd."""
    return read(f"/proc/{WORLD['engine']}/fd/{WORLD['descriptor']}")


@attack()
def name_descriptor_of_engine() -> object:
    """Find out which files the engine has open."""
    return os.readlink(f"/proc/{WORLD['engine']}/fd/{WORLD['descriptor']}")


@attack()
def read_memory_of_engine() -> object:
    """Read the memory of the engine through /proc/PPID/mem."""
    memory = os.open(f"/proc/{WORLD['engine']}/mem", os.O_RDONLY)
    return SECRET in os.pread(memory, 10, WORLD["address"])


@attack()
def read_map_of_engine() -> object:
    """Read the map of the engine's memory."""
    with open(f"/proc/{WORLD['engine']}/maps", "rb") as file:
        return file.read(10)


@attack(ALWAYS, control=NOBODY)
def read_inherited_descriptor() -> object:
    """Read any descriptor that the engine forgot to close."""
    found = False
    for number in range(3, 256):
        try:
            os.lseek(number, 0, 0)
            found |= SECRET in os.read(number, 100)
        except OSError:
            continue
    return found


@attack(ALWAYS, control=NOBODY)
def inherit_anything() -> object:
    """Find any open descriptor beside the three streams."""
    return WORLD["open"] - {0, 1, 2}


# ---- other processes ----


@attack(ALWAYS)
def attach_to_engine() -> object:
    """Attach to the engine as a debugger."""
    return not call(101, 0x4206, WORLD["engine"], 0, 0)  # PTRACE_SEIZE


@attack(ALWAYS)
def read_engine_memory_by_call() -> object:
    """Read the memory of the engine (process_vm_readv)."""
    buffer = ctypes.create_string_buffer(10)
    mine = struct.pack("QQ", ctypes.addressof(buffer), 10)
    call(310, WORLD["engine"], mine, 1, struct.pack("QQ", WORLD["address"], 10), 1, 0)
    return buffer.raw == SECRET


@attack(ALWAYS)
def write_engine_memory() -> object:
    """Write the memory of the engine (process_vm_writev)."""
    buffer = ctypes.create_string_buffer(SECRET, 10)
    mine = struct.pack("QQ", ctypes.addressof(buffer), 10)
    return call(311, WORLD["engine"], mine, 1, struct.pack("QQ", WORLD["address"], 10), 1, 0) == 10


@attack(ALWAYS)
def take_descriptor_of_engine() -> object:
    """Take a descriptor of the engine (pidfd_getfd)."""
    return read(call(438, call(434, WORLD["engine"], 0), WORLD["descriptor"], 0))


@attack(ALWAYS)
def move_memory_of_engine() -> object:
    """Ask where the memory of the engine lies, or move it to another node (move_pages)."""
    pages = struct.pack("Q", WORLD["address"] & ~4095)
    return not call(279, WORLD["engine"], 1, pages, None, ctypes.create_string_buffer(4), 0)


@attack(ALWAYS)
def compare_with_engine() -> object:
    """Compare what it has open with the engine (kcmp)."""
    return call(312, os.getpid(), WORLD["engine"], 0, 1, WORLD["descriptor"]) >= 0


@attack(ALWAYS, control=NOBODY)
def advise_engine_memory() -> object:
    """Have the memory of the engine paged out (process_madvise)."""
    part = struct.pack("QQ", WORLD["address"] & ~4095, 4096)
    return call(440, call(434, WORLD["engine"], 0), part, 1, 21, 0) >= 0


@attack(LANDLOCK)
def kill_engine() -> object:
    """Send a signal to the engine."""
    os.kill(WORLD["engine"], signal.SIGUSR1)
    return True


@attack(LANDLOCK)
def kill_thread_of_engine() -> object:
    """Send a signal to a thread of the engine (tgkill)."""
    return not call(234, WORLD["engine"], WORLD["engine"], signal.SIGUSR1)


@attack(LANDLOCK)
def kill_thread_of_engine_older() -> object:
    """Send a signal to a thread of the engine (tkill)."""
    return not call(200, WORLD["engine"], signal.SIGUSR1)


@attack(LANDLOCK)
def queue_signal_to_engine() -> object:
    """Send a signal with a value to the engine (rt_sigqueueinfo)."""
    info = struct.pack("iii", signal.SIGUSR1, 0, -1) + b"\0" * 116
    return not call(129, WORLD["engine"], signal.SIGUSR1, info)


@attack(LANDLOCK)
def kill_engine_by_descriptor() -> object:
    """Send a signal to the engine through a descriptor of it (pidfd_send_signal)."""
    signal.pidfd_send_signal(os.pidfd_open(WORLD["engine"]), signal.SIGUSR1)
    return True


@attack(LANDLOCK)
def kill_sibling() -> object:
    """End another process of the user."""
    os.kill(WORLD["victims"]["kill_sibling"], signal.SIGKILL)
    return True


@attack(ALWAYS, control=NOBODY)
def kill_everything() -> object:
    """Send a signal to every process (kill -1), one that ends nobody."""
    os.kill(-1, 0)
    return True


@attack(LANDLOCK)
def kill_by_owner_of_descriptor() -> object:
    """Have the kernel end another process when a pipe can be read (F_SETOWN, F_SETSIG)."""
    other = WORLD["victims"]["kill_by_owner_of_descriptor"]
    read_end, write_end = os.pipe()
    fcntl.fcntl(read_end, 10, signal.SIGKILL)  # F_SETSIG
    fcntl.fcntl(read_end, fcntl.F_SETOWN, other)
    fcntl.fcntl(read_end, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    os.write(write_end, b"x")
    for _ in range(50):
        with open(f"/proc/{other}/stat", "rb") as file:
            if file.read().rpartition(b") ")[2][:1] in b"ZX":
                return True
        time.sleep(0.001)
    return False


@attack(ALWAYS)
def lower_priority_of_sibling() -> object:
    """Lower the priority of another process."""
    os.setpriority(os.PRIO_PROCESS, WORLD["sibling"], 5)
    return True


@attack(ALWAYS, control=NOBODY)
def lower_priority_of_user() -> object:
    """Set the priority of every process of a user; of one who has no process, where it would harm."""
    try:
        os.setpriority(os.PRIO_USER, 0 if os.getuid() == UNUSED_USER else UNUSED_USER + 1, 10)
    except OSError as problem:
        return problem.errno != errno.EPERM
    return True


@attack(ALWAYS)
def lower_disk_priority_of_sibling() -> object:
    """Lower the disk priority of another process (ioprio_set)."""
    return not call(251, 1, WORLD["sibling"], 3 << 13)


@attack(ALWAYS)
def bind_sibling_to_processor() -> object:
    """Bind another process to one processor (sched_setaffinity)."""
    os.sched_setaffinity(WORLD["sibling"], {min(os.sched_getaffinity(0))})
    return len(os.sched_getaffinity(WORLD["sibling"])) == 1


@attack(ALWAYS)
def schedule_sibling() -> object:
    """Have another process run only when nothing else does (sched_setscheduler)."""
    os.sched_setscheduler(WORLD["victims"]["schedule_sibling"], os.SCHED_IDLE, os.sched_param(0))
    return os.sched_getscheduler(WORLD["victims"]["schedule_sibling"]) == os.SCHED_IDLE


@attack(ALWAYS)
def schedule_sibling_newer() -> object:
    """Have another process run only when nothing else does (sched_setattr)."""
    other = WORLD["victims"]["schedule_sibling_newer"]
    call(314, other, struct.pack("IIQiIQQQ", 48, os.SCHED_IDLE, 0, 0, 0, 0, 0, 0), 0)
    return os.sched_getscheduler(other) == os.SCHED_IDLE


@attack(ALWAYS)
def limit_engine() -> object:
    """Set a limit of another process (prlimit), which ends it."""
    call(302, WORLD["victims"]["limit_engine"], 0, struct.pack("QQ", 1, 1), None)
    return True


@attack(ALWAYS)
def read_shared_memory() -> object:
    """Attach to the shared memory of another program."""
    LIBC.shmat.restype = ctypes.c_void_p
    address = LIBC.shmat(WORLD["shared_memory"], None, 0)
    return address not in {None, 2**64 - 1} and ctypes.string_at(address, 10) == SECRET


@attack()
def read_shared_file() -> object:
    """Read the shared memory of another program (POSIX)."""
    return read(WORLD["shared_file"])


@attack()
def write_shared_file() -> object:
    """Write the shared memory of another program (POSIX)."""
    return write(WORLD["shared_file"], SECRET)


@attack(ALWAYS)
def take_message() -> object:
    """Take a message out of the queue of another program (System V)."""
    buffer = ctypes.create_string_buffer(64)
    call(70, WORLD["message_queue"], buffer, 32, 0, 0o4000)
    return SECRET in buffer.raw


@attack(ALWAYS)
def change_semaphore() -> object:
    """Change a semaphore of another program (System V)."""
    return not call(65, WORLD["semaphore"], struct.pack("Hhh", 0, 1, 0), 1)


@attack(ALWAYS)
def open_posix_queue() -> object:
    """Open the message queue of another program (POSIX)."""
    return call(240, WORLD["posix_queue"].encode(), os.O_RDWR, 0, None) >= 0


@attack()
def score_engine_for_ending() -> object:
    """Have the kernel end another process first when memory is short."""
    return write(f"/proc/{WORLD['sibling']}/oom_score_adj", b"1000")


# ---- the kernel ----


@attack(ALWAYS, control=NOBODY)
def bind_mount() -> object:
    """Mount a folder outside in its own one."""
    os.mkdir(own("mount"))
    return not call(165, os.fsencode(WORLD["outside"]), os.fsencode(own("mount")), None, 4096, None)


@attack(ALWAYS, control=NOBODY)
def mount_overlay() -> object:
    """Mount an overlay over the home folder."""
    return not call(165, b"overlay", os.fsencode(WORLD["home"]), b"overlay", 0, b"lowerdir=/etc:/usr")


@attack(ALWAYS, control=NOBODY)
def remount_writable() -> object:
    """Mount everything writable again."""
    return not call(165, b"none", b"/", None, 4096 | 32, None)


@attack(ALWAYS, control=NOBODY)
def unmount() -> object:
    """Unmount what hides something."""
    return not call(166, os.fsencode(WORLD["home"] + "/.ssh"), 2)


@attack(ALWAYS, control=NOBODY)
def set_mount_attributes() -> object:
    """Mount everything writable again (mount_setattr)."""
    return not call(442, -100, b"/", 0x8000, struct.pack("QQQQ", 0, 1, 0, 0), 32)


@attack(ALWAYS, control=ROOT)
def copy_mount() -> object:
    """Copy a mount (open_tree)."""
    return call(428, -100, b"/", 1)


@attack(ALWAYS, control=ROOT)
def open_file_system() -> object:
    """Make a file system (fsopen)."""
    return call(430, b"tmpfs", 0)


@attack(ALWAYS)
def leave_by_user_namespace() -> object:
    """Become root in a user namespace of its own."""
    return not call(272, 0x10000000)


@attack(ALWAYS, control=ROOT)
def unshare_mounts() -> object:
    """Make a mount namespace."""
    return not call(272, 0x20000)


@attack(ALWAYS, control=ROOT)
def unshare_network() -> object:
    """Make a network namespace."""
    return not call(272, 0x40000000)


@attack(ALWAYS, control=ROOT)
def unshare_processes() -> object:
    """Make a process namespace."""
    return not call(272, 0x20000000)


@attack(ALWAYS)
def clone_into_namespace() -> object:
    """Start a process in a user namespace (clone)."""
    child = call(56, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if not child:
        os._exit(0)
    return child


@attack(ALWAYS)
def clone_newer_into_namespace() -> object:
    """Start a process in a user namespace (clone3), whose flags no filter sees."""
    child = call(435, struct.pack("QQQQQQQQ", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0), 64)
    if not child:
        os._exit(0)
    return child


@attack(ALWAYS, control=ROOT)
def enter_namespace_of_engine() -> object:
    """Enter the mount namespace of the engine."""
    return not call(308, os.open(f"/proc/{WORLD['engine']}/ns/mnt", os.O_RDONLY), 0)


@attack(ALWAYS, control=NOBODY)
def enter_own_namespace_by_descriptor() -> object:
    """Enter all namespaces of a process by its descriptor (setns of a pidfd)."""
    return not call(308, os.pidfd_open(WORLD["engine"]), 0x20000)


@attack(ALWAYS, control=ROOT)
def change_root() -> object:
    """Change its root."""
    os.chroot("/")
    return True


@attack(ALWAYS, control=NOBODY)
def pivot_root() -> object:
    """Exchange the root of its mounts."""
    return not call(155, b"/", b"/")


@attack(ALWAYS, control=NOBODY)
def use_ring() -> object:
    """Set up io_uring, whose requests pass no filter."""
    return call(425, 8, ctypes.create_string_buffer(120))


@attack(ALWAYS, control=NOBODY)
def load_program_into_kernel() -> object:
    """Load a program into the kernel (bpf)."""
    return call(321, 0, struct.pack("IIII", 2, 4, 4, 1) + b"\0" * 112, 128)


@attack(ALWAYS, control=NOBODY)
def handle_page_faults() -> object:
    """Handle page faults of the kernel (userfaultfd)."""
    return call(323, 0)


@attack(ALWAYS, control=NOBODY)
def watch_performance() -> object:
    """Measure another process (perf_event_open)."""
    return call(298, struct.pack("IIQ", 1, 112, 0) + b"\0" * 96, WORLD["engine"], -1, -1, 0)


@attack(ALWAYS)
def use_keyring() -> object:
    """Find the keys of the user's session."""
    return call(250, 0, -3, 1)


@attack(ALWAYS)
def add_key() -> object:
    """Store a key in the kernel."""
    return call(248, b"user", b"hookline-test", b"x", 1, -1)


@attack(ALWAYS, control=NOBODY)
def trace_files() -> object:
    """Watch every file that is opened (fanotify)."""
    return call(300, 0, 0) >= 0


@attack(ALWAYS, control=NOBODY)
def set_quota() -> object:
    """Ask for the quota of a file system (quotactl_fd)."""
    try:
        call(443, os.open(os.environ["TMPDIR"], os.O_RDONLY), 0x80000700, 0, ctypes.create_string_buffer(256))
    except OSError as problem:
        return problem.errno != errno.EPERM
    return True


@attack(ALWAYS, control=NOBODY)
def set_clock() -> object:
    """Set the clock of the machine."""
    time.clock_settime(time.CLOCK_REALTIME, time.time())
    return True


@attack(ALWAYS, control=ROOT)
def set_host_name() -> object:
    """Set the name of the machine, to the one that it has."""
    socket.sethostname(socket.gethostname())
    return True


@attack(ALWAYS, control=ROOT)
def read_kernel_log() -> object:
    """Read the log of the kernel (syslog)."""
    return call(103, 10, None, 0)


@attack(ALWAYS, control=NOBODY)
def load_module() -> object:
    """Load a module into the kernel."""
    return not call(313, os.open(sys.argv[0], os.O_RDONLY), b"", 0)


@attack(ALWAYS, control=NOBODY)
def forbid_restart() -> object:
    """Change how the machine restarts."""
    return not call(169, 0xFEE1DEAD, 672274793, 0, None)


@attack(ALWAYS, control=NOBODY)
def use_ports_of_processor() -> object:
    """Reach the ports of the processor (ioperm)."""
    return not call(173, 0x80, 1, 1)


@attack(ALWAYS, control=ROOT)
def make_disk_device() -> object:
    """Make a device that is the disk of the machine."""
    os.mknod(own("disk"), stat.S_IFBLK | 0o600, os.stat("/").st_dev)
    return True


@attack(ALWAYS, control=ROOT)
def make_memory_device() -> object:
    """Make a device that is the memory of the machine."""
    os.mknod(own("memory"), stat.S_IFCHR | 0o600, os.makedev(1, 1))
    return True


@attack(control=NOBODY)
def read_disk() -> object:
    """Read the disk of the machine, with every secret on it."""
    if not WORLD["disk"]:
        raise NotImplementedError
    return os.read(os.open(WORLD["disk"], os.O_RDONLY), 512)


@attack(control=NOBODY)
def write_disk() -> object:
    """Open the disk of the machine for writing."""
    return open_existing(WORLD["disk"])


@attack(control=NOBODY)
def read_memory_device() -> object:
    """Open the memory of the machine."""
    return os.open("/dev/mem", os.O_RDONLY)


@attack(control=ROOT)
def write_kernel_log() -> object:
    """Open the log of the kernel for writing."""
    return os.open("/dev/kmsg", os.O_WRONLY)


@attack(control=ROOT)
def open_system_requests() -> object:
    """Open /proc/sysrq-trigger for writing, which can restart the machine."""
    return open_existing("/proc/sysrq-trigger")


@attack(control=ROOT)
def set_core_pattern() -> object:
    """Open the program that runs as root when another crashes, for writing."""
    return open_existing("/proc/sys/kernel/core_pattern")


@attack(control=ROOT)
def write_kernel_settings() -> object:
    """Open a setting of the kernel below /sys for writing."""
    return open_existing(
        "/sys/kernel/uevent_helper", "/sys/kernel/profiling", "/sys/kernel/mm/ksm/run", "/sys/power/state"
    )


@attack(control=ROOT)
def leave_control_group() -> object:
    """Open the control group at the top for writing, to leave that of the agent."""
    return open_existing("/sys/fs/cgroup/unified/cgroup.procs", "/sys/fs/cgroup/cgroup.procs")


@attack(ALWAYS, control=ROOT)
def become_another_user() -> object:
    """Become another user."""
    os.setresuid(4242, 4242, 4242)
    return True


@attack(ALWAYS, control=ROOT)
def join_group() -> object:
    """Join another group of users."""
    os.setgroups([4242])
    return True


@attack(ALWAYS, control=NOBODY)
def regain_capabilities() -> object:
    """Have rights of root again after it executes a program."""
    with open("/proc/self/status", encoding="utf-8") as file:
        held = next(int(line.split()[1], 16) for line in file if line.startswith("CapEff"))
    return held & ~0b1011


@attack(ALWAYS)
def run_setuid_program() -> object:
    """Run a program that runs as its owner."""
    if not WORLD["setuid"]:
        raise NotImplementedError
    found = subprocess.run([WORLD["setuid"], "-u"], capture_output=True, check=False).stdout
    return found.strip() not in {b"", str(os.getuid()).encode()}


@attack(ALWAYS, control=NOBODY)
def preload_into_setuid_program() -> object:
    """Have a program that runs as its owner load a library (LD_PRELOAD)."""
    found = subprocess.run(
        [WORLD["setuid"] or "/bin/true", "-u"], capture_output=True, check=False, env={"LD_PRELOAD": own("library")}
    )
    return found.stdout.strip() not in {b"", str(os.getuid()).encode()}


@attack(ALWAYS, control=ROOT)
def switch_user() -> object:
    """Have su start a shell as another user."""
    line = ["su", "-s", "/bin/sh", "-c", "id -u", "nobody"]
    return subprocess.run(line, capture_output=True, check=False, stdin=-3).stdout.strip() == b"65534"


@attack(ALWAYS)
def make_setuid_program() -> object:
    """Leave a program in its folder that runs as its owner, for anybody."""
    write(own("setuid"), flags=os.O_CREAT)
    os.chmod(own("setuid"), 0o4755)
    return True


@attack(ALWAYS)
def make_setuid_program_newer() -> object:
    """Leave a program in its folder that runs as its owner, for anybody (fchmodat2)."""
    write(own("setuid"), flags=os.O_CREAT)
    return not call(452, -100, os.fsencode(own("setuid")), 0o4755, 0)


@attack(ALWAYS, control=ROOT)
def write_created_setuid_program() -> object:
    """Create a file that runs as its owner, and then write the program."""
    path = own("created")
    os.umask(0)
    os.write(os.open(path, os.O_CREAT | os.O_WRONLY, 0o4755), b"program")
    return os.stat(path).st_mode & stat.S_ISUID


# ---- terminals ----


def _terminal() -> int:
    return os.open(WORLD["terminal"], os.O_RDWR | os.O_NOCTTY)


@attack(control=ANYBODY)
def open_terminal() -> object:
    """Open the terminal of the agent."""
    return _terminal()


@attack(control=ANYBODY)
def open_controlling_terminal() -> object:
    """Open the terminal that controls the agent (/dev/tty)."""
    return os.open("/dev/tty", os.O_RDWR)


@attack(ALWAYS, control=NOBODY)
def type_into_terminal() -> object:
    """Type a command into a terminal (TIOCSTI)."""
    _leader, follower = os.openpty()
    fcntl.ioctl(follower, 0x5412, b"x")
    return True


def _try_ioctl(number: int) -> object:
    """Return whether an ioctl reaches the kernel; it refuses with another error where it does."""
    try:
        call(16, os.pipe()[0], number, b"x")
    except OSError as problem:
        return problem.errno != errno.EPERM
    return True


@attack(ALWAYS)
def type_by_number() -> object:
    """Reach TIOCSTI."""
    return _try_ioctl(0x5412)


@attack(ALWAYS)
def type_by_high_number() -> object:
    """Reach TIOCSTI with bits that the kernel does not look at."""
    return _try_ioctl(0x5412 | 1 << 32)


@attack(ALWAYS)
def use_console() -> object:
    """Reach TIOCLINUX, which pastes what was selected."""
    return _try_ioctl(0x541C)


@attack(ALWAYS)
def use_console_by_high_number() -> object:
    """Reach TIOCLINUX with bits that the kernel does not look at."""
    return _try_ioctl(0x541C | 7 << 40)


# ---- other tables of system calls ----


def _call_i386(number: int, *arguments: int) -> int:
    """Make a system call of a 32-bit program: `int 0x80`."""
    if os.uname().machine != "x86_64":
        raise NotImplementedError
    code = mmap.mmap(-1, 4096, prot=7)
    # push rbx; mov eax, edi; mov ebx, esi; mov ecx, edx; mov edx, r8d (fourth: r10 is not used); int 0x80; pop rbx; ret
    code.write(b"\x53\x89\xf8\x89\xf3\x89\xd1\x44\x89\xc2\xcd\x80\x5b\xc3")
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    return int(
        ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_int] * 5)(address)(number, *arguments, *[0] * (4 - len(arguments)))
    )


@attack(ALWAYS)
def open_socket_as_32_bit_program() -> object:
    """Open a socket by the system call of 32-bit programs."""
    return _call_i386(359, socket.AF_INET, socket.SOCK_STREAM) >= 0


@attack(ALWAYS)
def unshare_as_32_bit_program() -> object:
    """Make a user namespace by the system call of 32-bit programs."""
    return _call_i386(310, 0x10000000) >= 0


@attack(ALWAYS, control=NOBODY)
def open_socket_as_x32_program() -> object:
    """Open a socket by the system call of x32 programs."""
    return call(0x40000000 | 41, socket.AF_INET, socket.SOCK_STREAM, 0) >= 0


@attack(ALWAYS, control=NOBODY)
def trace_as_x32_program() -> object:
    """Attach to the engine by the system call of x32 programs."""
    return not call(0x40000000 | 521, 0x4206, WORLD["engine"], 0, 0)


# ---- the network, and other programs ----


def _connect(family: int, kind: int, address: Any) -> object:
    with socket.socket(family, kind) as one:
        one.settimeout(5)
        if kind == socket.SOCK_DGRAM:
            return one.sendto(b"out", address)
        one.connect(address)
        return True


@attack(ALWAYS)
def connect() -> object:
    """Connect to a server."""
    return _connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", WORLD["tcp"]))


@attack(ALWAYS)
def connect_version_6() -> object:
    """Connect to a server through IPv6."""
    if not WORLD["tcp6"]:
        raise NotImplementedError
    return _connect(socket.AF_INET6, socket.SOCK_STREAM, ("::1", WORLD["tcp6"]))


@attack(ALWAYS)
def connect_from_shell() -> object:
    """Have bash connect to a server."""
    line = f"exec 3<>/dev/tcp/127.0.0.1/{WORLD['tcp']}"
    return not subprocess.run(["bash", "-c", line], stderr=-3, check=False).returncode


@attack(ALWAYS)
def send_datagram() -> object:
    """Send a datagram, as a question for a name would be."""
    return _connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", WORLD["udp"]))


@attack(ALWAYS, control=NOBODY)
def send_datagram_version_6() -> object:
    """Send a datagram through IPv6."""
    return _connect(socket.AF_INET6, socket.SOCK_DGRAM, ("::1", WORLD["udp"]))


@attack(ALWAYS, control=NOBODY)
def resolve_name() -> object:
    """Resolve a name, which tells it to a server."""
    return socket.getaddrinfo("escape.hookline.invalid", 80)


@attack(ALWAYS, control=NOBODY)
def connect_by_multipath() -> object:
    """Connect by MPTCP, which older rules for TCP do not see."""
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)


@attack(ALWAYS)
def listen() -> object:
    """Wait for connections."""
    with socket.create_server(("127.0.0.1", 0)):
        return True


@attack(ALWAYS, control=ROOT)
def open_raw_socket() -> object:
    """Send packets of any kind."""
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)


@attack(ALWAYS, control=NOBODY)
def open_packet_socket() -> object:
    """Read packets of the network card."""
    return socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)


@attack(ALWAYS)
def open_netlink_socket() -> object:
    """Talk to the kernel about its network."""
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)


@attack(ALWAYS, control=NOBODY)
def open_machine_socket() -> object:
    """Talk to the host of a virtual machine."""
    return socket.socket(40, socket.SOCK_STREAM, 0)


@attack(ALWAYS, control=NOBODY)
def open_crypto_socket() -> object:
    """Use the ciphers of the kernel."""
    return socket.socket(38, socket.SOCK_SEQPACKET, 0)


@attack(ALWAYS)
def connect_to_docker() -> object:
    """Connect to the Unix socket of a service that does what it is told, as docker does."""
    return _connect(socket.AF_UNIX, socket.SOCK_STREAM, WORLD["socket"])


@attack(ALWAYS)
def connect_to_abstract_socket() -> object:
    """Connect to an abstract Unix socket, which no file guards."""
    return _connect(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + WORLD["abstract"])


@attack(ALWAYS)
def connect_to_session_bus() -> object:
    """Connect to the D-Bus of the session, at the address that services give away."""
    return _connect(socket.AF_UNIX, socket.SOCK_STREAM, WORLD["bus"])


@attack(ALWAYS)
def send_to_log() -> object:
    """Send a datagram to a Unix socket, as to the system log."""
    return _connect(socket.AF_UNIX, socket.SOCK_DGRAM, WORLD["log"])


@attack(ALWAYS)
def send_to_log_through_pair() -> object:
    """Send a datagram to a Unix socket from one of a pair of sockets, for which none has to be opened."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"out", WORLD["log"])


@attack(ALWAYS)
def send_to_log_through_raw_pair() -> object:
    """Send a datagram from a pair of the kind SOCK_RAW, which the kernel makes one of datagrams."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)[0].sendto(b"out", WORLD["log"])


# ---- the project ----


@attack(allowed=("project",))
def write_project() -> object:
    """Write a file of the project."""
    return write(WORLD["project"] + "/main.py")


@attack(MOUNTS, is_inside=True)
def plant_git_hook() -> object:
    """Write a hook that git runs outside of any containment."""
    return write(WORLD["project"] + "/.git/hooks/pre-commit", flags=os.O_CREAT)


@attack(MOUNTS, is_inside=True)
def change_git_settings() -> object:
    """Append to the settings of git, which name programs."""
    return write(WORLD["project"] + "/.git/config", flags=os.O_APPEND)


@attack(MOUNTS, is_inside=True)
def replace_git_settings() -> object:
    """Move a file over the settings of git."""
    write(WORLD["project"] + "/.git/new", flags=os.O_CREAT)
    os.rename(WORLD["project"] + "/.git/new", WORLD["project"] + "/.git/config")
    return True


@attack(MOUNTS, is_inside=True)
def change_agent_settings() -> object:
    """Write the settings of the agent."""
    return write(WORLD["project"] + "/.claude/settings.json")


@attack(MOUNTS, is_inside=True)
def plant_agent_settings() -> object:
    """Make a file among the settings of the agent."""
    return write(WORLD["project"] + "/.claude/settings.local.json", flags=os.O_CREAT)


@attack(MOUNTS, is_inside=True)
def move_agent_settings() -> object:
    """Move the settings of the agent away."""
    os.rename(WORLD["project"] + "/.claude", WORLD["project"] + "/moved")
    return True


@attack(MOUNTS, is_inside=True)
def delete_servers() -> object:
    """Delete the list of the agent's servers."""
    os.unlink(WORLD["project"] + "/.mcp.json")
    return True


@attack(MOUNTS, is_inside=True)
def change_linked_settings() -> object:
    """Write the settings of an agent through the link that the project has for them."""
    return write(WORLD["project"] + "/.cursor/hooks.json")


@attack(MOUNTS, is_inside=True)
def change_settings_behind_link() -> object:
    """Write the settings of an agent where the link of the project leads to."""
    return write(WORLD["project"] + "/dotfiles/cursor/hooks.json")


@attack(MOUNTS, is_inside=True)
def move_settings_behind_link() -> object:
    """Move the folder away that the link of the project leads to, and put another there."""
    os.rename(WORLD["project"] + "/dotfiles", WORLD["project"] + "/dotfiles-moved")
    os.makedirs(WORLD["project"] + "/dotfiles/cursor")
    return write(WORLD["project"] + "/dotfiles/cursor/hooks.json", flags=os.O_CREAT)


@attack(MOUNTS, is_inside=True)
def replace_link_to_settings() -> object:
    """Remove the link to the settings of an agent, and make a folder in its place."""
    os.unlink(WORLD["project"] + "/.cursor")
    os.mkdir(WORLD["project"] + "/.cursor")
    return write(WORLD["project"] + "/.cursor/hooks.json", flags=os.O_CREAT)


@attack(MOUNTS, is_inside=True)
def move_folder_above_settings() -> object:
    """Move .git away, and put another with hooks of its own there."""
    os.rename(WORLD["project"] + "/.git", WORLD["project"] + "/.git-moved")
    os.makedirs(WORLD["project"] + "/.git/hooks")
    return write(WORLD["project"] + "/.git/hooks/pre-commit", flags=os.O_CREAT)


@attack()
def move_project() -> object:
    """Move the project away."""
    os.rename(WORLD["project"] + "/../other-project", WORLD["project"] + "/../moved-project")
    return True


# ---- what is not stopped, with the reason in `test_containment_escapes.py` ----


@attack(allowed=("project",))
def create_agent_settings() -> object:
    """Create settings of another agent, which do not exist yet."""
    os.mkdir(WORLD["project"] + "/.gemini")
    return write(WORLD["project"] + "/.gemini/settings.json", flags=os.O_CREAT)


@attack(NOTHING)
def read_earlier_hard_link() -> object:
    """Read an SSH key through a hard link that the user made elsewhere."""
    return read(WORLD["hard_link"])


@attack(HIDDEN)
def look_at_key() -> object:
    """Ask for the size of an SSH key."""
    return os.stat(WORLD["key"]).st_size


@attack(NOTHING)
def read_command_lines() -> object:
    """Read the command line of another process."""
    with open(f"/proc/{WORLD['engine']}/cmdline", "rb") as file:
        return file.read()


# ---- what must work ----


@attack(NOTHING)
def use_socket_pair() -> object:
    """Talk to its own processes through a pair of sockets."""
    one, other = socket.socketpair()
    one.sendall(b"x")
    return other.recv(1) == b"x"


@attack(NOTHING)
def limit_itself() -> object:
    """Set limits, priority and processors of itself."""
    call(302, 0, 7, None, ctypes.create_string_buffer(16))
    os.setpriority(os.PRIO_PROCESS, 0, 1)
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    return True


@attack(NOTHING)
def use_own_folder() -> object:
    """Write and run a program in its temporary folder."""
    path = own("program")
    write(path, b"#!/bin/sh\nexit 0\n", os.O_CREAT)
    os.chmod(path, 0o755)
    os.sched_yield()
    return not subprocess.run(["sh", path], check=False).returncode


@attack(NOTHING)
def end_own_process() -> object:
    """End a process that it started."""
    with subprocess.Popen(["sleep", "60"]) as child:
        child.kill()
        return child.wait() == -signal.SIGKILL


def _try(run: Callable[[], object]) -> str:
    """Return how an attempt ended: through, or why not."""
    try:
        return "through" if run() else "nothing"
    except NotImplementedError:
        return "absent"
    except OSError as problem:
        return errno.errorcode.get(problem.errno or 0, "?")
    except subprocess.SubprocessError as problem:
        return repr(problem)


def main() -> None:
    """Try every row in a process of its own, and print how each ended."""
    results = {}
    here = os.open("/proc/self/fd", os.O_RDONLY)
    WORLD["open"] = set(map(int, os.listdir(here))) - {here, here + 1}
    os.close(here)
    for name in WORLD["names"]:
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)
            os.write(writer, _try(ATTACKS[name].run).encode())
            os._exit(0)
        os.close(writer)
        results[name] = os.read(reader, 1000).decode() or "died"
        os.close(reader)
        os.waitpid(child, 0)
    print(json.dumps(results), flush=True)  # noqa: T201 - it is a program


if __name__ == "__main__":
    main()
