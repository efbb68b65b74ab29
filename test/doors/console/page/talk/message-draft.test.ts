import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type HostApi, RefusedCall } from "../../../../../core/doors/console/page/api.ts";
import type { AttachmentPart, Part } from "../../../../../plugin-sdk/messages.ts";
import { DraftStore } from "../../../../../core/doors/console/page/talk/draft-store.ts";
import { MessageDraft } from "../../../../../core/doors/console/page/talk/message-draft.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const away = new RefusedCall(0, { code: "network_error", message: "Cannot reach the host." });

interface Said {
  message_id: string;
  text?: string;
  content?: Part[];
  delivery: string;
}

/** The files of a message, without those that have arrived. */
function filesOf(parts: AttachmentPart[] = []) {
  const list = { value: parts } as never;
  return {
    list,
    parts: () => Promise.resolve([...parts]),
    clear: (arrived: readonly AttachmentPart[]) => void parts.splice(0, arrived.length),
  };
}

/** A browser's storage. */
function memory(): Storage {
  const kept: Record<string, string> = {};
  const methods = {
    getItem: (key: string) => kept[key] ?? null,
    setItem: (key: string, value: string) => void (kept[key] = value),
    removeItem: (key: string) => void delete kept[key],
  };
  return new Proxy(kept, { get: (_, name) => Reflect.get(methods, name) as unknown }) as unknown as Storage;
}

