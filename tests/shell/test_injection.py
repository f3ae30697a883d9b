"""Where templates may stand: what is refused, with which reason, and what is not."""

import shlex
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hookline.errors import ConfigError
from hookline.shell.templates import TemplateError, compile_line
from tests.helpers.each import each

# a line, and a part of the reason
REFUSED = [
    # values that are saved or piped, and run in a roundabout way
    ('x={{x}}; : ${y:=$x}; eval "$y"', "$y, which may hold a template's value"),
    ('x={{x}}; echo "${y=$x}" >/dev/null; bash -c "$y"', "$y, which may hold a template's value"),
    ("x={{x}}; y=x; echo $((y))", "evaluated as arithmetic"),
    ("printf '%s' {{x}} | $SHELL", "only known at run time takes its program from stdin"),
    ("printf '%s' {{x}} | \"$SHELL\" -s", "only known at run time takes its program from stdin"),
    ("printf '%s' {{x}} | . /dev/stdin", "takes its program from stdin"),
    ("printf '%s' {{x}} | source /dev/fd/0", "takes its program from stdin"),
    ("printf '%s' {{x}} | xargs env", "choose the program"),
    ("printf '%s' {{x}} | xargs -n 2 nohup nice", "choose the program"),
    # quoting that cannot hold a value
    ("echo `basename {{x}}`", "backticks"),
    ('echo "`basename {{x}}`"', "backticks"),
    ("echo `echo \\`echo {{x}}\\``", "backticks"),
    ("cat <<EOF\n{{x}}\nEOF", "here-document"),
    ("cat <<'EOF'\n{{x}}\nEOF", "here-document"),
    ("cat <<-EOF\n\t$(echo {{x}})\n\tEOF\necho a", "here-document"),
    ("cat <<A; cat <<B\na\nA\n{{x}}\nB", "here-document"),
    ("cat <<EOF\na\\\nEOF\n{{x}}\nEOF", "here-document"),
    ("x=$(cat <<EOF\n{{x}}\nEOF\n)", "here-document"),
    ("echo ${a:-{{x}}}", "${…}"),
    ('echo "${a:-{{x}}}"', "${…}"),
    ("echo ${a#{{x}}}", "${…}"),
    ("echo ${a[{{x}}]}", "${…}"),
    ("echo ${{x}}", "$ before it"),
    ('echo "${{x}}"', "$ before it"),
    ("echo $'{{x}}'", "$'…'"),
    ("echo \\{{x}}", "backslash"),
    ('echo "\\{{x}}"', "backslash"),
    ("a=({{x}} b)", "array"),
    ("echo $(({{x}} + 1))", "arithmetic"),
    ('echo "$((1 + {{x}}))"', "arithmetic"),
    ("(( {{x}} > 1 )) && echo a", "arithmetic"),
    ("(({{x}}))", "arithmetic"),
    ("for ((i = {{x}}; i; i--)); do :; done", "arithmetic"),
    ("let n={{x}}", "arithmetic"),
    ("let {{x}}", "arithmetic"),
    ("[[ {{x}} -eq 1 ]]", "arithmetic"),
    ("[[ $n -gt '{{x}}' ]]", "arithmetic"),
    ("[[ -v {{x}} ]]", "arithmetic"),
    ("declare -i n; n={{x}}", "arithmetic"),
    ("typeset -i n={{x}}", "arithmetic"),
    # the event would choose what runs
    ("{{x}}", "choose the program"),
    ("{{x}} --help", "choose the program"),
    ("'{{x}}'", "choose the program"),
    ("./bin/{{x}} a", "choose the program"),
    ("a{{x}}", "choose the program"),
    ("true && {{x}}", "choose the program"),
    ("true | {{x}}", "choose the program"),
    ("A=b {{x}}", "choose the program"),
    ("> log {{x}}", "choose the program"),
    ("if {{x}}; then :; fi", "choose the program"),
    ("while ! {{x}}; do :; done", "choose the program"),
    ("f() { {{x}}; }", "choose the program"),
    ("case a in a) {{x}};; esac", "choose the program"),
    ("$(echo {{x}})", "choose the program"),
    ("echo $({{x}})", "choose the program"),
    ('"$(which {{x}})" a', "choose the program"),
    ("(cd /; {{x}})", "choose the program"),
    ("exec {{x}}", "choose the program"),
    ("command {{x}}", "choose the program"),
    ("nohup {{x}} &", "choose the program"),
    ("env A=b {{x}}", "choose the program"),
    ("sudo -u bob {{x}}", "choose the program"),
    ("timeout 5 {{x}}", "choose the program"),
    ("xargs {{x}}", "choose the program"),
    ("npx {{x}}", "choose the program"),
    ("uv run {{x}}", "choose the program"),
    ("docker exec web {{x}}", "choose the program"),
    ("git {{x}}", "choose the program"),
    ("find . -exec {{x}} {} +", "choose the program"),
    ("time {{x}}", "choose the program"),
    ("{{x}}=1", "choose the program"),
    ("a[{{x}}]=1", "choose the program"),
    (". {{x}}", "program text for source"),
    ("source './{{x}}'", "program text for source"),
    ("source <(echo {{x}})", "program text for source"),
    ("python {{x}}", "program text for python"),
    ("bash ./{{x}}", "program text for bash"),
    ("python3 -m {{x}}", "program text for python"),
    ("$SHELL -c {{x}}", "only known at run time"),
    ('"$PYTHON" {{x}}', "only known at run time"),
    ("/bin/ba?h -c {{x}}", "only known at run time"),
    ("{bash,-c} {{x}}", "with certainty"),
    # program text
    ("eval {{x}}", "program text for eval"),
    ('eval "echo {{x}}"', "program text for eval"),
    ('eval "$(echo {{x}})"', "program text for eval"),
    ("command eval {{x}}", "program text for eval"),
    ("trap '{{x}}' EXIT", "program text for trap"),
    ('trap "echo {{x}}" EXIT', "program text for trap"),
    ("bash -c {{x}}", "program text for bash"),
    ("bash -c 'echo {{x}}'", "program text for bash"),
    ('bash -c "echo {{x}}"', "program text for bash"),
    ("bash -c 'echo '{{x}}", "program text for bash"),
    ("bash -c{{x}}", "program text for bash"),
    ("bash -lc '{{x}}'", "program text for bash"),
    ("bash -x -c '{{x}}' _ a", "program text for bash"),
    ("bash -o pipefail -c '{{x}}'", "program text for bash"),
    ("bash --norc -c '{{x}}'", "program text for bash"),
    ("bash --rcfile {{x}} -i", "program text for bash"),
    ("bash $OPTIONS -c {{x}}", "unquoted variable"),
    ('bash "$@" -c {{x}}', "unquoted variable"),
    ('bash -c "$@" {{x}}', "unquoted variable"),
    ("/bin/sh -c '{{x}}'", "program text for sh"),
    ("'bash' -c '{{x}}'", "program text for bash"),
    ("b'a's\\h -c {{x}}", "program text for bash"),
    ("dash -c '{{x}}'", "program text for dash"),
    ("zsh -ic '{{x}}'", "program text for zsh"),
    ("busybox sh -c '{{x}}'", "program text for sh"),
    ("fish -c '{{x}}'", "program text for fish"),
    ("env -i A=b /usr/bin/bash -c '{{x}}'", "program text for bash"),
    ("env -S 'bash -c' {{x}}", "program text for env"),
    ("A=b nohup nice -n 5 timeout -k 1 9 bash -c '{{x}}' &", "program text for bash"),
    ("sudo -u root -- sh -c '{{x}}'", "program text for sh"),
    ("sudo -s {{x}}", "program text for sudo"),
    ("time -p sh -c {{x}}", "program text for sh"),
    ("xargs -n 1 sh -c '{{x}}'", "program text for sh"),
    ("find . -exec sh -c 'echo {{x}}' \\;", "program text for sh"),
    ("flock /tmp/lock -c '{{x}}'", "program text for flock"),
    ("npx -c '{{x}}'", "program text for npx"),
    ("docker exec -u root web sh -c 'ls {{x}}'", "program text for sh"),
    ("docker run --rm image sh -c 'ls {{x}}'", "program text for sh"),
    ("kubectl exec pod -- sh -c 'ls {{x}}'", "program text for sh"),
    ("some-wrapper --flag sh -c 'ls {{x}}'", "program text for sh"),
    ("python -c 'print(\"{{x}}\")'", "program text for python"),
    ("python3.12 -Ic {{x}}", "program text for python"),
    ("/usr/bin/env python3 -c {{x}}", "program text for python"),
    ("perl -ne 'print if /{{x}}/' file", "program text for perl"),
    ("perl -M{{x}} -e 1", "program text for perl"),
    ("ruby -e '{{x}}'", "program text for ruby"),
    ("node --eval='{{x}}'", "program text for node"),
    ("node -pe '{{x}}'", "program text for node"),
    ("node -pe a{{x}}", "program text for node"),
    ("node --{{x}} a.js", "program text for node"),
    ("node -r {{x}} a.js", "program text for node"),
    ("php -r '{{x}}'", "program text for php"),
    ("lua -e '{{x}}'", "program text for lua"),
    ("osascript -e 'display notification \"{{x}}\"'", "program text for osascript"),
    ("deno eval '{{x}}'", "program text for deno"),
    ("awk '/{{x}}/ {print}' file", "program text for awk"),
    ("gawk -f {{x}}", "program text for awk"),
    ("sed 's/a/{{x}}/' file", "program text for sed"),
    ("sed -i -e 's/{{x}}/a/' file", "program text for sed"),
    ("sed --expr={{x}} file", "program text for sed"),
    ("jq '.a = \"{{x}}\"' file", "program text for jq"),
    ("psql -c 'select {{x}}'", "program text for psql"),
    ("vim -c {{x}} file", "program text for vim"),
    ("ssh host ls {{x}}", "program text for ssh"),
    ("su bob -c 'ls {{x}}'", "program text for su"),
    ("watch ls {{x}}", "program text for watch"),
    ("tmux new-window 'ls {{x}}'", "program text for tmux"),
    ("screen -dm {{x}}", "program text for screen"),
    ("make X={{x}}", "program text for make"),
    ("sqlite3 db 'select {{x}}'", "program text for sqlite3"),
    ("git -c core.pager={{x}} log", "program text for git"),
    ("parallel echo ::: {{x}}", "rest of the line"),
    ("alias e=eval\ne {{x}}", "rest of the line"),
    # program text on stdin
    ("echo {{x}} | sh", "from stdin"),
    ("echo {{x}} | sudo bash -s a", "from stdin"),
    ("printf %s {{x}} | python3 -", "from stdin"),
    ("curl -s https://example.org/{{x}} | bash", "from stdin"),
    ("bash <<< {{x}}", "from stdin"),
    ("sh < {{x}}", "from stdin"),
    ("echo {{x}} | xargs sh -c", "program text for sh"),
    ("echo {{x}} | $e sh", "from stdin"),
    ("echo {{x}} | awk -f -", "from stdin"),
    ("echo {{x}} | bc", "from stdin"),
    ("echo {{x}} | xargs -I{} sh -c 'echo {}'", "program text for sh"),
    ("echo {{x}} | xargs -I % env sh -c 'echo %'", "program text for sh"),
    ("find ./{{x}} -exec sh -c 'echo {}' \\;", "program text for sh"),
    # values in variables
    ('x={{x}}; eval "$x"', "program text for eval"),
    ('x={{x}}; y=a$x; bash -c "$y"', "program text for bash"),
    ("x={{x}}; $x", "choose the program"),
    ("x={{x}}; echo $((x + 1))", "arithmetic"),
    ("x={{x}}; (( x ))", "arithmetic"),
    ("x={{x}}; [[ x -eq 1 ]]", "arithmetic"),
    ("x={{x}}; echo ${a[x]}", "arithmetic"),
    ("x={{x}}; a[x]=1", "arithmetic"),
    ("x={{x}}; echo ${a:x}", "arithmetic"),
    ("x={{x}}; echo ${!x}", "arithmetic"),
    ("x={{x}}; echo ${x@P}", "arithmetic"),
    ("x={{x}}; unset 'a[x]'", "arithmetic"),
    ("x={{x}}; [ $x = a ]", "operator"),
    ('f() { eval "$1"; }; f {{x}}', "program text for eval"),
    ('set -- {{x}}; sh -c "$1"', "program text for sh"),
    ('for v in {{x}}; do eval "$v"; done', "program text for eval"),
    ('echo {{x}} | while read -r v; do eval "$v"; done', "program text for eval"),
    ('echo {{x}}; eval "$_"', "program text for eval"),
    ('cd {{x}} && eval "ls $PWD"', "program text for eval"),
    # names and special variables
    ("read {{x}}", "name to read"),
    ("unset {{x}}", "name to unset"),
    ("export {{x}}", "name to export"),
    ("export '{{x}}=1'", "name to export"),
    ("readonly {{x}}", "name to readonly"),
    ("printf -v {{x}} a", "name to printf"),
    ("printf -v{{x}} a", "name to printf"),
    ("for {{x}} in a b; do :; done", "with certainty"),
    ("declare x={{x}}", "list"),
    ("PATH={{x}} ls", "PATH"),
    ("env LD_PRELOAD={{x}} ls", "LD_PRELOAD"),
    ("export IFS={{x}}", "IFS"),
    ("BASH_ENV={{x}} bash -c :", "BASH_ENV"),
    ("RANDOM={{x}}", "RANDOM"),
    ("for RANDOM in {{x}}; do :; done", "RANDOM"),
    ("PS4={{x}}", "PS4"),
    ("GIT_SSH_COMMAND={{x}} git pull", "GIT_SSH_COMMAND"),
    # options and operators
    ("printf {{x}} a", "option by printf"),
    ("printf '{{x}}\\n' {{y}}", "option by printf"),
    ("printf -v y {{x}} a", "option by printf"),
    ("printf $a {{x}} b", "unquoted variable"),
    ("sudo -u $USER ls {{x}}", "unquoted variable"),
    ("timeout -k 1 $LIMIT notify {{x}}", "unquoted variable"),
    ("jq --arg $n {{x}} .", "unquoted variable"),
    ("set {{x}}", "option by set"),
    ("sed -n 1p {{x}}", "option by sed"),
    ("node -e 1 {{x}}", "option by node"),
    ("perl -pe 1 {{x}}", "option by perl"),
    ("find {{x}} -name a", "option by find"),
    ("tar -cf a.tar {{x}}", "option by tar"),
    ("rsync {{x}} host:", "option by rsync"),
    ("git clone {{x}}", "option by git clone"),
    ("sudo -{{x}} ls", "option by sudo"),
    ("[ {{x}} {{y}} ]", "with certainty"),
    ("[ -v {{x}} ]", "operator"),
    ("test {{x}} -a -n a", "operator"),
    ("[ $(echo {{x}}) = a ]", "operator"),
    ("[[ -n a && {{x}} ]]", "[[ ]]"),
    ("[[ -n a || eval {{x}} ]]", "with certainty"),
    ("echo a >&{{x}}", "descriptor"),
    ("echo a &> log {{x}}", "&>"),
    # lines that cannot be read
    ("echo 'a {{x}}", "with certainty"),
    ('echo "a {{x}}', "with certainty"),
    ("echo $(a {{x}}", "with certainty"),
    ("echo {{x}} )", "with certainty"),
    ("echo {{x}} ;; esac", "with certainty"),
    ("case a in a) echo {{x}}", "with certainty"),
    ("cat <<EOF\na\necho {{x}}", "here-document"),
    ("echo $'it\\'s' {{x}}", "with certainty"),
    ("echo $[1 + 1] {{x}}", "with certainty"),
    ('echo "${a:-"b"}" {{x}}', "with certainty"),
    ("ev\\\nal {{x}}", "program text for eval"),
    ("coproc cat {{x}}", "with certainty"),
    ("echo @(a|b) {{x}}", "with certainty"),
    ("echo $((1 + '2')) {{x}}", "with certainty"),
    ("echo {{x}} `a", "with certainty"),
    ("echo ${} {{x}}", "with certainty"),
    ("echo ${ {{x}}}", "with certainty"),
    ("cat <<E | case a\nin a) ;; esac\nE\necho {{x}}", "with certainty"),
    ("cat <<$E\n$E\necho {{x}}", "with certainty"),
    ("f (a) {{x}}", "with certainty"),
    ('"$f"() { :; }; echo {{x}}', "with certainty"),
    ("echo a > #b\necho {{x}}", "with certainty"),
    ("echo a > ; echo {{x}}", "with certainty"),
    ("case a of {{x}}) ;; esac", "with certainty"),
    ("case a in a b) echo {{x}};; esac", "with certainty"),
    ("esac; echo {{x}}", "with certainty"),
    ("env " * 30 + "echo {{x}}", "with certainty"),
    ("find . -exec " * 1_000 + "echo a; echo {{x}}", "with certainty"),
    ("echo " + "$(" * 60 + "echo {{x}}" + ")" * 60, "with certainty"),
    ("echo __hookline_1 {{x}}", "__hookline_"),
    ("echo a\0 {{x}}", "NUL"),
]  # fmt: skip

