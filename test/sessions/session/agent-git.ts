import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import type { GitChange } from "../../../plugin-sdk/git-changes.ts";
import { SessionGit } from "../../../core/sessions/session/session-git.ts";
import { afterEveryTest } from "../../clean-up.ts";
import { anyShell, makeBroker, readAll, runShell } from "../../walls/broker/broker-fixture.ts";

const run = promisify(execFile);
const ownHome = process.env["HOME"];

afterEveryTest(() => {
  process.env["HOME"] = ownHome;
  return Promise.resolve();
});

/** A repository of a person, and sessions of contained agents in it. */
export interface AgentGit {
  root: string;
  /** Top of the repository. */
  work: string;
  home: string;
  stateDir: string;
  /** Runs git as the person, in a folder of the repository. */
  git(...args: string[]): Promise<string>;
  /** Runs a script as the person. */
  sh(script: string, cwd?: string): Promise<string>;
  write(path: string, text: string): Promise<void>;
  read(path: string): Promise<string>;
  /** Begins a session. */
  session(
    options?: { workdir?: string; workspaceDir?: string | null; sessionId?: string; contain?: "workdir" },
  ): Promise<AgentSession>;
}

/** A session of an agent. */
export interface AgentSession {
  id: string;
  git: SessionGit;
  /** Runs a script as the agent; returns all that it printed. */
  run(script: string): Promise<string>;
  /** Ends the session, and takes over what it did. */
  end(): Promise<GitChange[]>;
  /** Ends its programs as if the host had been killed. */
  kill(): Promise<void>;
}

let sessions = 0;

/** Makes a repository with one commit, unless a script says otherwise. */
export async function makeAgentGit(
  script: string = 'git init -q -b main . && echo one > a.txt && git add . && git commit -qm "first"',
): Promise<AgentGit> {
  const { root, workdir: work } = await makeBroker();
  const [home, stateDir] = [join(root, "home"), join(root, "host-state")];
  for (const folder of [home, stateDir]) await mkdir(folder);
  await writeFile(
    join(home, ".gitconfig"),
    '[user]\n\tname = Person\n\temail = person@example.com\n[protocol "file"]\n\tallow = always\n',
  );
  const sh = async (text: string, cwd = work) => {
    const env = { PATH: process.env["PATH"], HOME: home, GIT_CONFIG_NOSYSTEM: "1", LC_ALL: "C" };
    const { stdout, stderr } = await run("sh", ["-ec", text], { cwd, env, maxBuffer: 1 << 26 }).catch(
      (error: unknown) => {
        throw new Error(`${text}\n${(error as { stderr: string }).stderr}`, { cause: error });
      },
    );
    return stdout + stderr;
  };
  await sh(script);
  return {
    root,
    work,
    home,
    stateDir,
    sh,
    git: (...args) => sh(`git ${args.map((arg) => `'${arg.replaceAll("'", "'\\''")}'`).join(" ")}`),
    write: (path, text) => writeFile(join(work, path), text),
    read: (path) => readFile(join(work, path), "utf8"),
    session: async ({ workdir = work, workspaceDir = null, sessionId = `s${++sessions}`, contain } = {}) => {
      process.env["HOME"] = home;
      const git = new SessionGit({
        sessionId,
        workdir,
        workspaceDir,
        gitDir: join(stateDir, "git"),
        closed: [stateDir],
        spelledRoots: [],
      });
      const { broker } = await makeBroker({
        sessionId,
        workdir,
        ...(workspaceDir === null ? {} : { workspaceDir }),
        tempDir: join(stateDir, `temp-${sessionId}`),
        protectedPaths: [stateDir],
        permissions: { run: [{ ...anyShell, ...(contain === undefined ? {} : { contain }) }] },
        containPrograms: true,
        programNet: [],
        gitMounts: () => git.mounts(),
      });
      const kill = () => broker.close();
      return {
        id: sessionId,
        git,
        kill,
        run: async (text) => {
          const { stdout, stderr } = await runShell(broker, `exec 2>&1\n${text}`);
          const [out, err] = await Promise.all([readAll(broker, stdout), readAll(broker, stderr)]);
          return out + err;
        },
        end: async () => {
          await kill();
          return (await git.end())?.changes ?? [];
        },
      };
    },
  };
}
