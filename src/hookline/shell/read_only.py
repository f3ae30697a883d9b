"""Rows of the table of programs that only read, each with exactly the options with which it still does.

`_table_*` say what programs do with all of their options; this one says what is proven to be harmless: a program, a
subcommand or an option that is not here, even a shortened one, may do more than read. An option whose value is a file is
left out, so that values need not be looked at; only those of `find` have a role. Every long option takes a value joined
with `=`. Operands beyond the roles are too many. A letter with `[=]` has its value joined, always.

`inert` says that no option of the program does harm, so that a file that is called like one and is found by a glob does
none either. `lists` are operands whose names and sizes are shown, `recursive` are options that show every file of a folder.

| style | meaning |
| --- | --- |
| `numbers` | `-5` is an option |
| `apart` | a value is always a word of its own (`tree -Lo` takes two words) |
| `list` | with `--list` operands are patterns, else there is none |
"""

from collections.abc import Mapping
from typing import Final

from hookline.shell.program import Program, row

# one row per program, options on a line of their own where they are many
# fmt: off

_GIT_DIFF: Final = (
    " --abbrev --binary --cached --check --color --color-words --compact-summary --diff-filter --dirstat"
    " --exit-code --find-copies --find-renames --full-index --function-context --histogram"
    " --ignore-all-space --ignore-blank-lines --ignore-space-change --inter-hunk-context --merge-base"
    " --minimal --name-only --name-status --no-color --no-ext-diff --no-patch --no-relative --no-renames"
    " --no-textconv --numstat --patch --patience --quiet --raw --relative --shortstat --staged --stat"
    " --summary --text --unified --word-diff"
)
_GIT_LOG: Final = (
    _GIT_DIFF + " --abbrev-commit --after --all --all-match --ancestry-path --author --author-date-order --before"
    " --boundary --branches --cc --cherry-mark --cherry-pick --children --committer --date --date-order"
    " --decorate --first-parent --follow --format --full-history --graph --grep --ignore-case"
    " --invert-grep --left-right --max-count --merges --no-abbrev-commit --no-decorate --no-merges"
    " --no-notes --no-walk --oneline --parents --pretty --regexp-ignore-case --relative-date --remotes"
    " --reverse --simplify-by-decoration --since --skip --tags --topo-order --until --walk-reflogs"
)
_GIT_LIST: Final = (
    " --color --column --contains --format --ignore-case --merged --no-color --no-column --no-contains"
    " --no-merged --omit-empty --points-at --sort"
)

