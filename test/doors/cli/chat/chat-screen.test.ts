import { expect, test } from "vitest";
import { ChatScreen } from "../../../../core/doors/cli/chat/chat-screen.ts";
import { textWidth } from "../../../../core/doors/cli/render/text-width.ts";
import { createPaint } from "../../../../core/doors/cli/render/paint.ts";
import type { LineEditor, LineHandlers } from "../../../../core/ground/platform/terminal/line-editor.ts";
import type { Envelope } from "../../../../plugin-sdk/envelope.ts";
import { envelopesOf, fakeResult } from "../fake-host.ts";
import { fakeTerminal } from "../fake-terminal.ts";

/** A screen whose line a test types. */
function screen({ say }: { say?: () => Promise<void> } = {}) {
  const acts: string[] = [];
  let keys!: LineHandlers;
  const shown = { text: "", prompt: "", above: [] as readonly string[] };
  const line: LineEditor = {
    print: (text) => void (shown.text += text),
    show: (prompt, above) => void Object.assign(shown, { prompt, above }),
    text: "",
    columns: 80,
    close: () => {},
  };
  const act = (name: string) => async (...args: unknown[]) => void acts.push([name, ...args].join(" "));
  const made = new ChatScreen({
    terminal: fakeTerminal(),
    paint: createPaint(false),
    open: (handlers) => (keys = handlers, line),
    actions: {
      say: say ?? act("say"),
      stop: act("stop"),
      withdraw: act("withdraw"),
      answer: async (requestId, choice) => (acts.push(`answer ${requestId} ${choice}`), true),
      attach: act("attach"),
      carry: (parts) => void acts.push(["carry", ...parts.map(({ mime_type }) => mime_type)].join(" ")),
      agent: (id) => void acts.push(`agent ${id}`),
      rewind: act("rewind"),
      fork: act("fork"),
      leave: () => void acts.push("leave"),
    },
  });
  const see = async (...events: Envelope["event"][]) => {
    for (const envelope of envelopesOf(events)) await made.see(envelope);
  };
  return { acts, keys, line, shown, see, made };
}

const working: Envelope["event"] = {
  type: "turn_started",
  turn: 1,
  after: 0,
  message_ids: [],
  by: "client",
  memory: "none",
  prompt_sha256: "",
  checkpoint: null,
};
const waits: Envelope["event"] = {
  type: "message_accepted",
  message_id: "m1",
  delivery: "queue",
  content: [{ type: "text", text: "later" }],
  by: { client: "c" },
};

test("Enter is the next prompt, and while the agent works a word into its turn; Alt-Enter is later", async () => {
  const { acts, keys, shown, see } = screen();
  keys.onLine("first", { later: false });
  expect(shown.prompt).toBe("› ");
  await see(working);
  expect(shown.prompt).toBe("steer › ");
  keys.onLine("a word", { later: false });
  keys.onLine("then this", { later: true });
  keys.onLine("  ", { later: false });
  expect(acts).toEqual(["say first queue", "say a word steer", "say then this queue"]);
});

test("a message that waits stands above the line until the agent has it, and can be taken back into it", async () => {
  const { acts, keys, line, shown, see } = screen();
  await see(working, waits);
  expect(shown.above).toEqual(["⋯ waits: later"]);
  keys.onLine("/edit", { later: false });
  await expect.poll(() => line.text).toBe("later");
  expect(acts).toEqual(["withdraw m1"]);
  await see({ type: "message_dropped", message_id: "m1", reason: "withdrawn" });
  expect(shown.above).toEqual([]);
  keys.onLine("/withdraw", { later: false });
  expect(shown.text).toContain("No message waits.");
});

test("messages that wait take a row each and at most six, in any script, and name what they carry", async () => {
  const { shown, see } = screen();
  const text = "日本語のテキストも 👍 dabei, und so lange, dass sie ganz sicher nicht in eine Zeile passt";
  await see(working, { ...waits, content: [{ type: "text", text }] });
  expect(textWidth(shown.above[0]!)).toBeLessThan(80);
  const image = { type: "image", sha256: "0".repeat(64), mime_type: "image/png" } as const;
  await see({ ...waits, message_id: "m2", delivery: "steer", content: [{ type: "text", text: "look" }, image] });
  expect(shown.above[1]).toBe("⋯ next: look [image/png]");
  for (let at = 3; at <= 64; at++) await see({ ...waits, message_id: `m${at}` });
  expect(shown.above).toHaveLength(6);
  expect(shown.above.at(-1)).toBe("⋯ and 59 more");
});

test("/edit takes back the images and files of a message as well, and /detach takes them off", async () => {
  const { acts, keys, line, see } = screen();
  const image = { type: "image", sha256: "0".repeat(64), mime_type: "image/png" } as const;
  await see(working, { ...waits, content: [...waits.content, image] });
  keys.onLine("/edit", { later: false });
  await expect.poll(() => line.text).toBe("later");
  keys.onLine("/detach", { later: false });
  expect(acts).toEqual(["withdraw m1", "carry image/png", "carry"]);
});

