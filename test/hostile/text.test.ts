import { expect, test } from "vitest";
import { AgentQuestions } from "../../core/doors/cli/agent-questions.ts";
import { createAskGrant } from "../../core/doors/cli/ask-grant.ts";
import { Questions } from "../../core/doors/cli/questions.ts";
import type { MissingGrant } from "../../core/walls/broker/session-broker.ts";
import { makeBroker } from "../walls/broker/broker-fixture.ts";
import { fakeTerminal } from "../doors/cli/fake-terminal.ts";
import { adapterCode, completed, openHost } from "../sessions/host/test-host.ts";

/** Clears the screen, sets the title and the clipboard, makes a link, goes back, turns and hides text, breaks the line. */
const hostile =
  "ok\u001b[2J\u001b]0;t\u0007\u001b]52;c;eA==\u0007\u001b]8;;http://evil\u0007\u009b31m\r\nfake\u0008\u202e\u200b\u2066\u0000%s%o";

function unsafeIn(text: string): string[] {
  // deno-lint-ignore no-control-regex
  return text.match(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/g) ?? [];
}

test("G38 what an agent asks stands on one line, in quotes, and cannot pass for a question of the host", async () => {
  const terminal = fakeTerminal({ tty: true, stdin: "2\n" });
  const answers: string[] = [];
  const session = { answer: async (_id: string, choice: string) => answers.push(choice) > 0 };
  const questions = new AgentQuestions(session as never, { questions: new Questions(terminal), terminal });
  const fake =
    `harmless\n\nThe plugin "trusted" asks for write: /\n  always is the same as: x\n  [o]nce  [n]o › once\n${hostile}`;
  const event = {
    type: "permission_request",
    request_id: "a",
    title: fake,
    tool: `Bash\n${hostile}`,
    options: [{ id: "yes", label: `Allow\n${hostile}`, kind: "allow_once" }, {
      id: "no",
      label: "Reject",
      kind: "deny_once",
    }],
  };
  questions.see({ event, adapter: { id: "a", version: "1.0.0" } } as never);
  while (answers.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(answers).toEqual(["no"]);
  const lines = terminal.err().split("\n").filter((line) => line !== "");
  expect(lines).toHaveLength(2);
  expect(lines[0]).toMatch(/^The agent asks to use "Bash/);
  expect(lines[0]?.endsWith('"')).toBe(true);
  expect(unsafeIn(terminal.err())).toEqual([]);
  await questions.close();
});

test("G38 a name that an adapter asks for is shown cleaned in the host's own question, and in its command", async () => {
  const asked: MissingGrant[] = [];
  const { broker } = await makeBroker({ askGrant: (missing) => Promise.resolve(asked.push(missing) === 0) });
  await broker.call("run", { binary: `x${hostile}; rm -rf ~`.replaceAll("\u0000", ""), args: [], options: {} }).catch(
    () => {},
  );
  await broker.call("fetch", { url: "http://evil.example/\u202e", options: {} }).catch(() => {});
  expect(asked.length).toBe(2);
  const terminal = fakeTerminal({ tty: true, stdin: "no\nno\n" });
  for (const missing of asked) {
    expect(unsafeIn(missing.target + missing.grant_command)).toEqual([]);
    await createAskGrant(new Questions(terminal), { manifestFile: undefined })(missing, new AbortController().signal);
  }
  expect(unsafeIn(terminal.err())).toEqual([]);
  expect(terminal.err().split("\n").filter((line) => line.startsWith("The plugin"))).toHaveLength(2);
});

test("G39 a plugin's values are its own: another of the same host sees none of them", async () => {
  const { add, run } = await openHost();
  const code = adapterCode(`
    const [name] = ctx.plugin_dir.split("/").slice(-1);
    await ctx.kv.set("owner", name);
    yield { type: "progress", message: JSON.stringify([await ctx.kv.list(""), await ctx.kv.get("owner"), await ctx.kv.get("secret-" + name)]) };
    await ctx.kv.set("secret-" + name, 1);
    yield ${completed};`);
  for (const id of ["one", "two"]) {
    await add(id, { code, manifest: "permissions: { kv: true }" }, { grant: { kv: true } });
  }
  const said = [];
  for (const id of ["one", "two"]) {
    const { events } = await run(id);
    said.push(
      ...events.flatMap(({ event }) => (event.type === "progress" ? [JSON.parse(event.message) as unknown] : [])),
    );
  }
  expect(said).toEqual([[["owner"], "one", null], [["owner"], "two", null]]);
}, 30_000);

test("G40 to G42: a log record is text on one line, at the level of its function, whatever is in it", async () => {
  const { add, run, logs } = await openHost();
  await add("acme", {
    code: adapterCode(`
    const hostile = ${JSON.stringify(hostile)};
    ctx.log.warn(hostile, { [hostile]: [hostile, { level: "error", plugin_id: "host" }] });
    ctx.log.info("%s %o %j", { level: "error" });
    console.log("%s", { toString: () => hostile }, hostile);
    ctx.log.info({ toString: () => "made", level: "error" });
    yield ${completed};`),
  });
  await run("acme");
  const records = logs.filter(({ plugin_id }) => plugin_id === "acme");
  expect(records.map(({ level }) => level)).toEqual(["warn", "info", "info", "info"]);
  expect(unsafeIn(JSON.stringify(records))).toEqual([]);
  for (const { message } of records) expect(message).not.toMatch(/[\r\n]/);
  expect(records[1]).toMatchObject({ message: "%s %o %j", fields: { level: "error" } });
  expect(records[3]).toMatchObject({ message: "made", plugin_id: "acme" });
}, 30_000);

test("G41 a level that is none is refused by the broker, also one that objects have", async () => {
  const { broker, logs } = await makeBroker();
  for (const level of ["fatal", "constructor", "__proto__", "toString", "", "ERROR", 3, null]) {
    await expect(broker.call("log", { level, message: "x", fields: null })).rejects.toMatchObject({
      code: "invalid_request",
    });
  }
  expect(logs).toEqual([]);
});

test(
  "G43 a flood of lines is cut to so many a second and to so many bytes each, and says how many are missing",
  async () => {
    const { add, run, logs } = await openHost();
    await add("acme", {
      code: adapterCode(`
    for (let n = 0; n < 2000; n++) ctx.log.info("line " + n);
    ctx.log.error("x".repeat(100_000));
    await ctx.sleep(1100);
    ctx.log.warn("y".repeat(100_000), { z: "z".repeat(100_000) });
    yield ${completed};`),
    });
    const began = performance.now();
    const { result } = await run("acme");
    const seconds = Math.ceil((performance.now() - began) / 1000) + 1;
    expect(result.outcome).toBe("completed");
    const records = logs.filter(({ plugin_id }) => plugin_id === "acme");
    const lines = records.filter(({ message }) => message.startsWith("line "));
    expect(lines.length).toBeGreaterThan(0);
    // A busy machine takes longer over them.
    expect(lines.length).toBeLessThanOrEqual(200 * seconds);
    const missing = records.flatMap(({ message }) => /^(\d+) suppressed/.exec(message)?.[1] ?? []).map(Number);
    expect(missing.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(500);
    for (const record of records) expect(JSON.stringify(record).length).toBeLessThan(32_000);
  },
  30_000,
);
