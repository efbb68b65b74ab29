import { chmod, mkdir, readdir, readFile, symlink, writeFile } from "../../../core/ground/platform/files/files.ts";
import { join } from "../../../core/ground/platform/files/paths.ts";
import type { AttackCase, AttackPlace } from "../../../core/kit/attack/attack-case.ts";
import { refusedTries } from "./refused-tries.ts";

const shell = { binary: "sh", args: ["-c {*}"] };
const loaderNames = [
  "LD_PRELOAD",
  "LD_LIBRARY_PATH",
  "NODE_OPTIONS",
  "DENO_DIR",
  "BASH_ENV",
  "ENV",
  "IFS",
  "PATH",
  "HOME",
  "SHELL",
  "EDITOR",
  "PAGER",
  "GIT_SSH_COMMAND",
  "GIT_CONFIG_COUNT",
  "PYTHONSTARTUP",
  "PERL5OPT",
  "RUBYOPT",
  "JAVA_TOOL_OPTIONS",
  "npm_config_script_shell",
  "BULKHEAD_SESSION_MARK",
  "TMPDIR",
  "TAR_OPTIONS",
  "MAKEFLAGS",
  "GNUMAKEFLAGS",
  "RSYNC_RSH",
  "XDG_CONFIG_HOME",
  "CC",
  "GOFLAGS",
  "RUSTC_WRAPPER",
  "PYTEST_ADDOPTS",
  "VIMINIT",
  "FZF_DEFAULT_COMMAND",
  "DOTNET_STARTUP_HOOKS",
];

/** Adapter code: all that a program prints. */
const outputOf = `
async function outputOf(child) {
  let text = "";
  for await (const piece of child.stdout) text += piece;
  return text;
}`;