# a line whose value would reach something that the inner shell computes, and a part of the reason
COMPUTED = [
    ("bash -c '[[ $1 -gt 5 ]]' _ {{x}}", "arithmetic"),
    ("bash -c 'echo $(( $1 ))' _ {{x}}", "arithmetic"),
    ("bash -c '(( $1 > 3 ))' _ {{x}}", "arithmetic"),
    ("bash -c 'for ((i = 0; i < $1; i++)); do :; done' _ {{x}}", "arithmetic"),
    ("bash -c 'x=$1; echo $((x))' _ {{x}}", "arithmetic"),
    ("bash -c 'echo ${!1}' _ {{x}}", "arithmetic"),
    ("bash -c 'echo ${a[$1]}' _ {{x}}", "arithmetic"),
    ("bash -c 'echo ${a:$1}' _ {{x}}", "with certainty"),
    ("bash -c 'a[$1]=2' _ {{x}}", "arithmetic"),
    ("bash -c 'let x=$1' _ {{x}}", "arithmetic"),
    ("bash -c 'declare -i n; n=$1' _ {{x}}", "arithmetic"),
    ("bash -c '[ -v \"$1\" ]' _ {{x}}", "operator or a name"),
    ("bash -c 'test -v \"$1\"' _ {{x}}", "operator or a name"),
    ("bash -c 'printf -v \"$1\" x' _ {{x}}", "name to printf"),
    ("bash -c 'read \"$1\"' _ {{x}}", "name to read"),
    ("bash -c 'unset \"$1\"' _ {{x}}", "name to unset"),
    ("bash -c 'export \"$1\"' _ {{x}}", "name to export"),
    ("bash -c 'mapfile -C \"$1\" -c 1 a' _ {{x}}", "program text for mapfile"),
    ("bash -c 'eval \"$1\"' _ {{x}}", "program text for eval"),
    ("bash -c '\"$@\"' _ {{x}}", "choose the program"),
    ("bash -c 'shift; exec \"$@\"' _ a {{x}}", "choose the program"),
    ("bash -c 'sh -c \"$1\"' _ {{x}}", "program text for sh"),
    ('bash -c \'sh -c "echo \\$((\\$1))" _ "$1"\' _ {{x}}', "arithmetic"),
    ('bash -c \'f() { eval "$1"; }; f "$1"\' _ {{x}}', "program text for eval"),
    ('bash -c \'while read -r l; do eval "$l"; done <<< "$1"\' _ {{x}}', "program text for eval"),
    ("bash -c 'cat <<E | sh\n$1\nE' _ {{x}}", "takes its program from stdin"),
    ("find . -exec bash -c 'eval \"$1\"' _ {{x}} \\;", "program text for eval"),
    ('bash -c "$script" _ {{x}}', "text is only known at run time"),
    ("zsh -c '[ \"$1\" -gt 5 ]' _ {{x}}", "operator or a name"),
    ("ksh -c 'printf %d \"$1\"' _ {{x}}", "arithmetic"),
    ("export X={{x}}; bash -c 'eval $X'", "program text for eval"),
    ("X={{x}} bash -c 'echo $((X))'", "arithmetic"),
    ("env X={{x}} sh -c 'eval \"$X\"'", "program text for eval"),
    ("declare -x X; X={{x}}; bash -c '[[ $X -eq 1 ]]'", "arithmetic"),
    ("export X={{x}}; bash <<'E'\neval \"$X\"\nE", "program text for eval"),
]

