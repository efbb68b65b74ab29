import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { partsOf, signed, type TermEntry } from "../../core/cluster/log/log-entry.ts";
import type { TakenLog } from "../../core/cluster/log/take-log.ts";
import type { Envelope } from "../../plugin-sdk/envelope.ts";
import { openTokens } from "../../core/doors/http/tokens.ts";
import { envelopesOf, type LogMachine, logMachine } from "./log-fixture.ts";
import { allPresent, type Machine, startMachine, until } from "./machine.ts";
import { type NatsServers, startServers } from "./nats-servers.ts";

let on: NatsServers;
let one: Machine;
let two: Machine;
let liar: LogMachine;
let taken: TakenLog;

beforeAll(async () => {
  on = await startServers();
  liar = await logMachine("liar", on);
  taken = await liar.take();
  [one, two] = await Promise.all([
    startMachine({ name: "one", servers: on.urls, limits: ", host_sessions: 8" }),
    startMachine({ name: "two", servers: on.urls, limits: ", host_sessions: 8" }),
  ]);
  await allPresent([one, two]);
}, 60_000);

afterAll(async () => {
  for (const machine of [two, one]) await machine?.remove();
  await liar?.close();
  await on?.stop();
});

const logged = (machine: Machine, words: string) => until(words, async () => (await machine.log()).includes(words));
const placed = (machine: string, adapter = "brief") =>
  one.host.start({ workdir: two.workdir, prompt: "go", place: { machine, wait_ms: 10_000 } }, { adapter });

/** Sets a note of the kind that `names` holds. */
async function note(names: LogMachine["engine"]["names"]["notes"], [kind, name, text]: [string, string, string]) {
  await liar.engine.append({ subject: names.subject(kind, name), headers: {}, data: text });
}

describe("a note that is none", () => {
  const waiting = {
    session_id: "s",
    request: { workdir: "/", prompt: "go" },
    options: {},
    agents: [],
    until: Date.now() + 600_000,
  };

  test("stops no placement, and is logged once a minute", async () => {
    const { work } = liar.engine.names;
    const wrong = [
      { ...waiting, options: { client: 5 } },
      { ...waiting, agents: [null] },
      { ...waiting, options: { adapter: [7] } },
      { ...waiting, request: { ...waiting.request, place: { labels: null } } },
      { ...waiting, request: null },
      { ...waiting, until: "soon" },
      [],
    ];
    for (const [at, value] of wrong.entries()) {
      const session_id = `bad${at}`;
      await note(work, ["_", session_id, JSON.stringify(Array.isArray(value) ? value : { ...value, session_id })]);
    }
    await note(work, ["_", "bad-text", "nonsense"]);
    await note(work, ["_", "other", JSON.stringify(waiting)]);
    for (const machine of ["one", "two"]) {
      expect(await (await placed(machine)).result()).toMatchObject({ outcome: "completed" });
    }
    for (const machine of [one, two]) {
      await logged(machine, "A note of a waiting session was dropped");
      expect((await machine.log()).split("A note of a waiting session was dropped")).toHaveLength(2);
    }
  }, 60_000);

  test("does not hold a session back whose claim it is, nor a turn", async () => {
    const { notes } = liar.engine.names;
    await note(notes, ["claim", "start-nowhere", "what is this"]);
    await logged(one, `A note \\"claim\\" of another machine was dropped`);
    expect(await (await placed("two")).result()).toMatchObject({ outcome: "completed" });
  });

  test("revokes no token", async () => {
    const { token, record: { id } } = await openTokens(one.stateDir).create({ name: "ci", scopes: ["run"] });
    await until("the other has it", () => two.as(token).list().then(() => true, () => false));
    await note(liar.engine.names.notes, ["token", id, "{}"]);
    await logged(two, `A note \\"token\\" of another machine was dropped`);
    for (const machine of [one, two]) expect(await machine.as(token).list()).toEqual(expect.any(Array));
  });

  test("takes no session's place, whatever it says of machines that never were", async () => {
    const { shares } = liar.engine.names;
    await note(shares, ["sessions", "ghost", JSON.stringify({ count: 1000 })]);
    await note(shares, ["sessions", "Not.a machine", "nonsense"]).catch(() => undefined);
    await note(shares, ["sessions", "nobody", "nonsense"]);
    await logged(one, `A note \\"sessions\\" of another machine was dropped`);
    const tickers = await Promise.all(
      [one, two].flatMap(({ host, workdir }) =>
        Array.from({ length: 3 }, () => host.start({ workdir, prompt: "go" }, { adapter: "ticker" }))
      ),
    );
    for (const session of tickers) await session.interrupt();
  }, 60_000);

  test("a heartbeat, and an answer that was kept, are dropped and logged", async () => {
    const { engine } = liar;
    engine.say(engine.names.presence("liar"), JSON.stringify({ name: "liar", said_at: "yesterday" }));
    await engine.append({ subject: engine.names.mailTo("two"), headers: {}, data: "nonsense" });
    await logged(two, "A heartbeat on");
    await logged(two, "An answer that was kept was dropped");
  });
});

