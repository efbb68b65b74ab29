import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { expect, test, vi } from "vitest";
import { createAskGrant } from "../../../core/doors/cli/ask-grant.ts";
import { Questions } from "../../../core/doors/cli/questions.ts";
import { parseHostManifest } from "../../../core/ground/config/parse-host-manifest.ts";
import { type FakeTerminal, fakeTerminal } from "./fake-terminal.ts";

const choices = [{ word: "once", value: 1 }, { word: "always", value: 2 }, { word: "no", value: 3 }];
const missing = {
  plugin_id: "alpha",
  permission: "net",
  target: "example.com:443",
  grant_command: "bulkhead plugin grant alpha net:example.com:443",
} as const;

/** The signal of a session that goes on. */
const open = new AbortController().signal;

/** A terminal whose person types nothing until told to. */
function slowTerminal(): { terminal: FakeTerminal; type(line: string): void } {
  let typed: (line: string | null) => void = () => {};
  const terminal = fakeTerminal({ tty: true });
  terminal.stdin.readLine = (signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve(null);
      typed = resolve;
      signal?.addEventListener("abort", () => resolve(null), { once: true });
    });
  return { terminal, type: (line) => typed(line) };
}

test("Questions.choose takes a word or its beginning, and asks again for anything else", async () => {
  const terminal = fakeTerminal({ tty: true, stdin: "what\n\nAL\n" });
  expect(await new Questions(terminal).choose("May it?", { choices })).toBe(2);
  expect(terminal.err().split("[o]nce  [a]lways  [n]o › ")).toHaveLength(4);
});

test("Questions.choose gives each word a letter of its own, and says which it takes", async () => {
  const words = ["code", "wrap", "cli", "acp"].map((word) => ({ word, value: word }));
  const terminal = fakeTerminal({ tty: true, stdin: "y\nc\n" });
  expect(await new Questions(terminal).choose("What?", { choices: words })).toBe("code");
  expect(terminal.err()).toContain("[c]ode  [w]rap  c[l]i  [a]cp › ");
  expect(terminal.err()).toContain("c, w, l or a, please.");
  const other = fakeTerminal({ tty: true, stdin: "L\n" });
  expect(await new Questions(other).choose("What?", { choices: words })).toBe("cli");
});

test("Questions.choose gives null at the end of the input and for a question taken back", async () => {
  const ended = fakeTerminal({ tty: true, stdin: "" });
  const questions = new Questions(ended);
  expect(await questions.choose("May it?", { choices })).toBe(null);
  expect(await questions.choose("May it?", { choices, signal: AbortSignal.abort() })).toBe(null);
});

test("Questions asks one thing at a time and holds back what is written meanwhile", async () => {
  const terminal = fakeTerminal({ tty: true, stdin: "no\nonce\n" });
  const questions = new Questions(terminal);
  const both = Promise.all([questions.choose("First?", { choices }), questions.choose("Second?", { choices })]);
  await Promise.resolve();
  await questions.write("event\n");
  expect(terminal.out()).toBe("");
  expect(await both).toEqual([3, 1]);
  expect(terminal.out()).toBe("event\n");
  await questions.write("later\n");
  expect(terminal.out()).toBe("event\nlater\n");
});

test("Questions shows what an agent asks without its escape sequences", async () => {
  const terminal = fakeTerminal({ tty: true, stdin: "yes" });
  expect(await new Questions(terminal).text("\u001b[2JName?")).toBe("yes");
  expect(terminal.err()).not.toContain("\u001b");
});

test("Questions shows what a full question holds back above the question, and loses nothing", async () => {
  const { terminal, type } = slowTerminal();
  const questions = new Questions(terminal);
  const answer = questions.choose("May it?", { choices });
  await Promise.resolve();
  const lines = Array.from({ length: 3000 }, (_, index) => `line ${index} of a long answer\n`);
  for (const line of lines) await questions.write(line);
  expect(terminal.out().length).toBeGreaterThan(60_000);
  expect(terminal.err().split("May it?").length - 1).toBe(2);
  type("no");
  expect(await answer).toBe(3);
  expect(terminal.out()).toBe(lines.join(""));
});

test("Questions.close withdraws the open question and the later ones, and shows what they held back", async () => {
  const { terminal } = slowTerminal();
  const questions = new Questions(terminal);
  const both = Promise.all([questions.choose("First?", { choices }), questions.text("Second?")]);
  await Promise.resolve();
  await questions.write("event\n");
  await questions.close();
  expect(terminal.out()).toBe("event\n");
  expect(await both).toEqual([null, null]);
  expect(terminal.err()).not.toContain("Second?");
});

