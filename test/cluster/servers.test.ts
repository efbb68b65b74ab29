import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { connectServers } from "../../core/cluster/engine/connect.ts";
import { type ClusterSettings, defaultClusterSettings } from "../../core/ground/config/cluster-settings.ts";
import { SharedNotes } from "../../core/cluster/machines/shared-notes.ts";
import { logMachine } from "./log-fixture.ts";
import { startServers } from "./nats-servers.ts";
import { signalTo } from "./signal-to.ts";

const secret = () => Promise.resolve("right");

function settings(server: string, more: Partial<ClusterSettings> = {}): ClusterSettings {
  return { ...defaultClusterSettings, servers: [server], name: "one", ...more };
}

/** A server that greets as nats-server does, and answers pings. */
async function greeter(info: object): Promise<{ url: string; close(): void }> {
  const server = createServer((socket) => {
    socket.write(
      `INFO ${
        JSON.stringify({ server_id: "x", host: "127.0.0.1", port: 1, go: "", proto: 1, client_id: 1, ...info })
      }\r\n`,
    );
    socket.on("data", (data) => data.includes("PING") ? socket.write("PONG\r\n") : undefined).on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return { url: `nats://127.0.0.1:${port}`, close: () => server.close() };
}

test("joining names what a server lacks", async () => {
  const good = { version: "2.10.1", jetstream: true, headers: true, max_payload: 1_048_576 };
  for (
    const [info, said] of [
      [{ ...good, version: "2.8.4" }, "nats-server 2.8.4"],
      [{ ...good, jetstream: undefined }, "without JetStream"],
      [{ ...good, max_payload: 1024 }, "1024 bytes"],
    ] as const
  ) {
    const server = await greeter(info);
    await expect(connectServers(settings(server.url), secret)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining(said),
      hint: expect.stringContaining("-js"),
    });
    server.close();
  }
});

test("joining says where no server can be reached", async () => {
  await expect(connectServers(settings("nats://127.0.0.1:9"), secret)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("nats://127.0.0.1:9"),
  });
});

test("a machine shows its token to the servers, and is refused with a wrong one", async () => {
  const on = await startServers(1, ["--auth", "right"]);
  try {
    const connection = await connectServers(settings(on.urls[0]!, { credentials: { token: "nats" } }), secret);
    await connection.close();
    const wrong = connectServers(
      settings(on.urls[0]!, { credentials: { token: "nats" } }),
      () => Promise.resolve("wrong"),
    );
    await expect(wrong).rejects.toMatchObject({ code: "unauthorized" });
  } finally {
    await on.stop();
  }
});

test("a claim waits for servers that do not answer for a while, and is made once", async () => {
  const on = await startServers();
  const machine = await logMachine("one", on);
  try {
    const notes = new SharedNotes(machine.engine, { names: machine.engine.names.notes, keptMs: 60_000 });
    await notes.open();
    await signalTo(on.servers[0]!.child!, "SIGSTOP");
    const claiming = notes.claim({ name: "k", text: "mine" }, null);
    // Longer than one question waits for its answer.
    await sleep(3000);
    await signalTo(on.servers[0]!.child!, "SIGCONT");
    expect(await claiming).toBe("mine");
    expect(await notes.claim({ name: "k", text: "theirs" }, null)).toBe("mine");
  } finally {
    await machine.close();
    await on.stop();
  }
});
