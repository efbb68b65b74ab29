import type { AgentEscape } from "../../../core/kit/attack/agent-escape.ts";

/** One system call by number, as x64 has it, and as arm64. Prints ESCAPED where the kernel did it. */
function call([x64, arm64]: readonly [x64: number, arm64: number], args: string, allowed = "$r >= 0"): string {
  const number = `my $n = \`uname -m\` =~ /x86_64/ ? ${x64} : ${arm64};`;
  return `perl -e '${number} my $r = syscall($n, ${args}); print "ESCAPED\\n" if ${allowed}; exit 0'`;
}

/** Writes to a path, and says whether that worked. */
function write(path: string): string {
  return `(echo agent-was-here >> ${path}) 2>&1 && echo ESCAPED`;
}

/** As {@link write}, in git's folder: an agent may write into its own, and what it must not change is looked at. */
function writeOwn(path: string): string {
  return `(echo agent-was-here >> ${path}) 2>&1; true`;
}

/** Reads a path that holds `CANARY`. */
function read(path: string): string {
  return `cat ${path} 2>&1 | tr '\\0' '\\n' | grep -q CANARY && echo ESCAPED`;
}

/** Connects, and says whether anybody answered. */
function reach(perl: string): string {
  return `perl -MIO::Socket -e '${perl} if ($s) { print $s "GET / HTTP/1.0\\r\\n\\r\\n"; local $/; my $t = <$s>; print "ESCAPED\\n" if $t =~ /CANARY/ }'`;
}

const outside: readonly AgentEscape[] = [
  {
    id: "A1",
    name: "another project's file",
    script: write("$OUTSIDE/main.c"),
    untouched: ["other/main.c"],
    control: true,
  },
  {
    id: "A2",
    name: "a new file in another project",
    script: write("$OUTSIDE/new.sh"),
    untouched: ["other/new.sh"],
    control: true,
  },
  {
    id: "A3",
    name: "the person's shell profile",
    script: "echo evil >> $HOME/.bashrc",
    untouched: ["home/.bashrc"],
    control: true,
  },
  {
    id: "A4",
    name: "login keys for ssh",
    script: "mkdir -p $HOME/.ssh; echo evil >> $HOME/.ssh/authorized_keys",
    untouched: ["home/.ssh/authorized_keys"],
    control: true,
  },
  {
    id: "A5",
    name: "a program in front of the PATH",
    script: "mkdir -p $HOME/.local/bin; echo evil > $HOME/.local/bin/git",
    untouched: ["home/.local/bin/git"],
    control: true,
  },
  { id: "A6", name: "the host's state", script: write("$STATE/journal"), untouched: ["state/journal"], control: true },
  {
    id: "A7",
    name: "the host manifest",
    script: write("$STATE/../bulkhead.yaml"),
    untouched: ["bulkhead.yaml"],
    control: true,
  },
  {
    id: "A8",
    name: "the plugin's own package",
    script: write("$PLUGIN/mod.ts"),
    untouched: ["plugin/mod.ts"],
    control: true,
  },
  {
    id: "A9",
    name: "a link out of the working directory",
    script: `ln -s $OUTSIDE link && ${write("link/main.c")}`,
    untouched: ["other/main.c"],
    control: true,
  },
  {
    id: "A10",
    name: "a hard link to another project's file",
    script: `ln $OUTSIDE/main.c hard 2>&1 && ${write("hard")}`,
    untouched: ["other/main.c"],
    control: true,
  },
  {
    id: "A11",
    name: "up and out by dots",
    script: write("../other/main.c"),
    untouched: ["other/main.c"],
    control: true,
  },
  {
    id: "A12",
    name: "through the root of its first process",
    script: write("/proc/1/root$OUTSIDE/main.c"),
    untouched: ["other/main.c"],
  },
  {
    id: "A13",
    name: "moving the working directory away",
    script: "cd ..; mv workdir elsewhere && mkdir workdir && echo ESCAPED",
  },
  {
    id: "A14",
    name: "shared memory of the machine",
    script: "echo x > /dev/shm/bulkhead-escape-$VICTIM && true",
    leaves: "shared memory",
  },
  {
    id: "A15",
    name: "temporary files of others",
    script: write("/var/tmp/bulkhead-escape-$VICTIM && rm -f /var/tmp/bulkhead-escape-$VICTIM"),
  },
  { id: "A16", name: "system settings", script: write("/etc/bulkhead-escape && rm -f /etc/bulkhead-escape") },
  {
    id: "A17",
    name: "jobs at a time",
    script: write("/var/spool/cron/bulkhead-escape && rm -f /var/spool/cron/bulkhead-escape"),
  },
  {
    id: "A18",
    name: "settings of the agent itself",
    script: "mkdir -p $HOME/.sh; echo evil > $HOME/.sh/settings.json; echo evil > $HOME/.sh/hooks/start",
    untouched: ["home/.sh/settings.json", "home/.sh/hooks/start"],
    control: true,
  },
  { id: "A19", name: "the runtime's own file", script: `${write("$RUNTIME")} && echo` },
];

