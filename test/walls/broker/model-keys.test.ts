import { mkdir } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Wire } from "../../../core/walls/agent/wire.ts";
import type { SessionBrokerOptions } from "../../../core/walls/broker/session-broker.ts";
import { afterEveryTest } from "../../clean-up.ts";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { anyShell, capabilities, errorOf, makeBroker, readAll, runShell } from "./broker-fixture.ts";

const key = "sk-ant-api03-the-real-key-of-the-person";
const ownHome = process.env["HOME"];
beforeEach(() => {
  process.env["MODEL_KEY"] = key;
});
afterEach(() => {
  process.env["HOME"] = ownHome;
  for (const name of ["MODEL_KEY", "MODEL_URL", "GATEWAY"]) delete process.env[name];
});

const servers: { close(): void; closeAllConnections(): void }[] = [];
afterEveryTest(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
  return Promise.resolve();
});

/** A place that keeps the keys that it is sent, and quotes them. */
async function openPlace(): Promise<{ host: string; url: string; keys: unknown[] }> {
  const keys: unknown[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    keys.push(request.headers["x-api-key"]);
    response.end(`seen ${request.headers["x-api-key"]}\n`);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { host, url: `http://${host}`, keys };
}

async function makeAgent(changes: Partial<SessionBrokerOptions> = {}, url = "https://api.example.com") {
  const fixture = await makeBroker({
    permissions: { run: [{ ...anyShell, env: ["MODEL_KEY", "MODEL_URL", "OTHER", "model_url"] }] },
    containPrograms: true,
    programNet: [],
    endpoints: [{ program: "sh", key: "MODEL_KEY", base_url: "MODEL_URL", url }],
    ...changes,
  });
  const home = join(fixture.root, "home");
  await mkdir(home);
  process.env["HOME"] = home;
  const run = async (script: string, env: Record<string, string> = {}) => {
    const { stdout, stderr } = await runShell(fixture.broker, script, { env });
    return await readAll(fixture.broker, stdout) + await readAll(fixture.broker, stderr);
  };
  return { ...fixture, run };
}

const call = 'curl -s -H "x-api-key: $MODEL_KEY" "$MODEL_URL/v1"';

describe("the address that a key goes to", () => {
  test.each(["http://evil.example", "", "not a url", "https://api.example.com/other"])(
    "cannot be set by an adapter, contained or not: %j",
    async (address) => {
      for (const containPrograms of [true, false]) {
        const { run, events } = await makeAgent({ containPrograms, programNet: ["evil.example:80"] });
        const error = await errorOf(run("env", { MODEL_URL: address }));
        expect(error).toMatchObject({ code: "permission_denied", details: { target: "MODEL_URL", grantable: false } });
        expect(error.message).toContain("only the operator, the client or the manifest");
        expect(capabilities(events)).toContainEqual({
          type: "capability",
          permission: "env",
          target: "MODEL_URL",
          decision: "denied",
        });
      }
    },
  );

  test("may be repeated by an adapter as it is, or as the manifest has it", async (context) => {
    await needsWall(context, "bubblewrap");
    process.env["MODEL_URL"] = "https://gateway.example.com/v1";
    const { run } = await makeAgent();
    for (const MODEL_URL of [process.env["MODEL_URL"], "https://api.example.com"]) {
      expect(await run("echo $MODEL_URL", { MODEL_URL })).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\n$/);
    }
  });

  test("is the client's, else the operator's, else the manifest's", async (context) => {
    await needsWall(context, "bubblewrap");
    const [client, operator, manifest] = [await openPlace(), await openPlace(), await openPlace()];
    const programNet = [client, operator, manifest].map(({ host }) => host);
    process.env["GATEWAY"] = manifest.url;
    const sent: string[] = [];
    const wire: Wire = { begin: ({ method, path }) => ({ sent: (piece) => sent.push(`${method} ${path} ${piece}`) }) };
    const last = await makeAgent({ programNet, wires: [wire] }, "${GATEWAY}/base");
    await last.run(call);
    expect(sent, "it asked, and sent nothing").toEqual([]);
    await last.run(`${call} -d more`);
    expect([sent, manifest.keys.splice(1)]).toEqual([["POST /v1 more"], [key]]);
    process.env["MODEL_URL"] = operator.url;
    const second = await makeAgent({ programNet, requestEnv: { MODEL_URL: "" } }, manifest.url);
    await second.run(call);
    const first = await makeAgent({ programNet, requestEnv: { MODEL_URL: client.url } }, manifest.url);
    expect(await first.run(call)).toBe(`seen ${"*".repeat(key.length)}\n`);
    expect([client.keys, operator.keys, manifest.keys]).toEqual([[key], [key], [key]]);
  });

  test("is reached by a grant alone where the client named it: its own answer lets no key out", async (context) => {
    await needsWall(context, "bubblewrap");
    const place = await openPlace();
    const asked: string[] = [];
    const askHost = ({ target }: { target: string }) => {
      asked.push(target);
      return Promise.resolve(true);
    };
    const agent = await makeAgent({ askHost, requestEnv: { MODEL_URL: place.url } });
    const direct = `curl -s -x "$HTTP_PROXY" --noproxy "" ${place.url}/;`;
    expect(await agent.run(direct)).toBe("seen undefined\n");
    expect(await agent.run(call)).toContain(`bulkhead plugin grant acme net:${place.host}`);
    expect(asked).toEqual([place.host]);
    expect(place.keys).toEqual([undefined]);
    process.env["MODEL_URL"] = place.url;
    const other = await makeAgent({ askHost });
    expect(await other.run(call)).toContain("seen ***");
  });

  test("is the only way to the model where calls are counted, for each program of the session", async (context) => {
    await needsWall(context, "bubblewrap");
    const place = await openPlace();
    const other = await openPlace();
    const programNet = [place.host, other.host];
    const straight = (host: string) => `curl -s -x "$HTTP_PROXY" --noproxy "" http://${host}/;`;
    const agent = await makeAgent({ programNet, isCounted: true }, place.url);
    expect(await agent.run(call)).toContain("seen ***");
    expect(await agent.run(straight(place.host))).toContain("which hold for calls by the host's endpoint alone");
    expect(await agent.run(straight(other.host))).toBe("seen undefined\n");
    expect(place.keys).toEqual([key]);
    const free = await makeAgent({ programNet }, place.url);
    expect(await free.run(straight(place.host))).toBe("seen undefined\n");
  });

  const unusable: readonly (readonly [address: string, why: string])[] = [
    ["not a url", "is no URL"],
    ["api.example.com", "is no URL"],
    ["http://[fe80::1%25eth0]/", "is no URL"],
    ["http://a b/", "is no URL"],
    ["https://", "is no URL"],
    ["ftp://api.example.com/", "is no http or https URL"],
    ["localhost:8080", "is no http or https URL"],
    ["javascript:1", "is no http or https URL"],
    ["file:///etc", "is no http or https URL"],
    ["wss://api.example.com", "is no http or https URL"],
    ["https://user:hunter2@api.example.com", "holds a user name or password"],
    ["https://api.example.com?a=1", "holds more than a host and a path"],
    ["https://api.example.com/#", "holds more than a host and a path"],
  ];

  test.each(unusable)(
    "is refused when the proxy cannot reach it, and the program does not start: %s",
    async (url, why) => {
      const codes = { client: "invalid_request", operator: "invalid_config", manifest: "invalid_manifest" } as const;
      for (const by of ["client", "operator", "manifest"] as const) {
        if (by === "operator") process.env["MODEL_URL"] = url;
        else delete process.env["MODEL_URL"];
        const { run, events } = await makeAgent(
          by === "client" ? { requestEnv: { MODEL_URL: url } } : {},
          by === "manifest" ? url : "https://api.example.com",
        );
        const error = await errorOf(run("env"));
        expect(error).toMatchObject({ code: codes[by], details: { name: "MODEL_URL" } });
        expect(error.message).toContain(`set by the ${by}, ${why}.`);
        expect(`${error.message} ${error.hint}`).not.toContain("hunter2");
        expect(events.filter(({ type }) => type === "process_spawned")).toEqual([]);
      }
    },
  );

  test("is checked as any other place: inward addresses, dots and case", async (context) => {
    await needsWall(context, "bubblewrap");
    const place = await openPlace();
    const port = place.host.split(":")[1];
    const agent = await makeAgent(
      { programNet: [`api.example.com:${port}`], resolve: () => Promise.resolve(["127.0.0.1"]) },
      `http://API.Example.com.:${port}`,
    );
    expect(await agent.run(call)).toContain("which is not a public address (loopback)");
    expect(place.keys).toEqual([]);
    expect(capabilities(agent.events).filter(({ permission }) => permission === "net")).toMatchObject([
      { target: `api.example.com:${port}`, decision: "denied" },
    ]);
  });
});