/** A host that answers each message with the next of these, and tells which messages it has. */
function hostOf(answers: (object | Error)[], messages: object[] = []) {
  const said: Said[] = [];
  const send = (_: string, __: string, body: Said) => {
    said.push(body);
    const answer = answers.shift() ?? { state: "pending" };
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  const api = { send, get: () => Promise.resolve({ messages }) } as unknown as HostApi;
  return { api, said };
}

function draftOf(api: HostApi, storage = memory(), files = filesOf()) {
  const store = new DraftStore(storage);
  const quiet = {
    read: (id: string) => store.read(id),
    write: (id: string, draft: Parameters<DraftStore["write"]>[1]) => store.write(id, draft),
    follow: () => () => {},
  };
  return { draft: new MessageDraft({ api, store: quiet, files }, "c-1"), storage, store };
}

test("a message is sent once more with its id while the host is away, and the field is empty after", async () => {
  const starting = new RefusedCall(503, { code: "not_ready", message: "The daemon is starting." });
  const { api, said } = hostOf([away, starting, { state: "pending" }]);
  const { draft, store } = draftOf(api);
  draft.type("go on");
  const sent = draft.send("steer");
  await vi.advanceTimersByTimeAsync(0);
  expect(draft.state.value).toEqual({ kind: "waiting", why: "Cannot reach the host." });
  draft.type("cannot be typed now");
  expect(draft.text.value).toBe("go on");
  await vi.advanceTimersByTimeAsync(5000);
  expect(await sent).toEqual({ state: "pending" });
  expect(said).toHaveLength(3);
  expect(new Set(said.map((one) => JSON.stringify(one))).size).toBe(1);
  expect([draft.text.value, draft.state.value.kind, store.read("c-1")]).toEqual(["", "typing", null]);
});

test("a message keeps its id over a reload of the page", async () => {
  const before = hostOf([away]);
  const { draft, storage } = draftOf(before.api);
  draft.type("go on");
  void draft.send("queue");
  await vi.advanceTimersByTimeAsync(0);
  draft.close();
  const after = hostOf([{ state: "pending" }]);
  const again = draftOf(after.api, storage).draft;
  await vi.advanceTimersByTimeAsync(0);
  expect(again.text.value).toBe("go on");
  await again.send("queue");
  expect(after.said[0]).toEqual(before.said[0]);
});

test("a message that had arrived before the reload is no draft any more", async () => {
  const before = hostOf([away]);
  const { draft, storage } = draftOf(before.api);
  draft.type("go on");
  void draft.send("queue");
  await vi.advanceTimersByTimeAsync(0);
  draft.close();
  const after = hostOf([], [{ message_id: before.said[0]?.message_id, state: "delivered" }]);
  const again = draftOf(after.api, storage).draft;
  await vi.advanceTimersByTimeAsync(0);
  expect(again.text.value).toBe("");
  expect(after.said).toEqual([]);
});

test.each([[true, 0], [false, 1]])(
  "words that were changed after a lost answer are sent only if the ones before did not arrive: %s",
  async (isThere, count) => {
    const messages: object[] = [];
    const { api, said } = hostOf([away], messages);
    const { draft } = draftOf(api);
    draft.type("first");
    void draft.send("queue");
    await vi.advanceTimersByTimeAsync(0);
    draft.cancel();
    if (isThere) messages.push({ message_id: said[0]?.message_id, state: "pending" });
    draft.type("first, changed");
    await draft.send("queue");
    expect(said.slice(1)).toHaveLength(count);
    expect(said[1]?.message_id).not.toBe(said[0]?.message_id);
    expect(draft.state.value.kind).toBe(isThere ? "told" : "typing");
    expect(draft.text.value).toBe(isThere ? "first, changed" : "");
  },
);

test("a refusal and a message that was dropped keep the words, which get another id", async () => {
  const busy = new RefusedCall(429, { code: "limit_exceeded", message: "Too many.", hint: "Wait." });
  const { api, said } = hostOf([busy, { state: "dropped" }, { state: "pending" }]);
  const { draft } = draftOf(api);
  draft.type("go on");
  await draft.send("queue");
  expect(draft.state.value).toEqual({ kind: "refused", text: "Too many.", hint: "Wait." });
  await draft.send("queue");
  expect(draft.state.value.kind).toBe("refused");
  expect(draft.text.value).toBe("go on");
  await draft.send("queue");
  expect(draft.text.value).toBe("");
  expect(new Set(said.map(({ message_id }) => message_id)).size).toBe(3);
});

test("a host that fails gets the same message again, since it may have it", async () => {
  const failed = new RefusedCall(500, { code: "internal", message: "It failed." });
  const { api, said } = hostOf([failed, { state: "pending" }]);
  const { draft } = draftOf(api);
  draft.type("go on");
  await draft.send("queue");
  await draft.send("queue");
  expect(said).toHaveLength(2);
  expect(said[1]).toEqual(said[0]);
});

test("drafts of others' making, too long ones and old ones are not kept, and at most twenty are", () => {
  const storage = memory();
  const store = new DraftStore(storage);
  for (const bad of ["{", "null", "[]", `{"text":1}`]) {
    storage.setItem("bulkhead-draft:c", bad);
    expect(store.read("c")).toBeNull();
  }
  storage.setItem("bulkhead-draft:c", JSON.stringify({ text: "a", tried: { id: "x", text: "a", delivery: "now" } }));
  expect(store.read("c")).toEqual({ text: "a", tried: null });
  for (let at = 0; at < 30; at++) {
    vi.advanceTimersByTime(10);
    store.write(`c-${at}`, { text: "a", tried: null });
  }
  expect([store.read("c-0"), store.read("c-29")]).toEqual([null, { text: "a", tried: null }]);
  expect(Object.keys(storage)).toHaveLength(20);
  store.write("c-29", { text: "x".repeat(200_000), tried: null });
  expect(store.read("c-29")).toBeNull();
  vi.advanceTimersByTime(15 * 24 * 3_600_000);
  store.write("c-new", { text: "a", tried: null });
  expect(Object.keys(storage)).toEqual(["bulkhead-draft:c-new"]);
});

const image: AttachmentPart = { type: "image", sha256: "a".repeat(64), mime_type: "image/png" };

test("images go out as parts of a message, also without words, and leave the field with it", async () => {
  const { api, said } = hostOf([]);
  const parts = [image];
  const { draft } = draftOf(api, memory(), filesOf(parts));
  draft.type("look");
  await draft.send("queue");
  expect(said[0]).toMatchObject({ content: [{ type: "text", text: "look" }, image], delivery: "queue" });
  expect([parts, draft.isEmpty]).toEqual([[], true]);
  parts.push(image);
  expect(draft.isEmpty).toBe(false);
  await draft.send("queue");
  expect(said[1]?.content).toEqual([image]);
});

test("the same words with another image are another message", async () => {
  const failing = new RefusedCall(500, { code: "internal_error", message: "It failed." });
  const { api, said } = hostOf([failing, failing, { state: "pending" }]);
  const parts = [image];
  const { draft } = draftOf(api, memory(), filesOf(parts));
  draft.type("look");
  await draft.send("queue");
  await draft.send("queue");
  parts[0] = { ...image, sha256: "b".repeat(64) };
  await draft.send("queue");
  const ids = said.map(({ message_id }) => message_id);
  expect(ids[1]).toBe(ids[0]);
  expect(ids[2]).not.toBe(ids[0]);
});

test("a browser without a storage forgets drafts and nothing else", async () => {
  const { api, said } = hostOf([]);
  const store = new DraftStore(null);
  const draft = new MessageDraft(
    { api, store: { ...storeOf(store), follow: () => () => {} }, files: filesOf() },
    "c-1",
  );
  draft.type("go on");
  await draft.send("queue");
  expect(said).toHaveLength(1);
});

function storeOf(store: DraftStore) {
  return {
    read: (id: string) => store.read(id),
    write: (id: string, draft: Parameters<DraftStore["write"]>[1]) => store.write(id, draft),
  };
}
