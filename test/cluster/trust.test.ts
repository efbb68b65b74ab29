import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { localhostCertificate } from "./localhost-certificate.ts";
import { allPresent, type Machine, startMachine, until } from "./machine.ts";
import { type NatsServers, startServers } from "./nats-servers.ts";

/** Rights of a machine as the page on several machines has them. */
function rightsOf(name: string, { takesOver }: { takesOver: boolean }): object {
  const streams = [`log_${name}`, "mail", "works", "notes", "shares", "uses"].map((stream) => `bulkhead_${stream}`);
  const buckets = ["OBJ_bulkhead_patches", "OBJ_bulkhead_attachments"];
  return {
    publish: {
      allow: [
        takesOver ? "bulkhead.log.*.>" : `bulkhead.log.${name}.>`,
        `bulkhead.presence.${name}`,
        "bulkhead.hello",
        "bulkhead.call.*",
        "bulkhead.mail.*",
        "bulkhead.work.*.*",
        "bulkhead.note.*.*",
        "bulkhead.share.*.*",
        `bulkhead.use.*.${name}`,
        "$O.bulkhead_patches.>",
        "$O.bulkhead_attachments.>",
        "$JS.ACK.>",
        "$JS.API.INFO",
        "$JS.API.STREAM.NAMES",
        "$JS.API.STREAM.LIST",
        "$JS.API.STREAM.INFO.*",
        "$JS.API.STREAM.MSG.GET.*",
        "$JS.API.CONSUMER.>",
        ...[...streams, ...buckets].map((stream) => `$JS.API.STREAM.CREATE.${stream}`),
        ...[`bulkhead_log_${name}`, ...buckets].map((stream) => `$JS.API.STREAM.PURGE.${stream}`),
      ],
    },
    subscribe: { allow: ["_INBOX.>", "bulkhead.presence.*", "bulkhead.hello", `bulkhead.call.${name}`] },
    allow_responses: true,
  };
}

describe("three servers with TLS between them, and a user for each machine", () => {
  let folder: string;
  let on: NatsServers;
  let one: Machine;
  let two: Machine;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "bh-trust-"));
    const [caFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
    await Promise.all([
      writeFile(caFile, localhostCertificate.cert),
      writeFile(keyFile, localhostCertificate.key, { mode: 0o600 }),
    ]);
    const users = [
      { user: "one", password: "secret-of-one", permissions: rightsOf("one", { takesOver: true }) },
      { user: "two", password: "secret-of-two", permissions: rightsOf("two", { takesOver: false }) },
    ];
    const tls = { cert_file: caFile, key_file: keyFile };
    const config = {
      accounts: { bulkhead: { jetstream: "enabled", users } },
      tls,
      cluster: { tls: { ...tls, ca_file: caFile } },
    };
    await writeFile(join(folder, "server.conf"), JSON.stringify(config, null, 1));
    on = await startServers(3, ["-c", join(folder, "server.conf")]);
    const servers = on.urls.map((url) => url.replace("nats://127.0.0.1", "tls://localhost"));
    const start = (name: string) =>
      startMachine({
        name,
        servers,
        replicas: 3,
        cluster: [`credentials: { user: ${name}, password: NATS_PASSWORD }`, `tls: { ca_file: "${caFile}" }`],
        secrets: { NATS_PASSWORD: `secret-of-${name}` },
      });
    [one, two] = await Promise.all([start("one"), start("two")]);
    await allPresent([one, two]);
  }, 60_000);

  afterAll(async () => {
    for (const machine of [one, two]) await machine?.remove();
    await on?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const ticker = ({ host, workdir }: Machine) => host.start({ workdir, prompt: "go" }, { adapter: "ticker" });
  const stateOn = (machine: Machine, id: string) => machine.host.get(id).then(({ state }) => state, () => null);

  test("run, show, answer, place and delete sessions of one another", async () => {
    const asking = await one.host.start({ workdir: one.workdir, prompt: "go" }, { adapter: "asker" });
    await until("it asks", async () => (await two.host.get(asking.id).catch(() => null))?.waiting.length === 1);
    const there = await two.host.open(asking.id);
    expect(await there.answer("r1", "yes")).toBe(true);
    expect(await there.result()).toMatchObject({ outcome: "completed" });
    await two.host.delete(asking.id);
    await until("it is gone", async () => !(await one.host.list()).some(({ session_id }) => session_id === asking.id));
    const request = { workdir: two.workdir, prompt: "go", place: { machine: "two" } };
    const placed = await one.host.start(request, { adapter: "brief" });
    expect(await placed.result()).toMatchObject({ outcome: "completed" });
    for (const { log } of [one, two]) expect(await log()).not.toMatch(/permission/i);
  });

  test("go on while one of the servers is down", async () => {
    const { logs } = await one.host.cluster();
    expect(logs.map(({ replicas }) => replicas)).toEqual([3, 3]);
    const session = await ticker(one);
    await until("the other has it", async () => await stateOn(two, session.id) === "running");
    const leader = on.servers.find(({ name }) => name === logs[0]?.leader)!;
    await leader.kill();
    const { last_seq } = await two.host.get(session.id);
    await until("it ticks on", async () => (await two.host.get(session.id)).last_seq > last_seq + 50, 60_000);
    expect(await (await two.host.open(session.id)).interrupt()).toMatchObject({ stop_reason: "interrupted" });
    await leader.start();
  }, 120_000);

  test("a machine without the right to write others' logs takes none over", async () => {
    const session = await ticker(one);
    await until("the other has it", async () => await stateOn(two, session.id) === "running");
    await one.signal("SIGKILL");
    await until("it says so", async () => (await two.log()).includes('Cannot take over machine \\"one\\"'), 30_000);
    expect(await stateOn(two, session.id)).toBe("running");
    await one.start();
    await until("its own machine has ended it", async () => await stateOn(two, session.id) === "ended");
  }, 60_000);

  test("a machine with that right does", async () => {
    const session = await ticker(two);
    await until("the other has it", async () => await stateOn(one, session.id) === "running");
    await two.signal("SIGKILL");
    await until("it is ended", async () => await stateOn(one, session.id) === "ended");
  });
});