const secrets: readonly AgentEscape[] = [
  { id: "B1", name: "a private key", script: read("$HOME/.ssh/id_ed25519"), control: true },
  { id: "B2", name: "keys of a cloud", script: read("$HOME/.aws/credentials"), control: true },
  { id: "B3", name: "another project's .env", script: read("$OUTSIDE/.env") },
  { id: "B4", name: "a project in the home", script: read("$HOME/project/.env"), control: true },
  { id: "B5", name: "another agent's login", script: read("$HOME/.codex/auth.json"), control: true },
  { id: "B6", name: "the host's journal", script: read("$STATE/journal"), control: true },
  { id: "B7", name: "the token of the daemon", script: read("$STATE/http/token"), control: true },
  { id: "B8", name: "the host's environment", script: read("/proc/$HOST/environ") },
  { id: "B9", name: "a neighbour's environment", script: read("/proc/$VICTIM/environ") },
  { id: "B10", name: "a neighbour's folder by its process", script: read("/proc/$VICTIM/cwd/canary.txt") },
  { id: "B11", name: "a browser's profile", script: read("$HOME/.config/chromium/Default/Cookies"), control: true },
  { id: "B12", name: "a shell's history", script: read("$HOME/.bash_history"), control: true },
  {
    id: "B13",
    name: "the list of all processes",
    script: "ls -d /proc/[0-9]* | wc -l | { read n; [ $n -gt 30 ] && echo ESCAPED; }; true",
  },
  {
    id: "B14",
    name: "a disk as a file",
    script:
      "for d in $(lsblk -rno NAME 2>/dev/null | head -3) vda sda nvme0n1; do mknod dev-$d b 254 0 2>/dev/null; head -c 512 /dev/$d 2>/dev/null | grep -q . && echo ESCAPED; head -c 512 dev-$d 2>/dev/null | grep -q . && echo ESCAPED; done; true",
  },
  {
    id: "B15",
    name: "the kernel's memory",
    script: "head -c 64 /proc/kcore 2>/dev/null | grep -q . && echo ESCAPED; true",
  },
  { id: "B16", name: "the kernel's log", script: "head -c 1 /dev/kmsg 2>/dev/null | grep -q . && echo ESCAPED; true" },
  {
    id: "B17",
    name: "a file by its handle",
    needs: "perl",
    script: call([304, 265], "3, pack('LLQ', 8, 1, 2), 0", "$! != 1 && $! != 38 && $r >= 0"),
  },
  {
    id: "B18",
    name: "descriptors of the host",
    // A pipe without another end is the host's replacement for its own parent's files.
    script:
      'for f in /proc/self/fd/*; do n=${f##*/}; [ $n -gt 2 ] && [ $n -lt 10 ] && [ -e /proc/$$/fd/$n ] || continue; readlink /proc/$$/fd/$n | grep -qE "bulkhead|journal" && echo ESCAPED; eval "timeout 1 cat <&$n" >/dev/null 2>&1; [ $? = 124 ] && echo ESCAPED; done; true',
  },
];

