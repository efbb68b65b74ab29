import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { grantCommand } from "../../../core/ground/config/grant-command.ts";
import { openPutAside } from "../../../core/doors/http/put-aside.ts";
import type { RefusedGrants, WaitingItem } from "../../../core/doors/http/waiting-item.ts";
import type { CapabilityEvent } from "../../../plugin-sdk/envelope.ts";
import { pluginFacts } from "../../../core/doors/http/plugin-facts.ts";
import { explainPermissions } from "../../../core/packages/permissions/explain-permissions.ts";
import { hostManifest, openHost, writePlugin } from "../../sessions/host/test-host.ts";
import { openDoor } from "./door-fixture.ts";

vi.mock("../../../core/packages/permissions/explain-permissions.ts", async (original) => {
  const real = await original<{ explainPermissions: typeof explainPermissions }>();
  return { ...real, explainPermissions: vi.fn(real.explainPermissions) };
});

const explained = vi.mocked(explainPermissions);
beforeEach(() => void explained.mockClear());

/** A door to a host with three plugins that ask for the same, and the last was granted some of it. */
async function made(manifest = "permissions: { env: [LANG], net: ['a.example:443'] }") {
  const { host, root } = await openHost();
  for (const id of ["alpha", "beta", "gamma"]) {
    await writePlugin(join(root, "plugins", id), id, { manifest });
  }
  const reload = async (settings: Record<string, string>) => {
    const lines = Object.entries(settings).map(([id, text]) => `  ${id}: { enabled: true, ${text} }\n`);
    await host.reload((await hostManifest(`plugins:\n${lines.join("")}`)).manifest!);
  };
  await reload({ alpha: "grant: {}", beta: "grant: {}", gamma: "grant: { env: [LANG] }", delta: "source: alpha" });
  const door = await openDoor({ sessions: host.sessions, workspaces: host.workspaces });
  door.facts.plugins = pluginFacts(host, undefined);
  const headers = { authorization: `Bearer ${await door.token("read")}` };
  const get = async (path: string) => await (await fetch(`${door.url}${path}`, { headers })).json() as unknown;
  /** Has a session of each plugin refused these, the newest last. */
  const refuse = (...denied: (CapabilityEvent & { plugin: string; at?: string })[]) => {
    const uses = denied.map(({ plugin, at = new Date().toISOString(), ...event }, seq) => (
      { gseq: seq, seq, session_id: `s${seq}`, at, adapter_id: plugin, event }
    )).reverse();
    door.facts.history = {
      ask: async (question) => ({
        ...await question({ uses: () => uses } as never, null as never),
        indexed_to: 1,
        last: 1,
      }),
    };
  };
  const waiting = async () => {
    const { items } = await get("/v1/waiting") as { items: WaitingItem[] };
    return items.map(({ plugin_id, input }) => {
      const { grants } = input as RefusedGrants;
      return [plugin_id, ...grants.map(({ permission, target, times }) => `${permission} ${target} ${times}`)];
    });
  };
  return { reload, get, waiting, refuse, host, door };
}

const denied = (plugin: string, permission: "env" | "net" | "run", target: string, more: object = {}) => ({
  type: "capability" as const,
  permission,
  target,
  decision: "denied" as const,
  grant_command: grantCommand(plugin, permission, { target }),
  plugin,
  ...more,
});

test("pluginFacts explains each manifest and tries its open grants once, whoever asks and however often", async () => {
  const { get, waiting, refuse } = await made();
  refuse(...["alpha", "beta", "gamma", "delta"].map((id) => denied(id, "env", "LANG")));
  for (let time = 0; time < 3; time++) {
    expect(await waiting()).toHaveLength(3);
    for (const id of ["alpha", "beta", "gamma", "delta"]) {
      expect(await get(`/v1/plugins/${id}`)).toMatchObject({ permissions: [{}, {}] });
    }
    await get("/v1/plugins");
  }
  await Promise.all(Array.from({ length: 5 }, waiting));
  // Three manifests, and of two of them a host and a key that are open, of the third a host.
  expect(explained).toHaveBeenCalledTimes(3 + 5);
});

