"""Programs that only read, and the options with which they still do. Tables only.

What is not written down here is not known to be harmless: another program, another option, a shortened one. An option
whose value is a file is left out on purpose, so that values need not be looked at.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct


def each(names: str) -> frozenset[str]:
    """Take words apart."""
    return frozenset(names.split())


class Reader(Struct, frozen=True, kw_only=True):
    """How a program that only reads is called.

    `flags` and `values` are its letters without and with a value, `long` and `long_values` its long options.
    `numbers` says that -5 is an option, `apart` that a value is always a word of its own, and `glued` are letters whose
    value never is one. The first `texts` operands are no files, and with `plain` none is; there may
    be `most` operands. `inert` says that no option of the program does harm, so that even a file called like one does
    not. `shows` says that it shows what is in files, and not just their names and sizes; with one of `deep`, what is
    in all files of a folder.
    """

    flags: str = ""
    values: str = ""
    long: frozenset[str] = frozenset()
    long_values: frozenset[str] = frozenset()
    numbers: bool = False
    apart: bool = False
    glued: str = ""
    texts: int = 0
    plain: bool = False
    most: int | None = None
    inert: bool = False
    shows: bool = True
    deep: frozenset[str] = frozenset()


_GREP: Final = Reader(
    # -C may do without a number on some systems, so that the word after it is not taken for one
    flags="EFGPiywxvcoqshnHlLZzarIUbTC0123456789",
    values="eABm",
    numbers=True,
    texts=1,
    deep=each("r recursive"),
    long=each(
        "extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case word-regexp line-regexp"
        " invert-match count color colour only-matching quiet silent no-messages with-filename no-filename line-number"
        " files-with-matches files-without-match null text recursive byte-offset initial-tab context"
    ),
    long_values=each("regexp after-context before-context max-count include exclude exclude-dir binary-files label"),
)
_RG: Final = Reader(
    flags="iSswxvcoqnNHIlFPUb0pha",
    values="eABCmgtTdjMr",
    texts=1,
    long=each(
        "ignore-case smart-case case-sensitive word-regexp line-regexp invert-match count count-matches only-matching"
        " quiet line-number no-line-number with-filename no-filename files-with-matches files-without-match"
        " fixed-strings pcre2 multiline no-heading heading column color json stats vimgrep pretty trim"
        " no-messages type-list null text sort sortr"
    ),
    long_values=each(
        "regexp after-context before-context context max-count glob iglob type type-not max-depth max-columns replace"
        " threads max-filesize"
    ),
)
_LS: Final = Reader(
    flags="aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1",
    inert=True,
    shows=False,
    long=each(
        "all almost-all author escape color directory classify dereference full-time group-directories-first no-group"
        " human-readable si inode reverse recursive size sort time time-style numeric-uid-gid format indicator-style"
        " ignore-backups file-type quote-name quoting-style show-control-chars literal"
    ),
    long_values=each("block-size ignore hide"),
)
_SUMS: Final = Reader(flags="bt", inert=True, long=each("binary text tag"))
_NAMES: Final = Reader(flags="az", values="s", plain=True, long=each("multiple zero"), long_values=each("suffix"))
_NOTHING: Final = Reader(most=0, plain=True)

_TABLE: Final[Mapping[str, Reader]] = {
    "ls dir vdir": _LS,
    "cat": Reader(
        flags="AbeEnstTuv", inert=True, long=each("show-all number number-nonblank show-ends show-tabs squeeze-blank")
    ),
    "tac rev": Reader(inert=True),
    "head": Reader(
        flags="qvz",
        values="nc",
        numbers=True,
        inert=True,
        long=each("quiet silent verbose"),
        long_values=each("lines bytes"),
    ),
    # without -f, which never ends
    "tail": Reader(
        flags="qvzr", values="nc", numbers=True, long=each("quiet silent verbose"), long_values=each("lines bytes")
    ),
    "nl": Reader(flags="p", values="bfhilnsvwd", inert=True),
    "wc": Reader(flags="clmwL", long=each("bytes chars lines words max-line-length"), shows=False),
    "cut": Reader(
        flags="sz",
        values="bcdf",
        long=each("only-delimited complement"),
        long_values=each("bytes characters delimiter fields output-delimiter"),
    ),
    "tr": Reader(
        flags="cCdst", plain=True, long=each("complement delete squeeze-repeats truncate-set1"), inert=True, most=2
    ),
    "fold": Reader(flags="bs", values="w", inert=True),
    "expand unexpand": Reader(flags="ai", values="t", inert=True),
    "paste": Reader(flags="sz", values="d", inert=True),
    "column": Reader(flags="t", values="s"),
    "comm": Reader(flags="123", most=2),
    "sort": Reader(
        flags="bcCdfghiMnrRsuVz",
        values="kt",
        long=each(
            "reverse numeric-sort unique check human-numeric-sort version-sort general-numeric-sort ignore-case stable"
            " dictionary-order month-sort zero-terminated"
        ),
        long_values=each("key field-separator"),
    ),
    # a second operand would be written to
    "uniq": Reader(
        flags="cdDiuz",
        values="fsw",
        most=1,
        long=each("count repeated unique ignore-case"),
        long_values=each("skip-fields skip-chars check-chars"),
    ),
    "diff": Reader(
        flags="abBcdeEiNpqstTuwyZ",
        values="UCW",
        numbers=True,
        most=2,
        long=each(
            "brief unified context new-file ignore-all-space ignore-space-change ignore-blank-lines text"
            " side-by-side suppress-common-lines color ignore-case minimal report-identical-files strip-trailing-cr"
        ),
        long_values=each("exclude label width"),
    ),
    "cmp": Reader(flags="bls", values="n", most=2, long=each("silent quiet print-bytes verbose")),
    "grep egrep fgrep": _GREP,
    "rg": _RG,
    "tree": Reader(
        flags="adfipsughDFrtUnCASQ",
        values="LIP",
        # -Lo takes two words: a depth, and a file to write to
        apart=True,
        shows=False,
        long=each("dirsfirst noreport gitignore prune du si inodes device sort"),
        long_values=each("filelimit"),
    ),
    "du": Reader(
        flags="abcDhHklLmPsSx0",
        values="dBt",
        shows=False,
        long=each("all total human-readable si summarize apparent-size bytes dereference one-file-system"),
        long_values=each("max-depth block-size threshold exclude"),
    ),
    "df": Reader(
        flags="ahHiklmPT",
        values="tBx",
        shows=False,
        inert=True,
        long=each("all human-readable si inodes local print-type total"),
        long_values=each("type block-size exclude-type"),
    ),
    "stat": Reader(
        flags="LtfxF",
        values="c",
        shows=False,
        inert=True,
        long=each("dereference terse file-system"),
        long_values=each("format printf"),
    ),
    "file": Reader(
        flags="bihLNrk0",
        values="F",
        shows=False,
        long=each("brief mime mime-type mime-encoding dereference no-dereference no-pad raw extension print0"),
        long_values=each("separator"),
    ),
    "readlink realpath": Reader(
        flags="efmnqszLP",
        shows=False,
        inert=True,
        long=each("canonicalize canonicalize-existing canonicalize-missing no-newline quiet zero strip"),
    ),
    "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum": _SUMS,
    "od": Reader(flags="abcdfhilosxv", values="ANjt"),
    "hexdump": Reader(flags="bcCdovx", values="ns"),
    "basename": _NAMES,
    "dirname": Reader(flags="z", plain=True, long=each("zero")),
    "pwd": Reader(flags="LP", most=0),
    "which": Reader(flags="a", plain=True),
    "type": Reader(flags="aptP", plain=True),
    "seq": Reader(flags="w", values="sf", plain=True),
    "uname": Reader(flags="asnrvmpio", most=0, long=each("all kernel-name machine operating-system kernel-release")),
    "id": Reader(flags="ugGnrz", most=1, plain=True, long=each("user group groups name real zero")),
    "whoami groups logname uptime nproc arch tty hostname true false :": _NOTHING,
}
READERS: Final[Mapping[str, Reader]] = MappingProxyType(
    {name: reader for names, reader in _TABLE.items() for name in names.split()}
)
# tests of find and what follows each; nothing that runs, deletes or writes
FIND_FLAGS: Final = each(
    "-H -P -print -print0 -ls -prune -quit -depth -mount -xdev -empty -readable -writable -executable -daystart"
    " -noleaf -nouser -nogroup -true -false -a -and -o -or -not ! ( ) ,"
)
FIND_VALUES: Final = each(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime -mmin -atime"
    " -amin -ctime -cmin -user -group -uid -gid -perm -maxdepth -mindepth -lname -ilname -inum -links -newermt -fstype"
    " -printf"
)
FIND_FILES: Final = each("-newer -anewer -cnewer -samefile")
