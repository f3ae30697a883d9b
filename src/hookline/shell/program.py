"""The columns of the table of programs, and how its rows are written.

A row names a program, the roles of its operands and its options:

    row("rm", "deletes*", "-r,-R,--recursive -f,--force -v,--verbose", recursive="-r")

**Roles** are separated by blanks and stand for one operand each; one of them may end with `*` and stands for any
number, and what stands behind it for the last operands. Operands beyond the roles are plain.

| role | meaning of the operand |
| --- | --- |
| `plain` | text: a name, a number, a pattern, a message |
| `reads`, `writes`, `deletes` | a file or folder that is read, written, deleted |
| `lists` | a file or folder of which only names and attributes are shown, which is no reading |
| `moves` | a file or folder that is read and deleted |
| `links` | a file that gets a second name |
| `folder` | the folder it works in |
| `into` | the target of a copy: a file, or a folder that receives the operands before it under their names |
| `revision` | a git revision, `revision:path`, or a path |
| `mount` | a file or folder that a container gets to see (`path:target`, `source=path,…`) |
| `setting` | `Name=value` of ssh |
| `url` | an address that is reached |
| `clones` | an address of a repository; the folder named like it is written, unless another operand follows |
| `script` | a file that is executed or sourced |
| `code` | source of the interpreter's own language |
| `module` | a module that is run like a program (`python -m pip`) |
| `checkout` | a branch, or a path that is written when it stands behind `--` or looks like one |
| `shell` | a shell script given as text |
| `env` | an assignment `NAME=value` for the command behind it |
| `name` | the name of a shell variable; bash evaluates a subscript in it |
| `arithmetic` | an expression that the shell evaluates |

**Options** are separated by blanks, their spellings by commas. `=` means that a value follows, joined or as the next
word; `==` that a name and a value follow; `[=]` that a value may be joined with `=` only. A role behind `=` says what the value is: `-o,--output=writes`.

**Keywords** of a row:

| keyword | meaning |
| --- | --- |
| `unknown` | the questions (`runs writes deletes reads urls`) whose answer stays open; `any` for all |
| `recursive` | the option that makes file roles include everything below; `always` without one |
| `here` | without an operand it works on the current folder |
| `instead` | roles of all operands when one of these options is given: `{"--check --diff": "reads*"}` |
| `in_place` | options with which files that are read are written, too; `always` |
| `scripted` | options that replace the first plain operand (`grep -e`, `sed -f`) |
| `wraps` | `words`: a command follows the options and the operands of the row; `text`: the rest is one shell script |
| `dashes` | the wrapped command stands behind `--` only |
| `remote` | the wrapped command runs on another machine or in a container |
| `interpreter` | it executes code from standard input when it has no operands |
| `single_dash` | long options have one dash (`terraform -auto-approve`) |
| `hides` | recursive reading leaves out hidden files (`rg`), unless one of these options is given |
| `evaluates` | operands (`1` for the first, `*` for all) and options that are program text or choose what runs, beyond the roles |
| `guarded` | an option in the place of an operand would run a program or overwrite a file, beyond the options' roles |
| `stops` | options end at the first operand |
| `open_options` | options may follow the option with the code (`node -e CODE --require FILE`) |
| `reads_code` | it executes what it reads from standard input, whatever its operands are |
| `inert` | no option of it does harm, so that a file that is called like one and found by a glob does none |
| `same` | subcommands that are another spelling: `{"container rm": "rm", "apply -destroy": "destroy"}` |
| `acts_as` | the words behind it are a command of this other program (`k3s kubectl delete` is `kubectl delete`) |
| `queries` | what it evaluates is a query, whose words patterns may name in any case |
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

QUESTIONS: Final = ("runs", "writes", "deletes", "reads", "urls")
# columns that name options of the row
_OF_OPTIONS: Final = frozenset({"recursive", "in_place", "scripted", "hides", "evaluates"})


def split_names(names: str) -> frozenset[str]:
    """Return names that are written in one text, separated by blanks."""
    return frozenset(names.split())


class OptionSpec(Struct, frozen=True):
    """An option: its chief spelling, whether it takes a value, and the role of the value."""

    name: str
    takes_value: bool = False
    may_take_value: bool = False
    takes_name: bool = False
    role: str = "plain"


class Program(Struct, frozen=True, kw_only=True):
    """One row of the table; the module's docstring explains the columns."""

    name: str
    names: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    options: Mapping[str, OptionSpec] = {}
    subcommands: Mapping[str, "Program"] = {}
    unknown: frozenset[str] = frozenset()
    recursive: frozenset[str] = frozenset()
    here: bool = False
    in_place: frozenset[str] = frozenset()
    instead: Mapping[str, str] = {}
    scripted: frozenset[str] = frozenset()
    wraps: str = ""
    dashes: bool = False
    remote: bool = False
    interpreter: bool = False
    single_dash: bool = False
    hides: frozenset[str] | None = None
    evaluates: frozenset[str] = frozenset()
    guarded: bool = False
    stops: bool = False
    open_options: bool = False
    reads_code: bool = False
    same: Mapping[str, str] = {}
    inert: bool = False
    acts_as: str = ""
    queries: bool = False
    style: str = ""


def read_options(text: str) -> dict[str, OptionSpec]:
    """Read the options of a row, by each spelling."""
    found: dict[str, OptionSpec] = {}
    for one in text.split():
        spellings, equals, role = one.partition("=")
        may_take = spellings.endswith("[")
        takes_name = role.startswith("=")
        role = role.removeprefix("]").removeprefix("=")
        names = spellings.rstrip("[").split(",")
        chief = next((name for name in names if name.startswith("--")), names[0])
        option = OptionSpec(chief, bool(equals) and not may_take, may_take, takes_name, role or "plain")
        found |= dict.fromkeys(names, option)
    return found


def row(
    names: str,
    operands: str = "",
    options: str = "",
    *,
    unknown: str = "",
    subcommands: Iterable[Program] = (),
    **columns: str | bool | Mapping[str, str],
) -> Program:
    """Write one row; several names share it."""
    every, read = tuple(names.split()), read_options(options)
    values: dict[str, Any] = dict(columns)
    for column in columns.keys() & _OF_OPTIONS:
        values[column] = frozenset(read[one].name if one in read else one for one in values[column].split())
    return Program(
        name=every[0],
        names=every,
        operands=tuple(operands.split()),
        options=read,
        subcommands={name: one for one in subcommands for name in one.names},
        unknown=frozenset(QUESTIONS if unknown == "any" else unknown.split()),
        **values,
    )
