import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
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
  const waiting = async () => {
    const { items } = await get("/v1/waiting") as { items: { id: string }[] };
    return items.map(({ id }) => id).sort();
  };
  return { reload, get, waiting };
}

const asked = (...ids: string[]) =>
  ids.flatMap((id) => id.includes(" ") ? [id] : [`${id} env:LANG`, `${id} net:a.example:443`])
    .map((id) => `grant ${id}`).sort();

test("pluginFacts explains each manifest with its grants once, whoever asks and however often", async () => {
  const { get, waiting } = await made();
  for (let time = 0; time < 3; time++) {
    expect(await waiting()).toEqual(asked("alpha", "beta", "delta", "gamma net:a.example:443"));
    for (const id of ["alpha", "beta", "gamma", "delta"]) {
      expect(await get(`/v1/plugins/${id}`)).toMatchObject({ permissions: [{}, {}] });
    }
    await get("/v1/plugins");
  }
  await Promise.all(Array.from({ length: 5 }, waiting));
  expect(explained).toHaveBeenCalledTimes(3);
});

test("pluginFacts explains the plugin again whose grants a reload changed, and keeps no other's from before", async () => {
  const { reload, get, waiting } = await made();
  await waiting();
  explained.mockClear();
  const others = { alpha: "grant: {}", beta: "grant: {}, limits: { file_bytes: 5 }" };
  await reload({ ...others, gamma: "grant: { env: [LANG], net: ['a.example:443'] }" });
  expect(await waiting()).toEqual(asked("alpha", "beta"));
  await get("/v1/plugins/gamma");
  expect(explained.mock.calls.map(([{ grant }]) => grant)).toEqual([{ env: ["LANG"], net: ["a.example:443"] }]);
  await reload({ ...others, gamma: "grant: { env: [LANG] }" });
  expect(await waiting()).toEqual(asked("alpha", "beta", "gamma net:a.example:443"));
  expect(explained).toHaveBeenCalledTimes(2);
});

test("what waits is told without a plugin that cannot be explained", async () => {
  const { reload, waiting } = await made();
  await reload({ alpha: "grant: {}", beta: "grant: {}", gamma: "grant: { env: [LANG] }" });
  explained.mockImplementationOnce(() => {
    throw new Error("It takes too long.");
  });
  expect(await waiting()).toEqual(asked("beta", "gamma net:a.example:443"));
});

test("a missing grant is offered as its row says, in a command that can be pasted", async () => {
  const { get } = await made(
    "permissions: { run: [{ binary: git, args: [push, 'log {...}'] }], secrets: [{ name: KEY, env: [TOKEN] }] }",
  );
  const { items } = await get("/v1/waiting") as { items: { plugin_id: string; input: object; command: string }[] };
  const offered = items.filter(({ plugin_id }) => plugin_id === "alpha").map(({ input, command }) => [input, command]);
  expect(offered).toHaveLength(3);
  expect(offered).toEqual(expect.arrayContaining([
    [{ permission: "run", target: "git push" }, "bulkhead plugin grant alpha 'run:git push'"],
    [{ permission: "run", target: "git log {...}" }, "bulkhead plugin grant alpha 'run:git log {...}'"],
    [{ permission: "secrets", target: "KEY" }, "bulkhead plugin grant alpha secrets:KEY"],
  ]));
});
