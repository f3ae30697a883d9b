"""Rows of the table of programs: containers, clusters, clouds, the network, and the system."""

from typing import Final

from hookline.shell.program import Program, row

# one row per program, options on a line of their own where they are many
# fmt: off

_RUN: Final = (
    "-d,--detach -i,--interactive -t,--tty -it --rm -e,--env= --env-file=reads -v,--volume=mount --mount=mount -p,--publish= -P --name="
    " --network= --net= -w,--workdir= -u,--user= --entrypoint= --platform= --privileged --gpus= --shm-size= --memory= -m="
    " --cpus= -h,--hostname= --add-host= --label= -l= --restart= --pull= --init --ipc= --pid= --cap-add= --cap-drop="
    " --security-opt= --device= --tmpfs= --read-only --link= --dns= --ulimit= --userns= -q,--quiet --log-driver= --log-opt= -a="
    " -T --no-TTY --no-deps --service-ports --build --index= --detach-keys= --use-aliases --cidfile= --group-add= --expose="
)
_COMPOSE: Final = "-f,--file=reads -p,--project-name= --profile= --env-file=reads --project-directory=folder --ansi= --progress= --compatibility --parallel= --dry-run "
_COMPOSE_SUBS: Final = (
    row("up start restart create pull push build watch run.d", "plain*",
        _COMPOSE
        + "-d,--detach --build --no-build --force-recreate --no-recreate --remove-orphans --wait --scale= --no-deps -t,--timeout= --no-start --abort-on-container-exit --exit-code-from= --pull= --no-cache --build-arg= -q,--quiet --quiet-pull -V,--renew-anon-volumes --no-log-prefix -y",
        unknown="any"),
    row("down stop kill rm pause unpause", "plain*",
        _COMPOSE + "-v,--volumes --rmi= --remove-orphans -t,--timeout= -s,--signal= -f,--force"),
    row("ps logs top images config ls port version events stats convert volumes", "plain*",
        _COMPOSE
        + "-q,--quiet -a,--all --services --format= -f,--follow --tail= -n= --since= --no-color --no-log-prefix -t,--timestamps --status= -o=writes --index= --hash="),
    row("exec run", "plain", _COMPOSE + _RUN, wraps="words", remote=True, unknown="reads writes"),
    row("cp", "plain*", _COMPOSE + "-a -L", unknown="reads writes"),
)
_DOCKER: Final = "-H,--host= -c,--context= -D,--debug -l,--log-level= --config= --tls --tlsverify -v,--version "
_FILTER: Final = (
    "-a,--all -q,--quiet -f,--filter= --format= --no-trunc -n,--last= -l,--latest -s,--size --digests --tree "
)
_DOCKER_SUBS: Final = (
    row("ps images image.ls volume.ls info version search history events top stats port diff inspect logs", "plain*",
        _DOCKER
        + _FILTER
        + "--follow --tail= -n= --since= --until= -t,--timestamps --details --no-stream --type= --limit= -H --human"),
    row("exec", "plain", _DOCKER + _RUN, wraps="words", remote=True, unknown="reads writes"),
    row("run", "plain", _DOCKER + _RUN, wraps="words", remote=True, unknown="reads writes urls", style="image"),
    row("create", "plain*", _DOCKER + _RUN, unknown="urls"),
    row("build buildx builder", "plain*",
        _DOCKER
        + "-t,--tag= -f,--file=reads --build-arg= --target= --no-cache --pull --platform= --push --load -q,--quiet --progress= --secret= --ssh= -o,--output= --cache-from= --cache-to= --network= --label= --iidfile=writes --builder= --provenance= --sbom= --rm --squash -a,--all --force --filter= --use --name= --driver= --bootstrap",
        unknown="any"),
    row("pull push login logout tag import load", "plain*",
        _DOCKER
        + "-a,--all-tags -q,--quiet --platform= -u,--username= -p,--password= --password-stdin -i,--input=reads -m= --disable-content-trust",
        unknown="urls"),
    row("save export", "plain*", _DOCKER + "-o,--output=writes"),
    row("start stop restart kill pause unpause wait attach rename update commit", "plain*",
        _DOCKER
        + "-t,--time,--timeout= -s,--signal= -a -i -m,--message= --author= --no-stdin --restart= --memory= --cpus="),
    row("rm", "plain*", _DOCKER + "-f,--force -v,--volumes -l,--link"),
    row("rmi", "plain*", _DOCKER + "-f,--force --no-prune"),
    row("cp", "plain*", _DOCKER + "-a -L -q", unknown="reads writes", style="docker-cp"),
    row("system volume network container image context secret config swarm service stack node plugin manifest trust scout model mcp", "plain*",
        _DOCKER
        + _FILTER
        + "-f,--force --volumes --filter= -d,--driver= --name= --label= --subnet= -o,--opt= --type= -t= -v",
        unknown="", style="2"),
    row("compose", "plain*", _DOCKER + _COMPOSE, unknown="any", subcommands=_COMPOSE_SUBS),
)
_KUBE: Final = (
    "-n,--namespace= --context= --cluster= --kubeconfig=reads --user= -s,--server= --token= -A,--all-namespaces -o,--output="
    " -l,--selector= --field-selector= -w,--watch --show-labels --sort-by= -L= --no-headers --request-timeout= --v= -v= --as= --as-group= "
    " -f,--filename= -R,--recursive -k,--kustomize= --dry-run[=] --force --grace-period= --all --cascade[=] --now --wait[=]"
    " --timeout= --ignore-not-found[=] --prune --server-side --validate[=] --record -c,--container= --tail= --since= -p,--previous"
    " --follow --timestamps --replicas= --type= --patch= -i,--stdin -t,--tty -it --image= --restart= --rm --env= --port= --command"
    " --overwrite --local --from-literal= --from-file= --from-env-file= --for= --revision= --to-revision= --delete-emptydir-data --ignore-daemonsets --disable-eviction --yes --output-directory= --minify --raw --flatten --current --containers --prefix --limits= --requests= --subresource= --api-group= --verbs= --namespaced[=] --address= --min= --max= --cpu-percent= --show-managed-fields --max-log-requests= --all-containers[=]"
)
_KUBECTL: Final = row("kubectl oc k kubecolor", "plain*", _KUBE, unknown="urls", subcommands=(
        row("exec run debug", "plain", _KUBE, wraps="words", dashes=True, remote=True, unknown="urls"),
        row("get describe logs top explain version api-resources api-versions cluster-info diff events wait auth config", "plain*",
            _KUBE, unknown="urls reads"),
        row("apply create replace delete patch edit scale rollout label annotate expose set autoscale taint drain cordon uncordon port-forward proxy attach kustomize certificate completion plugin", "plain*",
            _KUBE, unknown="urls reads"),
        row("cp", "plain*", _KUBE, unknown="urls reads writes", style="docker-cp"),
    ))