_ROWS: Final = (
    row("ls dir vdir", "lists*",
        "-a -A -b -B -c -C -d -f -F -g -G -h -H -i -k -l -L -m -n -N -o -p -q -Q -r -R -s -S -t -u -U -v -x"
        " -X -Z -1 --all --almost-all --author --classify --color --dereference --directory --escape"
        " --file-type --format --full-time --group-directories-first --human-readable --ignore-backups"
        " --indicator-style --inode --literal --no-group --numeric-uid-gid --quote-name --quoting-style"
        " --recursive --reverse --show-control-chars --si --size --sort --time --time-style --block-size="
        " --hide= --ignore=", inert=True),
    row("cat", "reads*",
        "-A -b -e -E -n -s -t -T -u -v --number --number-nonblank --show-all --show-ends --show-tabs --squeeze-blank",
        inert=True),
    row("tac rev", "reads*", inert=True),
    row("head", "reads*", "-q -v -z -n= -c= --quiet --silent --verbose --bytes= --lines=", inert=True, style="numbers"),
    row("tail", "reads*", "-q -v -z -r -n= -c= --quiet --silent --verbose --bytes= --lines=", style="numbers"),
    row("nl", "reads*", "-p -b= -f= -h= -i= -l= -n= -s= -v= -w= -d=", inert=True),
    row("wc", "lists*", "-c -l -m -w -L --bytes --chars --lines --max-line-length --words"),
    row("cut", "reads*",
        "-s -z -b= -c= -d= -f= --complement --only-delimited --bytes= --characters= --delimiter= --fields="
        " --output-delimiter="),
    row("tr", "plain plain", "-c -C -d -s -t --complement --delete --squeeze-repeats --truncate-set1", inert=True),
    row("fold", "reads*", "-b -s -w=", inert=True),
    row("expand unexpand", "reads*", "-a -i -t=", inert=True),
    row("paste", "reads*", "-s -z -d=", inert=True),
    row("column", "reads*", "-t -s="),
    row("comm", "reads reads", "-1 -2 -3"),
    row("sort", "reads*",
        "-b -c -C -d -f -g -h -i -M -n -r -R -s -u -V -z -k= -t= --check --dictionary-order"
        " --general-numeric-sort --human-numeric-sort --ignore-case --month-sort --numeric-sort --reverse"
        " --stable --unique --version-sort --zero-terminated --field-separator= --key="),
    row("uniq", "reads",
        "-c -d -D -i -u -z -f= -s= -w= --count --ignore-case --repeated --unique --check-chars= --skip-chars="
        " --skip-fields="),
    row("diff", "reads reads",
        "-a -b -B -c -d -e -E -i -N -p -q -s -t -T -u -w -y -Z -U= -C= -W= --brief --color --context"
        " --ignore-all-space --ignore-blank-lines --ignore-case --ignore-space-change --minimal --new-file"
        " --report-identical-files --side-by-side --strip-trailing-cr --suppress-common-lines --text --unified"
        " --exclude= --label= --width=", style="numbers"),
    row("cmp", "reads reads", "-b -l -s -n= --print-bytes --quiet --silent --verbose"),
    row("grep egrep fgrep", "plain reads*",
        "-E -F -G -P -i -y -w -x -v -c -o -q -s -h -n -H -l -L -Z -z -a -r -I -U -b -T -C -0 -1 -2 -3 -4 -5"
        " -6 -7 -8 -9 -e= -A= -B= -m= --basic-regexp --byte-offset --color --colour --context --count"
        " --extended-regexp --files-with-matches --files-without-match --fixed-strings --ignore-case"
        " --initial-tab --invert-match --line-number --line-regexp --no-filename --no-ignore-case"
        " --no-messages --null --only-matching --perl-regexp --quiet --recursive --silent --text"
        " --with-filename --word-regexp --after-context= --before-context= --binary-files= --exclude="
        " --exclude-dir= --include= --label= --max-count= --regexp=", recursive="-r --recursive",
        scripted="-e --regexp", style="numbers"),
    row("rg", "plain reads*",
        "-i -S -s -w -x -v -c -o -q -n -N -H -I -l -F -P -U -b -0 -p -h -a -e= -A= -B= -C= -m= -g= -t= -T="
        " -d= -j= -M= -r= --case-sensitive --color --column --count --count-matches --files-with-matches"
        " --files-without-match --fixed-strings --heading --ignore-case --invert-match --json --line-number"
        " --line-regexp --multiline --no-filename --no-heading --no-line-number --no-messages --null"
        " --only-matching --pcre2 --pretty --quiet --smart-case --sort --sortr --stats --text --trim"
        " --type-list --vimgrep --with-filename --word-regexp --after-context= --before-context= --context="
        " --glob= --iglob= --max-columns= --max-count= --max-depth= --max-filesize= --regexp= --replace="
        " --threads= --type= --type-not=", scripted="-e --regexp"),
    row("tree", "lists*",
        "-a -d -f -i -p -s -u -g -h -D -F -r -t -U -n -C -A -S -Q -L= -I= -P= --device --dirsfirst --du"
        " --gitignore --inodes --noreport --prune --si --sort --filelimit=", style="apart"),
    row("du", "lists*",
        "-a -b -c -D -h -H -k -l -L -m -P -s -S -x -0 -d= -B= -t= --all --apparent-size --bytes --dereference"
        " --human-readable --one-file-system --si --summarize --total --block-size= --exclude= --max-depth="
        " --threshold="),
    row("df", "lists*",
        "-a -h -H -i -k -l -m -P -T -t= -B= -x= --all --human-readable --inodes --local --print-type --si"
        " --total --block-size= --exclude-type= --type=", inert=True),
    row("stat", "lists*", "-L -t -f -x -F -c= --dereference --file-system --terse --format= --printf=", inert=True),
    row("file", "lists*",
        "-b -i -h -L -N -r -k -0 -F= --brief --dereference --extension --mime --mime-encoding --mime-type"
        " --no-dereference --no-pad --print0 --raw --separator="),
    row("readlink realpath", "lists*",
        "-e -f -m -n -q -s -z -L -P --canonicalize --canonicalize-existing --canonicalize-missing"
        " --no-newline --quiet --strip --zero", inert=True),
    row("md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum", "reads*",
        "-b -t --binary --tag --text", inert=True),
    row("od", "reads*", "-a -b -c -d -f -h -i -l -o -s -x -v -A= -N= -j= -t="),
    row("hexdump", "reads*", "-b -c -C -d -o -v -x -n= -s="),
    row("basename", "plain*", "-a -z -s= --multiple --zero --suffix="),
    row("dirname", "plain*", "-z --zero"),
    row("pwd", "", "-L -P"),
    row("which", "plain*", "-a"),
    row("type", "plain*", "-a -p -t -P"),
    row("seq", "plain*", "-w -s= -f="),
    row("uname", "", "-a -s -n -r -v -m -p -i -o --all --kernel-name --kernel-release --machine --operating-system"),
    row("id", "plain", "-u -g -G -n -r -z --group --groups --name --real --user --zero"),
    row("whoami groups logname uptime nproc arch tty hostname true false :", ""),
    row("fd", "plain lists*",
        "-H -I -u -a -s -g -F -p -0 -i -d= -t= -e= -E= -S= -c= -j= --absolute-path --case-sensitive --color"
        " --fixed-strings --full-path --glob --hidden --ignore-case --no-ignore --print0 --unrestricted"
        " --changed-before= --changed-within= --exclude= --extension= --max-depth= --max-results= --min-depth="
        " --size= --type=", scripted="-e --extension"),
    row("jq", "plain reads*",
        "-r -j -a -c -C -s -n -M -e -S --ascii-output --color-output --compact-output --exit-status"
        " --join-output --monochrome-output --null-input --raw-input --raw-output --slurp --sort-keys --tab"
        " --indent=", scripted="--indent"),
    row("cd", "plain"),
    row("echo printf test [", "plain*"),
    row("date", "plain*", "-u --utc -R -I[=] --iso-8601"),
    row("sed", "plain reads*", "-n --quiet --silent"),
    row("timeout", "plain plain*"),
    row("command", "plain*", "-v -V"),
    row("find", "lists*",
        "-H -P -a -and -daystart -depth -empty -executable -false -ls -mount -nogroup -noleaf -not -nouser -o"
        " -or -print -print0 -prune -quit -readable -true -writable -xdev -amin= -atime= -cmin= -ctime="
        " -fstype= -gid= -group= -ilname= -iname= -inum= -ipath= -iregex= -iwholename= -links= -lname="
        " -maxdepth= -mindepth= -mmin= -mtime= -name= -newermt= -path= -perm= -printf= -regex= -regextype="
        " -size= -type= -uid= -user= -wholename= -xtype= -anewer=reads -cnewer=reads -newer=reads"
        " -samefile=reads", single_dash=True),
    row("git", "", "--no-pager -P --no-optional-locks --literal-pathspecs --version", unknown="any", subcommands=(
            row("status", "reads*",
                "-s -b -v -z -u -n -o --ahead-behind --branch --column --ignored --long --porcelain --renames --short"
                " --show-stash --untracked-files --verbose"),
            row("log", "reads*", _GIT_LOG + " -p -s -u -w -b -z -c -g -i -m -R -M -S= -G= -n= -U[=]", style="numbers"),
            row("show", "reads*", _GIT_LOG + " -p -s -u -w -b -R -z -a -c -M -S= -G= -n= -U[=]", style="numbers"),
            row("diff", "reads*", _GIT_DIFF + " -p -s -u -w -b -R -z -a -M -S= -G= -U[=]"),
            row("diff-tree", "reads*",
                _GIT_DIFF + " -p -r -t -s -z -u -m -c -S= -G= -U[=] --format --no-commit-id --pretty --root"),
            row("branch", "",
                _GIT_LIST + " -a -r -v -i --abbrev --all --no-abbrev --remotes --show-current --verbose --list",
                style="list"),
            row("tag", "", _GIT_LIST + " -n -i -l,--list", style="list"),
            row("remote", "", "-v --verbose", subcommands=(row("get-url", "reads", "--all --push"),)),
            row("rev-parse", "reads*",
                "-q --abbrev-ref --absolute-git-dir --git-common-dir --git-dir --is-bare-repository"
                " --is-inside-git-dir --is-inside-work-tree --short --show-cdup --show-prefix"
                " --show-superproject-working-tree --show-toplevel --symbolic-full-name --verify"),
            row("rev-list", "reads*", _GIT_LOG + " -n= --count --objects", style="numbers"),
            row("ls-files", "reads*",
                "-c -d -m -o -s -k -t -v -z -u --abbrev --cached --deleted --directory --error-unmatch"
                " --exclude-standard --full-name --ignored --killed --modified --others --recurse-submodules --stage"
                " --unmerged"),
            row("ls-tree", "reads*",
                "-d -r -t -l -z --abbrev --full-name --full-tree --long --name-only --name-status"),
            row("cat-file", "reads*", "-p -t -s -e"),
            row("blame", "reads*",
                "-b -c -e -f -k -l -n -p -s -t -w -M -C -L= --date --line-porcelain --porcelain --root --show-email"),
            row("shortlog", "reads*",
                "-n -s -e -c --all --email --group --no-merges --numbered --since --summary --until"),
            row("describe", "reads*",
                "--abbrev --all --always --contains --dirty --exact-match --first-parent --long --match --tags"),
            row("merge-base", "reads*", "-a --all --fork-point --is-ancestor --octopus"),
            row("name-rev", "reads*", "--always --name-only --refs --tags"),
            row("for-each-ref", "reads*", _GIT_LIST + " --count"),
            row("count-objects", "", "-v -H --human-readable --verbose"),
            row("reflog", "", subcommands=(row("show", "reads*", _GIT_LOG + " -n=", style="numbers"),)),
            row("grep", "plain reads*",
                "-n -i -l -L -c -w -v -E -F -G -P -h -H -p -W -q -a -I -z -o -e= -A= -B= -C= -m= --all-match --and"
                " --break --cached --color --count --extended-regexp --files-with-matches --files-without-match"
                " --fixed-strings --function-context --heading --ignore-case --line-number --max-depth --name-only"
                " --no-color --not --only-matching --or --perl-regexp --quiet --show-function --word-regexp",
                scripted="-e", style="numbers"),
            row("stash", "", unknown="any", subcommands=(
                    row("list", "", "--date --format --oneline --pretty --stat", style="numbers"),
                    row("show", "reads*", _GIT_DIFF + " -p"),
                )),
            row("worktree", "", unknown="any", subcommands=(row("list", "", "-v --porcelain --verbose"),)),
        )),
)

READERS: Final[Mapping[str, Program]] = {name: one for one in _ROWS for name in one.names}
# programs that run what they are given: only their version is asked for, which has a short option with some
VERSION_OPTIONS: Final[Mapping[str, str]] = {
        **dict.fromkeys(["bash", "gcc", "g++", "clang", "cmake", "make", "perl", "ruby", "java"], "--version"),
        "python": "-V",
        "python3": "-V",
        "node": "-v",
    }
