import { readFile, stat } from "node:fs/promises";
import { createServer } from "node:http";
import { routes } from "../../../core/doors/http/routes/all.ts";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { errorCodes } from "../../../plugin-sdk/errors.ts";
import { hmacSha256Hex, sha256Hex } from "../../../core/ground/platform/files/hash.ts";
import { startHttpServer } from "../../../core/ground/platform/net/http-server.ts";
import { unixFetch } from "../../../core/ground/platform/net/unix-fetch.ts";
import { connectHost } from "../../../core/doors/client/mod.ts";
import { type OpenDoor, openDoor } from "./door-fixture.ts";
import { sendRaw } from "./raw-http.ts";

const request = { workdir: "/project", prompt: "Fix it" };

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

function start(door: OpenDoor, token: string, body: unknown = request, headers: Record<string, string> = {}) {
  return fetch(`${door.url}/v1/sessions`, {
    method: "POST",
    headers: { ...bearer(token), "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

/** Expects a problem document with the code, and without anything of the host's inside. */
async function expectProblem(response: Response, status: number, code: string): Promise<Record<string, unknown>> {
  const problem = await response.json() as Record<string, unknown>;
  expect(problem).toMatchObject({ type: `urn:bulkhead:error:${code}`, status, code });
  expect(response.status).toBe(status);
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  expect(JSON.stringify(problem)).not.toMatch(/\.ts:\d|\.js:\d|node_modules| {4}at /);
  return problem;
}

describe("J1 no auth", () => {
  test.each(["/v1/sessions", "/v1/events", "/v1/agents", "/v1/plugins", "/metrics", "/v1/openapi.json", "/nowhere"])(
    "%s over TCP wants a token",
    async (path) => {
      const { url } = await openDoor();
      const response = await fetch(url + path);
      await expectProblem(response, 401, "unauthorized");
      expect(response.headers.get("www-authenticate")).toMatch(/^Bearer/);
    },
  );

  test("health and readiness need none, and tell nothing else", async () => {
    const { url, facts } = await openDoor();
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: "ok", program: "bulkhead" });
    expect(await (await fetch(`${url}/ready`)).json()).toEqual({ ready: true });
    facts.state = { ready: false, reason: "it is stopping" };
    await expectProblem(await fetch(`${url}/ready`), 503, "unavailable");
  });

  test("a token has 256 random bits, its file is its owner's, and only its hash is kept", async () => {
    const { tokens, folder } = await openDoor();
    const { file, token } = await tokens.first();
    expect(token).toMatch(/^bh_[0-9a-f]{32}_[\w-]{43}$/);
    for (const one of [file, join(folder, "http", "tokens.json")]) expect((await stat(one)).mode & 0o077).toBe(0);
    expect((await stat(join(folder, "http"))).mode & 0o077).toBe(0);
    const kept = await readFile(join(folder, "http", "tokens.json"), "utf8");
    expect(kept).not.toContain(token.slice("bh_".length + 32 + "_".length));
    expect((await tokens.first()).token).toBe(token);
  });

  test("a revoked and an expired token open nothing, at once", async () => {
    const { url, tokens } = await openDoor();
    const { token, record } = await tokens.create({ name: "brief", scopes: ["read"] });
    expect((await fetch(`${url}/v1/agents`, { headers: bearer(token) })).status).toBe(200);
    await tokens.revoke(record.id);
    await expectProblem(await fetch(`${url}/v1/agents`, { headers: bearer(token) }), 401, "unauthorized");
    const late = await tokens.create({ name: "late", scopes: ["read"], expires_at: "2020-01-01T00:00:00Z" });
    await expectProblem(await fetch(`${url}/v1/agents`, { headers: bearer(late.token) }), 401, "unauthorized");
  });

  test.each(["quiet", "busy"])("a %s stream ends within a second of its token", async (kind) => {
    const door = await openDoor();
    const { token, record } = await door.tokens.create({ name: "brief", scopes: ["read"] });
    const { id } = await (await door.client()).start(request);
    const response = await fetch(`${door.url}/v1/events`, { headers: bearer(token) });
    let ended = false;
    const talk = (async () => {
      while (!ended) {
        if (kind === "busy") await door.sessions.say(id, "on and on");
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    })();
    await door.tokens.revoke(record.id);
    const soon = new Promise<string>((resolve) => setTimeout(() => resolve("goes on"), 1000));
    const how = await Promise.race([response.text().then(() => "ended"), soon]);
    ended = true;
    expect(how).toBe("ended");
    await talk;
  });
});

describe("J2 permissive CORS", () => {
  test("no answer opens the API to another origin, nor answers what a browser asks first", async () => {
    const door = await openDoor();
    const token = await door.token("admin");
    const preflight = await fetch(`${door.url}/v1/sessions`, {
      method: "OPTIONS",
      headers: { origin: "https://evil.example", "access-control-request-method": "POST" },
    });
    const answers = [preflight, await fetch(`${door.url}/v1/agents`, { headers: bearer(token) })];
    for (const { headers } of answers) {
      expect([...headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
    }
    await expectProblem(preflight, 403, "forbidden");
  });
});

describe("J3 DNS rebinding", () => {
  const hosts = [
    "evil.example",
    "evil.example:PORT",
    "127.0.0.1:1",
    "127.0.0.1",
    "127.0.0.1.nip.io:PORT",
    "0.0.0.0:PORT",
    "[::1]:PORT",
    "localhost:PORT.evil.example",
    "127.0.0.1:PORT, evil.example",
    "user@127.0.0.1:PORT",
    "",
  ];
  test.each(hosts)("Host %j is refused before anything else", async (host) => {
    const door = await openDoor();
    const token = await door.token("admin");
    const name = host.replace("PORT", String(door.port));
    const answer = await sendRaw({ port: door.port, host: "127.0.0.1" }, [
      `GET /v1/agents HTTP/1.1\r\nHost: ${name}\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`,
    ]);
    expect(answer.status).toBe(403);
    expect(JSON.parse(answer.body)).toMatchObject({ code: "forbidden" });
  });

  test("two Host headers are refused, and the form of a proxy", async () => {
    const door = await openDoor();
    const to = { port: door.port, host: "127.0.0.1" };
    const own = `127.0.0.1:${door.port}`;
    const two = await sendRaw(
      to,
      `GET /health HTTP/1.1\r\nHost: ${own}\r\nHost: evil.example\r\nConnection: close\r\n\r\n`,
    );
    expect(two.status).toBe(403);
    const proxy = await sendRaw(to, `GET http://${own}/health HTTP/1.1\r\nHost: ${own}\r\nConnection: close\r\n\r\n`);
    expect(proxy.status).toBe(400);
  });

  test("both names of the loopback are served", async () => {
    const door = await openDoor();
    for (const name of ["127.0.0.1", "LOCALHOST"]) {
      const to = { port: door.port, host: "127.0.0.1" };
      const answer = await sendRaw(
        to,
        `GET /health HTTP/1.1\r\nHost: ${name}:${door.port}\r\nConnection: close\r\n\r\n`,
      );
      expect(answer.status).toBe(200);
    }
  });
});

describe("J4 CSRF", () => {
  test.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "",
    "application/jsonp",
  ])(
    "a body of type %j is refused",
    async (type) => {
      const door = await openDoor();
      const headers = type === "" ? {} : { "content-type": type };
      const response = await door.local("http://localhost/v1/sessions", {
        method: "POST",
        headers,
        body: JSON.stringify(request),
      });
      await expectProblem(response, 400, "invalid_request");
      expect(await door.sessions.list()).toEqual([]);
    },
  );

  test.each([
    [{ origin: "https://evil.example" }],
    [{ origin: "null" }],
    [{ origin: "http://localhost:1" }],
    [{ "sec-fetch-site": "cross-site" }],
    [{ "sec-fetch-site": "same-site" }],
  ])("a request with %j is refused, with a valid token too", async (headers) => {
    const door = await openDoor();
    const token = await door.token("admin");
    for (const method of ["GET", "POST", "DELETE"]) {
      const answer = await sendRaw({ port: door.port, host: "127.0.0.1" }, [
        `${method} /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1:${door.port}\r\nAuthorization: Bearer ${token}\r\n`,
        ...Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`),
        "Content-Length: 0\r\nConnection: close\r\n\r\n",
      ]);
      expect(answer.status).toBe(403);
    }
  });

  test("a page's own origin is taken, and no page reaches the socket", async () => {
    const door = await openDoor();
    const token = await door.token("read");
    const ask = (to: { port: number } | { path: string }, host: string) =>
      sendRaw(to, [
        `GET /v1/agents HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${door.url}\r\nSec-Fetch-Site: same-origin\r\n`,
        `Authorization: Bearer ${token}\r\nConnection: close\r\n\r\n`,
      ]);
    expect((await ask({ port: door.port }, `127.0.0.1:${door.port}`)).status).toBe(200);
    expect((await ask({ path: door.socket }, "localhost")).status).toBe(403);
  });
});

describe("J5 binding to all", () => {
  test("the socket can be opened by its owner only, and what stands in its place is not removed", async () => {
    const door = await openDoor();
    expect((await stat(door.socket)).mode & 0o777).toBe(0o600);
    const limits = {
      header_bytes: 1024,
      connections: 1,
      header_timeout_ms: 1000,
      request_timeout_ms: 1000,
      stall_timeout_ms: 1,
    };
    const again = (path: string) =>
      startHttpServer({ at: { kind: "unix", path }, limits, answer: async () => new Response() });
    await expect(again(door.socket)).rejects.toMatchObject({ code: "busy" });
    await door.tokens.first();
    const file = join(door.folder, "http", "token");
    await expect(again(file)).rejects.toMatchObject({ code: "io_error" });
    expect(await readFile(file, "utf8")).toMatch(/^bh_/);
    const port = { kind: "tcp", host: "127.0.0.1", port: door.port } as const;
    await expect(startHttpServer({ at: port, limits, answer: async () => new Response() }))
      .rejects.toMatchObject({ code: "busy" });
  });

  test("a port of one address is no port of another", async () => {
    const { port } = await openDoor();
    expect((await sendRaw({ port, host: "127.0.0.2" }, "GET /health HTTP/1.1\r\nHost: a\r\n\r\n")).text).toBe("");
  });
});

describe("the unix socket", () => {
  test("opens nothing to a program that can connect and has no token, as a plugin's process may", async () => {
    const door = await openDoor();
    const connect = unixFetch(door.socket);
    for (const path of ["/v1/sessions", "/v1/agents", "/metrics", "/v1/openapi.json"]) {
      await expectProblem(await connect(`http://localhost${path}`), 401, "unauthorized");
    }
    const grant = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
    await expectProblem(await connect("http://localhost/v1/plugins/x/grants", grant), 401, "unauthorized");
    expect((await connect("http://localhost/health")).status).toBe(200);
  });

  test("a token that takes the operator's name is not the operator's", async () => {
    const door = await openDoor();
    const { token } = await door.tokens.create({ name: "first", scopes: ["read"] });
    const headers = { ...bearer(token), "content-type": "application/json" };
    const reload = await unixFetch(door.socket)("http://localhost/v1/reload", { method: "POST", headers });
    await expectProblem(reload, 403, "forbidden");
  });
});

describe("J6 tokens where they do not belong", () => {
  test("a token in the URL is no token, and no answer or log repeats one", async () => {
    const door = await openDoor();
    const token = await door.token("admin");
    const wrong = `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`;
    const answers = await Promise.all([
      fetch(`${door.url}/v1/agents?token=${token}`),
      fetch(`${door.url}/v1/agents?access_token=${token}`, { headers: bearer(wrong) }),
      fetch(`${door.url}/v1/agents`, { headers: { authorization: `Basic ${btoa(`x:${token}`)}` } }),
      fetch(`${door.url}/v1/agents`, { headers: { cookie: `token=${token}` } }),
    ]);
    for (const answer of answers) {
      expect(answer.status).toBe(401);
      expect(await answer.text()).not.toContain(token.slice(36));
    }
    expect(JSON.stringify(door.logs)).not.toContain(token.slice(36));
    expect(answers[0]!.headers.get("referrer-policy")).toBe("no-referrer");
  });
});

describe("J7 slow requests", () => {
  const limits = { http_header_timeout_ms: 400, http_request_timeout_ms: 800 };
  const to = ({ port }: OpenDoor) => ({ port, host: "127.0.0.1" });

  test("headers that never end cost a connection for the limit only", async () => {
    const door = await openDoor({ limits });
    const answer = await sendRaw(to(door), "GET /health HTTP/1.1\r\nHost: a\r\nX: ");
    expect(answer.closed).toBe(true);
    expect(answer.status).toBe(408);
  });

  test("a body that never ends, and one in pieces without end, too", async () => {
    const door = await openDoor({ limits });
    const head = `POST /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1:${door.port}\r\n` +
      `Authorization: Bearer ${await door.token("run")}\r\nContent-Type: application/json\r\n`;
    const long = await sendRaw(to(door), `${head}Content-Length: 1000\r\n\r\n{`);
    const chunked = await sendRaw(to(door), `${head}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`);
    expect([long.closed, chunked.closed]).toEqual([true, true]);
    expect(await door.sessions.list()).toEqual([]);
  });

  test("a connection that says nothing is closed, and more than the limit are not held", async () => {
    const door = await openDoor({ limits: { ...limits, http_connections: 4 } });
    const all = await Promise.all(Array.from({ length: 8 }, () => sendRaw(to(door), "")));
    expect(all.every(({ closed }) => closed)).toBe(true);
    expect(all.filter(({ ms }) => ms < 300).length).toBeGreaterThanOrEqual(4);
    expect((await fetch(`${door.url}/health`)).status).toBe(200);
  });
});

describe("J8 too much", () => {
  test("a body over the limit is refused by what it says and by what it is", async () => {
    const door = await openDoor({ limits: { http_body_bytes: 10_000 } });
    const token = await door.token("run");
    await expectProblem(await start(door, token, { ...request, prompt: "x".repeat(20_000) }), 413, "too_large");
    const head = `POST /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1:${door.port}\r\nAuthorization: Bearer ${token}\r\n` +
      "Content-Type: application/json\r\nConnection: close\r\n";
    const chunk = `3e8\r\n${" ".repeat(1000)}\r\n`;
    const chunked = await sendRaw({ port: door.port }, [
      `${head}Transfer-Encoding: chunked\r\n\r\n`,
      chunk.repeat(20),
      "0\r\n\r\n",
    ]);
    expect(chunked.status).toBe(413);
  });

  test.each([
    ["deep lists", "[".repeat(100_000)],
    ["deep maps", '{"a":'.repeat(100_000)],
    ["a key __proto__", '{"workdir":"/","prompt":"x","labels":{"__proto__":"x"}}'],
    ["a key \\u005f_proto__", '{"workdir":"/","prompt":"x","labels":{"\\u005f_proto__":"x"}}'],
    ["no JSON", "{workdir}"],
    ["two values", "{}{}"],
    ["nothing", ""],
    ["another type", "[]"],
    ["a huge number", '{"workdir":"/","prompt":"x","max_turns":1e999}'],
    [
      "a thousand unknown keys",
      JSON.stringify(Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`k${i}`, i]))),
    ],
  ])("%s is refused", async (_, body) => {
    const door = await openDoor();
    const headers = { ...bearer(await door.token("run")), "content-type": "application/json" };
    const response = await fetch(`${door.url}/v1/sessions`, { method: "POST", headers, body });
    const problem = await expectProblem(response, 400, "invalid_request");
    expect(JSON.stringify(problem).length).toBeLessThan(8192);
  });

  test("bytes that are no UTF-8, and a packed body, are refused", async () => {
    const door = await openDoor();
    const headers = { ...bearer(await door.token("run")), "content-type": "application/json" };
    const url = `${door.url}/v1/sessions`;
    const bytes = new Uint8Array([0x7b, 0xff, 0x7d]);
    await expectProblem(await fetch(url, { method: "POST", headers, body: bytes }), 400, "invalid_request");
    const packed = { ...headers, "content-encoding": "gzip" };
    await expectProblem(await fetch(url, { method: "POST", headers: packed, body: "{}" }), 400, "invalid_request");
  });

  test("headers that are too large or too many are refused", async () => {
    const { port } = await openDoor();
    const large = await sendRaw(
      { port },
      `GET /health HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX: ${"a".repeat(20_000)}\r\n\r\n`,
    );
    expect(large.status).toBe(431);
    const many = Array.from({ length: 300 }, (_, number) => `X${number}: a\r\n`).join("");
    const answer = await sendRaw(
      { port },
      `GET /health HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n${many}\r\n`,
    );
    expect(answer.status).toBe(431);
    // A title belongs to the kind of problem, whoever finds it (RFC 9457, 3.1.3).
    for (const { body } of [large, answer]) {
      expect(JSON.parse(body)).toMatchObject({ code: "too_large", title: errorCodes.too_large, status: 431 });
    }
  });
});

describe("J9 streams without end", () => {
  test("one token has so many and no more, others theirs, and one that ends makes room", async () => {
    const door = await openDoor({ limits: { http_streams_per_token: 2 } });
    const [one, other] = [await door.token("read"), await door.token("read")];
    const stop = new AbortController();
    const open = (token: string, signal?: AbortSignal) =>
      fetch(`${door.url}/v1/events`, { headers: bearer(token), ...(signal ? { signal } : {}) });
    const held = [await open(one, stop.signal), await open(one)];
    const refused = await open(one);
    await expectProblem(refused, 429, "limit_exceeded");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    const others = await open(other);
    expect(others.status).toBe(200);
    stop.abort();
    await expect.poll(async () => {
      const again = await open(one);
      await again.body?.cancel();
      return again.status;
    }, { timeout: 10_000 }).toBe(200);
    await Promise.all([held[1]!.body?.cancel(), others.body?.cancel()]);
  });

  test("the operator's streams leave room for another token's", async () => {
    const door = await openDoor({ limits: { http_streams: 3, http_streams_per_token: 1 } });
    const url = "http://localhost/v1/events";
    const held = [await door.local(url), await door.local(url)];
    await expectProblem(await door.local(url), 429, "limit_exceeded");
    const other = await fetch(`${door.url}/v1/events`, { headers: bearer(await door.token("read")) });
    expect(other.status).toBe(200);
    await Promise.all([...held, other].map(({ body }) => body?.cancel()));
  });

  test("all together have so many and no more", async () => {
    const door = await openDoor({ limits: { http_streams: 1 } });
    const fetchLocal = door.local;
    const held = await fetchLocal("http://localhost/v1/events");
    await expectProblem(await fetchLocal("http://localhost/v1/events"), 429, "limit_exceeded");
    await held.body?.cancel();
  });
});

describe("J10 files by path", () => {
  test.each([
    "/..%2f..%2fetc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/v1/../../etc/passwd",
    "/v1/sessions/..%2f..%2fetc",
    "/%00",
    "/v1/\\..\\",
    "//etc/passwd",
    "/v1/sessions/%2e%2e%2f",
    "/v1/sessions/%252e%252e",
    "/v1/sessions/%ff",
    "/v1/sessions/%",
    "/v1/plugins/..%2f",
  ])(
    "%s finds no file: there is none to find",
    async (path) => {
      const door = await openDoor();
      const answer = await sendRaw(
        { path: door.socket },
        `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${await door.bearer()}Connection: close\r\n\r\n`,
      );
      expect(answer.status).toBe(404);
      expect(JSON.parse(answer.body)).toMatchObject({ code: "not_found" });
    },
  );
});

test("the path / says in a few lines what this is, to anybody and in plain text", async () => {
  const door = await openDoor();
  const answer = await sendRaw(
    { path: door.socket },
    "GET /\\..\\ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
  );
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  expect(answer.body).toMatch(/^This is Bulkhead/);
});

describe("J11 lines in events", () => {
  test("what an agent says cannot make an event, an id or a field", async () => {
    const door = await openDoor();
    const host = await door.client();
    const session = await host.start(request);
    const texts = [
      "a\n\ndata: {}\n\nid: 99\n",
      "\r\nevent: x\r\r",
      "\u2028\u2029\u0085",
      "\ufeffid: 7",
      "\0",
      "\ud800",
    ];
    await door.sessions.say(session.id, ...texts);
    await door.sessions.end(session.id);
    const response = await door.local(`http://localhost/v1/sessions/${session.id}/events`);
    const text = await response.text();
    const frames = text.split("\n\n").slice(0, -1);
    expect(frames.map((frame) => /^id: (\d+)\ndata: (\{[^\n]*\})$/.exec(frame)?.[1])).toEqual(
      Array.from({ length: texts.length + 2 }, (_, at) => String(at + 1)),
    );
    expect(text).not.toContain("\r");
    const said = frames.map((frame) => JSON.parse(frame.slice(frame.indexOf("{"))).event.data).filter(Boolean);
    expect(said).toEqual(texts);
  });
});

describe("J12 other people's sessions", () => {
  test("a token that only runs sees its own sessions; the others are not there", async () => {
    const door = await openDoor();
    const [mine, theirs, reader] = [await door.token("run"), await door.token("run"), await door.token("read")];
    const { session_id: id } = await (await start(door, mine)).json() as { session_id: string };
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    const one = "/v1/sessions/{id}";
    const roads = routes.filter(({ path }) => path.startsWith(one)).map((road) => ({
      ...road,
      path: road.path.slice(one.length),
    }));
    expect(roads.length).toBeGreaterThan(7);
    const bodies: Record<string, string> = {
      "/continue": '{"prompt":"more"}',
      "/rerun": "{}",
      "/held": '{"action":"drop"}',
    };
    for (const { method, path } of roads) {
      const send = (token: string, session: string) =>
        fetch(`${door.url}/v1/sessions/${session}${path}${path === "/find" ? "?text=word" : ""}`, {
          method,
          headers: { ...bearer(token), "content-type": "application/json" },
          ...(method === "POST" ? { body: bodies[path] ?? '{"request_id":"r","choice":"c"}' } : {}),
        });
      const other = await expectProblem(await send(theirs, id), 404, "not_found");
      const none = await expectProblem(await send(theirs, "f".repeat(32)), 404, "not_found");
      expect({ ...other, detail: "" }).toEqual({ ...none, detail: "" });
    }
    const list = async (token: string) => {
      const { sessions } = await (await fetch(`${door.url}/v1/sessions`, { headers: bearer(token) })).json() as {
        sessions: unknown[];
      };
      return sessions.length;
    };
    expect([await list(mine), await list(theirs), await list(reader)]).toEqual([1, 0, 1]);
    expect((await fetch(`${door.url}/v1/sessions?before=${id}`, { headers: bearer(theirs) })).status).toBe(404);
  });

  test("who only reads cannot act, and who runs cannot act on what it only sees", async () => {
    const door = await openDoor();
    const [mine, reader, both] = [await door.token("run"), await door.token("read"), await door.token("read", "run")];
    const { session_id: id } = await (await start(door, mine)).json() as { session_id: string };
    const stop = (token: string) =>
      fetch(`${door.url}/v1/sessions/${id}/interrupt`, { method: "POST", headers: bearer(token) });
    await expectProblem(await start(door, reader), 403, "forbidden");
    await expectProblem(await stop(reader), 403, "forbidden");
    await expectProblem(await stop(both), 403, "forbidden");
    await expectProblem(
      await fetch(`${door.url}/v1/plugins/memory/grants`, { headers: bearer(both) }),
      403,
      "forbidden",
    );
    await expectProblem(await fetch(`${door.url}/metrics`, { headers: bearer(mine) }), 403, "forbidden");
    const metrics = await fetch(`${door.url}/metrics`, { headers: bearer(reader) });
    expect(metrics.headers.get("content-type")).toContain("text/plain; version=0.0.4");
    expect(await metrics.text()).toMatch(/^# TYPE bulkhead_sessions counter$[^]*^bulkhead_http_streams 0$/m);
    expect((await stop(await door.token("admin"))).status).toBe(202);
  });

  test("the merged stream of a token that only runs holds its own sessions' events", async () => {
    const door = await openDoor();
    const [mine, theirs] = [await door.client("run"), await door.client("run")];
    const stop = new AbortController();
    const seen: string[] = [];
    const reading = (async () => {
      for await (const { session_id, event } of mine.events({ after: 0, signal: stop.signal })) {
        seen.push(session_id);
        if (event.type === "session_ended") stop.abort();
      }
    })();
    const hidden = await theirs.start(request);
    const shown = await mine.start(request);
    await door.sessions.say(hidden.id, "secret");
    await door.sessions.end(shown.id);
    await reading;
    expect(new Set(seen)).toEqual(new Set([shown.id]));
  });

  test("the same idempotency key of two tokens is two sessions", async () => {
    const door = await openDoor();
    const keyed = { ...request, idempotency_key: "k" };
    const ids = [];
    for (const token of [await door.token("run"), await door.token("run")]) {
      ids.push((await (await start(door, token, keyed)).json() as { session_id: string }).session_id);
    }
    expect(new Set(ids).size).toBe(2);
  });
});

describe("J13 a browser that shows an answer", () => {
  test("is told to take none for a page", async () => {
    const door = await openDoor();
    for (const path of ["/health", "/v1/nothing", "/v1/events"]) {
      const response = await door.local(`http://localhost${path}`);
      expect(response.headers.get("content-security-policy")).toMatch(/^default-src 'none'/);
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("cache-control")).toBe("no-store");
      expect(response.headers.get("content-type")).not.toMatch(/html/);
      await response.body?.cancel();
    }
  });
});

describe("J14 WebSocket", () => {
  test("there is none: an upgrade is answered as the request that it is", async () => {
    const door = await openDoor();
    const answer = await sendRaw({ path: door.socket }, [
      "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n",
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: https://evil.example\r\n\r\n",
    ], { quietMs: 500 });
    expect(answer.status).toBe(403);
  });
});

describe("J15 requests that two parsers read differently", () => {
  const next = "GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\n\r\n";
  test.each([
    [
      "two lengths",
      `POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcd${next}`,
    ],
    [
      "length and chunks",
      `POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${next}`,
    ],
    ["an unknown coding", `POST /health HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n${next}`],
    ["a folded header", `GET /health HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n${next}`],
    ["a bare line feed", `GET /health HTTP/1.1\nHost: localhost\n\n${next}`],
    ["HTTP/2", `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`],
    ["TLS", "\x16\x03\x01\x02\x00\x01\x00"],
    ["a method of its own", `GARBAGE /health HTTP/1.1\r\nHost: localhost\r\n\r\n`],
    ["a space in a name", `GET /health HTTP/1.1\r\nHost : localhost\r\n\r\n`],
    ["no host", `GET /health HTTP/1.1\r\n\r\n`],
    [
      "a chunk with a lie",
      `POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n${next}`,
    ],
  ])("%s: one refusal, and the connection ends", async (_, text) => {
    const door = await openDoor();
    const answer = await sendRaw({ path: door.socket }, text, { quietMs: 5000 });
    expect(answer.text.split("HTTP/1.1 ").length - 1).toBeLessThanOrEqual(1);
    expect(answer.text).not.toMatch(/HTTP\/1\.1 2/);
    expect(answer.text).not.toContain('"sessions"');
  });

  test("CONNECT and TRACE are not served", async () => {
    const door = await openDoor();
    const connected = await sendRaw({ path: door.socket }, "CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect(connected.text).toBe("");
    const traced = await sendRaw(
      { path: door.socket },
      "TRACE / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    );
    expect(traced.status).toBe(400);
  });
});

describe("J15 what is no request, behind one whose answer is under way", () => {
  test("ends the connection, and is no part of that answer", async () => {
    const door = await openDoor();
    const socket = connect({ path: door.socket });
    let text = "";
    socket.setEncoding("utf8").on("data", (piece: string) => {
      if (text === "") socket.write("GARBAGE\r\n\r\n");
      text += piece;
    });
    socket.write(`GET /v1/events HTTP/1.1\r\nHost: localhost\r\n${await door.bearer()}\r\n`);
    await new Promise((resolve) => socket.once("close", resolve));
    expect(text.split("HTTP/1.1 ")).toEqual(["", expect.stringMatching(/^200 OK/)]);
  });
});

describe("J16 another program at the port", () => {
  test("a client shows its token only to a server that knows it", async () => {
    const door = await openDoor();
    const token = await door.token("run");
    const seen: string[] = [];
    const limits = {
      header_bytes: 16_384,
      connections: 10,
      header_timeout_ms: 5000,
      request_timeout_ms: 5000,
      stall_timeout_ms: 5000,
    };
    const squatter = await startHttpServer({
      at: { kind: "tcp", host: "127.0.0.1", port: 0 },
      limits,
      async answer({ url, headers }) {
        seen.push(JSON.stringify([...headers]));
        // It asks the real host to prove itself, as itself and in the client's name.
        const { pathname, search } = new URL(url);
        return await fetch(`${door.url}${pathname}${search}`);
      },
    });
    const port = squatter.at.kind === "tcp" ? squatter.at.port : 0;
    const client = connectHost({ url: `http://127.0.0.1:${port}`, token, patienceMs: 0 });
    await expect(client.list()).rejects.toMatchObject({ name: "ClientError", code: "forbidden" });
    await squatter.close();
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.join()).not.toContain(token);
  });

  test("a client that was served once shows its token to nobody who has the port since", async () => {
    const door = await openDoor();
    const token = await door.token("read");
    const client = connectHost({ url: door.url, token, patienceMs: 0 });
    expect(await client.list()).toEqual([]);
    await door.servers[0]!.close();
    const seen: string[] = [];
    const squatter = createServer((request, response) => {
      seen.push(`${request.url} ${request.headers.authorization}`);
      response.writeHead(404).end("{}");
    });
    await new Promise<void>((resolve) => squatter.listen(door.port, "127.0.0.1", resolve));
    // Of the server that is gone an open connection may still be left.
    await expect.poll(() => client.list().catch(({ code }) => code)).toBe("unauthorized");
    squatter.closeAllConnections();
    await new Promise((resolve) => squatter.close(resolve));
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.join()).not.toContain(token);
  });

  test("a server proves itself at no address that another program may have, and signs no forwarded port", async () => {
    const door = await openDoor();
    const token = await door.token("run");
    const path = `/v1/proof?token_id=${token.split("_")[1]}&nonce=${"ab".repeat(32)}`;
    for (const host of [`localhost:${door.port}`, `127.0.0.1:${door.port + 1}`, `[::1]:${door.port}`]) {
      const answer = await sendRaw(
        { port: door.port, host: "127.0.0.1" },
        `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nSec-Fetch-Site: same-origin\r\nConnection: close\r\n\r\n`,
      );
      expect([host, answer.status]).toEqual([host, 403]);
    }
    // A client that is told "localhost" goes where the host listens, and nowhere else.
    const client = connectHost({ url: `http://localhost:${door.port}`, token, patienceMs: 0 });
    expect(await client.list()).toEqual([]);
  });

  test("a forwarded port serves a browser, and a program only where the operator named the address", async () => {
    const door = await openDoor({ addresses: ["127.0.0.1:8000"] });
    const token = await door.token("read");
    const ask = async (host: string, more: string) =>
      (await sendRaw(
        { port: door.port, host: "127.0.0.1" },
        `GET /v1/agents HTTP/1.1\r\nHost: ${host}\r\n${more}Authorization: Bearer ${token}\r\nConnection: close\r\n\r\n`,
      )).status;
    const page = "Sec-Fetch-Site: same-origin\r\n";
    expect(await ask("127.0.0.1:9000", page)).toBe(200);
    expect(await ask("localhost:9000", `${page}Origin: http://localhost:9000\r\n`)).toBe(200);
    expect(await ask("127.0.0.1:9000", "")).toBe(403);
    expect(await ask("127.0.0.1:9000", `${page}Origin: http://127.0.0.1:${door.port}\r\n`)).toBe(403);
    expect(await ask("127.0.0.1:9000", "Sec-Fetch-Site: same-site\r\n")).toBe(403);
    expect(await ask("evil.example:9000", page)).toBe(403);
    expect(await ask("127.0.0.1:8000", "")).toBe(200);
    const id = token.split("_")[1];
    const proof = await sendRaw(
      { port: door.port, host: "127.0.0.1" },
      `GET /v1/proof?token_id=${id}&nonce=${
        "ab".repeat(32)
      } HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nConnection: close\r\n\r\n`,
    );
    expect(proof.status).toBe(200);
  });

  test("the proof is of this server's address, this token and this nonce", async () => {
    const door = await openDoor();
    const token = await door.token("run");
    const id = token.split("_")[1];
    const nonce = "ab".repeat(32);
    const { proof } = await (await fetch(`${door.url}/v1/proof?token_id=${id}&nonce=${nonce}`)).json() as {
      proof: string;
    };
    expect(proof).toBe(hmacSha256Hex(sha256Hex(token), `127.0.0.1:${door.port}\n${nonce}`));
    await expectProblem(
      await fetch(`${door.url}/v1/proof?token_id=${"0".repeat(32)}&nonce=${nonce}`),
      404,
      "not_found",
    );
    await expectProblem(await fetch(`${door.url}/v1/proof?token_id=${id}&nonce=x`), 400, "invalid_request");
  });
});

describe("J17 talkative errors", () => {
  test("a defect is told as one, without its text, and logged", async () => {
    const door = await openDoor();
    door.sessions.startError = new TypeError("secret at /home/someone/host.ts:1:1");
    const response = await start(door, await door.token("run"));
    expect(JSON.stringify(await expectProblem(response, 500, "internal"))).not.toContain("secret");
    expect(door.logs).toMatchObject([{ level: "error", message: expect.stringContaining("secret") }]);
  });
});

describe("J18 guessing and flooding", () => {
  test("an address that guesses is slowed down, and a valid token is served all the same", async () => {
    const door = await openDoor({ limits: { http_refusals_per_second: 3 } });
    const token = await door.token("read");
    const guesses = [];
    for (let guess = 0; guess < 12; guess++) {
      guesses.push(await fetch(`${door.url}/v1/agents`, { headers: bearer(`bh_${"0".repeat(32)}_${guess}`) }));
    }
    const limited = guesses.filter(({ status }) => status === 429);
    expect(limited.length).toBeGreaterThan(4);
    expect(Number(limited[0]!.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await fetch(`${door.url}/v1/agents`, { headers: bearer(token) })).status).toBe(200);
  });

  test("a token that floods is told when to come again, and others are served", async () => {
    const door = await openDoor({ limits: { http_requests_per_second: 5 } });
    const [flooding, quiet] = [await door.token("read"), await door.token("read")];
    const ask = (token: string) => fetch(`${door.url}/v1/agents`, { headers: bearer(token) });
    const answers = await Promise.all(Array.from({ length: 40 }, () => ask(flooding)));
    const limited = answers.filter(({ status }) => status === 429);
    expect(limited.length).toBeGreaterThan(20);
    expect(Number(limited[0]!.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await ask(quiet)).status).toBe(200);
    await expect.poll(async () => (await ask(flooding)).status, { timeout: 10_000 }).toBe(200);
  });
});

describe("D21 and H12 a stream that nobody reads", () => {
  test("is closed, costs the others nothing, and is taken up where it was", async () => {
    const door = await openDoor({ limits: { http_stall_timeout_ms: 500 } });
    const host = await door.client();
    const session = await host.start(request);
    const path = `/v1/sessions/${session.id}/events`;
    const slow = connect(door.socket);
    slow.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${await door.bearer()}\r\n`);
    slow.pause();
    const closed = new Promise((resolve) => slow.on("close", resolve));
    slow.on("error", () => {});
    const piece = "x".repeat(50_000);
    const reading = (async () => {
      let bytes = 0;
      for await (const { event } of session.events()) if (event.type === "output") bytes += event.data.length;
      return bytes;
    })();
    for (let round = 0; round < 200; round++) await door.sessions.say(session.id, piece);
    await door.sessions.end(session.id);
    expect(await reading).toBe(200 * piece.length);
    await expect.poll(() => door.servers[1]!.connections(), { timeout: 15_000 }).toBe(0);
    slow.resume();
    slow.on("data", () => {});
    await closed;
    const late = await door.local(`http://localhost${path}`, { headers: { "last-event-id": "199" } });
    expect((await late.text()).match(/^id: \d+$/gm)).toEqual(["id: 200", "id: 201", "id: 202"]);
  });
});
