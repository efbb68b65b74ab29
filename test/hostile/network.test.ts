import { lookup } from "node:dns/promises";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import type { SessionBroker } from "../../core/walls/broker/session-broker.ts";
import { loadHostManifest } from "../../core/packages/manifest/find-host-manifest.ts";
import { sendRequest } from "../../core/ground/platform/net/network.ts";
import { needsWall } from "../ground/platform/os-walls/needs-wall.ts";
import { anyShell, codeOf, errorOf, makeBroker, readAll, runShell } from "../walls/broker/broker-fixture.ts";
import { serve } from "../walls/broker/loopback-server.ts";
import { serveSockets } from "../walls/broker/loopback-sockets.ts";
import { adapterCode, completed, openHost, writePlugin } from "../sessions/host/test-host.ts";

// The system's resolver, played by the test: names lead where an attacker would have them lead.
vi.mock("node:dns/promises", () => ({ lookup: vi.fn() }));
const resolver = vi.mocked(lookup) as unknown as ReturnType<typeof vi.fn>;

beforeEach(() => void resolver.mockReset());

function openSocket(broker: SessionBroker, url: string): Promise<unknown> {
  return broker.call("socket_open", { url, options: {} });
}

function answer(...addresses: string[]): { address: string; family: number }[] {
  return addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
}

test("G13 and G20: no name is looked up that is not granted, so none carries anything out", async () => {
  const { broker } = await makeBroker({ permissions: { net: ["api.example.com:443", "*.cdn.example.com:443"] } });
  const urls = [
    "https://secret.attacker.example/",
    "https://secret.api.example.com/",
    "https://cdn.example.com/",
    "https://api.example.com:8443/",
    "http://api.example.com/",
    "https://xapi.example.com/",
  ];
  for (const url of urls) {
    expect(await codeOf(broker.call("fetch", { url, options: {} }))).toBe("permission_denied");
    expect(await codeOf(openSocket(broker, url.replace("http", "ws")))).toBe("permission_denied");
  }
  expect(resolver).not.toHaveBeenCalled();
});

test("G14 a granted public name that leads inwards is refused, with the grant that it would take", async () => {
  const { broker } = await makeBroker({ permissions: { net: ["rebind.example.com:80"] } });
  const inwards = [
    "127.0.0.1",
    "10.0.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "::1",
    "::ffff:127.0.0.1",
    "fd00::1",
    "64:ff9b::7f00:1",
    "168.63.129.16",
  ];
  for (const address of inwards) {
    resolver.mockResolvedValue(answer(address));
    const error = await errorOf(broker.call("fetch", { url: "http://rebind.example.com/", options: {} }));
    expect(error.code).toBe("permission_denied");
    expect(error.message).toContain("is not a public address");
    expect(error.hint).toMatch(/^bulkhead plugin grant acme /);
    const socketError = await errorOf(openSocket(broker, "ws://rebind.example.com/"));
    expect([socketError.message, socketError.hint]).toEqual([error.message, error.hint]);
  }
});

test("G14 a granted public name that leads inwards is refused to an agent's program too", async (context) => {
  await needsWall(context, "bubblewrap");
  const inner = await serve((_request, response) => response.end("CANARY"));
  const place = `rebind.example.com:${inner.port}`;
  const { broker } = await makeBroker({ permissions: { run: [anyShell] }, containPrograms: true, programNet: [place] });
  resolver.mockResolvedValue(answer("127.0.0.1"));
  for (const tunnel of ["", "-p"]) {
    const script = `curl -s -m 5 -i ${tunnel} -x "$HTTP_PROXY" --noproxy "" http://${place}/`;
    const text = await readAll(broker, (await runShell(broker, script)).stdout);
    expect(text).toContain("HTTP/1.1 403");
    expect(text).not.toContain("CANARY");
  }
  expect(inner.requests).toEqual([]);
  // The same name is reached where it leads to a place that is granted by its address.
  const granted = [place, `127.0.0.1:${inner.port}`];
  const free = await makeBroker({ permissions: { run: [anyShell] }, containPrograms: true, programNet: granted });
  const script = `curl -s -m 5 -x "$HTTP_PROXY" --noproxy "" http://${place}/`;
  expect(await readAll(free.broker, (await runShell(free.broker, script)).stdout)).toBe("CANARY");
});

test("G14 one inner address among public ones is enough to refuse them all", async () => {
  const { broker } = await makeBroker({ permissions: { net: ["mixed.example.com:80"] } });
  resolver.mockResolvedValue(answer("93.184.216.34", "127.0.0.1", "2606:4700::1111"));
  expect(await codeOf(broker.call("fetch", { url: "http://mixed.example.com/", options: {} }))).toBe(
    "permission_denied",
  );
});

test("G15 the address that was checked is the one that is connected to, though the name leads elsewhere by then", async () => {
  const server = await serve((_request, response) => response.end("the checked one"));
  const permissions = { net: [`rebind.example.com:${server.port}`, `127.0.0.1:${server.port}`] };
  const { broker } = await makeBroker({ permissions });
  resolver.mockResolvedValueOnce(answer("127.0.0.1")).mockResolvedValue(answer("127.0.0.99"));
  const url = `http://rebind.example.com:${server.port}/`;
  const response = await broker.call("fetch", { url, options: {} }) as { status: number };
  expect(response.status).toBe(200);
  expect(resolver).toHaveBeenCalledTimes(1);
  expect(server.requests[0]?.headers.host).toBe(`rebind.example.com:${server.port}`);
});