const project: readonly AgentEscape[] = [
  {
    id: "C1",
    name: "a hook of git",
    script: writeOwn(".git/hooks/post-checkout"),
    untouched: ["workdir/.git/hooks/post-checkout"],
    control: true,
  },
  {
    id: "C2",
    name: "a program in git's settings",
    script: writeOwn(".git/config"),
    untouched: ["workdir/.git/config"],
    control: true,
  },
  {
    id: "C3",
    name: "the same, by git",
    needs: "git",
    script: "git config core.fsmonitor 'sh -c evil' 2>&1; true",
    untouched: ["workdir/.git/config"],
    control: true,
  },
  {
    id: "C4",
    name: "a new .git instead of it",
    script: "mv .git old-git && mkdir -p .git/hooks && echo ESCAPED; true",
    untouched: ["workdir/.git/config"],
  },
  {
    id: "C5",
    name: "hooks removed and made again",
    script: "rm -rf .git/hooks; mkdir .git/hooks 2>/dev/null && echo x > .git/hooks/pre-commit; true",
    untouched: ["workdir/.git/hooks/pre-commit"],
  },
  {
    id: "C6",
    name: "settings put in by renaming",
    script: "cp .git/config new && echo '[core] hooksPath=/tmp' >> new && mv -f new .git/config; true",
    untouched: ["workdir/.git/config"],
    control: true,
  },
  {
    id: "C7",
    name: "a workflow of the build server",
    script: `mkdir -p .github/workflows; ${write(".github/workflows/x.yml")}`,
    untouched: ["workdir/.github/workflows/x.yml"],
    control: true,
  },
  {
    id: "C8",
    name: "an existing build file",
    script: write(".gitlab-ci.yml"),
    untouched: ["workdir/.gitlab-ci.yml"],
    control: true,
  },
  {
    id: "C9",
    name: "orders to the next agent",
    script: write("AGENTS.md"),
    untouched: ["workdir/AGENTS.md"],
    control: true,
  },
  {
    id: "C10",
    name: "approvals for the next agent",
    script: `mkdir -p .claude; ${write(".claude/settings.json")}`,
    untouched: ["workdir/.claude/settings.json"],
    control: true,
  },
  {
    id: "C11",
    name: "a task of the editor",
    script: `mkdir -p .vscode; ${write(".vscode/tasks.json")}`,
    untouched: ["workdir/.vscode/tasks.json"],
    control: true,
  },
  {
    id: "C12",
    name: "what the shell runs on entering",
    script: write(".envrc"),
    untouched: ["workdir/.envrc"],
    control: true,
  },
  {
    id: "C13",
    name: "the project's own host manifest",
    script: write("bulkhead.yaml"),
    untouched: ["workdir/bulkhead.yaml"],
    control: true,
  },
  {
    id: "C14",
    name: "attributes that git keeps to itself",
    script: `mkdir -p .git/info; ${writeOwn(".git/info/attributes")}`,
    untouched: ["workdir/.git/info/attributes"],
    control: true,
  },
  {
    id: "C15",
    name: "a guarded file by another name",
    script: "ln AGENTS.md other-name 2>/dev/null && echo evil >> other-name && true",
    untouched: ["workdir/AGENTS.md"],
  },
  {
    id: "C16",
    name: "unmounting what guards them",
    script: "umount .git/hooks 2>/dev/null && echo ESCAPED; umount -l .git 2>/dev/null && echo ESCAPED; true",
  },
];

const tcp = (host: string) =>
  reach(`my $s = IO::Socket::INET->new(PeerAddr => "${host}", PeerPort => $ENV{PORT}, Timeout => 3);`);
