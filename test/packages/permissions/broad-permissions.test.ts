import { describe, expect, test } from "vitest";
import { type BreadthOptions, broadness } from "../../../core/packages/permissions/broad-permissions.ts";
import { broadPrograms } from "../../../core/packages/permissions/broad-programs.ts";
import { broadPermissions, explainPermissions } from "../../../core/packages/permissions/explain-permissions.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";

const places: BreadthOptions = {
  home: "/home/ada",
  path: ["/usr/local/bin", "/usr/bin", "/home/ada/bin"],
  manifestFolder: "/work/project",
};

const breadth = (permissions: Permissions) => broadness(permissions, places)?.breadth ?? "bounded";
const run = (binary: string, ...args: string[]) => breadth({ run: [{ binary, args }] });

describe("a program", () => {
  test.each([
    ["sh", "-c {*}"],
    ["bash", "{...}"],
    ["bash", ""],
    ["python3.11", "-c {}"],
    ["/usr/bin/python3", "{}"],
    ["python", "-m {}"],
    ["node", "-e {*}"],
    ["node", "--require ./x {}"],
    ["node", "--require={}"],
    ["deno", "run {...}"],
    ["deno", "eval {}"],
    ["perl", "-ne {*}"],
    ["awk", "{} {}"],
    ["@runtime", "{...}"],
    ["env", "{...}"],
    ["env", "LANG=C {}"],
    ["env", "LANG=C sh -c {*}"],
    ["xargs", "-n 1 {}"],
    ["timeout", "60 {} {}"],
    ["sudo", "{...}"],
    ["nice", "sudo env python -c {*}"],
    ["find", "{...}"],
    ["find", "{} {*}"],
    ["git", "{...}"],
    ["npx", "{}"],
    ["npm", "install {}"],
    ["docker", "run {...}"],
    ["ssh", "{...}"],
    ["ssh", "build.example.com {}"],
    ["claude", "-p {}"],
    ["codex", "exec {...}"],
    ["codex", "exec --json -"],
    ["opencode", "run {...}"],
    ["gemini", ""],
    ["qwen", "--yolo"],
    ["kiro-cli", "chat --no-interactive --trust-all-tools"],
    ["q", "chat {}"],
    ["cursor-agent", "-p {}"],
    ["sed", "{}"],
    ["sed", "-n {} {}"],
    ["sed", "-e {} {}"],
    ["sed", "s/a/b/ {...}"],
    ["awk", "{}"],
    ["crontab", "{}"],
    ["crontab", "-"],
    ["at", "now"],
    ["sqlite3", "x {}"],
    ["sqlite3", "x"],
    ["psql", "-c {}"],
    ["systemctl", "--user {...}"],
    ["systemctl", "--user start {}"],
    ["find", ". -exec {} ;"],
    ["tar", "-xf {} --to-command={}"],
    ["rg", "{} {...}"],
    ["pytest", "{}"],
    ["eslint", "{...}"],
  ])("%s %s amounts to everything", (binary, args) => {
    expect(run(binary, args)).toBe("everything");
  });

  test.each([
    ["sh", "-c ls"],
    ["sh", "-c 'ls -l' {...}"],
    ["bash", "/opt/tool/run.sh {...}"],
    ["python3", "-m http.server {}"],
    ["python3", "--version"],
    ["node", "--no-warnings /opt/tool/main.js {...}"],
    ["deno", "run --allow-read /opt/tool/main.ts {...}"],
    ["env", "LANG=C sort {}"],
    ["timeout", "60 wc -l {}"],
    ["xargs", "--version"],
    ["find", "{} -name {}"],
    ["git", "status --short"],
    ["git", "log {}"],
    ["npm", "--version"],
    ["npm", "test"],
    ["make", ""],
    ["pytest", ""],
    ["claude", "--version"],
    ["claude", "auth status"],
    ["kiro-cli", "whoami"],
    ["sed", "s/a/b/ {}"],
    ["crontab", "-l"],
    ["systemctl", "--user status {}"],
    ["sqlite3", "x 'select 1'"],
    ["find", ". -exec wc -l"],
    ["eslint", "{}"],
    ["npx", "prettier@3.0.0 --check ."],
    ["tr", "a-z A-Z"],
    ["echo", "{}"],
    ["agent", "--print {} --model={}"],
    ["agent", "chat {...}"],
  ])("%s %s is bound by its arguments", (binary, args) => {
    expect(run(binary, args)).toBe("bounded");
  });

  test("with any arguments at all, or one that leaves its folder open, is more than it seems", () => {
    expect(run("agent", "{...}")).toBe("much");
    expect(run("env", "LANG=C agent {...}")).toBe("much");
    expect(run("@runtime", "{}/census.mjs --report {}")).toBe("much");
  });

  test("that is contained is held to that, and says so", () => {
    const contained: Permissions = { run: [{ binary: "sh", args: ["-c {*}"], contain: "workdir", contain_net: true }] };
    expect(broadness(contained, places)).toEqual({
      breadth: "much",
      why: "sh runs any code it is given, and these arguments leave that open; contained, it writes only the working " +
        "directory, and reaches no network.",
    });
  });

  test("that is flagged in one of its forms is flagged, whichever it is", () => {
    expect(run("git", "status", "{...}")).toBe("everything");
  });
});