test("G15 a WebSocket is connected to the address that was checked, though the name leads elsewhere by then", async () => {
  const server = await serveSockets({ talk: (socket) => socket.send("the checked one") });
  const port = Number(server.target.split(":")[1]);
  const permissions = { net: [`rebind.example.com:${port}`, server.target] };
  const { broker } = await makeBroker({ permissions });
  resolver.mockResolvedValueOnce(answer("127.0.0.1")).mockResolvedValue(answer("127.0.0.99"));
  const { socket_id } = await openSocket(broker, `ws://rebind.example.com:${port}/`) as { socket_id: number };
  expect(await broker.call("socket_read", { socket_id })).toEqual(["the checked one"]);
  expect(resolver).toHaveBeenCalledTimes(1);
  expect(server.requests[0]?.headers.host).toBe(`rebind.example.com:${port}`);
});

test("G15 a connection is pinned below the name: nothing is looked up when it is made", async () => {
  const server = await serve((_request, response) => response.end("x"));
  const signal = new AbortController().signal;
  const options = { method: "GET", headers: {}, body: null, addresses: ["127.0.0.1"], maxBytes: 10, signal };
  expect((await sendRequest(new URL(`http://anything.example:${server.port}/`), options)).status).toBe(200);
  expect(resolver).not.toHaveBeenCalled();
});

test("G16 each hop of a redirect is looked up and classified anew", async () => {
  const server = await serve((_request, response) => {
    response.writeHead(302, { location: "http://inner.example.com/" }).end();
  });
  const { broker } = await makeBroker({ permissions: { net: [`127.0.0.1:${server.port}`, "inner.example.com:80"] } });
  resolver.mockImplementation((host: string) =>
    Promise.resolve(answer(host === "127.0.0.1" ? "127.0.0.1" : "10.0.0.7"))
  );
  const error = await errorOf(broker.call("fetch", { url: `http://127.0.0.1:${server.port}/`, options: {} }));
  expect(error.code).toBe("permission_denied");
  expect(error.message).toContain("10.0.0.7");
});

test("H4 look-ups that hang hold one place of a plugin and two of all, so that file calls of the host go on", async () => {
  let answerAll = () => {};
  const silent = new Promise<never>((_resolve, reject) => (answerAll = () => reject(new Error("no answer"))));
  resolver.mockReturnValue(silent);
  const permissions = { net: ["slow.example.com:80"], read: ["workdir"] };
  const plugins = await Promise.all([1, 2, 3].map(() => makeBroker({ permissions })));
  const asking = plugins.flatMap(({ broker }) =>
    Array.from({ length: 10 }, () => codeOf(broker.call("fetch", { url: "http://slow.example.com/", options: {} })))
  );
  await writeFile(join(plugins[0]!.workdir, "a"), "read meanwhile");
  expect(await plugins[0]!.broker.call("fs_read_text", { path: "a" })).toBe("read meanwhile");
  expect(resolver.mock.calls.length).toBeLessThanOrEqual(2);
  answerAll();
  expect(new Set(await Promise.all(asking))).toEqual(new Set(["network_error"]));
});

test(
  "G24 an edited host manifest gives nothing until it is read again, and a broken one gives nothing at all",
  async () => {
    const base = await openHost();
    const file = join(base.root, "bulkhead.yaml");
    const text = (grant: string) =>
      `bulkhead: 1\nplugins:\n  acme: { enabled: true, source: ./packages/acme, grant: ${grant} }\n`;
    await writePlugin(join(base.root, "packages", "acme"), "acme", {
      code: adapterCode(`
      const said = await ctx.fs.list(".").then(() => "done", (error) => error.code);
      yield { type: "progress", message: said };
      yield ${completed};`),
      manifest: 'permissions: { read: [workdir], net: ["example.com:443"] }',
    });
    await writeFile(file, text("{ read: [] }"));
    const manifest = await loadHostManifest({ config: file, from: base.root });
    const { host, run } = await openHost({ root: base.root, ...(manifest ? { manifest } : {}) });
    const said = async () =>
      (await run("acme")).events.flatMap(({ event }) => (event.type === "progress" ? [event.message] : []));
    expect(await said()).toEqual(["permission_denied"]);
    await writeFile(file, text("{ read: [workdir] }"));
    expect(await said()).toEqual(["permission_denied"]);
    // Half of an edit: no list is dropped. A file that cannot be read is refused, and an entry that is wrong is left out whole.
    await writeFile(file, text("{ read: [workdir"));
    await expect(loadHostManifest({ config: file, from: base.root })).rejects.toMatchObject({ code: "invalid_config" });
    for (const wrong of ["{ read: workdir }", "{ reads: [workdir] }", '{ net: ["*"] }']) {
      await writeFile(file, text(wrong));
      const found = await loadHostManifest({ config: file, from: base.root });
      expect(found?.plugins).toEqual({});
      expect(found?.left_out).toMatchObject({ acme: { code: "invalid_config" } });
    }
    expect(host.registry.get("acme")?.grant).toEqual({ read: [] });
    expect(await said()).toEqual(["permission_denied"]);
    await host.reload((await loadHostManifest({ config: file, from: base.root }))!);
    expect(host.registry.get("acme")).toBeUndefined();
  },
  30_000,
);