test("/now stops the turn and goes on with its words", async () => {
  const { acts, keys, shown, see } = screen();
  keys.onLine("/now begin", { later: false });
  await see(working);
  keys.onLine("/now go on  with this", { later: false });
  keys.onLine("/now", { later: false });
  expect(acts).toEqual(["say begin queue", "say go on  with this interrupt"]);
  expect(shown.text).toContain("/now <text>");
});

test("a session that ends in the middle of a turn says why, and one that rested says nothing", async () => {
  const { shown, see } = screen();
  const error = { code: "host_restarted", message: "The host was killed.", hint: "Start it again." } as const;
  const ended = { type: "session_ended", result: fakeResult({ stop_reason: "host_restarted", error }) } as const;
  await see(working, ended);
  expect(shown.text).toContain("✗ The host was killed. Start it again.\n");
  const before = shown.text;
  await see(ended);
  expect(shown.text).toBe(before);
});

test("words that did not arrive come back into the line, unless others are there", async () => {
  const { keys, line, shown } = screen({ say: () => Promise.reject(new Error("The daemon has stopped.")) });
  keys.onLine("not lost", { later: false });
  await expect.poll(() => line.text).toBe("not lost");
  expect(shown.text).toContain("The daemon has stopped.");
  line.text = "newer";
  keys.onLine("older", { later: false });
  await expect.poll(() => shown.text.split("The daemon has stopped.").length).toBe(3);
  expect(line.text).toBe("newer");
});

test("a turn has its prompt beside it, and what begins one at once has no line of its own", async () => {
  const { shown, see } = screen();
  const prompt = { ...waits, content: [{ type: "text" as const, text: "at once" }] };
  const turn = { ...working, turn: 2, message_ids: ["m1"] };
  await see(prompt, { type: "message_delivered", message_id: "m1", turn: 2, how: "new_turn" }, turn);
  expect(shown.text.trim()).toMatch(/^● turn 2: at once$/);
  await see({ ...waits, message_id: "m2" });
  expect(shown.text).toContain("message of c: later");
});

test("/image and /file attach what they name, blanks in it included", () => {
  const { acts, keys, shown } = screen();
  keys.onLine("/image my sketch.png", { later: false });
  keys.onLine("/file notes.pdf", { later: false });
  keys.onLine("/image", { later: false });
  expect(acts).toEqual(["attach image my sketch.png", "attach file notes.pdf"]);
  expect(shown.text).toContain("Name the file: /image <file>.");
});

test("Esc stops a turn, and only a second Ctrl-C leaves", async () => {
  const { acts, keys, shown, see } = screen();
  keys.onEscape();
  await see(working);
  keys.onEscape();
  keys.onInterrupt();
  expect([acts, shown.text]).toEqual([["stop"], expect.stringContaining("Press Ctrl-C again to leave")]);
  keys.onInterrupt();
  expect(acts).toEqual(["stop", "leave"]);
});

test("the line answers the agent's question while one is open", async () => {
  const { acts, keys, shown, see } = screen();
  await see(working, {
    type: "permission_request",
    request_id: "p1",
    tool: "Write",
    title: "Write a.txt",
    input: {},
    options: [{ id: "y", label: "Yes", kind: "allow_once" }, { id: "n", label: "No", kind: "reject_once" }],
  });
  await expect.poll(() => shown.prompt).toMatch(/^answer: \[o\]nce/);
  keys.onLine("what", { later: false });
  expect(shown.text).toContain("That is none of the answers.");
  keys.onLine("o", { later: false });
  await expect.poll(() => acts).toEqual(["answer p1 y"]);
  expect(shown.prompt).toBe("steer › ");
});

test("what is typed when the agent asks is no answer, and comes back after it; Alt-Enter still says it", async () => {
  const { acts, keys, line, shown, see } = screen();
  line.text = "half a sentence";
  await see(working, { type: "question", request_id: "q1", question: "Which branch?" });
  await expect.poll(() => shown.prompt).toBe("answer › ");
  expect(line.text).toBe("");
  keys.onLine("and later this", { later: true });
  keys.onLine("main", { later: false });
  await expect.poll(() => acts).toEqual(["say and later this queue", "answer q1 main"]);
  expect(line.text).toBe("half a sentence");
});

test("a word after a slash is a command, and never goes to the agent", () => {
  const { acts, keys, shown } = screen();
  for (const typed of ["/agent other", "/agent", "/nothing", "/help", "/quit"]) keys.onLine(typed, { later: false });
  expect(acts).toEqual(["agent other", "leave"]);
  expect(shown.text).toContain("There is no /nothing.");
  expect(shown.text).toContain("Alt-Enter");
});

test("/rewind names a turn, and /fork may name one", () => {
  const { acts, keys, shown } = screen();
  for (const typed of ["/rewind 2", "/fork 1", "/fork"]) keys.onLine(typed, { later: false });
  expect(acts).toEqual(["rewind 2", "fork 1", "fork "]);
  for (const typed of ["/rewind", "/fork x"]) keys.onLine(typed, { later: false });
  expect(acts).toHaveLength(3);
  expect(shown.text).toContain("/rewind <turn>");
  expect(shown.text).toContain("/fork [turn]");
});