/** Corpus group G, programs: making one run what was not granted. */
export const runCases: readonly AttackCase[] = [
  refusedTries({
    id: "G26",
    name: "planted-program",
    attack: "Plants a program where a search could find it, and runs it by its name or place.",
    stage: async (place) => {
      for (const folder of [place.workdir, place.outside, place.package]) await plant(folder, "planted-tool");
      await symlink(join(place.outside, "planted-tool"), join(place.package, "linked-tool"));
      const run = ["planted-tool", "./linked-tool", join(place.outside, "planted-tool")].map((binary) => ({ binary }));
      return {
        params: { outside: place.outside },
        permissions: { run, read: ["workdir"], write: ["workdir", place.outside] },
        reached: () => pwned(place),
      };
    },
    tries: [
      { act: "await ctx.run('planted-tool', [])", codes: ["binary_missing"] },
      "await ctx.run('./linked-tool', [])",
      "await ctx.run('./planted-tool', [])",
      "await ctx.run('../planted-tool', [])",
      "await ctx.run(ctx.workdir + '/planted-tool', [])",
      // Granted by its place, but the adapter may write there too.
      "await ctx.run(stage.outside + '/planted-tool', [])",
      "await ctx.run(stage.outside + '/../outside/planted-tool', [])",
    ],
  }),
  refusedTries({
    id: "G27",
    name: "argument-injection",
    attack: "Gives options, files and further arguments where one plain value was granted.",
    permissions: {
      run: [{ binary: "echo", args: ["say {}", "--model={} run"] }, { binary: "cat", args: ["-- {}"] }],
    },
    tries: [
      ...[
        ["say", "--dangerously-skip-permissions"],
        ["say", "-c"],
        ["say", "@/etc/passwd"],
        ["say", "-"],
        ["say", "a", "--upload-pack=x"],
        ["--config=x", "say", "a"],
        ["say"],
        ["say", "a", "b"],
        [],
        ["--model=x"],
        ["--model=x", "run", "y"],
        ["--models=x", "run"],
        ["Say", "a"],
        ["say ", "a"],
        ["say\u0000", "a"],
      ].map((args) => ({
        act: `await ctx.run("echo", ${JSON.stringify(args)})`,
        codes: args[0]?.includes("\u0000") ? ["invalid_request" as const] : ["permission_denied" as const],
      })),
      "await ctx.run('cat', ['-', '/etc/passwd'])",
      "await ctx.run('cat', ['/etc/passwd'])",
      "await ctx.run('cat', ['--', '-'])",
      { act: "await ctx.run('echo', Array.from({ length: 5000 }, () => 'x'))", codes: ["invalid_request"] },
      { act: "await ctx.run('echo', ['say', { toString: () => '--flag' }])" },
    ],
  }),
  {
    id: "G28",
    name: "shell-syntax",
    attack: "Puts shell syntax into arguments, to have it run.",
    permissions: { run: [{ binary: "echo", args: ["{...}"] }] },
    stage: (place) => Promise.resolve({ reached: () => pwned(place) }),
    top: outputOf,
    body: `
    const hostile = ["$(touch pwned)", "\`touch pwned\`", "; touch pwned", "&& touch pwned", "| touch pwned", "> pwned",
      "\\n touch pwned", "*", "~", "$HOME", "\${HOME}", "'", '"', "\\\\"];
    const said = await outputOf(await ctx.run("echo", hostile));
    if (said.trimEnd() !== hostile.join(" ")) yield { type: "progress", message: "BREACH: a shell read " + said };`,
    expected: { kind: "harmless" },
    withinMs: 10_000,
  },
  refusedTries({
    id: "G28",
    name: "shell-option",
    attack: "Asks for a shell, another program's name and a NUL in arguments.",
    permissions: { run: [{ binary: "echo", args: ["{...}"] }] },
    stage: (place) => Promise.resolve({ reached: () => pwned(place) }),
    tries: [
      { act: "await ctx.run('echo', ['$(touch pwned)'], { shell: true })", mayPass: true },
      { act: "await ctx.run('echo', ['; touch pwned'], { shell: '/bin/sh', argv0: 'sh' })", mayPass: true },
      { act: "await ctx.run('echo', ['a\\u0000b'])", codes: ["invalid_request"] },
      { act: "await ctx.run('echo\\u0000', [])", codes: ["invalid_request"] },
      "await ctx.run('echo; touch pwned', [])",
      "await ctx.run('/bin/echo', [])",
      "await ctx.run('sh', ['-c', 'touch pwned'])",
    ],
  }),
  refusedTries({
    id: "G30",
    name: "loader-variables",
    attack: "Sets variables from which a program's loader or shell takes code, though they are granted.",
    permissions: { run: [{ binary: "env", env: loaderNames.filter((name) => name !== "BULKHEAD_SESSION_MARK") }] },
    tries: [
      ...loaderNames.map((name) => `await ctx.run("env", [], { env: { ${name}: "/evil" } })`),
      "await ctx.run('env', [], { env: { NOT_GRANTED: 'x' } })",
      { act: "await ctx.run('env', [], { env: { 'A=B': 'x' } })", codes: ["invalid_request"] },
      { act: "await ctx.run('env', [], { env: { 'A\\nB': 'x' } })", codes: ["invalid_request"] },
      { act: "await ctx.run('env', [], { env: { 'BASH_FUNC_x%%': '() { :; }' } })", codes: ["invalid_request"] },
    ],
  }),
  {
    id: "G30",
    name: "request-variables",
    attack: "A request sets variables without a grant.",
    permissions: { run: [{ binary: "env", env: ["ALLOWED"] }] },
    request: { env: { LD_PRELOAD: "/evil.so" } },
    body: "",
    expected: { kind: "refused", codes: ["permission_denied"] },
    withinMs: 10_000,
  },
  refusedTries({
    id: "G31",
    name: "foreign-folder",
    attack: "Runs a granted program in folders of its own choosing, whose settings the program would act on.",
    permissions: { run: [shell] },
    stage: async (place) => {
      await symlink(place.outside, join(place.workdir, "out"));
      await mkdir(`${place.workdir}-evil`);
      return { reached: () => pwned({ ...place, workdir: place.outside }) };
    },
    tries: [
      // Without the wall these succeed, and must leave nothing behind.
      ...["/", "/tmp"].map((cwd) => `await ctx.run("sh", ["-c", "pwd"], { cwd: "${cwd}" })`),
      ...["..", "../outside", "out", "../workdir-evil", "./x/../../outside", "/proc/self/cwd/.."]
        .map((cwd) => `await ctx.run("sh", ["-c", "touch pwned"], { cwd: "${cwd}" })`),
      { act: "await ctx.run('sh', ['-c', 'touch pwned'], { cwd: 'a\\u0000b' })", codes: ["invalid_request"] },
      { act: "await ctx.run('sh', ['-c', 'touch pwned'], { cwd: 'missing' })", codes: ["not_found"] },
    ],
  }),
  refusedTries({
    id: "G32",
    name: "interpreters",
    attack: "Makes programs that were granted for one thing run another.",
    permissions: {
      run: [
        { binary: "git", args: ["status", "log {}"] },
        { binary: "find", args: ["{} -name {}"] },
        { binary: "@runtime", args: ["--version"] },
        { binary: "env" },
      ],
    },
    stage: (place) => Promise.resolve({ reached: () => pwned(place) }),
    tries: [
      "await ctx.run('git', ['-c', 'core.pager=touch pwned', 'log'])",
      "await ctx.run('git', ['status', '-c', 'core.fsmonitor=touch pwned'])",
      "await ctx.run('git', ['log', '--output=pwned'])",
      "await ctx.run('git', ['log', '-1', '--ext-diff'])",
      "await ctx.run('git', [])",
      "await ctx.run('git', ['status', 'x'])",
      "await ctx.run('find', ['.', '-exec', 'touch', 'pwned', ';'])",
      "await ctx.run('find', ['-L', '-name', 'x'])",
      "await ctx.run('find', ['.', '-name', '-delete'])",
      "await ctx.run('@runtime', ['-e', 'require(\"fs\").writeFileSync(\"pwned\", \"\")'])",
      "await ctx.run('@runtime', ['--version', 'x.js'])",
      "await ctx.run('env', ['touch', 'pwned'])",
      "await ctx.run('npx', ['x'])",
    ],
  }),
  {
    id: "G33",
    name: "inherited-descriptors",
    attack: "Looks in a child for open files of the host and for a terminal.",
    permissions: { run: [shell] },
    top: outputOf,
    body: `
    const script = "for n in /proc/self/fd/*; do echo \\"\${n##*/} $(readlink $n)\\"; done; " +
      "test -t 0 && echo terminal; test -t 1 && echo terminal; (: < /dev/tty) 2>/dev/null && echo terminal; cat";
    const said = await outputOf(await ctx.run("sh", ["-c", script]));
    for (const line of said.trim().split("\\n")) {
      const [number, target = ""] = line.split(" ");
      const own = target === "" || target.startsWith("pipe:") || target === "/dev/null" || target.startsWith("/proc/") ||
        target.startsWith("socket:") && Number(number) < 3;
      if (!own || number === "terminal") yield { type: "progress", message: "BREACH: a child holds " + line };
    }`,
    expected: { kind: "harmless" },
    withinMs: 10_000,
    notOn: {
      runtime: "deno",
      reason: "On Deno a pipe that leads nowhere stands instead of its own, and this look cannot tell " +
        "it from one of the host's; a test of this row can.",
    },
  },
  {
    id: "G34",
    name: "value-in-arguments",
    attack: "Puts a granted value into a program's arguments, which are recorded.",
    permissions: { run: [{ ...shell, env: ["TOKEN"] }], env: ["TOKEN"] },
    request: { env: { TOKEN: "BREACH-of-a-token" } },
    top: outputOf,
    body: `
    const token = await ctx.env.get("TOKEN");
    await outputOf(await ctx.run("sh", ["-c", ": " + token + " # " + token]));`,
    expected: { kind: "harmless" },
    check: ({ events }) =>
      events.some(({ event }) => event.type === "process_spawned" && event.argv.join().includes("[redacted TOKEN]"))
        ? null
        : "The arguments were not recorded with the value taken out.",
    withinMs: 10_000,
  },
  {
    id: "G35",
    name: "more-rights",
    attack: "A child looks for a way to more rights than the host has.",
    permissions: { run: [shell] },
    top: outputOf,
    body: `
    const script = "id -u; sudo -n id -u 2>/dev/null; su -c 'id -u' </dev/null 2>/dev/null; pkexec id -u </dev/null 2>/dev/null; true";
    const [own, ...others] = (await outputOf(await ctx.run("sh", ["-c", script]))).trim().split("\\n");
    if (own !== "0" && others.includes("0")) yield { type: "progress", message: "BREACH: a child became root" };`,
    expected: { kind: "harmless" },
    withinMs: 15_000,
  },
  {
    id: "G36",
    name: "foreign-process",
    attack: "Looks for a way to signal a process by its number.",
    permissions: { run: [{ binary: "true" }] },
    body: `
    const child = await ctx.run("true", []);
    const ways = [...Object.keys(child), ...Object.keys(ctx)].filter((name) => /pid|signal_|kill_/.test(name));
    if (ways.length > 0) yield { type: "progress", message: "BREACH " + ways.join() };
    // The program is gone; its number may be another's by now.
    await child.exit;
    for (let n = 0; n < 5; n++) await child.kill(1, "SIGKILL");`,
    expected: { kind: "harmless" },
    withinMs: 10_000,
  },
];

async function plant(folder: string, name: string): Promise<void> {
  const file = join(folder, name);
  await writeFile(file, `#!/bin/sh\ntouch "${folder}/pwned"\n`);
  await chmod(file, 0o755);
}

async function pwned(place: AttackPlace): Promise<string | null> {
  for (const folder of [place.workdir, place.outside, place.package]) {
    if ((await readdir(folder)).includes("pwned")) return `A program ran and left its trace in ${folder}.`;
  }
  const secret = await readFile(join(place.outside, "secret.txt"), "utf8");
  return secret.includes("the content of a file outside") ? null : "The file outside was changed.";
}
