"""Rows of the table of programs for files and text, programs that run another command, shells and their builtins."""

from typing import Final

from hookline.shell.program import Program, row

# one row per program, options on a line of their own where they are many
# fmt: off

# coreutils, findutils, text tools, archives, editors

_GREP: Final = (
    "-E,--extended-regexp -F,--fixed-strings -G,--basic-regexp -P,--perl-regexp -i,-y,--ignore-case -w,--word-regexp"
    " -x,--line-regexp -v,--invert-match -c,--count --color[=] --colour[=] -o,--only-matching -q,--quiet,--silent"
    " -s,--no-messages -H,--with-filename -h,--no-filename -n,--line-number -l,--files-with-matches -Z,--null"
    " -L,--files-without-match -z,--null-data -a,--text -r,--recursive -R,--dereference-recursive -b,--byte-offset"
    " -T,--initial-tab -I -U,--binary --line-buffered -e,--regexp= -f,--file=reads -A,--after-context="
    " -B,--before-context= -C,--context= -m,--max-count= --include= --exclude= --exclude-dir= --exclude-from=reads"
    " --binary-files= -d,--directories= -D,--devices= --label= --no-ignore-case"
)
_RG: Final = (
    "-i,--ignore-case -S,--smart-case -s,--case-sensitive -w,--word-regexp -x,--line-regexp -v,--invert-match -c,--count"
    " --count-matches -o,--only-matching -q,--quiet -n,--line-number -N,--no-line-number -H,--with-filename"
    " -I,--no-filename -l,--files-with-matches --files-without-match -F,--fixed-strings -P,--pcre2 -U,--multiline"
    " --no-heading --heading --column --color= --json --stats --vimgrep -p,--pretty --trim --no-messages --type-list"
    " -0,--null -a,--text --sort= --sortr= -e,--regexp= -f,--file=reads -A,--after-context= -B,--before-context="
    " -C,--context= -m,--max-count= -g,--glob= --iglob= -t,--type= -T,--type-not= -d,--max-depth= -M,--max-columns="
    " -r,--replace= -j,--threads= --max-filesize= --hidden -. --no-ignore -u,--unrestricted -L,--follow --files"
    " --pre=shell --no-ignore-vcs --multiline-dotall -b,--byte-offset --passthru --encoding= -E= --engine="
)
_FIND_TESTS: Final = (
    "-name= -iname= -path= -ipath= -wholename= -iwholename= -regex= -iregex= -regextype= -type= -xtype= -size= -mtime="
    " -mmin= -atime= -amin= -ctime= -cmin= -user= -group= -uid= -gid= -perm= -maxdepth= -mindepth= -lname= -ilname="
    " -inum= -links= -newermt= -fstype= -printf= -newer=reads -anewer=reads -cnewer=reads -samefile=reads"
    " -print -print0 -ls -prune -quit -depth -mount -xdev -empty -readable -writable -executable -daystart -noleaf"
    " -nouser -nogroup -true -false -a -and -o -or -not -H -L -P -fprint=writes -fprint0=writes -fls=writes -delete"
)

