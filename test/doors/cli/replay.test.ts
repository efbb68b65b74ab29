import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import type { Host } from "../../../core/sessions/host/host.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { type RecordedAgent, recordedAgent } from "../../sessions/host/box/recorded-agent.ts";
import { fakeTerminal } from "./fake-terminal.ts";

/** Where the host is of the bundles, its errors are of another class than the commands know. */
function ofSource<T extends object>(sessions: T): T {
  return new Proxy(sessions, {
    get(of, name) {
      const held: unknown = Reflect.get(of, name);
      if (typeof held !== "function") return held;
      return (...args: unknown[]) => {
        const result: unknown = held.apply(of, args);
        return result instanceof Promise ? result.catch(again) : result;
      };
    },
  });
}

function again(error: unknown): never {
  const { code, message, hint, details } = (error as BulkheadError).toJSON();
  throw new BulkheadError(code, message, omitUndefined({ hint, details }));
}

/** Runs a command on the host of an agent, which stays open. */
async function cli({ test: { host, root } }: RecordedAgent, ...args: string[]) {
  const terminal = fakeTerminal({ args: [...args, "--embedded"], cwd: root });
  const kept: Host = { ...host, sessions: ofSource(host.sessions), close: () => Promise.resolve() };
  const code = await runCli(terminal, { createHost: () => Promise.resolve(kept) });
  return { code, out: terminal.out(), err: terminal.err() };
}

test("replay plays a session by the beginning of its id, and says how it went in lines, JSON and exit codes", {
  timeout: 120_000,
}, async (context) => {
  await needsWall(context, "bubblewrap");
  const agent = await recordedAgent();
  const file = join(agent.root, "outside", "b.txt");
  await writeFile(file, "41");
  const { session_id } = await agent.run(`ask one; ask "read $(cat ${file})" > new.txt`);
  const id = session_id.slice(0, 12);

  const shown = await cli(agent, "session", "show", id);
  expect(shown.err).toBe("");
  expect(shown.out).toMatch(new RegExp(`recorded: 2 calls, .* · bulkhead replay ${session_id.slice(0, 8)}`));
  const played = await cli(agent, "replay", id);
  expect(played.out).toContain("2 of 2 calls served from 2 recorded · the files are the same");
  expect(played.err).toContain("MODEL_KEY, MODEL_URL, which were not kept");
  expect(played.code).toBe(0);

  await writeFile(file, "42");
  const drifted = await cli(agent, "replay", id);
  expect(drifted.code).toBe(1);
  expect(drifted.out).toContain("drift: DRIFT: call 2 (POST /v1/messages) is not in the record");
  expect(drifted.out).toMatch(/-read 41\n\s+\+read 42/);
  const data = await cli(agent, "replay", id, "--json");
  const last = JSON.parse(data.out.trim().split("\n").at(-1)!) as { event: { result: object } };
  expect(last.event.result).toMatchObject({ replay: { of: session_id, served: 1, left: 1 }, error: { code: "drift" } });

  await agent.test.host.sessions.delete(session_id);
  expect((await cli(agent, "replay", id)).code).toBe(5);
});
