import { expect, test } from "vitest";
import { ClusterStarts, type ClusterStartsDeps } from "../../core/cluster/machines/cluster-starts.ts";
import type { SessionHandle } from "../../core/sessions/host/session-host.ts";

/** Starts of a machine, with one note for all keys. */
function startsWith(
  { notes, own = { name: "one", run: "r" } }: { notes: Claims; own?: { name: string; run: string } },
) {
  const started: string[] = [];
  const deps = {
    own: {
      start: (_: unknown, { sessionId }: { sessionId: string }) => {
        started.push(sessionId);
        return Promise.resolve({ id: sessionId } as SessionHandle);
      },
      open: (id: string) => Promise.resolve({ id } as SessionHandle),
    },
    notes,
    queue: { has: () => false, starter: () => Promise.resolve(null) },
    facts: () => ({ ...own, labels: {} }),
    recordOf: () => Promise.resolve(null),
    isOver: () => Promise.resolve(false),
    keyMs: () => 60_000,
    problem: () => Promise.resolve(null),
    signal: new AbortController().signal,
  };
  return { starts: new ClusterStarts(deps as unknown as ClusterStartsDeps), started };
}

interface Claims {
  text: string | null;
  claim(note: { text: string }, known: string | null): Promise<string>;
}

function claims(): Claims & { loseAnswer: boolean } {
  return {
    text: null,
    loseAnswer: false,
    claim({ text }, known) {
      if (this.text !== null && this.text !== known) return Promise.resolve(this.text);
      this.text = text;
      if (!this.loseAnswer) return Promise.resolve(text);
      this.loseAnswer = false;
      return Promise.reject(new Error("timeout"));
    },
  };
}

const request = { workdir: "/", prompt: "go", idempotency_key: "k", place: { machine: "one", wait_ms: 1 } };

test("a key whose claim was stored without an answer can be asked for again at once", async () => {
  const notes = claims();
  const { starts, started } = startsWith({ notes });
  notes.loseAnswer = true;
  await expect(starts.start(request)).rejects.toMatchObject({ code: "unavailable" });
  expect(notes.text).not.toBeNull();
  const session = await starts.start(request);
  expect(started).toEqual([session.id]);
});

test("a key that another machine has claimed is left to it", async () => {
  const notes = claims();
  await startsWith({ notes }).starts.start(request);
  const { starts, started } = startsWith({ notes, own: { name: "one", run: "later" } });
  await expect(starts.start(request)).rejects.toMatchObject({ code: "unavailable" });
  expect(started).toEqual([]);
});

test("a claim that no machine can have written is replaced", async () => {
  for (const text of ["nonsense", "[]", JSON.stringify({ session_id: 7 })]) {
    const notes = claims();
    notes.text = text;
    const { starts, started } = startsWith({ notes });
    await starts.start(request);
    expect(started).toHaveLength(1);
  }
});
