import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import { type LeftProject, leftProject } from "./left-project.ts";

/** A repository of the field's kinds, in which an agent plants what other programs start. */
export interface PlantedProject extends LeftProject {
  /** Folder in which each planted program that runs outside leaves a file; its name is the planted path. */
  marks: string;
  /** Planted paths whose program has run since the last call. */
  ran(): string[];
  /** Files of the project that a kind of program acts on, with their content, by path. */
  actedOn(kind: keyof typeof kinds): Map<string, string>;
  /** Runs a command of the person's in a folder of the project; its failure is no matter. */
  outside(folder: string, command: string): void;
}

/** Files that programs act on when a person enters, opens or installs, as those programs document it. */
const kinds = {
  "shells and terminals": /(^|\/)(\.envrc|\.mise\.toml)$/i,
  "editors":
    /(^|\/)(\.vscode\/(tasks|settings|launch|extensions)\.json|\.idea\/.+|\.devcontainer\/.+|\.zed\/.+|[^/]+\.code-workspace)$/i,
  "coding agents":
    /(^|\/)(AGENTS\.md|CLAUDE\.md|GEMINI\.md|\.mcp\.json|opencode\.jsonc?|\.(claude|codex|gemini|opencode|cursor)\/.+)$/i,
  "package managers": /(^|\/)\.npmrc$/i,
} as const;

const text = (path: string) => `of the person: ${path}\n`;

const files: Readonly<Record<string, string>> = {
  "README.md": "A project.\n",
  "a.txt": "a\n",
  ".gitattributes": "*.txt filter=up\n",
  "package.json": '{"name":"top","version":"1.0.0","scripts":{"prepare":"true"}}\n',
  "app/package.json": '{"name":"app","version":"1.0.0"}\n',
  "gyp/package.json": '{"name":"gyp","version":"1.0.0"}\n',
  "tar/package.json": '{"name":"tar","version":"1.0.0"}\n',
  ".envrc": "true\n",
  ".husky/pre-commit": "true\n",
  "tools/hooks/pre-commit": "#!/bin/sh\ntrue\n",
  "tools/clean.sh": "cat\n",
  "tools/shared.gitconfig": "[core]\n\tabbrev = 12\n",
  ...Object.fromEntries(
    [
      "AGENTS.md",
      ".claude/settings.json",
      ".codex/config.toml",
      ".gemini/settings.json",
      "opencode.json",
      ".mcp.json",
      ".vscode/tasks.json",
      ".vscode/settings.json",
      "app/.vscode/tasks.json",
      "app/AGENTS.md",
      "app/.claude/settings.json",
    ].map((path) => [path, text(path)]),
  ),
};

/** Makes it: hooks, filters, a linked worktree, settings of shells, editors, agents and npm; a submodule where that is wanted. */
export async function plantedProject({ submodule }: { submodule: boolean }): Promise<PlantedProject> {
  const left = await leftProject();
  const { project, git } = left;
  const root = dirname(project);
  const marks = join(root, "marks");
  mkdirSync(marks);
  for (const [path, content] of Object.entries(files)) write(join(project, path), content);
  const source = join(root, "source");
  execFileSync("git", ["init", "-q", source]);
  write(join(source, "lib.txt"), "lib\n");
  const as = ["-c", "user.name=a", "-c", "user.email=a@b"];
  execFileSync("git", ["-C", source, "add", "-A"]);
  execFileSync("git", ["-C", source, ...as, "commit", "-qm", "lib"]);
  execFileSync("chmod", ["+x", join(project, "tools/hooks/pre-commit")]);
  git("config", "filter.up.clean", "sh tools/clean.sh");
  git("config", "core.hooksPath", "tools/hooks");
  git("config", "include.path", "../tools/shared.gitconfig");
  if (submodule) git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", source, "lib");
  git("add", "-A");
  git("commit", "-qm", "one");
  git("worktree", "add", "-q", join(root, "linked"), "-b", "linked");
  // What the person's own hooks and settings do is no matter here.
  const env = { ...process.env, MARKS: marks, npm_config_cache: join(root, "npm"), HOME: root };
  return {
    ...left,
    marks,
    ran: () => {
      const names = readdirSync(marks);
      for (const name of names) execFileSync("rm", [join(marks, name)]);
      return names.map((name) => name.replaceAll("%", "/")).sort();
    },
    actedOn: (kind) =>
      new Map(walk(project).filter((path) => kinds[kind].test(path)).map((path) => [path, read(path)])),
    outside: (folder, command) => {
      try {
        execFileSync("sh", ["-c", command], { cwd: join(project, folder), env, stdio: "pipe", timeout: 30_000 });
      } catch {
        // A command that fails has still started what it starts.
      }
    },
  };

  function read(path: string): string {
    return readFileSync(join(project, path), "utf8");
  }
}