test("pluginFacts explains the plugin again whose grants a reload changed, and keeps no other's from before", async () => {
  const { reload, get } = await made();
  const others = { alpha: "grant: {}", beta: "grant: {}, limits: { file_bytes: 5 }" };
  const all = () => Promise.all(["alpha", "beta", "gamma"].map((id) => get(`/v1/plugins/${id}`)));
  await all();
  explained.mockClear();
  await reload({ ...others, gamma: "grant: { env: [LANG], net: ['a.example:443'] }" });
  await all();
  expect(explained.mock.calls.map(([{ grant }]) => grant)).toEqual([{ env: ["LANG"], net: ["a.example:443"] }]);
  await reload({ ...others, gamma: "grant: { env: [LANG] }" });
  await all();
  expect(explained).toHaveBeenCalledTimes(2 + 1);
});

test("a card for each plugin waits with the grants that its sessions were refused, and with no other", async () => {
  const { waiting, refuse } = await made();
  expect(await waiting()).toEqual([]);
  const old = { at: "2020-01-01T00:00:00.000Z" };
  refuse(
    denied("alpha", "env", "LANG", old),
    denied("beta", "env", "LANG"),
    denied("beta", "net", "a.example:443"),
    denied("beta", "net", "a.example:443"),
    denied("beta", "net", "b.example:443", { grantable: false }),
    denied("beta", "net", "a.example:443", { needed: false }),
    denied("gamma", "env", "LANG"),
    denied("gone", "env", "LANG"),
  );
  expect(await waiting()).toEqual([["beta", "net a.example:443 2", "env LANG 1"]]);
});

test("a denied grant, a given one and one that is put off wait no longer, until a session is refused again", async () => {
  const { waiting, refuse, reload, door } = await made();
  const aside = openPutAside(door.folder);
  await mkdir(join(door.folder, "http"), { recursive: true });
  door.facts.aside = aside;
  refuse(denied("alpha", "env", "LANG", { at: "2999-01-01T00:00:00.000Z" }), denied("beta", "env", "LANG"));
  await reload({ alpha: "grant: {}", beta: "deny: { env: [LANG] }" });
  expect(await waiting()).toEqual([["alpha", "env LANG 1"]]);
  const headers = { authorization: `Bearer ${await door.token("admin")}`, "content-type": "application/json" };
  const put = (id: string) =>
    fetch(`${door.url}/v1/waiting/aside`, {
      method: "POST",
      headers,
      body: JSON.stringify({ id, at: "2999-01-01T00:00:00.000Z" }),
    });
  expect((await put("../alpha")).status).toBe(400);
  expect((await put("grant alpha")).status).toBe(204);
  expect(await waiting()).toEqual([]);
  door.facts.aside = openPutAside(door.folder);
  expect(await waiting()).toEqual([]);
  refuse(denied("alpha", "env", "LANG", { at: "2999-01-02T00:00:00.000Z" }));
  expect(await waiting()).toEqual([["alpha", "env LANG 1"]]);
  await reload({ alpha: "grant: { env: [LANG] }", beta: "grant: {}" });
  expect(await waiting()).toEqual([]);
});

test("a refused program is offered with each row of its manifest, one alone in a command that can be pasted", async () => {
  const { get, refuse } = await made("permissions: { run: [{ binary: git, args: [push, 'log {...}'] }] }");
  refuse(denied("alpha", "run", "git"));
  const { items } = await get("/v1/waiting") as { items: WaitingItem[] };
  expect(items).toMatchObject([{
    kind: "grant",
    command: null,
    input: { grants: [{ target: "git log {...}", times: 1, sessions: 1 }, { target: "git push" }] },
  }]);
  const row = await made("permissions: { run: [{ binary: git, args: [push, 'log {...}'] }] }");
  row.refuse(denied("alpha", "run", "git", { grant_command: "bulkhead plugin grant alpha 'run:git push'" }));
  expect(await row.get("/v1/waiting")).toMatchObject({
    items: [{ command: "bulkhead plugin grant alpha 'run:git push'", input: { grants: [{ target: "git push" }] } }],
  });
  const single = await made("permissions: { run: [{ binary: git, args: ['log {...}'] }] }");
  single.refuse(denied("alpha", "run", "git"));
  expect(await single.get("/v1/waiting")).toMatchObject({
    items: [{ command: "bulkhead plugin grant alpha 'run:git log {...}'" }],
  });
});