FILES: Final[tuple[Program, ...]] = (
    row("ls dir vdir", "lists*",
        "-a,--all -A,--almost-all --author -b,--escape -B,--ignore-backups -c -C --color[=] -d,--directory -D -f"
        " -F,--classify[=] --file-type -g --group-directories-first -G,--no-group -h,--human-readable --si -H"
        " --hide= -i,--inode -I,--ignore= -k,--kibibytes -l -L,--dereference -m -n,--numeric-uid-gid -N,--literal -o"
        " -p -q,--hide-control-chars -Q,--quote-name --quoting-style= -r,--reverse -R,--recursive -s,--size -S --sort="
        " --time= --time-style= -t -T,--tabsize= -u -U -v -w,--width= -x -X -Z,--context -1 --full-time --format="
        " --block-size= --indicator-style= --show-control-chars", here=True),
    row("exa eza lsd", "lists*", here=True),
    row("cat bat batcat", "reads*",
        "-A,--show-all -b,--number-nonblank -e -E,--show-ends -n,--number -s,--squeeze-blank -t -T,--show-tabs -u"
        " -v,--show-nonprinting -p,--plain --style= --paging= -l,--language= --color= -r,--line-range= -P"),
    row("tac rev nl zcat bzcat xzcat gzcat zstdcat strings", "reads*",
        "-b= -d= -f= -h= -i= -l= -n= -s= -v= -w= -a -p -t="),
    row("less more most", "reads*", "-N -S -R -F -X -i -n -r -s -x= -p=", guarded=True),
    row("head tail", "reads*",
        "-n,--lines= -c,--bytes= -q,--quiet,--silent -v,--verbose -z,--zero-terminated -f,--follow[=] -F --retry --pid= -s,--sleep-interval= -r",
        style="numbers"),
    row("wc", "reads*",
        "-c,--bytes -m,--chars -l,--lines -w,--words -L,--max-line-length --files0-from=reads --total="),
    row("cut", "reads*",
        "-b,--bytes= -c,--characters= -d,--delimiter= -f,--fields= -n --complement -s,--only-delimited --output-delimiter= -z"),
    row("tr", "plain*", "-c,-C,--complement -d,--delete -s,--squeeze-repeats -t,--truncate-set1"),
    row("column", "reads*",
        "-t,--table -s,--separator= -o,--output-separator= -c,--output-width= -n,--table-name= -N,--table-columns= -R,--table-right= -J,--json -L -x -e -d"),
    row("fold expand unexpand fmt pr paste join comm look", "reads*",
        "-a -b -c= -d= -e -i -j= -l= -n -o= -p -q -s -t= -u -w,--width= -x -z -1 -2 -3 -N= -J --json"),
    row("sort", "reads*",
        "-b,--ignore-leading-blanks -d,--dictionary-order -f,--ignore-case -g,--general-numeric-sort -i -M,--month-sort"
        " -h,--human-numeric-sort -n,--numeric-sort -R,--random-sort -r,--reverse -V,--version-sort -c,--check[=] -C"
        " -m,--merge -s,--stable -u,--unique -z,--zero-terminated -k,--key= -t,--field-separator= -o,--output=writes"
        " -S,--buffer-size= -T,--temporary-directory= --parallel= --batch-size= --compress-program=shell"
        " --files0-from=reads --random-source=reads --sort="),
    row("uniq", "reads writes",
        "-c,--count -d,--repeated -D -i,--ignore-case -u,--unique -z,--zero-terminated -f,--skip-fields= -s,--skip-chars= -w,--check-chars="),
    row("tsort shuf", "reads*", "-e -i= -n= -o,--output=writes -r -z"),
    row("diff colordiff cmp sdiff", "reads*",
        "-a -b -B -c -C,--context= -d -e -E -i -l -n -N,--new-file -p -q,--brief -r,--recursive -s -t -T -u -U,--unified="
        " -w -W,--width= -x,--exclude= -X,--exclude-from=reads -y,--side-by-side -Z --color[=] --label= --no-dereference"
        " --strip-trailing-cr --suppress-common-lines --silent --verbose --ignore-all-space", recursive="-r"),
    row("grep egrep fgrep zgrep", "plain reads*", _GREP, recursive="-r -R", scripted="-e -f", style="grep"),
    row("rg ripgrep", "plain reads*", _RG, recursive="always", here=True, scripted="-e -f --files",
        hides="--hidden -. -u", instead={"--files --type-list": "lists*"}, style="grep"),
    row("ag ack", "plain reads*",
        "-i -l -n -w -v -Q -s -S -A= -B= -C= -G= -g= --hidden -u -a --ignore= --color --nocolor -r",
        recursive="always", here=True, hides="--hidden -u -a", style="grep"),
    row("fd fdfind", "plain lists*",
        "-H,--hidden -I,--no-ignore -u,--unrestricted -i -s -g,--glob -F -a -l -L -p -t,--type= -e,--extension= -E,--exclude= -d,--max-depth= --min-depth= -S,--size= -o,--owner= -0 -1 -q -c,--color= --changed-within= --changed-before= -X,--exec-batch -x,--exec -j=",
        here=True, style="fd"),
    row("find gfind", "lists*", _FIND_TESTS, here=True, single_dash=True, style="find"),
    row("locate mlocate plocate", "plain*", "-i -c -l= -r"),
    row("tree", "lists*",
        "-a -d -f -i -p -s -u -g -h -D -F -r -t -U -n -C -A -S -Q -J -X -l -x -L= -I= -P= -o=writes --dirsfirst --noreport --gitignore --prune --du --si --filelimit= --charset= --sort=",
        here=True),
    row("du ncdu dust", "lists*",
        "-a,--all -b,--bytes -c,--total -D -h,--human-readable -H -k -l -L -m -P -s,--summarize -S -x -0 -d,--max-depth= -B,--block-size= -t,--threshold= --exclude= --apparent-size --si --time[=] -X,--exclude-from=reads",
        here=True),
    row("df duf", "plain*", "-a -h -H -i -k -l -m -P -T -t= -x= -B= --total --output[=]"),
    row("stat", "lists*", "-L,--dereference -t -f -x -c,--format= --printf= -F"),
    row("file", "lists*",
        "-b,--brief -i,--mime -h -L -N -r -k -0 -z --mime-type --mime-encoding --extension -F,--separator= -f=reads -m=reads"),
    row("readlink realpath", "lists*", "-e -f -m -n -q -s -v -z -L -P --relative-to= --relative-base= --canonicalize"),
    row("md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum shasum md5", "reads*",
        "-a= -b -c,--check -t -w --tag --quiet --status -q -r"),
    row("od hexdump hd", "reads*", "-a -b -c -C -d -f -h -i -l -o -s -v -x -A= -N= -j= -t= -n= -w[=] -e="),
    row("xxd", "reads writes",
        "-a -b -c -C -d -f -i -o -p -r -u -v -x -A= -N= -j= -t= -n= -s= -l= -g= -w[=] -E -ps -e="),
    row("base64 base32 basenc", "reads*", "-d,--decode -D -i= -o=writes -w,--wrap= --ignore-garbage"),
    row("basename dirname", "plain*", "-a,--multiple -s,--suffix= -z,--zero"),
    row("pwd", "", "-L -P"),
    row("echo", "plain*", "-n -e -E", style="text"),
    row("printf", "plain*", "-v=name", style="text"),
    row("date", "plain*",
        "-d,--date= -f,--file=reads -I[=] -R,--rfc-email --rfc-3339= -r,--reference=reads -s,--set= -u,--utc -v= -j -Iseconds --iso-8601[=]"),
    row("sleep seq expr factor numfmt yes units", "plain*", "-s= -f= -w -l -q"),
    row("bc dc", "reads*", "-e,--expression= -f,--file=reads -w -l -q -s -h", evaluates="-e -f *", reads_code=True),
    row("true false : test [ [[", "plain*", style="builtin"),
    row("let", "arithmetic*", style="builtin"),
    row("which whereis type", "plain*", "-a -s -p -P -t -f -b -m"),
    row("hash", "plain*", "-r -p=script -d -l -t", evaluates="*"),
    row("uname id whoami groups logname uptime nproc arch tty hostname hostnamectl lsb_release sw_vers getconf locale", "plain*",
        "-a -s -n -r -v -m -p -i -o -u -g -G -z -f -I -d -c"),
    row("ps top htop pgrep free vmstat iostat lsof lscpu lsblk lspci lsusb mount.list ss netstat w who last dmesg journalctl sysctl.read", "plain*",
        "-o= -p= -u= -U= -C= -n= -d= -t= -f -i -a -e -l -L -x -A -w -h -r -v -P -N -F -b -m= -g="),
    row("cal ncal tput stty clear reset tset", "plain*"),
    row("man info help apropos whatis tldr", "plain*", guarded=True),
    row("getent nslookup dig host whois ping ping6 traceroute tracepath mtr", "plain*",
        "-c= -t= -p= -4 -6 -n -x= -W= -w= -i=", unknown="urls"),
    row("ifconfig ip route arp", "plain*", "-a -4 -6 -s -d -br -j"),
    # files that are written
    row("touch", "writes*", "-a -c,--no-create -m -h -d,--date= -t= -r,--reference=reads --time="),
    row("mkdir", "writes*", "-p,--parents -v,--verbose -m,--mode= -Z --context[=]"),
    row("mkfifo mknod", "writes plain*", "-m,--mode="),
    row("mktemp", "plain*", "-d,--directory -u,--dry-run -q -p,--tmpdir= -t --suffix="),
    row("tee", "writes*", "-a,--append -i,--ignore-interrupts -p --output-error[=]"),
    row("sponge", "writes*", "-a"),
    row("truncate", "writes*", "-c,--no-create -o -r,--reference=reads -s,--size="),
    row("fallocate", "writes*", "-l,--length= -o= -n -d -z -p -c -i -x -v"),
    row("chmod", "plain writes*",
        "-R,--recursive -v,--verbose -c,--changes -f,--silent,--quiet --reference=reads --preserve-root --no-preserve-root -h",
        recursive="-R", scripted="--reference", style="mode"),
    row("chown chgrp chcon chattr setfacl", "plain writes*",
        "-R,--recursive -v,--verbose -c,--changes -f,--silent,--quiet --reference=reads -h,--no-dereference --dereference -H -L -P --from= --preserve-root --no-preserve-root -m= -x= -b",
        recursive="-R", scripted="--reference -m -x", style="mode"),
    row("rmdir", "deletes*", "-p,--parents -v,--verbose --ignore-fail-on-non-empty"),
    row("unlink", "deletes"),
    row("rm grm", "deletes*",
        "-r,-R,--recursive -f,--force -i -I --interactive[=] -d,--dir -v,--verbose --preserve-root[=] --no-preserve-root --one-file-system -P -W",
        recursive="-r"),
    row("shred wipe srm", "deletes*",
        "-u,--remove[=] -f,--force -n,--iterations= -z,--zero -v,--verbose -x,--exact -s,--size= -r", recursive="-r"),
    row("trash trash-put gio-trash rimraf del-cli del", "deletes*", "-r -f -v", recursive="always"),
    row("cp gcp", "reads* into",
        "-a,--archive -b --backup[=] -d -f,--force -i,--interactive -H -l,--link -L,--dereference -n,--no-clobber"
        " -P,--no-dereference -p --preserve[=] --no-preserve= --parents -R,-r,--recursive --reflink[=] --remove-destination"
        " --sparse= --strip-trailing-slashes -s,--symbolic-link -S,--suffix= -t,--target-directory=writes"
        " -T,--no-target-directory -u,--update[=] -v,--verbose -x,--one-file-system -c -X", recursive="-r -a"),
    row("mv gmv rename.one", "moves* into",
        "-b --backup[=] -f,--force -i,--interactive -n,--no-clobber -S,--suffix= -t,--target-directory=writes -T,--no-target-directory -u,--update[=] -v,--verbose --strip-trailing-slashes",
        recursive="always"),
    row("install ginstall", "reads* into",
        "-b -c -C -d,--directory -D -g,--group= -m,--mode= -o,--owner= -p -s,--strip -S,--suffix= -t,--target-directory=writes -T -v,--verbose",
        instead={"--directory": "writes*"}),
    row("ln", "links* into",
        "-b -d,-F -f,--force -i,--interactive -L -n,--no-dereference -P -r,--relative -s,--symbolic -S,--suffix= -t,--target-directory=writes -T,--no-target-directory -v,--verbose",
        style="link"),
    row("link", "reads writes"),
    row("dd", "plain*", style="dd"),
    row("split", "reads writes", "-a= -b,--bytes= -C= -l,--lines= -n,--number= -d -x -e -u", unknown="writes"),
    row("csplit", "reads plain*", "-b= -f,--prefix=writes -n= -k -s -z", unknown="writes"),
    row("rename prename", "plain writes*", "-v -n -f -e= -s"),
    row("patch", "writes reads",
        "-p,--strip= -i,--input=reads -o,--output=writes -d,--directory=folder -R,--reverse -N,--forward -f,--force -s -b -E -t -u -l --dry-run -r,--reject-file=writes",
        unknown="writes deletes"),
    row("rsync", "reads* into",
        "-a,--archive -v,--verbose -r,--recursive -z,--compress -n,--dry-run -u,--update -h -P -q -l -p -t -g -o -D -x -c -i -e,--rsh=shell --delete --delete-after --delete-excluded --exclude= --include= --exclude-from=reads --files-from=reads --progress --partial --stats --remove-source-files --bwlimit= --chmod= --rsync-path= --info= --no-perms --no-owner --no-group --checksum --dry-run",
        recursive="-r -a", style="remote-copy"),
    row("scp", "reads* into", "-r -p -q -v -C -B -3 -4 -6 -O -P= -i=reads -F=reads -o= -l= -c= -J= -S=shell",
        recursive="-r", style="remote-copy"),
    row("sed gsed", "plain reads*",
        "-n,--quiet,--silent -E,-r,--regexp-extended -s,--separate -u,--unbuffered -z,--null-data -i,--in-place[=] -e,--expression= -f,--file=reads -l,--line-length= --posix --debug --sandbox",
        evaluates="1 -e -f", guarded=True, in_place="-i", scripted="-e -f",
        style="sed"),
    row("awk gawk mawk nawk", "code reads*",
        "-F,--field-separator= -v,--assign= -f,--file=script -E,--exec=script -e,--source=code -i,--include=script -l,--load=script --posix -n -O -b",
        scripted="-f -e -E", stops=True, style="awk"),
    row("jq yq gojq jaq xq tomlq dasel fx", "plain reads*",
        "-r,--raw-output -c,--compact-output -n,--null-input -e,--exit-status -s,--slurp -R,--raw-input -S,--sort-keys -C,--color-output -M,--monochrome-output -a -j,--join-output --tab --indent= --unbuffered --seq --stream --arg== --argjson== --slurpfile==reads --rawfile==reads --args --jsonargs -f,--from-file=reads -L= -i,--in-place,--inplace -o,--output-format= -p,--input-format= -P,--prettyPrint",
        evaluates="1 -f -L", scripted="-f", in_place="-i", style="jq"),
    row("xmllint xmlstarlet", "reads*", "--format --noout --xpath= --schema=reads -o,--output=writes"),
    row("envsubst", "plain*"),
    row("tar gtar bsdtar", "plain*",
        "-A -c,--create -d,--diff -r,--append -t,--list -u,--update -x,--extract,--get -f,--file= -C,--directory=folder -z,--gzip -j,--bzip2 -J,--xz -v,--verbose -a,--auto-compress -p -P -k -O,--to-stdout -h --exclude= --exclude-vcs --strip-components= --transform= --owner= --group= --mode= -T,--files-from=reads -X,--exclude-from=reads --zstd --wildcards --no-same-owner -I,--use-compress-program=shell --to-command=shell --checkpoint-action=shell --checkpoint[=] --remove-files --overwrite -m --numeric-owner",
        style="tar"),
    row("zip", "writes reads*", "-r,--recurse-paths -q -9 -j -m -u -d -x= -i= -y -e -P= -T -X -0 -1 -v -TT=shell",
        recursive="-r"),
    row("unzip", "reads plain*", "-o -q -n -j -l -t -p -v -d=writes -x= -P= -u -a", style="unzip"),
    row("gzip bzip2 xz zstd lz4 brotli pigz compress", "writes*",
        "-k,--keep -d,--decompress -c,--stdout -f,--force -9 -1 -v -q -r,--recursive -t -l -n -N -T= -o=writes -1 -6 -S=",
        recursive="-r", instead={"--stdout -t -l": "reads*"}, style="compress"),
    row("gunzip bunzip2 unxz unzstd uncompress", "writes*", "-k,--keep -c,--stdout -f,--force -v -q -r -t -l",
        recursive="-r", instead={"--stdout -t -l": "reads*"}, style="compress"),
    row("7z 7za 7zr rar unrar cpio ar", "plain*", unknown="reads writes deletes", guarded=True),
    # editors
    row("vi vim nvim view nano pico emacs emacsclient ed ex micro hx helix joe", "reads*",
        "-c= -R -n -u= -S=script --cmd= -q -e -s -E -p -o -O -f -nw --eval= --batch -l=script", in_place="always",
        evaluates="-c -u --cmd --eval", reads_code=True, unknown="runs writes reads"),
    row("code code-insiders cursor subl atom mate gedit kate zed idea open xdg-open start wslview", "reads*",
        "-n -r -w,--wait -g,--goto -d,--diff --new-window -a= -R -t", unknown="runs"),
    row("pbcopy xsel wl-copy clip pbpaste wl-paste", "plain*", "-selection= -sel= -o -i -b -n"),
    row("xclip", "reads*", "-selection,-sel= -o,-out -i,-in -r,-rmlastnl -d,-display= -t,-target= -l,-loops= -f,-filter -quiet -silent", single_dash=True),
    row("apply_patch applypatch", "plain*", style="apply_patch"),
)


