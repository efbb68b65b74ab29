import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { SessionBroker, SessionBrokerOptions } from "../../../core/walls/broker/session-broker.ts";
import { createRedactor } from "../../../core/ground/log/redact.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { anyShell, capabilities, codeOf, errorOf, makeBroker, readAll, runShell } from "./broker-fixture.ts";
import { serve } from "./loopback-server.ts";

const value = "sk-live/0123 456+789";
const keys = new Map([["KEY", value], ["CERT", "line one\nline two"]]);

function makeSecret(permissions: Permissions, changes: Partial<SessionBrokerOptions> = {}) {
  const redactor = createRedactor([...keys].map(([name, value]) => ({ name, value })));
  return makeBroker({ permissions, secrets: keys, redactor, ...changes });
}

function use(broker: SessionBroker, name = "KEY"): Promise<string> {
  return broker.call("secret_use", { name }) as Promise<string>;
}

const inShell: Permissions = {
  run: [{ ...anyShell, env: ["TOKEN", "OTHER"] }],
  secrets: [{ name: "KEY", env: ["TOKEN"] }],
  write: ["workdir"],
  read: ["workdir"],
};

describe("secret_use", () => {
  test("gives a random placeholder, the same for the session, and never the value", async () => {
    const { broker } = await makeSecret(inShell);
    const other = await makeSecret(inShell);
    const placeholder = await use(broker);
    expect(placeholder).toMatch(/^bulkhead-secret-[0-9a-f]{32}$/);
    expect(await use(broker)).toBe(placeholder);
    expect(await use(other.broker)).not.toBe(placeholder);
  });

  test("is denied for a name that is not granted, and says which line of which file would allow it", async () => {
    const grantPlace = (permission: string) => ({ file: "/x/bulkhead.yaml", line: permission === "secrets" ? 7 : 1 });
    const { broker, events } = await makeSecret(inShell, { grantPlace });
    const error = await errorOf(use(broker, "CERT"));
    const place = {
      grant_command: "bulkhead plugin grant acme secrets:CERT",
      grant_file: "/x/bulkhead.yaml",
      grant_line: 7,
    };
    expect(error).toMatchObject({
      code: "permission_denied",
      details: { permission: "secrets", target: "CERT", ...place },
    });
    expect(capabilities(events)).toMatchObject([{
      permission: "secrets",
      target: "CERT",
      decision: "denied",
      ...place,
    }]);
  });

  test("fails for a secret without a value, with the command that gives it one", async () => {
    const { broker } = await makeSecret({ secrets: [{ name: "UNSET", env: ["TOKEN"] }] });
    const error = await errorOf(use(broker, "UNSET"));
    expect(error).toMatchObject({ code: "env_missing", hint: "bulkhead secret set UNSET" });
  });
});

describe("a secret in a program's environment", () => {
  test("stands in the granted variable, also amid other text", async () => {
    const { broker, events } = await makeSecret(inShell);
    const env = { TOKEN: `Bearer ${await use(broker)}!` };
    const { stdout } = await runShell(broker, 'test "$TOKEN" = "Bearer sk-live/0123 456+789!" && echo same', { env });
    expect(await readAll(broker, stdout)).toBe("same\n");
    expect(capabilities(events).map(({ target }) => target)).toEqual(["KEY", "sh", "KEY in TOKEN"]);
    expect(JSON.stringify(events)).not.toContain(value);
  });

  test("does not stand in another one, not even one that is granted to the program", async () => {
    const { broker } = await makeSecret(inShell);
    const error = await errorOf(runShell(broker, "env", { env: { OTHER: await use(broker) } }));
    expect(error).toMatchObject({ code: "permission_denied", details: { permission: "secrets", target: "KEY" } });
    expect(error.message).toContain("KEY in OTHER");
  });

  test("is replaced in all that the program prints, in any encoding, and in the files it leaves", async () => {
    const { broker, workdir } = await makeSecret(inShell);
    const env = { TOKEN: await use(broker) };
    const script =
      'echo "plain $TOKEN"; printf %s "$TOKEN" | base64; printf %s "$TOKEN" | od -An -tx1 | tr -d " \\n"; echo; ' +
      'printf "sk-live/"; sleep 0.2; printf "0123 456"; sleep 0.2; echo "+789"; echo "err $TOKEN" >&2; echo "$TOKEN" > out.txt';
    const { stdout, stderr, process_id } = await runShell(broker, script, { env });
    expect(await readAll(broker, stdout)).toBe(
      "plain [redacted KEY]\n[redacted KEY]\n[redacted KEY]\n[redacted KEY]\n",
    );
    expect(await readAll(broker, stderr)).toBe("err [redacted KEY]\n");
    await broker.call("process_wait", { process_id });
    expect(await broker.call("fs_read_text", { path: join(workdir, "out.txt") })).toBe("[redacted KEY]\n");
  });
});

