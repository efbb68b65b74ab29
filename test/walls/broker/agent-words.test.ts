import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { afterEach, describe, expect, test } from "vitest";
import type { SessionBrokerOptions } from "../../../core/walls/broker/session-broker.ts";
import { afterEveryTest } from "../../clean-up.ts";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { anyShell, capabilities, makeBroker, readAll, runShell } from "./broker-fixture.ts";

const ownHome = process.env["HOME"];
afterEach(() => {
  process.env["HOME"] = ownHome;
  delete process.env["DOCKER_HOST"];
});

const servers: { close(): void }[] = [];
afterEveryTest(() => {
  for (const server of servers.splice(0)) server.close();
  return Promise.resolve();
});

async function makeAgent(changes: Partial<SessionBrokerOptions> = {}) {
  const fixture = await makeBroker({
    permissions: { run: [{ ...anyShell, env: ["DOCKER_HOST"] }] },
    containPrograms: true,
    programNet: [],
    ...changes,
  });
  const home = join(fixture.root, "home");
  await mkdir(home);
  process.env["HOME"] = home;
  const run = async (script: string) => {
    const { stdout, stderr } = await runShell(fixture.broker, script);
    const [out, err] = await Promise.all([readAll(fixture.broker, stdout), readAll(fixture.broker, stderr)]);
    return out + err;
  };
  const denied = () => capabilities(fixture.events).filter(({ decision }) => decision === "denied");
  return { ...fixture, run, denied };
}

/** The home of the tests is not the one of the passwd entry, where ssh looks for its settings. */
const ssh = "ssh -F ~/.ssh/config -o BatchMode=yes";

describe("ssh in an agent's walls", () => {
  test("says which host is not granted, and a person sees what to do", async (context) => {
    await needsWall(context, "bubblewrap");
    const { run, denied } = await makeAgent();
    const text = await run(`${ssh} git@github.com; GIT_SSH_COMMAND="${ssh}" git ls-remote git@github.com:a/b.git`);
    expect(text).not.toContain("resolve");
    expect(text).toContain('Plugin "acme" is not allowed to connect to "github.com:22" yet.');
    expect(text).toContain("bulkhead plugin grant acme net:github.com:22");
    // Once, although two programs tried.
    expect(denied()).toMatchObject([
      {
        permission: "net",
        target: "github.com:22",
        grant_command: "bulkhead plugin grant acme net:github.com:22",
        reason: expect.stringContaining("https") as string,
      },
    ]);
  });

  test("reaches a granted host through the proxy", async (context) => {
    await needsWall(context, "bubblewrap");
    const said: string[] = [];
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.write("SSH-2.0-Other\r\n");
      socket.once("data", (piece: Uint8Array) => {
        said.push(String(piece));
        socket.destroy();
      });
    });
    servers.push(server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const { run, denied } = await makeAgent({ programNet: [`127.0.0.1:${port}`] });
    await run(`${ssh} -p ${port} git@127.0.0.1`);
    expect(said[0]).toMatch(/^SSH-2\.0-/);
    expect(denied()).toEqual([]);
  });
});

describe("docker in an agent's walls", () => {
  const ask = 'curl -s --noproxy "*" -w " %{http_code}" "http:${DOCKER_HOST#tcp:}/v1.43/containers/json"';

  test("hears why there is none, and a person sees it", async (context) => {
    await needsWall(context, "bubblewrap");
    const { run, denied } = await makeAgent();
    const text = await run(`${ask}; command -v docker > /dev/null && docker ps`);
    const [, answer = "", status] = /^(\{.*\})\s+(\d+)/.exec(text) ?? [];
    const { message } = JSON.parse(answer) as { message: string };
    expect(status).toBe("403");
    expect(message).toContain("its socket is outside the walls");
    expect(message).toContain("contain: off");
    expect(text).not.toContain("Is the docker daemon running");
    expect(denied()[0]).toMatchObject({ permission: "run", target: "docker", reason: expect.any(String) as string });
    expect(denied()[0]).not.toHaveProperty("grant_command");
  });

  test("is where the operator says it is", async (context) => {
    await needsWall(context, "bubblewrap");
    process.env["DOCKER_HOST"] = "tcp://docker.example.com:2376";
    const { run } = await makeAgent();
    expect(await run("echo $DOCKER_HOST")).toBe("tcp://docker.example.com:2376\n");
  });
});

describe("hosts that no grant names", () => {
  const call = (host: string) => `curl -s -o /dev/null -x "$HTTP_PROXY" --noproxy "" http://${host}/ &`;

  test("are asked about a few at a time and not without end; the rest is denied with one event", async (context) => {
    await needsWall(context, "bubblewrap");
    let open = 0;
    let most = 0;
    const asked: string[] = [];
    const { run, broker, denied } = await makeAgent({
      askHost: async ({ target }) => {
        asked.push(target);
        most = Math.max(most, ++open);
        await new Promise((resolve) => setTimeout(resolve, 5));
        open -= 1;
        return false;
      },
    });
    const hosts = Array.from({ length: 60 }, (_, at) => `h${at}.example.com`);
    await run([...hosts, ...hosts.slice(0, 20)].map(call).join("\n") + "\nwait");
    expect(most).toBeLessThanOrEqual(3);
    expect(new Set(asked).size).toBe(asked.length);
    expect(asked).toHaveLength(32);
    expect(denied()).toHaveLength(33);
    expect(denied().at(-1)).toMatchObject({ target: "(more hosts that are not listed)" });
    expect(Object.values(broker.uses.hosts ?? {}).reduce((sum, one) => sum + one.denied, 0)).toBe(80);
  });

  test("that are granted and lead inward are denied, and never said to be allowed", async (context) => {
    await needsWall(context, "bubblewrap");
    const { run, events } = await makeAgent({
      programNet: ["inward.example.com:80"],
      resolve: () => Promise.resolve(["10.0.0.1"]),
    });
    await run(`${call("inward.example.com")} wait`);
    expect(capabilities(events).filter(({ permission }) => permission === "net")).toMatchObject([
      { target: "inward.example.com:80", decision: "denied" },
    ]);
  });
});
