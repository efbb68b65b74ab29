import { expect, test } from "vitest";
import { contextPaths, thrownHint } from "../../../core/packages/registry/thrown-hint.ts";
import { MemoryContext } from "../../../plugin-sdk/testing/memory-context.ts";

const cases: [message: string, before: string, hint: string][] = [
  [
    "fetch is not a function",
    "",
    "There is no fetch in an adapter: use ctx.fetch(url), and ask for net in plugin.yaml.",
  ],
  ["Buffer is not defined", "", "There is no Buffer in an adapter: use a Uint8Array"],
  ["WebSocket is not a constructor", "", "There is no WebSocket in an adapter: use ctx.connect(url)"],
  ["Cannot read properties of undefined (reading 'env')", "  String(process.", "There is no process in an adapter"],
  ["Cannot read properties of undefined (reading 'env')", "x = globalThis.Deno.", "There is no Deno in an adapter"],
  ["Cannot destructure property 'env' of 'process' as it is undefined.", "", "There is no process in an adapter"],
  ["The adapter's initialize() threw: fetch is not a function", "", "There is no fetch in an adapter"],
  ["ctx.readTextFile is not a function", "", "ctx has no readTextFile; did you mean ctx.fs.readText?"],
  ["this.ctx.fs.readFile is not a function", "", "ctx has no fs.readFile; did you mean ctx.fs.readText?"],
  ["ctx.fetchh is not a function", "", "ctx has no fetchh; did you mean ctx.fetch?"],
  ["context.readText is not a function", "", "ctx has no readText; did you mean ctx.fs.readText?"],
  ["Cannot read properties of undefined (reading 'get')", "await ctx.storage.", "did you mean ctx.kv?"],
  ["ctx.teleport is not a function", "", "ctx has no teleport. It has: signal, session_id, "],
];

test.each(cases)("thrownHint says what to use instead: %s", (message, before, hint) => {
  expect(thrownHint(message, before)).toContain(hint);
});

test.each([
  ["tool.start is not a function", ""],
  ["toString is not a function", ""],
  ["Cannot read properties of undefined (reading 'length')", "  const n = answer."],
  ["Cannot read properties of undefined (reading 'length')", "  ctx.fs."],
  ["The agent said: no.", "process."],
])("thrownHint has no hint for an author's own mistake: %s", (message, before) => {
  expect(thrownHint(message, before)).toBeNull();
});

test("contextPaths name every member of the objects in ctx", () => {
  const { attachments, fs, temp, env, secrets, kv, log } = new MemoryContext();
  const paths = Object.entries({ attachments, fs, temp, env, secrets, kv, log }).flatMap(([name, value]) =>
    Object.keys(value).map((inner) => `${name}.${inner}`)
  );
  expect(contextPaths.filter((path) => path.includes(".")).sort()).toEqual(paths.sort());
});