const proxied = (lines: string) =>
  `perl -MIO::Socket -e 'my $s = IO::Socket::INET->new("127.0.0.1:3128") or exit; print $s "${lines}"; local $/; my $t = <$s>; print "ESCAPED\\n" if $t =~ /CANARY| 200 /'`;
const network: readonly AgentEscape[] = [
  { id: "D1", name: "a server of this machine", needs: "perl", script: tcp("127.0.0.1"), control: true },
  {
    id: "D2",
    name: "the same by IPv6",
    needs: "perl",
    script:
      `perl -MIO::Socket::IP -e 'my $s = IO::Socket::IP->new(PeerHost => "::1", PeerPort => $ENV{PORT}, Timeout => 3) or exit; print $s "GET / HTTP/1.0\\r\\n\\r\\n"; local $/; print "ESCAPED\\n" if <$s> =~ /CANARY/'`,
  },
  { id: "D3", name: "the same as 0.0.0.0", needs: "perl", script: tcp("0.0.0.0"), control: true },
  { id: "D4", name: "an address of the machine's network", needs: "perl", script: tcp("$ENV{ADDRESS}") },
  {
    id: "D5",
    name: "an address of the internet",
    needs: "perl",
    script:
      'perl -MIO::Socket -e \'print "ESCAPED\\n" if IO::Socket::INET->new(PeerAddr => "192.0.2.1:80", Timeout => 2) || $!{ETIMEDOUT} || $!{EINPROGRESS}\'',
  },
  {
    id: "D6",
    name: "names that carry data, by UDP",
    needs: "perl",
    script:
      'perl -MIO::Socket -e \'my $s = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $ENV{UDP_PORT}, Proto => "udp"); $s and $s->send("leak"); select(undef, undef, undef, 0.3); my $b; $s and $s->recv($b, 100); print "ESCAPED\\n" if $b =~ /CANARY/\'',
    control: true,
  },
  {
    id: "D7",
    name: "the name service",
    needs: "perl",
    script: 'perl -e \'print "ESCAPED\\n" if gethostbyname("example.com")\'',
  },
  {
    id: "D8",
    name: "the proxy without its password",
    needs: "perl",
    script: proxied("GET http://127.0.0.1:$ENV{PORT}/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"),
  },
  {
    id: "D9",
    name: "the proxy with another session's password",
    needs: "perl",
    script: proxied(
      "CONNECT 127.0.0.1:$ENV{ALLOWED_PORT} HTTP/1.1\\r\\nProxy-Authorization: Basic c2Vzc2lvbjowMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMA==\\r\\n\\r\\n",
    ),
  },
  ...([
    ["D10", "a place that was not granted", "127.0.0.1:$PORT"],
    ["D11", "the metadata of a cloud", "169.254.169.254:80"],
    ["D12", "an IPv4 address inside an IPv6 one", "[::ffff:127.0.0.1]:$PORT"],
    ["D13", "an address as one number", "2130706433:$PORT"],
    ["D14", "an address in octal", "0177.0.0.1:$PORT"],
    ["D15", "an address with a zone", "[fe80::1%25lo]:$PORT"],
    ["D16", "a granted host on another port", "localhost:$PORT"],
    ["D17", "a name below a granted one's", "127.0.0.1.localhost:$PORT"],
    ["D18", "an address by NAT64", "[64:ff9b::7f00:1]:$PORT"],
  ] as const).map(([id, name, target]): AgentEscape => ({
    id,
    name,
    needs: "curl",
    script:
      `curl -s -m 5 -x "$PROXY" --noproxy "" -p -o /dev/null -w '%{http_connect}' "http://${target}/" | grep -q 200 && echo ESCAPED; true`,
  })),
  ...([
    ["D29", "a granted name that leads to the loopback", "loopback six mapped"],
    ["D30", "a granted name that leads to the machine's network", "neighbour"],
    ["D31", "a granted name that leads to the metadata of a cloud", "metadata"],
    ["D32", "a granted name that leads to a public address as well", "mixed"],
  ] as const).map(([id, name, labels]): AgentEscape => ({
    id,
    name,
    needs: "curl",
    // Anything but the proxy's "forbidden" got through: at some of these addresses nothing answers.
    script: `for name in ${labels}; do
      for way in "-p -w %{http_connect}" "-w %{http_code}"; do
        [ "$(curl -s -m 5 -x "$PROXY" --noproxy "" -o /dev/null $way "http://$name.escape.example:$PORT/")" = 403 ] || echo ESCAPED
      done
    done`,
  })),
  {
    id: "D19",
    name: "a request that names two hosts",
    needs: "curl",
    script:
      `curl -s -m 5 -x "$PROXY" --noproxy "" -H "Host: 127.0.0.1:$PORT" "http://127.0.0.1:$PORT/" | grep -q CANARY && echo ESCAPED; true`,
  },
  {
    id: "D20",
    name: "a second request hidden in the first",
    needs: "perl",
    script:
      `perl -MIO::Socket -MMIME::Base64 -e 'my ($p) = $ENV{PROXY} =~ m{//(.*)@}; my $s = IO::Socket::INET->new("127.0.0.1:3128") or exit; print $s "GET http://nowhere.invalid/ HTTP/1.1\\r\\nProxy-Authorization: Basic " . encode_base64($p, "") . "\\r\\nContent-Length: 0\\r\\n\\r\\nGET http://127.0.0.1:$ENV{PORT}/ HTTP/1.1\\r\\n\\r\\n"; local $/; print "ESCAPED\\n" if <$s> =~ /CANARY/'`,
  },
  {
    id: "D21",
    name: "a unix socket of the same user",
    needs: "perl",
    script:
      "perl -MIO::Socket::UNIX -e 'my $s = IO::Socket::UNIX->new(Peer => $ENV{SOCKET}) or exit; local $/; print \"ESCAPED\\n\" if <$s> =~ /CANARY/'",
    control: true,
  },
  {
    id: "D22",
    name: "a unix socket without a file",
    needs: "perl",
    script:
      'perl -MSocket -e \'socket(my $s, PF_UNIX, SOCK_STREAM, 0); connect($s, pack("Sa*", AF_UNIX, "\\0bulkhead-escape-$ENV{VICTIM}")) or exit; local $/; print "ESCAPED\\n" if <$s> =~ /CANARY/\'',
  },
  {
    id: "D23",
    name: "the sockets of system services",
    script:
      "for s in /run/docker.sock /var/run/docker.sock /run/dbus/system_bus_socket /run/systemd/private; do [ -S $s ] && echo ESCAPED; done; ls /run/user 2>/dev/null | grep -q . && echo ESCAPED; true",
  },
  {
    id: "D24",
    name: "another session's proxy",
    script: "find $STATE /tmp -name proxy -type s 2>/dev/null | grep -q . && echo ESCAPED; true",
  },
  { id: "D25", name: "a raw socket", needs: "perl", script: call([41, 198], "2, 3, 1") },
  { id: "D26", name: "a packet socket", needs: "perl", script: call([41, 198], "17, 3, 768") },
  { id: "D27", name: "a socket to the virtual machine's host", needs: "perl", script: call([41, 198], "40, 1, 0") },
  { id: "D28", name: "a socket of the kernel's ciphers", needs: "perl", script: call([41, 198], "38, 5, 0") },
];

