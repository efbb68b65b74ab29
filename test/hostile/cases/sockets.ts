import type { ErrorCode } from "../../../plugin-sdk/errors.ts";
import { type LoopbackAnswer, startLoopback } from "../../../core/ground/platform/net/loopback-server.ts";
import { startLoopbackSockets } from "../../../core/ground/platform/net/loopback-sockets.ts";
import { sleep } from "../../../core/ground/platform/engine/wait.ts";
import type { AttackCase, AttackStage } from "../../../core/kit/attack/attack-case.ts";
import { refusedTries, type Try } from "./refused-tries.ts";

const invalid: ErrorCode[] = ["invalid_request"];

/** Corpus group G, network, by WebSockets: the walls of requests hold for them as well. */
export const socketCases: readonly AttackCase[] = [
  refusedTries({
    id: "G13",
    name: "sockets-not-granted",
    attack: "Opens WebSockets to hosts and ports that are not granted, and to a granted name that leads inwards.",
    stage: async () => {
      const victim = await startVictim();
      return { ...victim, permissions: { net: [`127.0.0.1:${victim.port + 1}`, `*.sub.localhost:${victim.port}`] } };
    },
    tries: [
      "await ctx.connect(`ws://127.0.0.1:${stage.victim}/`)",
      "await ctx.connect(`wss://127.0.0.1:${stage.victim}/`)",
      "await ctx.connect(`ws://localhost:${stage.victim}/`)",
      "await ctx.connect(`ws://[::ffff:127.0.0.1]:${stage.victim}/`)",
      "await ctx.connect('ws://169.254.169.254/latest/meta-data/')",
      "await ctx.connect('wss://secret.attacker.example/')",
      {
        act: "await ctx.connect(`ws://a.sub.localhost:${stage.victim}/`)",
        codes: ["permission_denied", "network_error"],
      },
    ],
  }),
  refusedTries({
    id: "G16",
    name: "socket-redirects",
    attack: "A granted host answers the opening of a WebSocket with a redirect to what is not granted.",
    stage: () => serveGranted((victim) => ({ status: 302, headers: { location: `http://127.0.0.1:${victim}/` } })),
    tries: [
      { act: "await ctx.connect(stage.granted)", codes: ["network_error"] },
      { act: "await ctx.connect(stage.granted, { headers: { authorization: 'x' } })", codes: ["network_error"] },
    ],
  }),
  refusedTries({
    id: "G19",
    name: "socket-headers",
    attack: "Smuggles a request, a route or another handshake in the headers of a WebSocket's opening.",
    stage: serveTalking,
    tries: [
      ["Host", "victim"],
      ["Connection", "close"],
      ["Upgrade", "h2c"],
      ["Sec-WebSocket-Key", "x"],
      ["Sec-WebSocket-Extensions", "permessage-deflate"],
      ["Origin", "http://127.0.0.1"],
      ["Cookie", "a=b"],
      ["Proxy-Authorization", "Basic x"],
      ["a", "b\r\nHost: victim"],
    ].map(([name = "", value]): Try => ({
      act: `await ctx.connect(stage.granted, { headers: ${JSON.stringify({ [name]: value })} })`,
      codes: invalid,
    })),
  }),
  refusedTries({
    id: "G22",
    name: "silent-socket-host",
    attack: "Waits for a host that never completes the opening of a WebSocket.",
    limits: { call_timeout_ms: 700, timeout_ms: 15_000 },
    stage: () => serveGranted(() => null),
    tries: [{ act: "await ctx.connect(stage.granted)", codes: ["network_error", "timeout"] }],
  }),
  refusedTries({
    id: "G22",
    name: "socket-messages",
    attack: "Takes in messages that are too large, no text, or nothing but pings, and sends too large ones.",
    limits: { socket_message_bytes: 64 * 1024, timeout_ms: 15_000 },
    stage: serveTalking,
    prepare: `
    const taken = async (path) => { for await (const _ of (await ctx.connect(stage.granted + path)).messages); };
    const sent = async (text) => await (await ctx.connect(stage.granted + "/echo")).send(text);`,
    tries: [
      { act: "await taken('/large')", codes: ["too_large"] },
      { act: "await taken('/binary')", codes: ["unsupported"] },
      { act: "await taken('/pings')", codes: ["network_error"] },
      { act: "await sent('x'.repeat(65537))", codes: ["too_large"] },
    ],
  }),
  refusedTries({
    id: "G22",
    name: "open-sockets",
    attack: "Opens WebSockets until the host has no socket left, and leaves them open at its end.",
    limits: { timeout_ms: 15_000 },
    stage: serveTalking,
    prepare: "const held = [];",
    tries: [
      {
        act: "(async () => { for (let n = 0; n < 200; n++) held.push(await ctx.connect(stage.granted)); })()",
        codes: ["limit_exceeded"],
      },
      {
        act: "Promise.all(Array.from({ length: 200 }, () => ctx.connect(stage.granted)))",
        codes: ["limit_exceeded"],
      },
    ],
  }),
];

/** A server of WebSockets that is granted and says what its path asks for; none of them may outlive the session. */
async function serveTalking(): Promise<AttackStage> {
  const server = await startLoopbackSockets(({ path, send, ping }) => {
    if (path === "/large") send("x".repeat(64 * 1024 + 1));
    if (path === "/binary") send(new Uint8Array(8));
    if (path === "/pings") { for (let n = 0; n < 10_000; n++) ping(); }
  });
  return {
    params: { granted: `ws://127.0.0.1:${server.port}` },
    permissions: { net: [`127.0.0.1:${server.port}`] },
    async reached() {
      // The far end hears of it a moment later.
      for (let round = 0; round < 100 && server.open() > 0; round++) await sleep(20);
      return server.open() > 0 ? `${server.open()} WebSockets are open after the session.` : null;
    },
    close: () => server.close(),
  };
}

/** A server that no plugin may reach. */
async function startVictim(): Promise<AttackStage & { port: number }> {
  const victim = await startLoopback(() => ({ body: "BREACH: a host that was not granted" }));
  return {
    port: victim.port,
    params: { victim: String(victim.port) },
    reached: () => victim.requests.length > 0 ? `A request reached ${victim.requests[0]?.path}.` : null,
    close: () => victim.close(),
  };
}

/** A server that is granted and knows requests only, and one beside it that no plugin may reach. */
async function serveGranted(answer: (victim: number) => LoopbackAnswer | null): Promise<AttackStage> {
  const victim = await startVictim();
  const granted = await startLoopback(() => answer(victim.port));
  return {
    params: { ...victim.params, granted: `ws://127.0.0.1:${granted.port}` },
    permissions: { net: [`127.0.0.1:${granted.port}`] },
    reached: () => victim.reached?.() ?? null,
    close: async () => void await Promise.all([granted.close(), victim.close?.()]),
  };
}
