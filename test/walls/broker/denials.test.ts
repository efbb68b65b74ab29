import { link, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type { SessionBroker } from "../../../core/walls/broker/session-broker.ts";
import { checkEnv } from "../../../core/sessions/host/check-request.ts";
import { openPins } from "../../../core/sessions/host/state/pin-store.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { fakePlugin } from "../../doors/cli/fake-host.ts";
import { anyShell, capabilities, errorOf, makeBroker } from "./broker-fixture.ts";
import { serve } from "./loopback-server.ts";

vi.mock("../../../core/ground/platform/net/network.ts", async (original) => {
  const actual = await original<typeof import("../../../core/ground/platform/net/network.ts")>();
  const inward = (host: string) => host === "inward.example" ? Promise.resolve(["10.0.0.1"]) : null;
  return { ...actual, resolveAddresses: (host: string) => inward(host) ?? actual.resolveAddresses(host) };
});

/** A kind of denial: what brings it about, and the permission whose line would allow it; null: no grant would. */
interface Kind {
  name: string;
  line: keyof Permissions | null;
  act(broker: SessionBroker, place: Place): Promise<unknown>;
}

interface Place {
  root: string;
  workdir: string;
  server: string;
}

const lines = { run: 3, read: 4, write: 5, net: 6, env: 7, secrets: 8, kv: 9, mcp_servers: 99, limits: 10 };
const run = (broker: SessionBroker, binary: string, args: string[] = [], options = {}) =>
  broker.call("run", { binary, args, options });
const fetch = (broker: SessionBroker, url: string, headers = {}) => broker.call("fetch", { url, options: { headers } });
const secret = (broker: SessionBroker) => broker.call("secret_use", { name: "KEY" }) as Promise<string>;
const read = (broker: SessionBroker, path: string) => broker.call("fs_read_text", { path });
const write = (broker: SessionBroker, path: string) => broker.call("fs_write_text", { path, text: "x" });

const kinds: readonly Kind[] = [
  { name: "a program that is not granted", line: "run", act: (broker) => run(broker, "id") },
  { name: "arguments of no granted form", line: "run", act: (broker) => run(broker, "echo", ["other"]) },
  {
    name: "a program that is another one than was pinned",
    line: "run",
    act: async (broker, { root }) => {
      for (const name of ["one", "two"]) await writeFile(join(root, name), "#!/bin/sh\n", { mode: 0o755 });
      await symlink(join(root, "two"), join(root, "pinned"));
      const pinned = { binary: join(root, "pinned"), path: join(root, "pinned"), real: join(root, "one") };
      await openPins(join(root, "pins")).of("acme").write({ ...pinned, owner: 0, pinned_at: "2026-01-01T00:00:00Z" });
      return run(broker, join(root, "pinned"));
    },
  },
  {
    name: "a program where the session works",
    line: null,
    act: async (broker, { workdir }) => {
      await writeFile(join(workdir, "made"), "#!/bin/sh\n", { mode: 0o755 });
      return run(broker, join(workdir, "made"));
    },
  },
  { name: "a program that leads out of the plugin's folder", line: null, act: (broker) => run(broker, "./out") },
  {
    name: "a folder to run in outside the working directory",
    line: null,
    act: (broker) => run(broker, "sh", ["-c", ""], { cwd: "/" }),
  },
  {
    name: "a variable that the run permission does not name",
    line: "run",
    act: (broker) => run(broker, "sh", ["-c", ""], { env: { OTHER: "x" } }),
  },
  {
    name: "a variable that programs load code by",
    line: null,
    act: (broker) => run(broker, "sh", ["-c", ""], { env: { LD_PRELOAD: "x" } }),
  },
  { name: "a file outside what may be read", line: "read", act: (broker, { root }) => read(broker, root) },
  { name: "a file outside what may be written", line: "write", act: (broker, { root }) => write(broker, `${root}/x`) },
  { name: "a pseudo file", line: null, act: (broker) => read(broker, "/proc/self/environ") },
  { name: "the host's own state", line: null, act: (broker, { root }) => read(broker, join(root, "host/journal.db")) },
  { name: "a file that programs act on", line: "write", act: (broker) => write(broker, ".git/hooks/pre-commit") },
  {
    name: "a file with a second name",
    line: null,
    act: async (broker, { root, workdir }) => {
      await writeFile(join(root, "outside.txt"), "x");
      await link(join(root, "outside.txt"), join(workdir, "inside.txt"));
      return write(broker, "inside.txt");
    },
  },
  {
    name: "the granted folder itself",
    line: null,
    act: (broker, { workdir }) => broker.call("fs_remove", { path: workdir }),
  },
  { name: "a host that is not granted", line: "net", act: (broker) => fetch(broker, "https://example.org/") },
  {
    name: "an address that is not public",
    line: "net",
    act: (broker, { server }) => fetch(broker, server.replace("127.0.0.1", "inward.example")),
  },
  { name: "a variable that may not be read", line: "env", act: (broker) => broker.call("env_get", { name: "HOME" }) },
  {
    name: "a secret that is not granted",
    line: "secrets",
    act: (broker) => broker.call("secret_use", { name: "OTHER" }),
  },
  {
    name: "a secret in another variable",
    line: "secrets",
    act: async (broker) => run(broker, "sh", ["-c", ""], { env: { PLAIN: await secret(broker) } }),
  },
  {
    name: "a secret in a variable that the run permission does not name",
    line: "run",
    act: async (broker) => run(broker, "sh", ["-c", ""], { env: { UNNAMED: await secret(broker) } }),
  },
  {
    name: "a secret in a header that is none for credentials",
    line: null,
    act: async (broker, { server }) => fetch(broker, server, { "user-agent": await secret(broker) }),
  },
  {
    name: "a secret to another host",
    line: "secrets",
    act: async (broker, { server }) => fetch(broker, server, { authorization: await secret(broker) }),
  },
  {
    name: "a placeholder where no secret belongs",
    line: null,
    act: async (broker) => write(broker, await secret(broker)),
  },
  { name: "the key-value store", line: "kv", act: (broker) => broker.call("kv_get", { key: "x" }) },
  {
    name: "a variable that a request sets",
    line: "env",
    act: () => {
      const grantee = {
        plugin: fakePlugin("acme"),
        ceiling: { env: ["OTHER"] },
        place: { file: "/etc/bulkhead.yaml", line: lines.env },
      };
      return Promise.resolve().then(() => checkEnv({ OTHER: "x" }, {}, grantee));
    },
  },
];

test.each(kinds)("denial of $name says which line would allow it, or that none would", async ({ name, line, act }) => {
  const { port, requests } = await serve((_, response) => void response.end());
  const server = `http://127.0.0.1:${port}/`;
  const places = await makeBroker();
  const { root } = places;
  const { workdir, pluginDir } = places.options;
  await symlink("/bin/sh", join(pluginDir, "out"));
  await mkdir(join(root, "host"));
  const { broker, events } = await makeBroker({
    workdir,
    pluginDir,
    permissions: {
      run: [
        { ...anyShell, env: ["PLAIN", "TOKEN"] },
        { binary: "echo", args: ["hello"] },
        { binary: "./out" },
        { binary: join(workdir, "made") },
        { binary: join(root, "pinned") },
      ],
      read: ["workdir"],
      write: ["workdir"],
      net: [`127.0.0.1:${port}`, `inward.example:${port}`],
      secrets: [{ name: "KEY", env: ["TOKEN", "UNNAMED"], hosts: ["example.com:443"] }],
    },
    secrets: new Map([["KEY", "sk-live/0123456789"]]),
    pins: openPins(join(root, "pins")).of("acme"),
    protectedPaths: [join(root, "host")],
    grantPlace: (permission) => ({ file: "/etc/bulkhead.yaml", line: lines[permission] }),
  });
  const error = await errorOf(act(broker, { root, workdir, server }));

  expect(error.code).toBe("permission_denied");
  const place = { grant_file: "/etc/bulkhead.yaml", grant_line: line === null ? 0 : lines[line] };
  expect(error.details).toMatchObject(line === null ? { grantable: false } : place);
  if (line === null) expect(error.details).not.toHaveProperty("grant_line");
  if (name === "a variable that a request sets") return;
  const told = capabilities(events).filter(({ decision }) => decision === "denied");
  expect(told).toHaveLength(1);
  if (line === null) expect(told[0]).not.toHaveProperty("grant_line");
  else expect(told[0]).toMatchObject(place);
  expect(requests).toEqual([]);
});

const unasked: [entry: string, act: (broker: SessionBroker) => Promise<unknown>][] = [
  ["read: [/etc/hostname]", (broker) => read(broker, "/etc/hostname")],
  ["write: [workdir]", (broker) => broker.call("fs_write_text", { path: "a.txt", text: "x" })],
  ['net: ["example.com:443"]', (broker) => fetch(broker, "https://example.com/", {})],
  ["kv: true", (broker) => broker.call("kv_get", { key: "x" })],
  [
    'run: [{ binary: git, args: ["log --oneline {}"] }]',
    (broker) => broker.call("run", { binary: "git", args: ["log", "--oneline", "what is new"], options: {} }),
  ],
];

test.each(unasked)(
  "denial of what the plugin does not ask for names the line of plugin.yaml: %s",
  async (entry, act) => {
    const { broker, events } = await makeBroker({ ceiling: { env: ["HOME"] } });
    const manifest_entry = `permissions: { ${entry} }`;
    expect(await errorOf(act(broker))).toMatchObject({
      message: expect.stringMatching(/: plugin\.yaml does not ask for it\.$/),
      hint: `Add to plugin.yaml: ${manifest_entry}`,
    });
    expect(capabilities(events)).toMatchObject([{ grantable: false, manifest_entry }]);
  },
);

test("a denial says when granting would not help, and names no grant then", async () => {
  const { broker } = await makeBroker({ ceiling: { read: ["workdir"] }, narrowed: new Set(["read"]) });
  expect(await errorOf(read(broker, "/etc/hostname"))).toMatchObject({
    message: expect.stringContaining("granting it would not help"),
    hint: "See: bulkhead plugin explain acme",
  });
  expect((await errorOf(read(broker, "a.txt"))).message).toMatch(/ is not allowed to read ".*" yet\.$/);
});

test.each<[ceiling: Permissions, says: object]>([
  [{}, { hint: expect.not.stringContaining("plugin grant"), details: { grantable: false } }],
  [{ env: ["KEY"] }, { hint: "bulkhead plugin grant acme env:KEY" }],
  [{ run: [{ binary: "agent", env: ["KEY"] }] }, { hint: "bulkhead plugin grant acme run:agent" }],
])("denial of a request's variable names only a grant that would help: %j", async (ceiling, says) => {
  const grantee = { plugin: fakePlugin("acme"), ceiling, place: null };
  const checked = Promise.resolve().then(() => checkEnv({ KEY: "x" }, {}, grantee));
  expect(await errorOf(checked)).toMatchObject({ code: "permission_denied", ...says });
});
