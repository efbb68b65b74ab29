import { expect, test } from "vitest";
import { serveSockets } from "../../walls/broker/loopback-sockets.ts";
import { adapterCode, completed, openHost } from "./test-host.ts";

/** A host with an adapter that does this with WebSockets to `url`, and may. */
async function open({ target, url }: { target: string; url: string }, body: string) {
  const made = await openHost();
  const code = adapterCode(`
    const say = (message) => ({ type: "progress", message: String(message) });
    const url = ${JSON.stringify(url)};
    ${body}
    yield ${completed};`);
  await made.add("acme", { code, manifest: `permissions: { net: ["${target}"] }` }, { grant: { net: [target] } });
  return made;
}

async function said(made: Awaited<ReturnType<typeof open>>) {
  const { events, result } = await made.run("acme", { retry: "never" });
  return { said: events.flatMap(({ event }) => event.type === "progress" ? [event.message] : []), result };
}

test("an adapter's connection gives every message once and in order, and takes what it sends", async () => {
  const server = await serveSockets({
    talk(socket) {
      for (let n = 0; n < 5000; n++) socket.send(`message ${n}`);
      socket.on("message", (text) => {
        socket.send(`heard ${text}`);
        socket.close();
      });
    },
  });
  const made = await open(
    server,
    `
    const connection = await ctx.connect(url, { headers: { "x-mine": "yes" } });
    let count = 0;
    for await (const text of connection.messages) {
      if (text === "message " + count) count += 1;
      else yield say(text);
      if (count === 5000) {
        count = -1;
        await connection.send(42);
      }
    }
    yield say("over");
    yield say(await connection.send("late").catch((error) => error.code));`,
  );
  expect((await said(made)).said).toEqual(["heard 42", "over", "network_error"]);
  expect(server.requests[0]?.headers["x-mine"]).toBe("yes");
});

test("whoever leaves the messages closes the connection, and they are read once", async () => {
  const codes: number[] = [];
  const server = await serveSockets({
    talk(socket) {
      socket.on("close", (code) => codes.push(code));
      socket.send("first");
      socket.send("second");
    },
  });
  const made = await open(
    server,
    `
    const connection = await ctx.connect(url);
    for await (const text of connection.messages) {
      yield say(text);
      break;
    }
    try { for await (const text of connection.messages) yield say(text); } catch (error) { yield say(error.message); }
    const other = await ctx.connect(url);
    await other.close(4000, "enough");`,
  );
  expect((await said(made)).said).toEqual(["first", "These messages have been read already."]);
  await expect.poll(() => codes).toEqual([1000, 4000]);
});

test("an adapter hears of a far end that closes for a reason", async () => {
  const server = await serveSockets({ talk: (socket) => socket.close(4003, "not you") });
  const made = await open(
    server,
    `
    const connection = await ctx.connect(url);
    try { for await (const text of connection.messages); } catch (error) {
      yield say([error.code, error.details.close_code, error.message].join());
    }`,
  );
  expect((await said(made)).said).toEqual([
    `network_error,4003,"${server.target}" closed the connection with code 4003: not you.`,
  ]);
});

test("connections are closed with the session, also with one that is interrupted", async () => {
  const codes: number[] = [];
  const server = await serveSockets({
    talk(socket) {
      socket.on("close", (code) => codes.push(code));
      socket.send("here");
    },
  });
  const left = await open(server, "await ctx.connect(url);");
  expect((await said(left)).result.outcome).toBe("completed");
  await expect.poll(() => codes, { timeout: 10_000 }).toEqual([1001]);
  const staying = await open(
    server,
    "for await (const text of (await ctx.connect(url)).messages) yield say(text);",
  );
  const session = await staying.host.runSession({ workdir: staying.workdir, prompt: "x" }, { adapter: "acme" });
  for await (const { event } of session.events()) if (event.type === "progress") void session.interrupt();
  expect(await session.result()).toMatchObject({ stop_reason: "interrupted" });
  await expect.poll(() => [codes.length, server.connections()], { timeout: 10_000 }).toEqual([2, 0]);
});
