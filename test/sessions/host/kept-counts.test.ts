import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { type HostManifest, parseHostManifest } from "bulkhead";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { serve } from "../../walls/broker/loopback-server.ts";
import {
  adapterCode,
  childrenLeft,
  closeCompanion,
  closeHosts,
  completed,
  leftovers,
  openHost,
  type TestHost,
  until,
} from "./test-host.ts";

const anyBash = `run: [{ binary: /bin/bash, args: ["-c {*}"] }]`;
const runsBash = { run: [{ binary: "/bin/bash", args: ["-c {*}"] }] };

/** Starts a program in its first turn, which lives on between the turns; `script` is what it does. */
const keeps = (script: string) =>
  adapterCode(`
    let child = null;
    for await (const turn of ctx.turns) {
      child ??= await ctx.run("/bin/bash", ["-c", ${JSON.stringify(script)}]);
      yield { type: "output", stream: "stdout", data: turn.prompt };
      yield ${completed};
    }`);

const text = (words: string) => ({ content: [{ type: "text" as const, text: words }] });

async function begin(made: TestHost, prompt = "one"): Promise<string> {
  const { host, workdir } = made;
  const { id } = await host.runSession({ workdir, prompt, keep_ms: 600_000 }, { adapter: "alpha", artifacts: "none" });
  await until(async () => (await host.sessions.conversations.get(id)).state === "kept");
  return id;
}

/** Events of a session that has ended. */
async function eventsOf({ host }: TestHost, id: string): Promise<Envelope["event"][]> {
  const events: Envelope["event"][] = [];
  for await (const { event } of (await host.sessions.open(id)).events()) events.push(event);
  return events;
}

/** Says something, which ends a kept session whose terms are others now; returns the session that takes it. */
async function nextAfter(made: TestHost, id: string): Promise<string> {
  const { conversations } = made.host.sessions;
  await conversations.say(id, text("two"));
  await until(async () => {
    const { head, state } = await conversations.get(id);
    return head !== id && state === "kept";
  });
  expect(await (await made.host.sessions.open(id)).result()).toMatchObject({ outcome: "completed", output: "one" });
  return (await conversations.get(id)).head;
}

test("none of the calls that an adapter makes between two turns is done before the next one", async () => {
  const made = await openHost();
  const code = adapterCode(`
    for await (const turn of ctx.turns) {
      yield ${completed};
      if (turn.number !== 1) continue;
      // Long after the turn is over, and long before the next one.
      setTimeout(() => {
        for (const name of ["a", "b", "c"]) ctx.fs.writeText(name, name).catch(() => {});
        ctx.run("/bin/bash", ["-c", "echo d > d"]).catch(() => {});
      }, 300);
    }`);
  const grant = { write: ["workdir"], ...runsBash };
  await made.add("alpha", { code, manifest: `accepts: [turns]\npermissions: { write: [workdir], ${anyBash} }` }, {
    grant,
  });
  const id = await begin(made);
  const written = async () => (await readdir(made.workdir)).sort();
  await new Promise((resolve) => setTimeout(resolve, 900));
  expect(await written()).toEqual([]);
  await made.host.sessions.conversations.say(id, text("two"));
  await until(async () => (await written()).length === 4);
  await (await made.host.sessions.open(id)).interrupt();
  const events = await eventsOf(made, id);
  const at = (type: string, turn: number) =>
    events.findIndex((event) => event.type === type && "turn" in event && event.turn === turn);
  const uses = events.flatMap((event, index) => event.type === "capability" ? [index] : []);
  expect(uses.filter((index) => index > at("turn_ended", 1) && index < at("turn_started", 2))).toEqual([]);
  expect(uses.filter((index) => index > at("turn_started", 2)).length).toBeGreaterThan(1);
});

test("each place that a kept program connects to between two turns is told in the log", async (context) => {
  await needsWall(context, "bubblewrap");
  const made = await openHost();
  const asked: string[] = [];
  const servers = await Promise.all([1, 2, 3].map((at) =>
    serve((_request, response) => {
      asked.push(`server ${at}`);
      response.end("ok");
    })
  ));
  const places = servers.map(({ port }) => `127.0.0.1:${port}`);
  const script = `until [[ -e go ]]; do sleep 0.05; done; for place in ${places.join(" ")}; do ` +
    `curl -s -m 5 -x "$HTTP_PROXY" --noproxy "" "http://$place/"; done; sleep 100; true`;
  const manifest = `accepts: [turns]\npermissions: { net: ${JSON.stringify(places)}, ${anyBash} }`;
  await made.add("alpha", { type: "agent", code: keeps(script), manifest }, { grant: { net: places, ...runsBash } });
  const id = await begin(made);
  await writeFile(join(made.workdir, "go"), "");
  await until(() => asked.length === 3);
  await (await made.host.sessions.open(id)).interrupt();
  const events = await eventsOf(made, id);
  const ended = events.findIndex(({ type }) => type === "turn_ended");
  const told = events.slice(ended).flatMap((event) =>
    event.type === "capability" && event.permission === "net" ? [event.target] : []
  );
  expect(told.sort()).toEqual(places.sort());
});