# a line that executes what it writes
WRITTEN = [
    "echo {{x}} > f; sh f",
    "echo {{x}} > ./f; . ./f",
    "echo {{x}} > f; chmod +x f; ./f",
    "echo {{x}} | tee f; bash f",
    "echo {{x}} >> f.py && python3 f.py",
    "{ echo {{x}}; } > f; sh f",
    "(echo {{x}}) > f; sh f",
    "echo {{x}} > f; bash < f",
    "echo {{x}} > f; mv f g; sh g",
    "echo {{x}} > f; cp f /tmp/g; sh /tmp/g",
    "echo {{x}} > f; sh -c '. ./f'",
    "bash -c 'echo \"$1\" > f' _ {{x}}; sh f",
    "echo {{x}} > f; awk -f f",
    'f=run.sh; echo {{x}} > "$f"; sh "$f"',
    "f=run.sh; echo {{x}} > $f; sh run.sh",
    "echo {{x}} > {{y}}; sh ./go.sh",
]

# options, interpreters and wrappers beyond those of the first list
ALSO_REFUSED = [
    "bash +x -c {{x}}",
    "bash - -c {{x}}",
    "python3 --unknown a {{x}}",
    "node --unknown a {{x}}",
    "git submodule foreach 'echo {{x}}'",
    "git bisect run sh -c {{x}}",
    "rg {{x}}",
    "npm run {{x}}",
    "echo {{x}} | at now",
    "kubectl exec pod sh -c 'ls {{x}}'",
    "docker compose exec web sh -c 'ls {{x}}'",
    "case $(eval {{x}}) in a) ;; esac",
    "case a in $(eval {{x}})) ;; esac",
    'select x in {{x}}; do eval "$x"; done',
    "exec {{x}}>f",
    "jobs -x {{x}}",
    "hash -p {{x}} ls",
    "tar -cf a.tar --checkpoint-action=exec={{x}} .",
    "sort --compress-program={{x}} f",
    "cat <<EOF\na\\\nEOF\necho {{x}}\nEOF",
]  # fmt: skip