_HELM: Final = "-n,--namespace= --kube-context= --kubeconfig=reads -f,--values=reads --set= --set-string= --set-file= --version= --create-namespace -i,--install --dry-run[=] --debug --wait --atomic --timeout= --force --reuse-values --reset-values -o,--output= -a,--all -A,--all-namespaces -q --keep-history --repo= --username= --password= -d,--destination=writes --output-dir=writes --max= --no-hooks --cleanup-on-fail --dependency-update --description= "
_TERRAFORM: Final = "-chdir=folder -auto-approve -var= -var-file=reads -out=writes -target= -input= -lock= -lock-timeout= -refresh= -refresh-only -destroy -json -no-color -parallelism= -state=writes -state-out=writes -backup=writes -upgrade -reconfigure -migrate-state -backend= -backend-config= -get= -plugin-dir= -recursive -check -diff -write= -compact-warnings -detailed-exitcode -replace= -force-copy -raw -force -ignore-remote-version"
_AWS: Final = "--profile= --region= --output= --query= --no-cli-pager --endpoint-url= --no-verify-ssl --no-paginate --debug --no-sign-request --cli-input-json= --cli-binary-format= --recursive --dryrun --delete --exclude= --include= --acl= --force --bucket= --key= --body=reads --name= --stack-name= --template-file=reads --template-body= --parameters= --capabilities= --function-name= --payload= --instance-ids= --group-name= --filters= --max-items= --page-size= --quiet --only-show-errors --sse= --storage-class= --human-readable --summarize --cluster= --service= --task-definition= --desired-count= --secret-id= --secret-string= --table-name= --yes -y --user-name= --policy-arn= --role-name= --log-group-name= --since= --follow --image-id= --db-instance-identifier= --skip-final-snapshot --id= --distribution-id= --paths= --registry-ids= --repository-name= --cidr-block= --vpc-id="
_GCLOUD: Final = "--project= --account= --configuration= --format= --filter= --limit= -q,--quiet --region= --zone= --verbosity= --impersonate-service-account= --location= --sort-by= --async --source= --image= --allow-unauthenticated --no-allow-unauthenticated --set-env-vars= --memory= --cpu= --tag= --config=reads --cluster= --command= --member= --role= --global --machine-type= --num-nodes= --follow --freshness= --resource-group= -g= -n,--name= --subscription= -o,--output= --query= --yes -y --ids= --no-wait --sku= --resource-type= --location-id= -l="
_CURL: Final = (
    "-#,--progress-bar -0 -1 -2 -3 -4,--ipv4 -6,--ipv6 -a,--append -A,--user-agent= -b,--cookie= -B -c,--cookie-jar=writes"
    " -C,--continue-at= -d,--data,--data-ascii,--data-raw,--data-binary= --data-urlencode= -D,--dump-header=writes -e,--referer="
    " -E,--cert= -f,--fail -F,--form= -g,--globoff -G,--get -h,--help -H,--header= -i,--include -I,--head -j -J,--remote-header-name"
    " -k,--insecure -K,--config=reads -l -L,--location -m,--max-time= -M -n,--netrc -N,--no-buffer -o,--output=writes"
    " -O,--remote-name -p,--proxytunnel -P= -q,--disable -Q= -r,--range= -R,--remote-time -s,--silent -S,--show-error -t= "
    " -T,--upload-file=reads -u,--user= -U,--proxy-user= -v,--verbose -V,--version -w,--write-out= -x,--proxy= -X,--request= -y= -Y="
    " -z,--time-cond= -Z,--parallel --compressed --connect-timeout= --retry= --retry-delay= --retry-max-time= --retry-all-errors"
    " --retry-connrefused --cacert=reads --capath=reads --key=reads --cert-type= --fail-with-body --create-dirs --output-dir=writes --url="
    " --json= --resolve= --unix-socket= --max-redirs= --limit-rate= --http1.1 --http2 --tlsv1.2 --proto= --proto-redir= --noproxy="
    " --form-string= --oauth2-bearer= --digest --basic --location-trusted --trace=writes --trace-ascii=writes --stderr=writes"
    " --no-progress-meter --path-as-is --remote-name-all --speed-limit= --speed-time= --tcp-nodelay --netrc-file=reads"
)
_WGET: Final = (
    "-q,--quiet -v,--verbose -nv,--no-verbose -O,--output-document=writes -P,--directory-prefix=writes -o,--output-file=writes"
    " -a,--append-output=writes -c,--continue -N,--timestamping -t,--tries= -T,--timeout= -w,--wait= -r,--recursive -l,--level="
    " -k -K -p,--page-requisites -m,--mirror -np,--no-parent -nc,--no-clobber -nd -nH -i,--input-file=reads -U,--user-agent= -S,--server-response"
    " --spider --header= --user= --password= --post-data= --post-file=reads --method= --body-data= --body-file=reads --no-check-certificate"
    " --content-disposition --show-progress --progress= --max-redirect= --no-cache --limit-rate= --no-hsts --https-only -4 -6 -A= -R= -e= --ca-certificate=reads --load-cookies=reads --save-cookies=writes -x -E -H -D= -L -b,--background"
)
_SYSTEM_PM: Final = "-y,--yes,--assume-yes -q,--quiet -v -f,--force -n,--dry-run -s --no-install-recommends --purge --reinstall -t= -o= -c= --fix-broken --allow-downgrades --only-upgrade --needed --noconfirm --noprogressbar -S -R -Q -U -Sy -Syu -Su -Ss -Si -Qi -Ql -Rs -Rns -i -e -h --cask --formula --HEAD --no-quarantine --all --json --versions --greedy --installed --upgradable --no-cache --update --virtual= --enablerepo= --disablerepo= -D --root= --prefix= -x -a -l --installed --classic --channel= --no-interactive --best"

