/**
 * How a program can come to run what its grant does not name:
 * - `code`: it runs whatever program text or file it is given;
 * - `launcher`: its arguments name another program, which it starts;
 * - `fetcher`: it gets programs of others, or runs those that the working directory names;
 * - `options`: some of its options start other programs, or write any file.
 */
export type BroadKind = "code" | "launcher" | "fetcher" | "options";

/** Programs with which a grant may amount to any program at all, by their names without version. */
export const broadPrograms: ReadonlyMap<string, BroadKind> = new Map([
  ...names(
    "code",
    "ash awk bash bun busybox cmd csh dash deno elvish erl expect fish gawk ghci groovy guile ipython irb java jjs jshell " +
      "julia ksh lua luajit mawk mksh nawk node nodejs nu octave osascript perl php pike powershell psql pwsh pypy " +
      "python racket rscript ruby sbcl scala sh sqlite swift tclsh tcsh toybox ts-node tsx wish yash zsh",
  ),
  ...names(
    "launcher",
    "at batch bwrap chroot chrt command coproc dbus-run-session doas env exec firejail flock gdb ionice ltrace nice nohup " +
      "nsenter numactl parallel perf pkexec prlimit proot rlwrap runuser script setarch setpriv setsid start-stop-daemon " +
      "stdbuf strace su sudo systemd-run taskset time timeout tmux toolbox unbuffer unshare valgrind watch xargs xvfb-run",
  ),
  ...names(
    "fetcher",
    "ant apk apt apt-get brew bunx bundle cargo cmake composer conda corepack dnf docker dotnet easy_install flatpak gem " +
      "go gradle gradlew helm just kubectl lxc make mvn mvnw nerdctl ninja nix nix-shell npm npx pacman pip pipenv pipx " +
      "pnpm pnpx podman poetry poetry rake snap task tox uv uvx yarn yum zypper",
  ),
  ...names(
    "options",
    "cp curl dd ed emacs ex find git hg install less ln man more most mv nano nvim rsync scp sed sftp ssh svn tar tee vi " +
      "view vim wget zip",
  ),
]);

/** Options after which a program of kind `code` takes its text, or the name of a part of its own library. */
export const codeOptions: ReadonlySet<string> = new Set(
  "-c -e -E -f -m -p -pe -ne --command --eval --execute --expression --file --print -Command -File".split(" "),
);

/** Words behind which a program of kind `code` still takes the file it runs. */
export const codeCommands: ReadonlySet<string> = new Set("eval exec run serve task test x".split(" "));

/** Options with which a program says something about itself and ends. */
export const harmlessOptions: ReadonlySet<string> = new Set("--help --version -V -h".split(" "));

function names(kind: BroadKind, list: string): [string, BroadKind][] {
  return list.split(" ").map((name) => [name, kind]);
}