ACCEPTED = [
    "bash -c '[ \"$1\" -gt 5 ]' _ {{x}}",
    "bash -c 'for f in \"$@\"; do ruff check \"$f\"; done' _ {{x}}",
    "bash -c 'case \"$1\" in *.py) black \"$1\";; esac' _ {{x}}",
    "bash -c 'set -eu; x=$1; echo \"${x%.py}\"' _ {{x}}",
    "export MSG={{x}}; ./notify.sh",
    "echo {{x}} > out.txt; sh check.sh",
    'echo {{x}} >> "$LOG"; ./check.sh',
    "notify {{x}} > /dev/null 2>&1; ./check.sh",
    "jq -n --arg t {{x}} '{text: $t}' | curl -sS -d @- https://example.org",
    "rg -e {{x}} .",
    "echo {{x}} | tee -a log.txt",
    "env FOO={{x}} ./script.sh",
    "printf '%s' {{x}} | xargs -n 1 echo",
    "printf '%s' {{x}} | xargs",
    "printf '%s' {{x}} | env LANG=C sort",
    "cat notes | $PAGER < other; echo {{x}}",
    '"$CHECKER"; echo {{x}}',
    "y=${z:-x}; echo $y {{x}}",
    ". ./setup.sh; echo {{x}} | head -1",
    "formatter {{x}} 2>/dev/null || true",
    "git add {{x}} 2>/dev/null || true",
    "git commit -m {{x}}",
    "git -C {{x}} status",
    "git log -- {{x}}",
    "echo '[$(date)] SHELL: {{x}}' >> ~/audit.log",
    "echo '[$(date)] TOOL: {{x}} - {{y}}' | head -c 200 >> ~/audit.log",
    "chat send '#agents' '{{x}}'",
    "/usr/local/bin/checker '{{x}}'",
    "logger 'agent: {{x}}'",
    '"$HOME"/bin/checker {{x}}',
    '"$PROJECT_DIR"/.hooks/check.sh {{x}}',
    "~/bin/checker {{x}}",
    "./check.sh {{x}}",
    "bash -c 'echo \"$1\"' _ {{x}}",
    "bash -lc 'echo \"$1\"' _ '{{x}}' \"{{y}}\"",
    "bash script.sh {{x}}",
    'bash "$script" {{x}}',
    "env A=b sh -c 'echo \"$1\"' _ {{x}}",
    "sudo -u bob -- notify {{x}}",
    "sudo -u bob sh -c 'echo \"$1\"' _ {{x}}",
    "python3 check.py {{x}}",
    "python3 -m black {{x}}",
    "python3 -c 'import sys; print(sys.argv[1])' {{x}}",
    "perl -e 'print $ARGV[0]' -- {{x}}",
    "node check.js {{x}}",
    "node -e 'console.log(process.argv[1])' -- {{x}}",
    "osascript -e 'display notification \"done\"' -- {{x}}",
    "jq --arg x {{x}} '.a = $x' file",
    "jq -r --argjson x {{x}} '.a = $x' {{y}}",
    "jq . {{x}}",
    "awk -v x={{x}} '{ print x }' file",
    "awk '{ print }' {{x}}",
    "sed -n 1p -- {{x}}",
    "sed -n 1p ./{{x}}",
    "find . -name {{x}} -newer '{{y}}' -print",
    "find ./{{x}} -type f -exec cat {} +",
    "find . -exec sh -c 'echo \"$1\"' _ {{x}} \\;",
    "echo {{x}} | xargs -n 1 echo",
    "echo {{x}} | xargs -I{} echo {}",
    "timeout 5 notify {{x}}",
    'timeout -k 1 "$LIMIT" notify {{x}}',
    "nice -n 5 nohup notify {{x}} &",
    "npx prettier --write {{x}}",
    "uv run ruff check {{x}}",
    "docker exec web notify {{x}}",
    "docker ps --format '{{.Names}}' | grep -F -- {{x}}",
    "docker run -e TEXT={{x}} image",
    "tar -cf a.tar -- {{x}}",
    "rsync ./{{x}} host:",
    "command -v {{x}}",
    "exec notify {{x}}",
    "builtin echo {{x}}",
    'x={{x}}; echo "$x" ${x} ${#x} ${x%.py} ${x:-none}',
    "x={{x}}; echo ${x:0:100}",
    "x={{x}} notify",
    "export X={{x}}",
    "readonly X={{x}} Y='{{y}}'",
    'set -- {{x}}; notify "$1" "$@"',
    "cd {{x}} && ls",
    "[ -n {{x}} ] && [ {{x}} = a ] || [ ! -f '{{y}}' ]",
    "test {{x}} -gt 5",
    '[ "$a" != {{x}} ]',
    "[[ {{x}} == *.py ]] && notify {{x}}",
    "[[ {{x}} =~ ^a ]]",
    "[[ -n {{x}} && -f {{y}} ]]",
    "case {{x}} in *.py|*.pyi) notify {{x}};; {{y}}) ;; (b) :;; esac",
    "x=$(case {{x}} in a) echo b;; esac)",
    'for f in {{x}} {{y}}; do notify "$f"; done',
    'while read -r v; do echo "$v"; done < {{x}}',
    "if notify {{x}}; then :; elif notify {{y}}; then :; else exit 2; fi",
    "until notify {{x}}; do break; done",
    'f() { notify "$1" {{y}}; }; f {{x}}',
    "function f { notify {{x}}; }; f",
    "(cd /; notify {{x}}) | cat > {{y}}",
    "{ notify {{x}}; } 2>&1",
    "! notify {{x}}",
    "time -p notify {{x}}",
    "notify {{x}} &> /dev/null",
    "notify {{x}} > '{{y}}' 2>&1 < /dev/null",
    "cat <<< {{x}}",
    "diff <(notify {{x}}) <(notify {{y}})",
    "echo \"$(basename {{x}})\" $(basename '{{y}}')",
    'echo "a \\"{{x}}\\" \\$b"',
    "echo $((1 + 2)) $(( $(date +%s) - 5 )) {{x}}",
    "echo `date` {{x}}",
    "cat <<EOF\n$a 'b\nEOF\nnotify {{x}}",
    "cat <<-'EOF'\n\tb\n\tEOF\nnotify {{x}}",
    "printf '%s\\n' {{x}}",
    'printf "{{x}}"',
    "printf -v y %s {{x}}",
    "trap 'rm -f lock' EXIT; notify {{x}}",
    'eval "$(other)"; notify {{x}}',
    "bash < script.sh; notify {{x}}",
    "python3 --version; notify {{x}}",
    "echo bash -c {{x}}",
    "notify {{x}} # it's {{y}} `\"",
    "ls *.py a[0-9] {a,b} {{x}}",
    "curl https://example.org/?q={{x}}",
    'curl -d "{\\"text\\": \\"{{x}}\\"}" https://example.org',
    "echo $(( (1 + 2) * 3 )) $ {{x}}",
    "echo ${a:-$b} ${a#\\}} {{x}}",
    "case a in # b\n\n  # c\n  a) notify {{x}}\nesac",
    "cat <<E $(a)\nE\necho {{x}}",
    "$e a; notify {{x}}",
    "[ -f a ] && notify {{x}}",
    "[ {{x}} ]",
    "notify bash {{x}}",
    "a=(b c); notify {{x}}",
    "(( 1 < 2 )) && notify {{x}}",
    "echo $\"{{x}}\" $'b\\n'",
    "\n\n  notify \\\n    {{x}}\n\n",
]  # fmt: skip


