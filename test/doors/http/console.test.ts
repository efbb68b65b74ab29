import { expect, test } from "vitest";
import { consolePage } from "../../../core/doors/console/page-files.ts";
import { openDoor } from "./door-fixture.ts";

async function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

/** A door, and a code of its operator. */
async function openWithCode(scope?: string) {
  const door = await openDoor();
  const admin = await door.token("admin");
  const made = await post(`${door.url}/v1/console/codes`, scope === undefined ? {} : { scope }, {
    authorization: `Bearer ${admin}`,
  });
  const { code, expires_at } = await made.json() as { code: string; expires_at: string };
  return { door, admin, code, expires_at, tokens: `${door.url}/v1/console/tokens` };
}

test("a code gives a page a token, once", async () => {
  const { door, code, tokens } = await openWithCode();
  const answer = await post(tokens, { code });
  expect(answer.status).toBe(201);
  const { token, scopes, id } = await answer.json() as { token: string; scopes: string[]; id: string };
  expect(scopes).toEqual(["admin"]);
  const listed = await fetch(`${door.url}/v1/plugins`, { headers: { authorization: `Bearer ${token}` } });
  expect(listed.status).toBe(200);
  const again = await post(tokens, { code });
  expect([again.status, (await again.json() as { hint: string }).hint]).toEqual([401, "Run: bulkhead console"]);
  // It is a token as any other: the operator sees it, and takes it back.
  const [record] = (await door.tokens.list()).filter((one) => one.id === id);
  expect(record?.name).toMatch(/^console-[0-9a-f]{8}$/);
  await door.tokens.revoke(id);
  expect((await fetch(`${door.url}/v1/plugins`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(401);
});

test("a page gets the scope that was asked for, and no page makes codes without admin", async () => {
  const { door, code, tokens } = await openWithCode("read");
  const { token, scopes } = await (await post(tokens, { code })).json() as { token: string; scopes: string[] };
  expect(scopes).toEqual(["read"]);
  const more = await post(`${door.url}/v1/console/codes`, {}, { authorization: `Bearer ${token}` });
  expect(more.status).toBe(403);
});

test("a page's token ends when its maker's does, falls with it, and makes no other", async () => {
  const door = await openDoor();
  const expires_at = new Date(Date.now() + 60_000).toISOString();
  const admin = await door.tokens.create({ name: "admin", scopes: ["admin"], expires_at });
  const codeOf = (token: string) => post(`${door.url}/v1/console/codes`, {}, { authorization: `Bearer ${token}` });
  const { code } = await (await codeOf(admin.token)).json() as { code: string };
  const page = await (await post(`${door.url}/v1/console/tokens`, { code })).json() as Record<string, string>;
  expect(page["expires_at"]).toBe(expires_at);
  const more = await codeOf(page["token"]!);
  expect([more.status, (await more.json() as { hint: string }).hint]).toEqual([403, "Run: bulkhead console"]);
  const { code: late } = await (await codeOf(admin.token)).json() as { code: string };
  await door.tokens.revoke("admin");
  expect(await door.tokens.check(page["token"]!)).toBe(null);
  expect((await door.tokens.list()).filter(({ name }) => name.startsWith("console-"))).toEqual([]);
  expect((await post(`${door.url}/v1/console/tokens`, { code: late })).status).toBe(401);
});

test("a page of the operator's falls with the first token, and does not rise with the next", async () => {
  const door = await openDoor();
  const { code } = await (await door.local("http://localhost/v1/console/codes", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  })).json() as { code: string };
  const { token } = await (await post(`${door.url}/v1/console/tokens`, { code })).json() as { token: string };
  expect(await door.tokens.check(token)).toMatchObject({ scopes: ["admin"] });
  await door.tokens.revoke("first");
  await door.tokens.first();
  expect(await door.tokens.check(token)).toBe(null);
});

test("a page signs itself out, and nothing but a page does so", async () => {
  const { door, admin, code, tokens } = await openWithCode();
  const { token } = await (await post(tokens, { code })).json() as { token: string };
  const end = (of: string) => fetch(tokens, { method: "DELETE", headers: { authorization: `Bearer ${of}` } });
  expect((await end(admin)).status).toBe(403);
  expect(await door.tokens.check(admin)).not.toBe(null);
  expect((await end(token)).status).toBe(204);
  expect(await door.tokens.check(token)).toBe(null);
  expect((await end(token)).status).toBe(401);
});

test("codes are guessed in vain, and soon not at all", async () => {
  const { tokens } = await openWithCode();
  const answers = await Promise.all(Array.from({ length: 60 }, (_, n) => post(tokens, { code: `guess-${n}` })));
  const statuses = new Set(answers.map(({ status }) => status));
  expect(statuses).toEqual(new Set([401, 429]));
});

test("a page of another origin gets neither code nor token", async () => {
  const { door, code, tokens } = await openWithCode();
  for (const headers of [{ origin: "http://evil.example" }, { "sec-fetch-site": "cross-site" }]) {
    expect((await post(tokens, { code }, headers)).status).toBe(403);
  }
  expect((await post(tokens, { code }, { origin: door.url })).status).toBe(201);
});

test("expired tokens of pages are removed when the next page comes", async () => {
  const { door, admin, code, tokens } = await openWithCode();
  const expires_at = new Date(Date.now() - 1000).toISOString();
  await door.tokens.createForConsole({ maker: (await door.tokens.check(admin))!, scope: "read", expires_at });
  await post(tokens, { code });
  const names = (await door.tokens.list()).map(({ name }) => name).filter((name) => name.startsWith("console-"));
  expect(names).toHaveLength(1);
});

test("the page comes compressed, with its policy, and nothing else from its folder", async () => {
  const ask = (path: string, headers: Record<string, string> = {}) =>
    consolePage(new Request(`http://127.0.0.1:7717${path}`, { headers }));
  const plain = await ask("/console");
  expect(plain?.headers.get("content-type")).toBe("text/html; charset=utf-8");
  const policy = plain?.headers.get("content-security-policy") ?? "";
  for (const rule of ["default-src 'none'", "script-src 'self'", "trusted-types 'none'", "frame-ancestors 'none'"]) {
    expect(policy).toContain(rule);
  }
  expect((await ask("/console/app.js", { "accept-encoding": "gzip, br" }))?.headers.get("content-encoding")).toBe("br");
  expect((await ask("/console/app.js", { "accept-encoding": "gzip" }))?.headers.get("content-encoding")).toBe("gzip");
  for (
    const path of ["/console/../bundle/cli.js", "/console/app.js.br", "/console/none.js", "/console/", "/v1/events"]
  ) {
    expect(await ask(path)).toBe(null);
  }
});