# programs that run another command, shells, and the builtins of shells

_SHELL: Final = "-c,-lc.never -l,--login -i -e -u -x -v -n -f -s -p -r -a -b -h -m -B -C -D -E -H -P -T -o= -O= --norc --noprofile --posix --rcfile=script --init-file=script --version --help --verbose -k -t"
_BUILTIN: Final = "-a= -d= -n= -p= -t= -u= -r -s -x -g -i -A -f -F -l -e -o= -c -v"
_SET: Final = "-a -b -e -f -h -k -m -n -o= -p -r -t -u -v -x -B -C -E -H -P -T"

WRAPPERS: Final[tuple[Program, ...]] = (
    row("sh bash dash zsh ksh ash mksh fish rbash posh yash csh tcsh busybox.sh git-shell", "script plain*", _SHELL,
        unknown="any", interpreter=True, style="shell"),
    row("env", "env*",
        "-i,--ignore-environment -u,--unset= -C,--chdir=folder -S,--split-string=shell -0,--null -v,--debug --block-signal[=] --default-signal[=] --ignore-signal[=] -P=",
        wraps="words"),
    row("sudo", "env*",
        "-A -b,--background -E,--preserve-env[=] -e,--edit -g,--group= -H,--set-home -h,--host= -i,--login -K -k -l,--list -n,--non-interactive -P -p,--prompt= -r= -t= -T= -C= -D,--chdir=folder -R= -S,--stdin -s,--shell -U= -u,--user= -V -v,--validate",
        wraps="words", evaluates="-s -i -e"),
    row("sudoedit", "writes*", "-A -n -S -u,--user= -g= -p=", unknown="runs reads"),
    row("doas", "", "-a= -C= -L -n -s -u=", wraps="words", evaluates="-s"),
    row("pkexec run0", "", "--user= --keep-cwd", wraps="words"),
    row("su", "plain*", "-c,--command=shell -l,--login -s,--shell= -m,-p,--preserve-environment -g= -P,--pty",
        unknown="runs", evaluates="*"),
    row("runuser", "plain*",
        "-c,--command=shell -l,--login -s,--shell= -m,-p,--preserve-environment -g= -u,--user= -P,--pty",
        unknown="runs", evaluates="*", style="after-dashes"),
    row("timeout gtimeout", "plain", "-k,--kill-after= -s,--signal= --preserve-status --foreground -v,--verbose",
        wraps="words"),
    row("nice", "", "-n,--adjustment=", wraps="words", style="numbers"),
    row("coproc nohup setsid noglob nocorrect unbuffer catchsegv chronic retry ts dbus-run-session fakeroot linux32 linux64 proot eatmydata caffeinate rlwrap winpty proxychains proxychains4 torsocks tsocks torify arch setarch xvfb-run cpulimit trickle ltrace.run", "",
        "-arm64 -x86_64 -arm64e -i386 -a -l= -q -n= -c -f -w -i -s -d -t= -u", wraps="words"),
    row("-", "", "", wraps="words"),
    row("time gtime", "", "-p,--portability -v,--verbose -f,--format= -o,--output=writes -a,--append -l -h",
        wraps="words"),
    row("stdbuf", "", "-i,--input= -o,--output= -e,--error=", wraps="words"),
    row("ionice chrt taskset numactl", "", "-c,--class= -n,--classdata= -p= -t,--ignore -f -r -o -b -a",
        wraps="words", style="taskset"),
    row("prlimit cgexec systemd-inhibit", "", "-g= --sticky --what= --who= --why= --mode= -n= -v=", wraps="words"),
    row("systemd-run", "",
        "--user --scope --unit= -p,--property= --wait --pipe --pty -t -P --uid= --gid= --nice= -E,--setenv= --working-directory=folder -d -G -q",
        wraps="words"),
    row("chroot", "plain", "--userspec= --groups= --skip-chdir", wraps="words", remote=True),
    row("bwrap", "",
        "--ro-bind,--ro-bind-try== --bind,--bind-try== --dev-bind,--dev-bind-try== --symlink== --setenv== --unsetenv= --dev= --proc= --tmpfs= --dir= --chdir=folder --unshare-all --unshare-net --unshare-user --unshare-pid --unshare-ipc --unshare-uts --share-net --die-with-parent --new-session --clearenv --uid= --gid= --hostname= --cap-add= --cap-drop= --overlay-src= --as-pid-1",
        wraps="words", unknown="any"),
    row("unshare nsenter firejail", "",
        "-m -u -i -n -p -U -C -T -r -f -t,--target= --mount-proc[=] --fork --pid --net --user --map-root-user --chdir=folder --private[=] --net=",
        wraps="words", unknown="any"),
    row("xargs gxargs", "",
        "-0,--null -a,--arg-file=reads -d,--delimiter= -E= -e[=] -I,-J= -i[=] -L,--max-lines= -l[=] -n,--max-args= -P,--max-procs= -p,--interactive -r,--no-run-if-empty -s,--max-chars= -t,--verbose -x,--exit -R= --process-slot-var= -o",
        wraps="words", style="xargs"),
    row("parallel", "",
        "-j,--jobs= -k,--keep-order -n,--max-args= -I= -a,--arg-file=reads --bar --eta --dry-run --will-cite --halt= -N= -X -m -q --colsep= --delay= --joblog=writes --results=writes --retries= --tag --timeout= -S= --pipe -u --ungroup --line-buffer --lb",
        wraps="words", style="parallel"),
    row("watch", "", "-b -c,--color -d,--differences[=] -e -g -n,--interval= -p -t,--no-title -x,--exec -w",
        wraps="text"),
    row("entr", "", "-a -c -d -n -p -r -s -z", wraps="words"),
    row("watchexec nodemon cargo-watch reflex air", "",
        "-e,--exts= -w,--watch= -r,--restart -c,--clear -i,--ignore= -x,--exec=shell -s= -d= -q --on-busy-update= --delay=",
        wraps="words", unknown="any"),
    row("strace ltrace dtruss", "",
        "-a= -b= -c -C -d -D -e= -E= -f -ff -F -h -i -I= -k -n -o=writes -O= -p= -P= -q -r -s= -S= -t -tt -T -u= -v -V -w -x -xx -y -yy -z -Z",
        wraps="words"),
    row("perf", "plain", "-e= -o=writes -g -a -F= -p= -r= -d", wraps="words"),
    row("gdb lldb rr valgrind hyperfine heaptrack", "",
        "-ex=code --args --batch -x=script -p= -w,--warmup= -r,--runs= -m= -M= --export-json=writes --export-markdown=writes -n= -s= --tool= --leak-check= -q -N -i -S=",
        wraps="words", unknown="any"),
    row("script", "writes", "-a -c,--command=shell -e -f -q -t[=]", unknown="runs", evaluates="*"),
    row("flock", "plain",
        "-s,--shared -x,-e,--exclusive -u,--unlock -n,--nonblock -w,--timeout= -o,--close -c,--command=shell -E= -F --verbose",
        wraps="words"),
    row("direnv", "plain plain", "", wraps="words", unknown="runs"),
    row("dotenv dotenvx envdir env-cmd cross-env cross-env-shell dotenv-cli", "env*",
        "-e=reads -f=reads --env-file=reads -c -o,--override -p= -q", wraps="words", unknown="runs", style="run-words"),
    row("concurrently npm-run-all run-s run-p wait-on start-server-and-test", "shell*",
        "-n= -c= -k -r -p= -s= --names= --kill-others --raw", unknown="any"),
    row("nix-shell", "plain*", "--run=shell --command=shell -p,--packages -I= --pure", unknown="any"),
    row("asdf nodenv.exec", "plain*", "", unknown="any", subcommands=(
            row("exec", "", wraps="words", unknown="any"),
        )),
    row("nix mise rtx op doppler infisical aws-vault chamber teller devbox flox pixi.run hatch.run", "plain*",
        "", unknown="any", style="after-dashes"),
    row("guix", "plain*", unknown="any"),
    row("screen tmux", "plain*", "-d -m -S= -t= -s= -n= -c=folder -X -dm -dmS=", unknown="any", evaluates="*",
        style="terminal"),
    row("at batch crontab", "plain*", "-f=reads -l -r -e -u= -m -q= -i", unknown="any", evaluates="-f",
        reads_code=True, guarded=True),
    row("ssh autossh mosh rsh", "plain",
        "-1 -2 -4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -tt -V -v -X -x -Y -y -B= -b= -c= -D= -E=writes -e= -F=reads -I= -i=reads -J= -L= -l= -m= -O= -o=setting -p= -Q= -R= -S= -W= -w=",
        wraps="text", remote=True, unknown="urls"),
    row("cmd", "", "", wraps="text", unknown="any", style="cmd"),
    row("adb", "plain*", unknown="any", subcommands=(
            row("shell", "", "-t -T -x -n", wraps="text", remote=True, unknown="any"),
        )),
    row("sshpass", "", "-p= -f=reads -d= -e -P= -v", wraps="words"),
    row("sftp ssh-copy-id ftp lftp", "plain*", "-b=reads -i=reads -P= -o= -r -e=", unknown="any", guarded=True,
        evaluates="-e -o -b"),
    row("ssh-keygen", "plain*", "-t= -b= -f=writes -N= -C= -q -l -y -p -e -i -R= -F= -E= -P= -m=", unknown="writes"),
    row("ssh-add ssh-agent ssh-keyscan", "reads*", "-l -L -D -d -K -t= -s -k -c -H -p= -T="),
    # builtins of shells
    row("command", "", "-p -v -V", wraps="words", style="command"),
    row("builtin", "", "", wraps="words"),
    row("exec", "", "-a= -c -l", wraps="words"),
    row("eval", "", "", wraps="text"),
    row("source .", "script plain*", "", unknown="any", style="source"),
    row("trap", "shell plain*", "-l -p"),
    row("cd chdir pushd popd", "plain*", "-L -P -e -n -@"),
    row("export declare typeset local readonly", "name*", "-r -x -g -i -n -a -A -f -F -l -u -p -t", style="builtin"),
    row("read", "name*", "-a=name -A -d= -e -i= -n= -N= -p= -r -s -t= -u= -q -k= -z", style="builtin"),
    row("mapfile readarray", "name*", "-d= -n= -O=arithmetic -s= -t -u= -C=shell -c=", style="builtin"),
    row("unset getopts", "name*", "-f -v -n", style="builtin"),
    row("wait", "name*", "-n -f -p=name", style="builtin"),
    row("set", "plain*", _SET, style="builtin", guarded=True),
    row("complete compgen compopt bind fc enable jobs history", "plain*", _BUILTIN, style="builtin", evaluates="*"),
    row("shift shopt setopt unsetopt alias unalias return exit break continue fg bg disown umask ulimit times dirs caller logout suspend emulate autoload zmodload hash.r", "plain*",
        _BUILTIN, style="builtin"),
)
