import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { afterEveryTest } from "../../clean-up.ts";
import type { SessionBrokerOptions } from "../../../core/walls/broker/session-broker.ts";
import { anyShell, type BrokerFixture, makeBroker, readAll, runShell } from "./broker-fixture.ts";

const ownHome = process.env["HOME"];
afterEveryTest(() => {
  process.env["HOME"] = ownHome;
  return Promise.resolve();
});

/** A session whose program is contained, with a home and state beside its project. */
export interface AgentFixture extends BrokerFixture {
  home: string;
  state: string;
  /** A session of the same project, home and state. */
  next(changes?: Partial<SessionBrokerOptions>): Promise<AgentFixture>;
  /** Runs a script as the agent's program, and returns what it printed. */
  says(script: string): Promise<string>;
}

let sessions = 0;

/** Opens a session of a program that uses the settings of Codex and Claude Code. */
export async function makeAgent(changes: Partial<SessionBrokerOptions> = {}): Promise<AgentFixture> {
  const fixture = await makeBroker({
    permissions: { run: [anyShell], read: ["config:codex", "config:claude"] },
    containPrograms: true,
    programNet: [],
    ...changes,
  });
  const [home, state] = [join(fixture.root, "home"), join(fixture.root, "state")];
  await mkdir(home);
  process.env["HOME"] = home;
  Object.assign(fixture.options, { protectedPaths: [state] });
  return agentOf(fixture, { home, state });
}

function agentOf(fixture: BrokerFixture, { home, state }: Pick<AgentFixture, "home" | "state">): AgentFixture {
  const says = async (script: string) => {
    const { stdout, stderr } = await runShell(fixture.broker, script);
    const [out, err] = await Promise.all([readAll(fixture.broker, stdout), readAll(fixture.broker, stderr)]);
    return out + err;
  };
  const next = async (changes: Partial<SessionBrokerOptions> = {}) => {
    const tempDir = `${fixture.options.tempDir}-${++sessions}`;
    return agentOf(await makeBroker({ ...fixture.options, tempDir, ...changes }), { home, state });
  };
  return { ...fixture, home, state, says, next };
}

/** Writes files, with the folders above them. */
export async function writeAll(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}