test("createAskGrant asks once for the same thing", async () => {
  const terminal = fakeTerminal({ tty: true, stdin: "once\nno\n" });
  const ask = createAskGrant(new Questions(terminal), { manifestFile: undefined });
  expect(await Promise.all([ask(missing, open), ask(missing, open)])).toEqual([true, true]);
  expect(await ask({ ...missing, target: "other.com:443" }, open)).toBe(false);
  expect(terminal.err()).toContain('asks to send anything it knows to "example.com:443"');
  expect(terminal.err()).not.toContain("[a]lways");
});

test("createAskGrant takes its question back when the session ends, and asks again for another session", async () => {
  const { terminal, type } = slowTerminal();
  const questions = new Questions(terminal);
  const ask = createAskGrant(questions, { manifestFile: undefined });
  const session = new AbortController();
  const first = ask(missing, session.signal);
  const second = ask(missing, open);
  await vi.waitFor(() => expect(terminal.err()).toContain("› "));
  await questions.write("the answer of the agent\n");
  session.abort();
  expect(await first).toBe(false);
  expect(terminal.out()).toBe("the answer of the agent\n");
  expect(terminal.err()).toContain('No answer: "alpha" ended without it.');
  await vi.waitFor(() => expect(terminal.err().split("[o]nce  [n]o › ")).toHaveLength(3));
  type("once");
  expect(await second).toBe(true);
});

test("createAskGrant says where a grant alone will not do: the program is not there", async () => {
  const terminal = fakeTerminal({ tty: true, stdin: "no\nno\nno\nno\nno\n" });
  const ask = createAskGrant(new Questions(terminal), { manifestFile: undefined });
  await ask({ ...missing, permission: "run", target: "sh" }, open);
  expect(terminal.err()).toMatch(/asks to start the program "sh"\n/);
  await ask({ ...missing, permission: "run", target: "@runtime" }, open);
  expect(terminal.err()).toMatch(/asks to start the host's own JavaScript runtime\n/);
  await ask({ ...missing, permission: "run", target: "sh -c {...}" }, open);
  expect(terminal.err()).toMatch(/asks to start the program "sh" with -c \{\.\.\.\}\n/);
  await ask({ ...missing, permission: "run", target: "@runtime x.mjs {}" }, open);
  expect(terminal.err()).toMatch(/asks to start the host's own JavaScript runtime with x\.mjs \{\}\n/);
  expect(terminal.err()).not.toContain("not on this machine");
  await ask({ ...missing, permission: "run", target: "no-such-program" }, open);
  expect(terminal.err()).toContain("That program is not on this machine now.");
});

test("createAskGrant takes no for an answer when it is interrupted", async () => {
  const questions = new Questions(fakeTerminal({ tty: true, stdin: "once\n" }));
  expect(await createAskGrant(questions, { manifestFile: undefined })(missing, AbortSignal.abort())).toBe(false);
});

test("createAskGrant writes each answer for always and never to the host manifest, as one of several that change it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-grant-"));
  const before = process.env["XDG_DATA_HOME"];
  process.env["XDG_DATA_HOME"] = join(folder, "data");
  try {
    const manifestFile = join(folder, "bulkhead.yaml");
    await writeFile(manifestFile, "bulkhead: 1 # mine\n");
    const terminal = fakeTerminal({ tty: true, stdin: "always\nalways\nalways\nnever\n" });
    const ask = createAskGrant(new Questions(terminal), { manifestFile });
    const targets = ["one.example.com:443", "two.example.com:443", "three.example.com:443"];
    expect(await Promise.all(targets.map((target) => ask({ ...missing, target }, open)))).toEqual([true, true, true]);
    expect(await ask({ ...missing, target: "home.example.com:443" }, open)).toBe(false);
    const text = await readFile(manifestFile, "utf8");
    expect(text).toContain("# mine");
    expect(parseHostManifest(text, { file: manifestFile }).plugins["alpha"]).toMatchObject({
      grant: { net: expect.arrayContaining(targets) },
      deny: { net: ["home.example.com:443"] },
    });
  } finally {
    if (before === undefined) delete process.env["XDG_DATA_HOME"];
    else process.env["XDG_DATA_HOME"] = before;
    await rm(folder, { recursive: true });
  }
});