/** A manifest that grants the plugin this; its file stays as it is. */
async function grants(made: TestHost, grant: string): Promise<HostManifest> {
  const file = join(made.root, "bulkhead.yaml");
  const source = join(made.root, "packages", "alpha");
  return {
    ...await parseHostManifest(`bulkhead: 1\nplugins:\n  alpha: { source: ${source}, grant: ${grant} }\n`, { file }),
    file,
  };
}

test("a grant that is revoked between two turns ends the session before its next prompt", async () => {
  const first = await openHost();
  await writeFile(join(first.root, "bulkhead.yaml"), "bulkhead: 1\nplugins: {}\n");
  await first.add("alpha", {
    code: keeps("sleep 100; true"),
    manifest: `accepts: [turns]\npermissions: { ${anyBash}, read: [workdir] }`,
  });
  await first.host.close();
  const made = await openHost({ root: first.root, manifest: await grants(first, `{ ${anyBash}, read: [workdir] }`) });
  const id = await begin(made);
  await made.host.reload(await grants(first, `{ ${anyBash} }`));
  const next = await nextAfter(made, id);
  const permissionsOf = async (session: string) => {
    const [started] = await eventsOf(made, session);
    return started?.type === "session_started" ? Object.keys(started.effective.permissions).sort() : [];
  };
  await (await made.host.sessions.open(next)).interrupt();
  expect([await permissionsOf(id), await permissionsOf(next)]).toEqual([["read", "run"], ["run"]]);
});

test("a guarded name that appeared between two turns ends the session before its next prompt", async (context) => {
  await needsWall(context, "bubblewrap");
  const made = await openHost();
  const manifest = `accepts: [turns]\npermissions: { ${anyBash} }`;
  await made.add("alpha", { type: "agent", code: keeps("sleep 100; true"), manifest }, { grant: runsBash });
  const id = await begin(made);
  // What is not guarded ends nothing.
  await writeFile(join(made.workdir, "notes.txt"), "");
  const { conversations } = made.host.sessions;
  expect(await conversations.say(id, text("one"))).toMatchObject({ session_id: id });
  await until(async () => (await conversations.get(id)).turn === 2 && (await conversations.get(id)).state === "kept");
  expect((await conversations.get(id)).head).toBe(id);
  await writeFile(join(made.workdir, ".envrc"), "echo mine\n");
  const next = await nextAfter(made, id);
  await (await made.host.sessions.open(next)).interrupt();
});

const mounts = async () => (await readFile("/proc/self/mountinfo", "utf8").catch(() => "")).split("\n").length;

/** Has everything that is temporary made in a folder of its own; returns what is left there. */
async function leftIn(act: () => Promise<void>): Promise<string[]> {
  const before = process.env["TMPDIR"];
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-counts-"));
  try {
    process.env["TMPDIR"] = folder;
    await act();
    return await readdir(folder);
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
    await rm(folder, { recursive: true, force: true });
  }
}

test("eight sessions are kept, and after their end nothing of them is there", async () => {
  await closeCompanion();
  const mounted = await mounts();
  const left = await leftIn(async () => {
    const made = await openHost();
    const manifest = `accepts: [turns]\npermissions: { ${anyBash} }`;
    await made.add("alpha", { type: "agent", code: keeps("sleep 100; true"), manifest }, { grant: runsBash });
    const ids: string[] = [];
    for (let at = 0; at < 10; at++) ids.push(await begin(made));
    const { conversations } = made.host.sessions;
    const states = async () => await Promise.all(ids.map(async (id) => (await conversations.get(id)).state));
    await until(async () => (await states()).filter((state) => state === "ended").length === 2);
    expect(await states()).toEqual(["ended", "ended", ...Array.from({ length: 8 }, () => "kept")]);
    await made.host.close();
    await closeCompanion();
    expect(await childrenLeft()).toEqual([]);
    expect(await leftovers(made.stateDir)).toEqual([]);
    await closeHosts();
  });
  expect({ left, mounts: await mounts() }).toEqual({ left: [], mounts: mounted });
}, 60_000);