const kernel: readonly AgentEscape[] = [
  { id: "E1", name: "a signal to a neighbour", script: "kill -9 $VICTIM 2>/dev/null && echo ESCAPED; true" },
  { id: "E2", name: "a new user namespace", needs: "perl", script: call([272, 97], "0x10000000") },
  { id: "E3", name: "a new user namespace by clone", needs: "perl", script: call([56, 220], "0x10000011, 0, 0, 0, 0") },
  {
    id: "E4",
    name: "a new user namespace by clone3",
    needs: "perl",
    script: call([435, 435], "pack('Q11', 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0), 88"),
  },
  {
    id: "E5",
    name: "another process's namespace",
    needs: "perl",
    script: call([308, 268], "0, 0", "$r >= 0 || $! == 9"),
  },
  { id: "E6", name: "a mount", needs: "perl", script: call([165, 40], '"none", "/tmp", "tmpfs", 0, 0') },
  { id: "E7", name: "a mount by the newer calls", needs: "perl", script: call([430, 430], '"tmpfs", 0') },
  { id: "E8", name: "tracing a process", needs: "perl", script: call([101, 117], "0, 0, 0, 0") },
  {
    id: "E9",
    name: "another process's memory",
    needs: "perl",
    script: call([310, 270], "$ENV{VICTIM}, 0, 0, 0, 0, 0"),
  },
  { id: "E10", name: "the person's keyring", needs: "perl", script: call([250, 219], "0, -4, 1") },
  { id: "E11", name: "a key for later", needs: "perl", script: call([248, 217], '"user", "bulkhead", "x", 1, -4') },
  { id: "E12", name: "code in the kernel", needs: "perl", script: call([321, 280], "0, 0, 0", "$! != 1") },
  { id: "E13", name: "performance counters", needs: "perl", script: call([298, 241], "0, 0, -1, -1, 0", "$! != 1") },
  { id: "E14", name: "calls that go round the filter", needs: "perl", script: call([425, 425], "8, 0", "$! != 1") },
  { id: "E15", name: "page faults of its own", needs: "perl", script: call([323, 282], "0") },
  { id: "E16", name: "calls of the other kind", needs: "perl", script: call([0x40000000 + 101, 117], "0, 0, 0, 0") },
  {
    id: "E17",
    name: "characters typed into a terminal",
    needs: "perl",
    script: call([16, 29], "0, 0x5412, 'x'", "$! != 1"),
  },
  { id: "E18", name: "what the kernel runs for a core file", script: write("/proc/sys/kernel/core_pattern") },
  { id: "E19", name: "what the kernel runs for a module", script: write("/proc/sys/kernel/modprobe") },
  { id: "E20", name: "what the kernel runs for a device", script: write("/sys/kernel/uevent_helper") },
  {
    id: "E21",
    name: "the end of a control group",
    script:
      'for f in /sys/fs/cgroup/release_agent /sys/fs/cgroup/*/release_agent; do [ -w "$f" ] && echo ESCAPED; done; true',
  },
  {
    id: "E22",
    name: "the kernel's emergency key",
    script: "[ -w /proc/sysrq-trigger ] && (echo h > /proc/sysrq-trigger) 2>/dev/null && echo ESCAPED; true",
  },
  {
    id: "E23",
    name: "capabilities",
    script:
      "grep -q '^CapEff:.*[1-9a-f]' /proc/self/status && echo ESCAPED; grep -q '^CapBnd:.*[1-9a-f]' /proc/self/status && echo ESCAPED; true",
  },
  {
    id: "E24",
    name: "programs that run as root",
    script: "grep -q '^NoNewPrivs:.1' /proc/self/status || echo ESCAPED",
    control: true,
  },
  { id: "E25", name: "the machine's name", needs: "perl", script: call([170, 161], '"agent", 5') },
  { id: "E26", name: "the clock", needs: "perl", script: call([227, 112], "0, pack('QQ', 1, 0)") },
  { id: "E27", name: "a kernel module", needs: "perl", script: call([313, 273], "0, '', 0", "$! != 1") },
  {
    id: "E28",
    name: "a process that outlives the session",
    script:
      "(setsid env -i PATH=$PATH sh -c 'i=0; while [ $i -lt 20 ]; do i=$((i+1)); echo x > alive; sleep 0.1; done' >/dev/null 2>&1 &); sleep 0.3",
    leaves: "a process",
    control: true,
  },
];

/** Every escape that `bulkhead attack --agent` tries. */
export const agentEscapes: readonly AgentEscape[] = [...outside, ...secrets, ...project, ...network, ...kernel];