@pytest.mark.spec("A-05", "A-25", "P-20")
@each(("line", "why"), [*REFUSED, *COMPUTED])
def test_template_that_would_be_more_than_a_word_is_refused(line: str, why: str) -> None:
    with pytest.raises(TemplateError) as caught:
        compile_line(line)

    assert why in caught.value.message


@pytest.mark.spec("A-05", "P-20")
@pytest.mark.parametrize("line", ALSO_REFUSED)
def test_template_that_another_program_would_run_is_refused(line: str) -> None:
    with pytest.raises(TemplateError):
        compile_line(line)


@pytest.mark.spec("A-05", "P-20")
@pytest.mark.parametrize("line", WRITTEN)
def test_line_that_executes_a_file_it_writes_is_refused(line: str) -> None:
    with pytest.raises(TemplateError) as caught:
        compile_line(line)

    assert "is executed by a line that may also write it" in caught.value.message


INNER = (
    '"$1"', "$1", "$1", "x=$1;", "echo ", "echo ", "[ ", " ]", "[[ ", " ]]", "$((", "))", " -gt 1", " -eq 0", "-v ", "eval ",
    "${!x}", "${a[x]}", "${a[$1]}", "${x%a}", '"$x"', "$x", " | ", "read y;", "read y <<< ", "export ", "let ", "x", "y",
    "printf -v ", "printf %s ", "> f;", ". ./f;", "; ", "\n", '"$@"', "set -- ", "for v in ", "; do ", "; done", '"$v"',
    "if ", "; then ", "; fi", "f() { ", "; }", "f ", "declare -i ", "sh -c ", '"\\$1"', " _ ", "case ", " in *) ", ";; esac",
    "$(", ")", "((", "unset ", "a[x]=1;", "local ", "trap ", " EXIT", "xargs ", "<<< ",
)  # fmt: skip