describe("arguments that tell a program its address", () => {
  const told = (args: string[], env: string[] = ["MODEL_KEY", "MODEL_URL"]): Partial<SessionBrokerOptions> => ({
    permissions: { run: [{ binary: "sh", args, env }] },
    endpoints: [{
      program: "sh",
      key: "MODEL_KEY",
      base_url: "MODEL_URL",
      url: "https://api.example.com",
      args: ["--at", "url={}"],
    }],
  });
  const script = 'echo "$0 $1"';

  test("are added where the host keeps the key, and nowhere else", async (context) => {
    await needsWall(context, "bubblewrap");
    const added = await makeAgent(told(["-c {}", "-c {} --at url={}"]));
    expect(await added.run(script)).toMatch(/^--at url=http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\n$/);
    delete process.env["MODEL_KEY"];
    expect(await (await makeAgent(told(["-c {}", "-c {} --at url={}"]))).run(script)).toMatch(/^\S*sh \n$/);
  });

  test("must be granted as those of the adapter", async (context) => {
    await needsWall(context, "bubblewrap");
    const { run, events } = await makeAgent(told(["-c {}"]));
    const error = await errorOf(run(script));
    expect(error).toMatchObject({ code: "permission_denied", details: { permission: "run", target: "sh" } });
    expect(error.message).toContain("no grant allows the arguments that tell it the address of its model");
    expect(events.filter(({ type }) => type === "process_spawned")).toEqual([]);
  });
});

