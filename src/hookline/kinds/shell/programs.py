"""What programs do with their words: which are program text, names or options instead of plain values.

Tables only. A program that is in none of them gets values as plain arguments.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from hookline.kinds.shell.line import Reason

_NONE: Final[Mapping[str, int]] = MappingProxyType({})


def _each(names: str) -> frozenset[str]:
    return frozenset(names.split())


def _one(names: str) -> Mapping[str, int]:
    return MappingProxyType(dict.fromkeys(names.split(), 1))


class Interpreter(Struct, frozen=True, kw_only=True):
    """A program that runs program text.

    `code` are the options whose value is the program, `loads` those that name more code, `values` harmless ones
    and how many words each takes. Without a `code` option the first operand is the program (`operand`), after
    one of the `subcommands` if there are any. `ends` says that everything after the program is plain, `permutes`
    that options count even after operands, `inert` that a stray option does no harm. `stdin` says that without a
    program it is read from stdin, `stdin_flags` that these flags ask for it. `instead` is the safe spelling.
    """

    code: frozenset[str] = frozenset()
    loads: frozenset[str] = frozenset()
    values: Mapping[str, int] = _NONE
    subcommands: frozenset[str] = frozenset()
    operand: bool = True
    ends: bool = False
    permutes: bool = False
    inert: bool = False
    stdin: bool = True
    stdin_flags: frozenset[str] = frozenset()
    instead: str = "move the program text into a file that takes the value as an argument, or send the value to stdin"


class Wrapper(Struct, frozen=True, kw_only=True):
    """A program that runs the program named in its words.

    `values` are options that take a word, `code` those that make words program text. `lead` operands stand
    before the program, `through` are subcommands and the operands after each. `assigns` says that NAME=value may stand before the program, `asks` are flags that only look the
    program up. `replaces` marks options whose value is replaced by other text in the program's words.
    """

    values: Mapping[str, int] = _NONE
    code: frozenset[str] = frozenset()
    loads: frozenset[str] = frozenset()
    lead: int = 0
    through: Mapping[str, int] = _NONE
    assigns: bool = False
    asks: frozenset[str] = frozenset()
    replaces: frozenset[str] = frozenset()


_SHELL: Final = Interpreter(
    loads=_each("rcfile init-file"),
    values=_one("o O"),
    ends=True,
    stdin_flags=_each("s"),
    instead="pass it as an argument: sh -c '… \"$1\" …' _ {{…}}",
)
_PYTHON: Final = Interpreter(
    code=_each("c m"),
    values=_one("W X check-hash-based-pycs"),
    ends=True,
    instead="pass it as an argument: python3 -c '… sys.argv[1] …' {{…}}",
)
_PERL: Final = Interpreter(
    code=_each("e E"), loads=_each("M m I x"), instead="pass it as an argument: perl -e '… $ARGV[0] …' -- {{…}}"
)
_RUBY: Final = Interpreter(
    code=_each("e"), loads=_each("r I C x"), instead="pass it as an argument: ruby -e '… ARGV[0] …' -- {{…}}"
)
_NODE: Final = Interpreter(
    code=_each("e p eval print"),
    loads=_each("r require import loader experimental-loader env-file env-file-if-exists openssl-config"),
    values=_one(
        "C conditions title input-type experimental-default-type disable-proto disable-warning dns-result-order"
        " icu-data-dir inspect-port max-http-header-size redirect-warnings unhandled-rejections diagnostic-dir"
        " report-dir report-directory report-filename report-signal secure-heap secure-heap-min tls-cipher-list"
        " tls-keylog trace-event-categories trace-event-file-pattern use-largepages cpu-prof-dir cpu-prof-name"
        " cpu-prof-interval heap-prof-dir heap-prof-name heap-prof-interval heapsnapshot-signal"
        " heapsnapshot-near-heap-limit network-family-autoselection-attempt-timeout allow-fs-read allow-fs-write"
    ),
    instead="pass it as an argument: node -e '… process.argv[1] …' -- {{…}}",
)
_PHP: Final = Interpreter(
    code=_each("r B R E f"), loads=_each("F d c z t"), instead="pass it as an argument: php -r '… $argv[1] …' -- {{…}}"
)
_LUA: Final = Interpreter(code=_each("e"), loads=_each("l"))
_EVAL: Final = Interpreter(code=_each("e E eval"), loads=_each("l L load r require"))
_AWK: Final = Interpreter(
    code=_each("e f E source file exec"),
    loads=_each("i l include load"),
    values=_one("F v field-separator assign"),
    stdin=False,
    instead="make it a variable: awk -v x={{…}} '… x …'",
)
_SED: Final = Interpreter(
    code=_each("e f expression file"),
    values=_one("l"),
    permutes=True,
    stdin=False,
    instead="use awk, which has variables: awk -v x={{…}} '… x …'",
)
_JQ: Final = Interpreter(
    code=_each("f from-file"),
    values=MappingProxyType({"arg": 2, "argjson": 2, "slurpfile": 2, "rawfile": 2, "indent": 1, "L": 1}),
    permutes=True,
    inert=True,
    stdin=False,
    instead="make it a variable: jq --arg x {{…}} '… $x …'",
)
_POWERSHELL: Final = Interpreter(code=_each("c C e E f F"), ends=True)
_EDITOR: Final = Interpreter(code=_each("c S s cmd eval l load f"), operand=False, stdin=False)
_DEBUGGER: Final = Interpreter(code=_each("e x ex o eval-command command"), operand=False, stdin=False)
_QUERY: Final = Interpreter(code=_each("c e f command execute file eval"), operand=False)
_CALCULATOR: Final = Interpreter(code=_each("e f expression file"), operand=False)

_FAMILIES: Final[Mapping[str, Interpreter]] = {
    "sh bash dash zsh ksh mksh ash rbash posh yash csh tcsh": _SHELL,
    "fish nu elvish xonsh": Interpreter(code=_each("c C commands execute"), loads=_each("config")),
    "python pythonw pypy ipython jython": _PYTHON,
    "perl raku": _PERL,
    "ruby jruby": _RUBY,
    "node nodejs": _NODE,
    "deno": Interpreter(subcommands=_each("run eval test"), loads=_each("config import-map"), stdin=False),
    "bun tsx ts-node": Interpreter(
        code=_each("e p eval print"), loads=_each("r require preload"), subcommands=_each("run exec x")
    ),
    "php php-cli": _PHP,
    "lua luajit": _LUA,
    "osascript": Interpreter(code=_each("e"), values=_one("l s")),
    "tclsh wish expect": Interpreter(code=_each("c")),
    "Rscript R julia ghc runghc elixir erl groovy scala swift octave guile sbcl gnuplot": _EVAL,
    "awk gawk mawk nawk original-awk": _AWK,
    "sed gsed ssed": _SED,
    "jq gojq jaq yq": _JQ,
    "pwsh powershell": _POWERSHELL,
    "vi vim nvim ex view emacs emacsclient": _EDITOR,
    "gdb lldb": _DEBUGGER,
    "psql mysql mariadb mongo mongosh": _QUERY,
    "bc dc ed at batch": _CALCULATOR,
}
INTERPRETERS: Final[Mapping[str, Interpreter]] = MappingProxyType(
    {name: interpreter for names, interpreter in _FAMILIES.items() for name in names.split()}
)

_IN_CONTAINER: Final = Wrapper(
    values=_one("e u w v p l h m env env-file user workdir volume publish name network label hostname entrypoint n c"),
    through=MappingProxyType({"exec": 1, "run": 1}),
)
_RUNNER: Final = Wrapper(
    values=_one("p with from python package group extra directory project"),
    through=MappingProxyType({"run": 0, "exec": 0, "dlx": 0, "x": 0}),
)
_KINDS_OF_WRAPPERS: Final[Mapping[str, Wrapper]] = {
    "nohup setsid builtin chronic unbuffer busybox toybox caffeinate eatmydata dbus-run-session": Wrapper(),
    "command": Wrapper(asks=_each("v V")),
    "exec": Wrapper(values=_one("a")),
    "env": Wrapper(values=_one("u C unset chdir"), code=_each("S split-string"), assigns=True),
    "sudo": Wrapper(
        values=_one("u g h p C r t U D T R user group host prompt chdir role type"),
        code=_each("s i e shell login edit"),
        assigns=True,
    ),
    "doas": Wrapper(values=_one("u C"), code=_each("s")),
    "time": Wrapper(values=_one("f o format output")),
    "nice": Wrapper(values=_one("n adjustment")),
    "ionice": Wrapper(values=_one("c n p class classdata")),
    "stdbuf": Wrapper(values=_one("i o e input output error")),
    "timeout gtimeout": Wrapper(values=_one("k s kill-after signal"), lead=1),
    "taskset chrt chroot faketime": Wrapper(values=_one("userspec groups"), lead=1),
    "flock": Wrapper(values=_one("w E wait timeout conflict-exit-code"), code=_each("c command"), lead=1),
    "strace ltrace": Wrapper(values=_one("e o p s u E a S")),
    "systemd-run": Wrapper(values=_one("u p E H M unit property setenv uid gid")),
    "xargs": Wrapper(
        values=_one("I n P d L a s E max-args max-procs delimiter max-lines arg-file"), replaces=_each("I i replace")
    ),
    "npx bunx uvx pnpx": Wrapper(values=_one("p package from with python spec"), code=_each("c call")),
    "uv poetry pipenv hatch pdm rye npm pnpm yarn bundle pipx": _RUNNER,
    "docker podman nerdctl kubectl oc": _IN_CONTAINER,
}
WRAPPERS: Final[Mapping[str, Wrapper]] = MappingProxyType(
    {name: wrapper for names, wrapper in _KINDS_OF_WRAPPERS.items() for name in names.split()}
)
_RUNS_ITSELF: Final = Reason(
    "would become program text for the shell itself", "call a program directly and pass the value as an argument"
)
_RUNS_FILE: Final = Reason("would choose a file for the shell to run", "write the file's name out")
_RUNS_REMOTELY: Final = Reason(
    "would become program text for the shell on the other side",
    "send it to stdin: printf '%s' {{…}} | ssh host program",
)
_RUNS_SHELL: Final = Reason(
    "would become program text for a shell, or choose what is started",
    "call a script that takes the value as an argument, or send the value to stdin",
)
_RUNS_MACROS: Final = Reason(
    "would become text of a language that can run programs", "hand the value over in a variable: X={{…}} program"
)
# every word is, or may become, program text
ALL_CODE: Final[Mapping[str, Reason]] = MappingProxyType(
    {
        **dict.fromkeys(_each("eval trap complete compgen bind fc enable hash"), _RUNS_ITSELF),
        **dict.fromkeys(_each(". source"), _RUNS_FILE),
        **dict.fromkeys(_each("ssh rsh mosh adb"), _RUNS_REMOTELY),
        **dict.fromkeys(_each("su runuser watch tmux screen script cmd"), _RUNS_SHELL),
        **dict.fromkeys(_each("make gmake m4 sqlite"), _RUNS_MACROS),
    }
)
# these change what later words of the line mean, so that nothing after them can be judged
WHOLE_LINE: Final = _each("alias unalias parallel shopt")

# names of variables: bash evaluates a subscript in them
NAMES_ONLY: Final = _each("read mapfile readarray unset getopts wait")
READERS: Final = _each("read mapfile readarray getopts")
DECLARERS: Final = _each("declare typeset local export readonly")
PARSE_AGAIN: Final = _each("declare typeset local")
# integers are evaluated on assignment, references and arrays parsed
EVALUATING_ATTRIBUTES: Final = frozenset("inaA")

# an option in place of a value makes these run a program or overwrite a file
OPTION_RUNS: Final = _each("scp sftp rsync tar gtar bsdtar zip 7z wget man sort crontab pip cargo go less")
GIT_RUNS: Final = _each(
    "clone fetch pull push ls-remote archive grep rebase bisect difftool mergetool submodule send-email filter-branch"
)
GIT: Final = Wrapper(values=_one("C git-dir work-tree namespace"), code=_each("c exec-path config-env"))

# never run what they are given
ONLY_SHOW: Final = _each("echo printf logger notify-send : true false say wall")

FIND_RUNS: Final = _each("-exec -ok -execdir -okdir")
FIND_VALUES: Final = _each(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -newer -anewer -cnewer -type -xtype -size -mtime"
    " -mmin -atime -amin -ctime -cmin -user -group -perm -maxdepth -mindepth -lname -ilname -samefile -inum -links"
)

TEST_UNARY: Final = _each("-b -c -d -e -f -g -h -k -n -p -r -s -t -u -w -x -z -G -L -N -O -S")
TEST_BINARY: Final = _each("= == != < > -nt -ot -ef -eq -ne -lt -le -gt -ge")
TEST_JOINTS: Final = _each("&& || ( | & ;")
TEST_EVALUATING: Final = _each("-eq -ne -lt -le -gt -ge -v -R")

# variables that decide what runs, how words are split, or that bash evaluates as arithmetic when they are set
SPECIAL_VARIABLES: Final = _each(
    "PATH IFS ENV BASH_ENV PS4 PROMPT_COMMAND SHELL SHELLOPTS BASHOPTS CDPATH EDITOR VISUAL PAGER MANPAGER BROWSER"
    " RANDOM SRANDOM SECONDS OPTIND HISTCMD LINENO DIRSTACK FUNCNEST TMOUT"
    " PYTHONPATH PYTHONSTARTUP PYTHONHOME PERL5OPT PERL5LIB RUBYOPT RUBYLIB NODE_OPTIONS NODE_PATH PHPRC LUA_INIT"
    " JAVA_TOOL_OPTIONS MAKEFLAGS LESSOPEN LESSCLOSE TAR_OPTIONS RSYNC_RSH SSH_ASKPASS SUDO_ASKPASS HOME"
)
SPECIAL_PREFIXES: Final = ("LD_", "DYLD_", "GIT_", "BASH_FUNC_", "npm_config_")
