import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { defaultLimits } from "../../../core/ground/config/limits.ts";
import { anyShell, codeOf, errorOf, makeBroker, runShell } from "./broker-fixture.ts";

describe("call", () => {
  test.each(["constructor", "__proto__", "toString", "hasOwnProperty", "", "run ", "\u001b[31m"])(
    "refuses the operation %j",
    async (name) => {
      const { broker } = await makeBroker();
      const error = await errorOf(broker.call(name, {}));
      expect(error.code).toBe("invalid_request");
      expect(error.message).not.toContain("\u001b");
    },
  );

  test.each([
    ["run", { binary: "sh", args: "x", options: {} }],
    ["run", { binary: "sh", args: [], options: { shell: true } }],
    ["run", { binary: "sh", args: [] }],
    ["run", null],
    ["fs_read_text", { path: 1 }],
    ["fs_read_text", { path: "" }],
    ["fs_read_text", { path: "x", encoding: "latin1" }],
    ["stream_read", { stream_id: 1.5 }],
    ["kv_get", { key: "../other" }],
    ["kv_get", { key: "a\0" }],
    ["temp_write", { name: "../x", text: "" }],
    ["temp_write", { name: ".hidden", text: "" }],
    ["log", { level: "fatal", message: "", fields: null }],
    ["env_get", { name: "A=B" }],
  ])("refuses bad arguments of %s: %j", async (name, args) => {
    const { broker } = await makeBroker({ permissions: { kv: true } });
    expect(await codeOf(broker.call(name, args))).toBe("invalid_request");
  });

  test("gives up a call that takes longer than its limit", async () => {
    const limits = { ...defaultLimits, call_timeout_ms: 1 };
    const { broker, workdir } = await makeBroker({ permissions: { read: ["workdir"] }, limits });
    // Read in hundreds of pieces, each a turn of the event loop.
    await writeFile(join(workdir, "big"), new Uint8Array(limits.file_bytes));
    expect(await codeOf(broker.call("fs_read_text", { path: "big" }))).toBe("timeout");
  });

  test("does not count the time in which a person thinks", async () => {
    const limits = { ...defaultLimits, call_timeout_ms: 300 };
    const askGrant = () => new Promise<boolean>((resolve) => setTimeout(resolve, 700, true));
    const { broker } = await makeBroker({ askGrant, limits });
    expect(await broker.call("fs_list", { path: "." })).toEqual([]);
  });

  test("passes on the client's answers", async () => {
    const waitForAnswer = (kind: string, id: string) => Promise.resolve(id === "none" ? null : `${kind} ${id}`);
    const { broker } = await makeBroker({ waitForAnswer });
    expect(await broker.call("permission_wait", { request_id: "r1" })).toBe("permission r1");
    expect(await broker.call("answer_wait", { request_id: "q1" })).toBe("question q1");
    expect(await broker.call("answer_wait", { request_id: "none" })).toBe(null);
  });
});

describe("close", () => {
  test("settles every pending call once with interrupted, and refuses later ones", async () => {
    const { broker } = await makeBroker({
      permissions: { run: [anyShell] },
      waitForAnswer: () => new Promise(() => {}),
    });
    const { process_id, stdout } = await runShell(broker, "exec sleep 60", { stdin: "open" });
    const pending = [
      broker.call("process_wait", { process_id }),
      broker.call("stream_read", { stream_id: stdout }),
      broker.call("process_write", { process_id, text: "x".repeat(4_000_000) }),
      broker.call("permission_wait", { request_id: "r" }),
    ].map(codeOf);
    await broker.close();
    expect(await Promise.all(pending)).toEqual(["interrupted", "interrupted", "interrupted", "interrupted"]);
    expect(await codeOf(broker.call("env_get", { name: "HOME" }))).toBe("interrupted");
    await broker.close();
  });

  test("interrupts at once, not after the grace of the programs", async () => {
    const limits = { ...defaultLimits, agent_grace_ms: 2000 };
    const { broker } = await makeBroker({ permissions: { run: [anyShell] }, limits });
    const { process_id, stdout } = await runShell(broker, "trap '' TERM; echo on; while :; do sleep 0.05; done");
    await broker.call("stream_read", { stream_id: stdout });
    const waiting = codeOf(broker.call("process_wait", { process_id }));
    let closed = false;
    const closing = broker.close().then(() => (closed = true));
    expect(await waiting).toBe("interrupted");
    expect(closed).toBe(false);
    await closing;
  });

  test("touches nothing when nothing was done", async () => {
    const { broker, events, logs } = await makeBroker();
    await broker.close();
    expect([events, logs]).toEqual([[], []]);
  });
});

test("a flood of different denied uses ends with an event that says so", async () => {
  const { broker, events } = await makeBroker();
  for (let i = 0; i < 10_500; i++) await broker.call("env_get", { name: `N${i}` }).catch(() => {});
  expect(events).toHaveLength(10_001);
  expect(events.at(-1)).toMatchObject({ target: "(more uses follow that are not listed)" });
});

test("identical denials are reported ten times at most", async () => {
  const { broker, events } = await makeBroker();
  for (let i = 0; i < 50; i++) await broker.call("env_get", { name: "SAME" }).catch(() => {});
  expect(events).toHaveLength(10);
});