describe("a secret in a request's header", () => {
  async function makeServer(hosts: (port: number) => string[]) {
    const server = await serve((request, response) => {
      response.writeHead(200, { "x-echo": String(request.headers["authorization"] ?? "none") });
      response.write(`got ${String(request.headers["authorization"] ?? "none").slice(0, 16)}`);
      setTimeout(() => response.end(String(request.headers["authorization"] ?? "").slice(16)), 50);
    });
    const { port } = server;
    const net = [`127.0.0.1:${port}`, `localhost:${port}`];
    const fixture = await makeSecret({ net, secrets: [{ name: "KEY", hosts: hosts(port) }] });
    return { ...server, ...fixture };
  }
  const fetch = (broker: SessionBroker, url: string, options: object) =>
    broker.call("fetch", { url, options }) as Promise<{ headers: Record<string, string>; body: number }>;

  test("reaches the granted host, and what is echoed is redacted, also across pieces", async () => {
    const { broker, port, requests, events } = await makeServer((port) => [`127.0.0.1:${port}`]);
    const headers = { Authorization: `Bearer ${await use(broker)}` };
    const { headers: answered, body } = await fetch(broker, `http://127.0.0.1:${port}/`, { headers });
    expect(requests[0]?.headers["authorization"]).toBe(`Bearer ${value}`);
    expect(answered["x-echo"]).toBe("Bearer [redacted KEY]");
    expect(await readAll(broker, body)).toBe("got Bearer [redacted KEY]");
    expect(capabilities(events).at(-1)).toMatchObject({ target: `KEY to 127.0.0.1:${port}`, decision: "allowed" });
  });

  test("does not reach a host that the net permission alone allows", async () => {
    const { broker, port, requests } = await makeServer((port) => [`127.0.0.1:${port}`]);
    const headers = { authorization: await use(broker) };
    expect(await codeOf(fetch(broker, `http://localhost:${port}/`, { headers }))).toBe("permission_denied");
    expect(requests).toEqual([]);
  });

  test.each(["accept", "user-agent", "content-type"])("does not stand in %s", async (header) => {
    const { broker, port, requests } = await makeServer((port) => [`127.0.0.1:${port}`]);
    const headers = { [header]: await use(broker) };
    expect(await codeOf(fetch(broker, `http://127.0.0.1:${port}/`, { headers }))).toBe("permission_denied");
    expect(requests).toEqual([]);
  });

  test("does not follow a redirect to another host", async () => {
    const target = await serve((_request, response) => response.end("there"));
    const { port } = await serve((_request, response) => {
      response.writeHead(302, { location: `http://127.0.0.1:${target.port}/` });
      response.end();
    });
    const hosts = [port, target.port].map((one) => `127.0.0.1:${one}`);
    const { broker } = await makeSecret({ net: hosts, secrets: [{ name: "KEY", hosts: [`127.0.0.1:${port}`] }] });
    const headers = { authorization: await use(broker), "x-api-key": await use(broker) };
    const { body } = await fetch(broker, `http://127.0.0.1:${port}/`, { headers });
    expect(await readAll(broker, body)).toBe("there");
    expect(target.requests[0]?.headers).not.toHaveProperty("authorization");
    expect(target.requests[0]?.headers).not.toHaveProperty("x-api-key");
  });

  test("is refused when a header cannot hold it", async () => {
    const { port, requests } = await serve((_request, response) => response.end());
    const hosts = [`127.0.0.1:${port}`];
    const { broker } = await makeSecret({ net: hosts, secrets: [{ name: "CERT", hosts }] });
    const headers = { authorization: await use(broker, "CERT") };
    expect(await codeOf(fetch(broker, `http://127.0.0.1:${port}/`, { headers }))).toBe("invalid_request");
    expect(requests).toEqual([]);
  });
});