describe("an event that is none", () => {
  /** Writes an entry as the liar's own. */
  async function write(session_id: string, [first, last]: [number, number], body: string): Promise<void> {
    const { engine } = liar;
    const { writer, term } = taken.log.position;
    const entry: TermEntry = { kind: "batch", session_id, first_gseq: first, last_gseq: last, body };
    const [message] = partsOf(entry, { names: engine.names, machine: "liar", bytes: engine.partBytes });
    await engine.append(signed(message!, { writer, term, number: first }));
  }

  const bodyOf = (envelopes: readonly Partial<Envelope>[]) =>
    JSON.stringify(envelopes.map(({ event, ...head }) => ({ ...head, events: [event] })));
  const spoilt = (gseq: number, change: object) => {
    const [made] = envelopesOf("lied", { gseq, seq: gseq });
    return { ...made, ...change } as Envelope;
  };

  test("cuts no stream, now or later, and stands there as unreadable", async () => {
    const controller = new AbortController();
    const live: [number, string][] = [];
    const reading = (async () => {
      for await (const envelope of two.host.events({ after: 0, signal: controller.signal })) {
        if (envelope.session_id === "lied") live.push([envelope.gseq, envelope.event.type]);
      }
    })();
    const bad = [
      { adapter: null },
      { adapter: { id: 7, version: [] } },
      { ts: "yesterday" },
      { event: { type: "output", stream: 5 } },
      { event: { type: 7 } },
      { source: "nobody" },
      { attempt: "one" },
      { source: "host", event: { type: "attempt_failed", attempt: 1, adapter_id: "a", error: null, retry_in_ms: 0 } },
      { source: "host", event: { type: "artifacts", artifacts: [{ path: 5 }] } },
      { source: "host", event: { type: "session_ended", result: null } },
      { source: "host", event: { type: "progress", message: 5 } },
    ];
    for (const [at, change] of bad.entries()) await write("lied", [at + 1, at + 1], bodyOf([spoilt(at + 1, change)]));
    const next = bad.length + 1;
    await write("lied", [next, next], "nonsense");
    await write("lied", [next + 1, next + 1], `[{"events":[null],"seq":${next + 1},"gseq":${next + 1}}]`);
    await write("lied", [next + 2, next + 2], "[".repeat(200_000));
    await write("lied", [next + 3, next + 3], bodyOf([spoilt(next + 9, {})]));
    await write("lied", [next + 4, next + 4], bodyOf([spoilt(next + 4, {})]));
    const whole = [...bad.map((_, at) => [at + 1, "progress"]), [next + 4, "output"]];
    await until("all came", () => live.at(-1)?.[0] === next + 4);
    expect(live).toEqual(whole);
    controller.abort();
    await reading.catch(() => undefined);
    // Who begins before them passes them as well, also through a filter.
    for (const machine of [one, two]) {
      const again: number[] = [];
      for await (const { session_id, gseq } of machine.host.events({ after: 0, type: ["progress", "output"] })) {
        if (session_id === "lied") again.push(gseq);
        if (gseq === next + 4 && session_id === "lied") break;
      }
      expect(again).toEqual(whole.map(([gseq]) => gseq));
      await logged(machine, `An event of machine \\"liar\\" was dropped`);
      await logged(machine, `An entry of the log of machine \\"liar\\" was dropped`);
    }
  }, 60_000);

  test("does not keep the machine from starting again whose log it is in", async () => {
    const again = await logMachine("liar", on);
    try {
      await again.take();
      expect(again.said.filter((line) => line.includes("was dropped"))).toHaveLength(1);
    } finally {
      await again.close();
    }
  });
});

describe("the same code", () => {
  test(
    "means the same files, of a folder too: a session goes to no machine with others under the same version",
    async () => {
      const file = join(two.folder, "plugins", "brief", "mod.js");
      const text = await readFile(file, "utf8");
      await writeFile(file, text.replace('"line "', '"other "'));
      await two.host.reload();
      const request = { workdir: two.workdir, prompt: "go", place: { machine: "two", wait_ms: 800 } };
      await expect(one.host.start(request, { adapter: "brief" })).rejects.toMatchObject({ code: "unavailable" });
      await until("it is said", async () => {
        const { machines } = await one.host.cluster();
        return machines.some(({ name, other_agents }) => name === "two" && other_agents.includes("brief"));
      });
      await writeFile(file, text);
      await two.host.reload();
      expect((await (await placed("two")).result()).output).toContain("line 1\n");
    },
    60_000,
  );
});
