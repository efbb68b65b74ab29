import { createServer, type IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { adapterCode, completed, openHost, ownChildren, until } from "../sessions/host/test-host.ts";

const say = (expression: string) => `yield { type: "output", stream: "stdout", data: String(${expression}) };`;

describe("sessions of one plugin", () => {
  test("E1 two sessions at once on one worker do not see each other", async () => {
    const { host, workdir, add } = await openHost();
    await add("gossip", {
      code: `globalThis.heard = []; const heard = [];\n${
        adapterCode(`
        heard.push(request.prompt);
        globalThis.heard.push(request.prompt);
        await ctx.sleep(300);
        ${say("[...heard, ...globalThis.heard]")}
        yield ${completed};`)
      }`,
    }, { limits: { workers: 1, sessions_per_worker: 8 } });
    const prompts = ["alice", "bob", "carol"];
    const sessions = await Promise.all(
      prompts.map((prompt) =>
        host.runSession({ workdir, prompt, retry: "never" }, { adapter: "gossip", artifacts: "none" })
      ),
    );
    const results = await Promise.all(sessions.map((session) => session.result()));
    expect(results.map(({ output }) => output)).toEqual(prompts.map((prompt) => `${prompt},${prompt}`));
  });

  test("E10 no cookie and no connection outlives a request", async () => {
    const seen: { cookie: string | undefined; socket: unknown; connection: string | undefined }[] = [];
    const server = createServer((request: IncomingMessage, response) => {
      seen.push({
        cookie: request.headers.cookie,
        socket: request.socket.remotePort,
        connection: request.headers.connection,
      });
      response.setHeader("set-cookie", "session=alice; Path=/");
      response.end("hello");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    try {
      const net = [`127.0.0.1:${port}`];
      const { add, run } = await openHost();
      await add("visitor", {
        manifest: `permissions: { net: ${JSON.stringify(net)} }`,
        code: adapterCode(`
          const headers = [];
          for (let n = 0; n < 2; n++) {
            const answer = await ctx.fetch("http://127.0.0.1:${port}/");
            headers.push(answer.headers["set-cookie"], await answer.text());
          }
          ${say("headers")}
          yield ${completed};`),
      }, { grant: { net } });
      expect((await run("visitor")).result.output).toBe(",hello,,hello");
      expect((await run("visitor")).result.outcome).toBe("completed");
      expect(seen).toHaveLength(4);
      expect(seen.map(({ cookie }) => cookie)).toEqual([undefined, undefined, undefined, undefined]);
      expect(new Set(seen.map(({ socket }) => socket)).size).toBe(4);
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });

  test("E11 what was revoked is denied to the next session, and a plugin taken out ends with its sessions", async () => {
    const { host, workdir, add, run } = await openHost();
    const plugin = {
      manifest: "permissions: { kv: true }",
      code: adapterCode(`
        if (request.prompt === "wait") await ctx.sleep(60_000);
        ${say(`await ctx.kv.set("k", 1).then(() => "stored", (error) => error.code)`)}
        yield ${completed};`),
    };
    await add("shifty", plugin, { grant: { kv: true } });
    expect((await run("shifty")).result.output).toBe("stored");
    const waiting = await host.runSession({ workdir, prompt: "wait", retry: "never" }, {
      adapter: "shifty",
      artifacts: "none",
    });
    await host.registry.remove("shifty");
    expect((await waiting.result()).outcome).toBe("error");
    await add("shifty", plugin, { grant: {} });
    expect((await run("shifty")).result.output).toBe("permission_denied");
  });
});

describe("plugins", () => {
  test("E2 each has a process of its own", async () => {
    const { host, workdir, add } = await openHost();
    const before = (await ownChildren()).length;
    const sessions = [];
    for (const id of ["one", "two", "three"]) {
      await add(id, {
        code: adapterCode(`yield { type: "progress", message: "up" }; await ctx.sleep(60_000).catch(() => {});`),
      });
      const session = await host.runSession({ workdir, prompt: "go", retry: "never" }, {
        adapter: id,
        artifacts: "none",
      });
      for await (const { event } of session.events()) if (event.type === "progress") break;
      sessions.push(session);
    }
    const wardens = (await ownChildren()).filter(({ command }) => command.includes("warden.js"));
    expect(wardens.length).toBe(3);
    expect(before).toBeLessThanOrEqual(1);
    await Promise.all(sessions.map((session) => session.interrupt()));
  });

  test("E9 the stores and logs of two plugins whose ids look alike are two", async () => {
    const { add, run, logs } = await openHost();
    const code = adapterCode(`
      const before = await ctx.kv.get("k");
      await ctx.kv.set("k", request.prompt);
      ctx.log.info("line\\nplugin_id=other", { plugin_id: "other" });
      ${say("before")}
      yield ${completed};`);
    for (const id of ["a-b", "a", "b", "a-b-k"]) {
      await add(id, { manifest: "permissions: { kv: true }", code }, { grant: { kv: true } });
      expect((await run(id)).result.output, id).toBe("null");
      expect((await run(id)).result.output, id).toBe("go");
    }
    await until(() => logs.filter(({ message }) => message.startsWith("line")).length === 8);
    const records = logs.filter(({ message }) => message.startsWith("line"));
    expect(new Set(records.map(({ plugin_id }) => plugin_id))).toEqual(new Set(["a-b", "a", "b", "a-b-k"]));
    expect(records.every(({ message }) => !message.includes("\n"))).toBe(true);
  });
});