_SIGNALS: Final = "-9,-KILL,-SIGKILL -15,-TERM,-SIGTERM -1,-HUP,-SIGHUP -2,-INT,-SIGINT"

OPS: Final[tuple[Program, ...]] = (
    row("docker podman nerdctl docker.exe lima.nerdctl finch", "plain*", _DOCKER, unknown="any",
        same={
            **{f"container {verb}": verb for verb in ["rm", "ps", "exec", "run", "stop", "kill", "logs", "cp", "inspect", "start", "restart"]},
            **{f"image {verb}": verb for verb in ["build", "pull", "push", "tag"]},
            "container ls": "ps", "container remove": "rm", "image rm": "rmi", "image ls": "images", "image remove": "rmi",
            "volume remove": "volume rm", "network remove": "network rm",
        },
        subcommands=_DOCKER_SUBS),
    row("docker-compose podman-compose", "plain*", _COMPOSE, unknown="any", subcommands=_COMPOSE_SUBS),
    row("buildah skopeo kaniko crane cosign ctr crictl runc dive lazydocker colima kind k3d limactl vagrant packer multipass qemu-system-x86_64 virsh", "plain*",
        "-p= -f= -n= -v", unknown="any"),
    _KUBECTL,
    row("minikube microk8s k3s", "plain*", "-p,--profile=", unknown="any", subcommands=(
            row("kubectl", "", wraps="words", unknown="urls", acts_as="kubectl"),
        )),
    row("helm", "plain*", _HELM, unknown="urls",
        same={"delete": "uninstall", "del": "uninstall", "un": "uninstall", "ls": "list"}, subcommands=(
            row("list ls status get history show search version env repo lint template dependency verify", "plain*",
                _HELM, unknown="urls reads"),
            row("install upgrade uninstall delete del un rollback push pull package plugin test create registry", "plain*",
                _HELM, unknown="urls reads writes"),
        )),
    row("kustomize kubectx kubens k9s stern argocd flux istioctl linkerd skaffold tilt kops eksctl velero kubeseal telepresence", "plain*",
        "-n= -f= -l= -c= -o=", unknown="any"),
    row("terragrunt", "", _TERRAFORM, wraps="words", unknown="any",
        single_dash=True, acts_as="terraform", style="run-words"),
    row("terraform tofu", "plain*", _TERRAFORM, unknown="any", single_dash=True,
        same={"apply -destroy": "destroy"}, subcommands=(
            row("plan validate show output state providers graph version get console refresh workspace taint untaint import login logout force-unlock", "plain*",
                _TERRAFORM, unknown="runs reads writes urls", single_dash=True),
            row("apply destroy init test", "plain*", _TERRAFORM, unknown="any", single_dash=True),
            row("fmt", "writes*", _TERRAFORM, unknown="writes", single_dash=True),
        )),
    row("pulumi cdk cdktf sam serverless.fw ansible ansible-playbook ansible-galaxy ansible-vault salt chef puppet capistrano kamal fly flyctl heroku railway render doctl linode-cli hcloud vultr-cli supabase amplify eb copilot nomad consul vault packer.build", "plain*",
        "-i= -l= -e= -u= -s= -y,--yes --stack= -f,--force -a,--app= -r= --profile= --region= --require-approval= --skip-preview -t= --tags= --limit= --app=",
        unknown="any"),
    row("aws awslocal", "plain*", _AWS, unknown="urls", style="aws", same={}),
    row("gcloud gsutil bq az oci ibmcloud aliyun", "plain*", _GCLOUD + " -m -r -R -a -h -c -z -n",
        unknown="urls reads writes"),
    row("s3cmd s5cmd rclone mc b2 azcopy minio", "plain*", "-r,--recursive -f,--force -n,--dry-run -P -v -q --delete",
        unknown="urls reads writes deletes"),
    # network
    row("curl", "url*", _CURL, style="curl", guarded=True, evaluates="-K"),
    row("wget wget2", "url*", _WGET, style="wget", guarded=True, evaluates="-e"),
    row("http https xh httpie", "plain*",
        "-v -h -b -f,--form -j,--json -a,--auth= -A= -d,--download -o,--output=writes -p= --body --headers --verify= --timeout= -F,--follow --check-status --ignore-stdin -s= --session=",
        unknown="urls", style="httpie"),
    row("aria2c axel yt-dlp youtube-dl lynx links w3m elinks", "url*",
        "-o=writes -O=writes -d,--dir=writes -x= -s= -j= -c -q -f= -dump -source", unknown="writes", style="wget"),
    row("nc ncat netcat socat telnet openssl nmap tcpdump wireshark tshark ngrok cloudflared localtunnel lt", "plain*",
        "-l -p= -v -z -w= -n -u -k -e=shell -c=shell -i= -o=writes -s= -X= -in=reads -out=writes", unknown="any"),
    row("grpcurl wrk ab hey k6 vegeta artillery siege websocat mosquitto_pub mosquitto_sub", "plain*",
        "-c= -n= -t= -d= -H= -plaintext", unknown="urls"),
    row("mail mailx mutt", "plain*", "-s= -t -a=reads -A=reads -b= -c= -r= -E -e= -x", unknown="urls"),
    row("sendmail msmtp ntfy notify-send terminal-notifier say wall slack-cli", "plain*",
        "-s= -t -a= -u= -i= -m=", unknown="urls"),
    # databases
    row("psql pgcli usql", "plain*",
        "-a -b -A,--no-align -c,--command= -d,--dbname= -e -E -f,--file=reads -F= -h,--host= -H -l,--list -L=writes -n -o,--output=writes -p,--port= -P,--pset= -q,--quiet -R= -s -S -t,--tuples-only -T= -U,--username= -v,--set,--variable= -V,--version -w,--no-password -W,--password -x,--expanded -X,--no-psqlrc -z -0 -1,--single-transaction --csv",
        unknown="any", evaluates="* -c -f", guarded=True, reads_code=True, queries=True),
    row("mysql mariadb mycli", "plain*",
        "-h,--host= -u,--user= -p,--password[=] -P,--port= -D,--database= -e,--execute= -s,--silent -N,--skip-column-names -B,--batch -r,--raw -t,--table -f,--force -v,--verbose -q,--quick -S,--socket= -A -c -C -E -H -n -o -L -X --protocol= --ssl-mode= --defaults-file=reads --defaults-extra-file=reads --init-command= --default-character-set=",
        unknown="any", evaluates="* -e --init-command", guarded=True, reads_code=True, queries=True),
    row("sqlite3 duckdb sqlcmd clickhouse-client cockroach cqlsh influx", "plain*",
        "-h= -u= -p= -d= -c= -e= -q,--query= -Q= -i=reads -o=writes -S= -U= -P= -f=reads -cmd= -json -csv -header -column -line -list -batch -readonly -bail -init=reads -separator= --host= --user= --port= --password= --database= --execute= --file=reads",
        unknown="any", evaluates="* -c -e -q -Q -f -cmd --execute", guarded=True, reads_code=True, queries=True),
    row("mongosh mongo redis-cli", "plain*",
        "-h= -U= -u= -p= -P= -d= -c= -e= -f=reads -o=writes -D= -n= -t -A -x -X -q -w -W -a= -s -N -B -cmd= -json -csv -header --host= --user= --port= --eval= --command= --dbname= --file=reads --username= --password= --quiet --raw --scan --pattern= --execute=",
        unknown="any", evaluates="* -c -e -f -cmd --eval --command --file --execute", guarded=True, reads_code=True),
    row("pg_dump pg_dumpall mysqldump mongodump pg_restore mongorestore createdb dropdb createuser dropuser initdb pg_ctl pg_isready mysqladmin redis-server mongod postgres mysqld", "plain*",
        "-h= -U= -u= -p= -d= -f=writes -F= -D= -l= -t= -n= --out=writes --if-exists -W -w --clean -c -C -Fc -v -j=",
        unknown="reads writes urls"),
    # the system
    row("kill", "plain*", f"-s,--signal= -n= -l -L {_SIGNALS}", style="signal"),
    row("killall pkill xkill skill fuser", "plain*",
        f"-f,--full -u= -U= -s,--signal= -e -i -q -r -v -w -x -n -o -t= -P= -k {_SIGNALS}", style="signal"),
    row("systemctl service launchctl rc-service initctl supervisorctl pm2 brew.services loginctl timedatectl localectl", "plain*",
        "--user --now -n= -u= --no-pager -l -a,--all -t,--type= --state= -q -f,--force --lines= -i= --name= -w"),
    row("shutdown reboot halt poweroff init telinit", "plain*", "-h -r -P -H -c -k -f -n -w now"),
    row("mount umount losetup swapon swapoff mkswap", "plain*", "-t= -o= -a -f -l -r -n -v --bind -L= -U=",
        unknown="writes"),
    row("mkfs mkfs.ext4 mkfs.ext3 mkfs.ext2 mkfs.xfs mkfs.btrfs mkfs.vfat mke2fs fdisk sfdisk gdisk parted wipefs blkdiscard badblocks hdparm mkfs.fat diskutil cryptsetup lvremove vgremove pvremove zpool zfs mdadm", "writes*",
        "-t= -F -L= -m= -b= -a -f -l -n -q -U= -O= -s", unknown="writes"),
    row("useradd userdel usermod adduser deluser groupadd groupdel passwd chpasswd chsh chage visudo gpasswd", "plain*",
        "-m -s= -g= -G= -u= -d= -r -a -p= -c= -M -e= -l -L -f", unknown="writes"),
    row("iptables ip6tables nft ufw firewall-cmd pfctl setenforce apparmor_parser sysctl modprobe insmod rmmod", "plain*",
        "-A= -D= -F -I= -P= -t= -p= -j= -w -a -p -n", unknown="writes"),
    row("apt apt-get aptitude dpkg dpkg-reconfigure add-apt-repository dnf yum rpm zypper pacman yay paru apk brew port snap flatpak emerge xbps-install nix-env choco scoop winget pkg pkg_add", "plain*",
        _SYSTEM_PM, unknown="any", same={"rm": "remove", "ls": "list"}, subcommands=(
            row("list search info show policy depends rdepends outdated deps leaves doctor config home cat log uses desc why", "plain*",
                _SYSTEM_PM, unknown="urls"),
            row("install remove rm purge autoremove update upgrade full-upgrade dist-upgrade uninstall reinstall add del download clean autoclean tap untap link unlink cleanup bundle services pin check-update makecache groupinstall module source build-dep edit-sources switch mark delete", "plain*",
                _SYSTEM_PM, unknown="any"),
        )),
    row("apt-cache apt-mark dpkg-query apt-key", "plain*", _SYSTEM_PM, unknown=""),
    row("gpg gpg2 age sops pass security keytool op bw secret-tool kwallet-query certbot mkcert ssh-vault", "plain*",
        "-o,--output=writes -d,--decrypt -e,--encrypt -r,--recipient= -s -a,--armor -i=reads -u= -K -k -w --batch --yes --list-keys --export --import -p -g -D -f,--force",
        unknown="any"),
    row("ffmpeg", "plain* writes", "-i=reads -y -n -c= -o=writes -f= -t= -ss= -to= -v= -r= -q= -of= -vf= -af= -vcodec= -acodec= -b= -s= -crf= -preset= -map= -loglevel= -filter_complex= -pix_fmt= -an -vn -shortest -hide_banner",
        unknown="reads writes", single_dash=True),
    row("convert magick cwebp svgo", "reads* writes", "-o=writes -q= -resize= -quality= -density= -crop= -geometry= -gravity= -background= -format= -rotate= -fill= -font= -pointsize= -annotate= -strip -append -quiet",
        unknown="reads writes", single_dash=True),
    row("ffprobe identify mogrify sips exiftool gs pdftotext qpdf optipng pngquant tesseract whisper", "plain*",
        "-i=reads -y -n -c= -o=writes -f= -t= -ss= -v= -r= -q= -of=", unknown="reads writes deletes", single_dash=True),
    row("claude codex gemini copilot cursor-agent aider opencode goose amp qwen crush cline q llm ollama mods sgpt", "plain*",
        "-p,--print -m,--model= -c -r= -y", unknown="any"),
    row("hookline", "plain*", "-h,--help --version", unknown="any", subcommands=(
            row("trust", "plain*", unknown="any", subcommands=(
                    row("list show approve revoke diff export import token workspace", "plain*", unknown="any"),
                )),
            row("git daemon", "plain*", unknown="any", subcommands=(row("install uninstall stop", unknown="any"),)),
            row("list show add edit remove enable disable undo install uninstall", "plain*", unknown="any"),
        )),
    row("busybox toybox", "", "--list --install", wraps="words"),
    row("xcode-select defaults pmset networksetup scutil softwareupdate csrutil spctl codesign plutil mdfind mdls ditto dscl", "plain*",
        "-p -g -s", unknown="reads writes"),
)