test.each([
  ["npm", "test"],
  ["make", ""],
  ["cargo", "build"],
  ["go", "test ./..."],
  ["pytest", ""],
  ["gradle", "check"],
  ["deno", "task build"],
  ["node", "build.js"],
  ["python3", "-m http.server"],
  ["just", ""],
  ["rake", "spec"],
  ["eslint", "src"],
  ["npx", "prettier@3.0.0 --check ."],
])("%s %s amounts to everything beside a grant to write where it runs, and only there", (binary, args) => {
  const program = { run: [{ binary, args: [args] }] };
  expect(breadth({ ...program, write: ["workdir"] })).toBe("everything");
  expect(breadth({ ...program, write: ["workdir:src"] })).toBe("everything");
  expect(breadth({ ...program, write: ["data", "config:x"] })).not.toBe("everything");
  const rows = explainPermissions({ requested: { ...program, write: ["workdir"] }, grant: {}, deny: {} }, places);
  expect(rows[0]).toMatchObject({ permission: "run", breadth: "everything" });
});

test("a variable that decides what a program loads is more than a value", () => {
  const requested: Permissions = { run: [{ binary: "tar", args: ["-tf {}"], env: ["TAR_OPTIONS", "LANG"] }] };
  const rows = explainPermissions({ requested, grant: { run: [{ binary: "tar" }] }, deny: {} }, places);
  expect(rows.map(({ permission, target, breadth, effective }) => [permission, target, breadth, effective])).toEqual([
    ["run_env", "tar TAR_OPTIONS", "much", ["tar TAR_OPTIONS"]],
    ["run", "tar -tf {}", "bounded", ["tar -tf {}"]],
    ["run_env", "tar LANG", "bounded", ["tar LANG"]],
  ]);
});

test("every program of the table is broad when it may be given anything", () => {
  for (const name of broadPrograms.keys()) expect([name, run(name, "{...}")]).toEqual([name, "everything"]);
});

test.each<[Permissions, string]>([
  [{ write: ["/"] }, "everything"],
  [{ write: ["/home"] }, "everything"],
  [{ write: ["/home/ada"] }, "everything"],
  [{ write: ["/home/ada/bin"] }, "everything"],
  [{ write: ["/home/ada/bin/sub"] }, "everything"],
  [{ write: ["/etc"] }, "everything"],
  [{ write: ["/home/ada/.ssh"] }, "everything"],
  [{ write: ["/work/project"] }, "much"],
  [{ write: ["/work"] }, "much"],
  [{ write: ["/work/project/src"] }, "bounded"],
  [{ write: ["config:tool"] }, "much"],
  [{ write: ["workdir", "data"] }, "bounded"],
  [{ write: ["workdir:src"] }, "bounded"],
  [{ write: ["workdir:package.json"] }, "everything"],
  [{ write: ["workdir:.github/workflows"] }, "everything"],
  [{ write: ["/home/ada/notes"] }, "bounded"],
  [{ read: ["/"] }, "everything"],
  [{ read: ["/home/ada"] }, "everything"],
  [{ read: ["/home/ada/.aws"] }, "everything"],
  [{ read: ["/home/ada/notes", "/home/adam", "/etc"] }, "bounded"],
  [{ net: ["*.example.com:443"] }, "much"],
  [{ net: ["localhost:8080"] }, "much"],
  [{ net: ["10.1.2.3:80"] }, "much"],
  [{ net: ["169.254.169.254:80"] }, "everything"],
  [{ net: ["api.example.com:443", "8.8.8.8:53"] }, "bounded"],
  [{ env: ["ACME_API_KEY"] }, "much"],
  [{ env: ["GITHUB_TOKEN"] }, "much"],
  [{ env: ["AWS_SECRET_ACCESS_KEY"] }, "much"],
  [{ env: ["SSH_AUTH_SOCK"] }, "much"],
  [{ env: ["LANG", "KEYBOARD", "MONKEY", "TOKENS_MAX"] }, "bounded"],
  [{ secrets: [{ name: "KEY", hosts: ["*.example.com:443"] }] }, "much"],
  [{ secrets: [{ name: "KEY", hosts: ["api.example.com:443"] }] }, "bounded"],
])("%j is %s", (permissions, expected) => {
  expect(breadth(permissions)).toBe(expected);
});

const asked: Permissions = {
  run: [{ binary: "wc", args: ["-l {}"] }, { binary: "sh", args: ["-c {*}"] }],
  read: ["workdir"],
  net: ["*.example.com:443"],
  env: ["LANG"],
};

test("explainPermissions puts what amounts to most first, each with a sentence why", () => {
  const rows = explainPermissions({ requested: asked, grant: {}, deny: {} }, places);
  expect(rows.map(({ target, breadth }) => [target, breadth])).toEqual([
    ["sh -c {*}", "everything"],
    ["*.example.com:443", "much"],
    ["wc -l {}", "bounded"],
    ["workdir", "bounded"],
    ["LANG", "bounded"],
  ]);
  for (const { breadth, broad_because } of rows) {
    if (breadth === "bounded") expect(broad_because).toBeUndefined();
    else expect(broad_because).toMatch(/^\S.{20,}\.$/);
  }
});

test("broadPermissions names only what is more than it seems", () => {
  expect(broadPermissions(asked, places)).toMatchObject([
    { permission: "run", target: "sh -c {*}", breadth: "everything" },
    { permission: "net", target: "*.example.com:443", breadth: "much" },
  ]);
  expect(broadPermissions({ read: ["workdir"] }, places)).toEqual([]);
});