describe("a placeholder anywhere else", () => {
  const places: [string, (placeholder: string) => [string, unknown]][] = [
    ["an argument", (text) => ["run", { binary: "sh", args: ["-c", `echo ${text}`], options: {} }]],
    ["a folder", (text) => ["run", { binary: "sh", args: ["-c", "ls"], options: { cwd: text } }]],
    ["standard input", (text) => ["process_write", { process_id: 1, text }]],
    ["an address", (text) => ["fetch", { url: `http://127.0.0.1:9/${text}`, options: {} }]],
    [
      "a body",
      (text) => ["fetch", { url: "http://127.0.0.1:9/", options: { method: "POST", body: `{"a":"${text}"}` } }],
    ],
    ["a header's name", (text) => ["fetch", { url: "http://127.0.0.1:9/", options: { headers: { [text]: "x" } } }]],
    ["a file", (text) => ["fs_write_text", { path: "a.txt", text }]],
    ["a file's name", (text) => ["fs_write_text", { path: text, text: "x" }]],
    ["the store", (text) => ["kv_set", { key: "a", value: [{ deep: text }] }]],
  ];

  test.each(places)("is refused: %s", async (_where, callOf) => {
    const permissions = { ...inShell, net: ["127.0.0.1:9"], kv: true };
    const { broker, events } = await makeSecret(permissions);
    const [operation, args] = callOf(await use(broker));
    expect(await codeOf(broker.call(operation, args))).toBe("permission_denied");
    expect(capabilities(events).at(-1)).toMatchObject({ permission: "secrets", target: "KEY", decision: "denied" });
  });

  test("of another session is a text like any other", async () => {
    const foreign = await use((await makeSecret(inShell)).broker);
    const { broker } = await makeSecret(inShell);
    await use(broker);
    const { stdout } = await runShell(broker, 'echo "$TOKEN"', { env: { TOKEN: foreign } });
    expect(await readAll(broker, stdout)).toBe(`${foreign}\n`);
  });
});

describe("redaction in the broker", () => {
  test("takes secrets out of results, errors and log records, before those are cut", async () => {
    const { broker, workdir, logs, options } = await makeSecret(inShell);
    await writeFile(join(workdir, "found.txt"), `the key is ${value}`);
    expect(await broker.call("fs_read_text", { path: "found.txt" })).toBe("the key is [redacted KEY]");
    const error = await errorOf(broker.call("fs_read_text", { path: `/nowhere/${value}` }));
    expect(JSON.stringify(error)).not.toContain(value);
    const long = `${"x".repeat(options.limits.log_bytes - 5)}${value}`;
    await broker.call("log", { level: "info", message: long, fields: { [value]: [value] } });
    expect(JSON.stringify(logs)).not.toContain(value.slice(0, 5));
    expect(JSON.stringify(logs)).toContain("[redacted KEY]");
  });

  test("leaves a variable that is granted by name to the adapter", async () => {
    const { broker } = await makeSecret({ env: ["TOKEN"] }, { requestEnv: { TOKEN: value } });
    expect(await broker.call("env_get", { name: "TOKEN" })).toBe(value);
  });
});

describe("uses", () => {
  test("counts every use and refusal by permission, also those that no event tells of", async () => {
    const { broker, events } = await makeSecret({ read: ["workdir"] });
    for (let times = 0; times < 3; times++) await broker.call("fs_list", { path: "." });
    for (let times = 0; times < 2; times++) await codeOf(broker.call("env_get", { name: "HOME" }));
    expect(capabilities(events).filter(({ permission }) => permission === "read")).toHaveLength(1);
    expect(broker.uses).toEqual({
      allowed: 3,
      denied: 2,
      by: { read: { allowed: 3, denied: 0 }, env: { allowed: 0, denied: 2 } },
    });
  });
});
