/**
 * How a program can come to run what its grant does not name:
 * - `code`: it runs any program text or file it is given;
 * - `launcher`: its arguments name another program, which it starts;
 * - `fetcher`: it gets programs of others, or runs those that the working directory names;
 * - `options`: some of its options start other programs, or write any file;
 * - `agent`: its model decides which programs to run;
 * - `runner`: it runs the code of the files it is given, or that it finds in the working directory;
 * - `checker`: it loads code that the working directory names, and does other things to the files it is given;
 * - `script`: its first argument is a program in a small language that can start others;
 * - `client`: its commands, as arguments or on standard input, can start programs;
 * - `remote`: it runs commands on other machines;
 * - `service`: it starts programs later, or as a service.
 */
type BroadKind =
  | "code"
  | "launcher"
  | "fetcher"
  | "options"
  | "agent"
  | "runner"
  | "checker"
  | "script"
  | "client"
  | "remote"
  | "service";

/** Programs with which a grant may amount to any program at all, by their names without version. */
export const broadPrograms: ReadonlyMap<string, BroadKind> = new Map([
  ...names(
    "code",
    "ash awk bash bun busybox cmd csh dash deno elvish erl expect fish gawk ghci gnuplot groovy guile ipython irb java jjs jshell " +
      "julia ksh lua luajit m4 mawk mksh nawk node nodejs nu octave osascript perl php pike powershell pwsh pypy " +
      "python racket rscript ruby sbcl scala sh swift tclsh tcsh toybox ts-node tsx wish yash zsh",
  ),
  ...names(
    "launcher",
    "bwrap chroot chrt command coproc dbus-run-session doas env exec firejail flock gdb ionice ltrace nice nohup " +
      "nsenter numactl parallel perf pkexec prlimit proot rlwrap runuser script setarch setpriv setsid socat " +
      "start-stop-daemon stdbuf strace su sudo systemd-run taskset time timeout tmux toolbox unbuffer unshare valgrind watch xargs xvfb-run",
  ),
  ...names(
    "fetcher",
    "ant apk apt apt-get brew bunx bundle cargo cmake composer conda corepack dnf docker dotnet easy_install flatpak gem " +
      "go gradle gradlew helm just kubectl lxc make mvn mvnw nerdctl ninja nix nix-shell npm npx pacman pip pipenv pipx " +
      "pnpm pnpx podman poetry poetry rake snap task tox uv uvx yarn yum zypper",
  ),
  ...names(
    "options",
    "c++ cc clang clang++ convert cp curl dd ed emacs ex ffmpeg find g++ gcc git gpg hg install ld less ln lualatex magick " +
      "man more most mv nano ncat nmap nvim openssl pandoc pdflatex rg rsync scp sftp sort split svn tar tcpdump tee vi " +
      "view vim wget xelatex zip",
  ),
  ...names(
    "agent",
    "aider amazonq amp auggie claude claude-agent-acp claude-code claude-code-acp cline cn codebuff codex codex-acp copilot " +
      "crush cursor-agent devin droid forge gemini gemini-cli goose gptme grok iflow interpreter junie kilo kilocode kimi " +
      "kimi-cli kiro kiro-cli opencode openhands pi plandex q qodo qoder qwen qwen-code rovodev swe-agent trae-cli vibe",
  ),
  ...names(
    "runner",
    "ava behave bats bazel bazelisk buck cabal codecept ctest cucumber cypress dune earthly elm-test fastlane flutter " +
      "grunt gulp invoke jasmine jest karma lein mix mocha msbuild nose nox nx packer pants phpunit playwright pod pulumi " +
      "pytest rails rspec rush sbt scons stack tap terraform tofu turbo vagrant vitest waf xcodebuild zig",
  ),
  ...names(
    "checker",
    "astro babel coverage eslint hugo jekyll lefthook lerna lint-staged meson mkdocs mypy next nuxt parcel postcss " +
      "pre-commit prettier pylint rollup rubocop sphinx-build stylelint svelte-kit tailwindcss tsup vite webpack",
  ),
  ...names("script", "gsed sed ssed"),
  ...names("client", "duckdb mariadb mysql psql sqlite sqlplus"),
  ...names("remote", "ansible ansible-playbook autossh dbclient mosh pdsh plink rsh salt slogin ssh"),
  ...names(
    "service",
    "anacron at batch crontab dbus-send busctl gdbus initctl launchctl qdbus schtasks service systemctl",
  ),
]);

/** Options after which a program of kind `code` takes its text, or the name of a part of its own library. */
export const codeOptions: ReadonlySet<string> = new Set(
  "-c -e -E -f -m -p -pe -ne --command --eval --execute --expression --file --print -Command -File".split(" "),
);

/** Words behind which a program of kind `code` still takes the file it runs. */
export const codeCommands: ReadonlySet<string> = new Set("eval exec run serve task test x".split(" "));

/** Options of kind `options` whose value is a program, or text that names one. */
export const programOptions: ReadonlySet<string> = new Set(
  ("-exec -execdir -ok -okdir --exec --to-command --checkpoint-action --use-compress-program --rsh --rsync-path -e -I -o " +
    "-oProxyCommand --upload-pack --receive-pack --pre --compress-program --filter --lua-filter --pager -c --config-env " +
    "-z --script -fplugin -wrapper -engine --use-askpass --hook").split(" "),
);

/** Words with which an agent tells something and runs nothing. */
export const quietAgentCommands: ReadonlySet<string> = new Set([
  "auth status",
  "help",
  "login status",
  "models",
  "version",
  "whoami",
]);

/** Words with which a program of kind `service` only tells. */
export const quietServiceCommands: ReadonlySet<string> = new Set(
  "-l -q cat is-active is-enabled list-timers list-unit-files list-units show status".split(" "),
);

/** Options with which a program says something about itself and ends. */
export const harmlessOptions: ReadonlySet<string> = new Set("--help --version -V -h".split(" "));

function names(kind: BroadKind, list: string): [string, BroadKind][] {
  return list.split(" ").map((name) => [name, kind]);
}