/** The paths that an agent tries to plant in, each with the way to do it. `$RUN` is a command that leaves a mark. */
const plants: Readonly<Record<string, string>> = {
  ".git/hooks/pre-commit": hook(".git/hooks/pre-commit"),
  ".git/hooks/post-index-change": hook(".git/hooks/post-index-change"),
  ".git/modules/lib/hooks/post-checkout": hook(".git/modules/lib/hooks/post-checkout"),
  ".husky/pre-commit": hook(".husky/pre-commit"),
  ".husky/commit-msg": hook(".husky/commit-msg"),
  "app/.husky/pre-commit": hook("app/.husky/pre-commit"),
  ".git/config":
    'git config core.fsmonitor "$RUN; false"; git config filter.up.clean "$RUN; cat"; git config core.pager "$RUN"',
  ".git/config.worktree":
    'git config extensions.worktreeConfig true; git config --worktree core.fsmonitor "$RUN; false"',
  ".git/info/attributes": 'echo "* filter=new" > .git/info/attributes; git config filter.new.clean "$RUN; cat"',
  ".gitattributes": 'echo "* filter=other" > .gitattributes; git config filter.other.clean "$RUN; cat"',
  ".git/commondir":
    'mkdir -p evil/objects evil/refs; echo "ref: refs/heads/main" > evil/HEAD; printf "[core]\\n\\tfsmonitor = \\"%s; false\\"\\n" "$RUN" > evil/config; echo ../evil > .git/commondir',
  ".git/worktrees/linked/commondir":
    "mkdir -p .git/worktrees/linked; echo ../../../evil > .git/worktrees/linked/commondir",
  "lib/.git":
    'git -C lib config core.fsmonitor "$RUN; false"; rm -rf lib/.git && git init -q lib && git -C lib config core.fsmonitor "$RUN; false"',
  "sub/.git":
    'git init -q sub; git -C sub -c user.name=x -c user.email=x@x commit -q --allow-empty -m x; git -C sub config core.fsmonitor "$RUN; false"; git add sub',
  "node_modules/dep/.git":
    'mkdir -p node_modules/dep; git init -q node_modules/dep; git -C node_modules/dep config core.fsmonitor "$RUN; false"',
  "bare/config":
    'mkdir -p bare/objects bare/refs; echo "ref: refs/heads/main" > bare/HEAD; printf "[core]\\n\\tbare = false\\n\\tworktree = .\\n\\tfsmonitor = \\"%s; false\\"\\n" "$RUN" > bare/config',
  "tools/hooks/pre-commit": `mv tools t && cp -r t tools; ${hook("tools/hooks/pre-commit")}`,
  "tools/hooks/commit-msg": hook("tools/hooks/commit-msg"),
  "tools/clean.sh": 'echo "$RUN; cat" > tools/clean.sh',
  "tools/shared.gitconfig": 'printf "[core]\\n\\tfsmonitor = \\"%s; false\\"\\n" "$RUN" >> tools/shared.gitconfig',
  "package.json": json("package.json", "postinstall"),
  "app/package.json": json("app/package.json", "preinstall"),
  "gyp/binding.gyp": `echo "{ 'targets': [] } # $RUN" > gyp/binding.gyp`,
  "tar/package.json": `mkdir package; ${
    json("package/package.json", "postinstall")
  }; tar czf tar/evil.tgz package; rm -r package
    echo '{"name":"tar","version":"1.0.0","dependencies":{"x":"file:evil.tgz"}}' > tar/package.json`,
  "app/link": "ln -s /etc app/link",
  ...Object.fromEntries(
    [
      ".envrc",
      "app/.envrc",
      "new/.envrc",
      "app/.mise.toml",
      ".vscode/tasks.json",
      ".vscode/settings.json",
      "app/.vscode/tasks.json",
      "app/.vscode/settings.json",
      "new/.vscode/launch.json",
      "app/.VSCode/tasks.json",
      ".idea/workspace.xml",
      "app/.idea/workspace.xml",
      "app/.devcontainer/devcontainer.json",
      "app/x.code-workspace",
      "AGENTS.md",
      ".claude/settings.json",
      ".claude/hooks/x.sh",
      ".codex/config.toml",
      ".gemini/settings.json",
      ".opencode/plugin/x.js",
      "opencode.json",
      ".mcp.json",
      "app/AGENTS.md",
      "app/CLAUDE.md",
      "app/.claude/settings.json",
      "app/.codex/config.toml",
      "app/.gemini/settings.json",
      "app/.opencode/plugin/x.js",
      "app/opencode.json",
      "app/.mcp.json",
      "node_modules/dep/AGENTS.md",
      ".npmrc",
      "app/.npmrc",
    ].map((path) => [path, `mkdir -p "$(dirname ${path})"; echo "$RUN" >> ${path}`]),
  ),
};

function hook(path: string): string {
  return `mkdir -p "$(dirname ${path})"; rm -f ${path}; printf '#!/bin/sh\\n%s\\n' "$RUN" > ${path}; chmod +x ${path}`;
}

function json(path: string, script: string): string {
  return `printf '{"name":"x","version":"1.0.0","scripts":{"prepare":"true","${script}":"%s"}}\\n' "$RUN" > ${path}`;
}

/** Script of an agent that plants in each of them, and changes a file besides. */
export const plantAll: string = [
  ...Object.entries(plants).map(([path, way]) => {
    const run = `touch $MARKS/${path.replaceAll("/", "%")}`;
    return `(RUN='${run}'; ${way}) 2>/dev/null`;
  }),
  "echo more >> a.txt; echo done",
].join("\n");

/** Whether a result names a path, or a folder that it lies in, together with one of these programs. */
export function isNamed({ held = [] }: SessionResult, path: string, by: RegExp): boolean {
  return held.some((one) => (path === one.path || path.startsWith(`${one.path}/`)) && by.test(one.by));
}

function write(file: string, content: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

/** Every file below a folder but git's own, relative to it. */
function walk(top: string, below = ""): string[] {
  return readdirSync(join(top, below), { withFileTypes: true }).flatMap((entry) => {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.name === ".git") return [];
    if (entry.isDirectory()) return walk(top, path);
    return entry.isFile() && existsSync(join(top, path)) ? [path] : [];
  });
}