@pytest.mark.spec("A-05", "P-20")
@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@settings(max_examples=150, database=None)
@given(
    pieces=st.lists(st.sampled_from(INNER), min_size=1, max_size=9),
    value=st.sampled_from(("a[$(touch canary)]", "touch canary", "x=$(touch canary)")),
)
def test_inner_script_that_is_accepted_runs_nothing_of_the_value(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[str], value: str
) -> None:
    line = f"bash -c {shlex.quote(''.join(pieces))} _ {{{{x}}}}"
    try:
        bound = compile_line(line).bind({"x": value})
    except TemplateError:
        return
    folder = tmp_path_factory.mktemp("inner")

    argv = ["bash", "-c", bound.script, "hookline", *bound.arguments]
    subprocess.run(argv, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)

    assert not (folder / "canary").exists(), line


@pytest.mark.spec("A-05", "A-18")
@each("line", ACCEPTED)
def test_template_that_is_a_plain_word_is_accepted(line: str) -> None:
    bound = compile_line(line).bind({"x": "a", "y": "b"})

    assert "${__hookline_1}" in bound.script
    if shutil.which("bash"):
        checked = subprocess.run(["bash", "-n", "-c", bound.script], capture_output=True, timeout=60, check=False)
        assert (checked.returncode, checked.stderr) == (0, b"")


def test_refusal_says_what_where_why_and_what_to_write_instead() -> None:
    with pytest.raises(TemplateError) as caught:
        compile_line("jq '.path == \"{{tool_args.path}}\"'")

    assert isinstance(caught.value, ConfigError)
    assert (caught.value.row, caught.value.column) == (1, 15)
    assert str(caught.value) == (
        "{{tool_args.path}} at column 15 of the command would become program text for jq, or choose what it runs;"
        " make it a variable: jq --arg x {{…}} '… $x …'"
    )


def test_refusal_in_a_line_of_several_rows_says_which_row() -> None:
    with pytest.raises(TemplateError) as caught:
        compile_line("echo a\nx={{v}}\n\n  eval $x")

    assert (caught.value.row, caught.value.column) == (4, 8)
    assert caught.value.message.startswith("$x, which may hold a template's value, at line 4, column 8 of the command")