describe("a key that the host keeps", () => {
  test("is in no variable and no argument, whatever the adapter calls it", async (context) => {
    await needsWall(context, "bubblewrap");
    const { run, events } = await makeAgent({ secrets: new Map([["model", key]]) });
    const text = await run(`: ${key}; cat /proc/*/environ /proc/*/cmdline | tr "\\0" "\\n"`, {
      OTHER: `https://user:${key}@host`,
      model_url: key,
    });
    expect(text).toMatch(/^MODEL_KEY=sk-ant-api03-[0-9a-f]{32}$/m);
    expect(text).not.toContain("the-real-key");
    expect(text).toMatch(/^model_url=sk-ant-api03-[0-9a-f]{32}$/m);
    expect(JSON.stringify(events)).not.toContain("the-real-key");
  });

  test("has an address that its program's words do not show", async (context) => {
    await needsWall(context, "bubblewrap");
    const { run, broker } = await makeAgent({}, "https://api.example.com/base");
    const said = await run('printf "Cannot reach $MODEL_URL/v1"');
    expect(said).toMatch(/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/v1$/);
    expect(broker.addresses.inText(said)).toBe("Cannot reach https://api.example.com/base/v1");
  });

  test("is in none without a network either", async (context) => {
    await needsWall(context, "bubblewrap");
    const { options } = await makeAgent();
    const { programNet: _, ...without } = options;
    const { broker } = await makeBroker({ ...without, tempDir: `${options.tempDir}-2` });
    const { stdout } = await runShell(broker, "env");
    expect(await readAll(broker, stdout)).not.toContain("the-real-key");
  });

  test("that a secret fills in goes to no address of the adapter's either", async (context) => {
    await needsWall(context, "bubblewrap");
    const place = await openPlace();
    const value = "sk-another-key-of-the-store";
    const { run, broker } = await makeAgent({
      permissions: {
        run: [{ ...anyShell, env: ["MODEL_KEY", "MODEL_URL"] }],
        secrets: [{ name: "model", env: ["MODEL_KEY"] }],
      },
      secrets: new Map([["model", value]]),
      programNet: [place.host],
    }, place.url);
    const standIn = await broker.call("secret_use", { name: "model" }) as string;
    const text = await run(`env; ${call}`, { MODEL_KEY: standIn });
    expect(text).not.toContain("another-key");
    expect(place.keys).toEqual([value]);
    await errorOf(run("env", { MODEL_KEY: standIn, MODEL_URL: "http://evil.example" }));
  });

  test("serves two programs' variables of one address, and one key at two addresses", async (context) => {
    await needsWall(context, "bubblewrap");
    const [one, two] = [await openPlace(), await openPlace()];
    const endpoint = { program: "sh", key: "MODEL_KEY", base_url: "MODEL_URL", url: one.url };
    const { run } = await makeAgent({
      permissions: { run: [{ ...anyShell, env: ["MODEL_KEY", "SECOND_KEY", "MODEL_URL", "OTHER"] }] },
      requestEnv: { SECOND_KEY: "the-second-key-0123456789" },
      programNet: [one.host, two.host],
      endpoints: [endpoint, { ...endpoint, key: "SECOND_KEY" }, { ...endpoint, base_url: "OTHER", url: two.url }],
    });
    await run(`${call}; curl -s -H "x-api-key: $SECOND_KEY" "$MODEL_URL"; curl -s -H "x-api-key: $MODEL_KEY" "$OTHER"`);
    expect([one.keys, two.keys]).toEqual([[key, "the-second-key-0123456789"], [key]]);
  });

  test.each(["sk-with blank-0123456789", "sk-key-0123456789\n", "sk-0123456789\r\nX-Evil: 1", "schlüssel-0123456789"])(
    "must be one: %j",
    async (value) => {
      process.env["MODEL_KEY"] = value;
      const { run } = await makeAgent();
      const error = await errorOf(run("env"));
      expect(error).toMatchObject({ code: "invalid_config", details: { name: "MODEL_KEY" } });
      expect(error.message).not.toContain("0123456789");
    },
  );
});
