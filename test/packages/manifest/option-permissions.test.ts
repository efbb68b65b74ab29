import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { matchesArguments, parseArgumentPattern } from "../../../plugin-sdk/argument-pattern.ts";
import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { explainPermissions } from "../../../core/packages/permissions/explain-permissions.ts";
import { optionChoices } from "../../../core/packages/manifest/option-choices.ts";
import { chosenPermissions, fillPermissions } from "../../../core/packages/manifest/option-permissions.ts";
import {
  everRequested,
  requestedPermissions,
  requestedWith,
} from "../../../core/packages/permissions/requested-permissions.ts";
import { readManifest } from "../../../core/packages/manifest/read-manifest.ts";

const bare: Manifest = {
  manifest: 1,
  id: "options",
  name: "Options",
  version: "1.0.0",
  description: "Names options.",
  license: "MIT",
  host: "^1.0.0",
  adapter_type: "cli",
  entry: "./mod.js",
  capabilities: {},
};

const asked: Permissions = {
  run: [
    { binary: "git", args: ["status"] },
    { binary: "{config.command}", args: ["{config.args}"], env: ["{config.env}", "HOME_OF_IT"] },
  ],
  net: ["example.com:443", "{config.url}"],
  env: ["{config.env}"],
  secrets: [{ name: "{config.secret}", hosts: ["{config.url}"] }],
  read: ["workdir"],
};

test("options stand in for what they hold", () => {
  const values = {
    command: "agent",
    args: ["serve", "--for me", "{}"],
    env: ["A_KEY", "B_KEY"],
    url: "wss://agents.example.com/acp",
    secret: "TOKEN",
  };
  expect(fillPermissions(asked, values)).toEqual({
    run: [
      { binary: "git", args: ["status"] },
      { binary: "agent", args: [expect.any(String)], env: ["A_KEY", "B_KEY", "HOME_OF_IT"] },
    ],
    net: ["example.com:443", "agents.example.com:443"],
    env: ["A_KEY", "B_KEY"],
    secrets: [{ name: "TOKEN", hosts: ["agents.example.com:443"] }],
    read: ["workdir"],
  });
  const [, filled] = fillPermissions(asked, values).run ?? [];
  const pattern = parseArgumentPattern(filled?.args?.[0] ?? "");
  // The arguments and no others: what looks like a placeholder is none.
  expect(matchesArguments(pattern, ["serve", "--for me", "{}"])).toBe(true);
  expect(matchesArguments(pattern, ["serve", "--for me", "other"])).toBe(false);
});

test("an option that is not set, or holds what cannot stand there, asks for nothing", () => {
  const nothing = { run: [{ binary: "git", args: ["status"] }], net: ["example.com:443"], env: [], read: ["workdir"] };
  expect(fillPermissions(asked, {})).toEqual({ ...nothing, secrets: [] });
  const wrong = { command: "../up", args: 7, env: ["not a name"], url: "file:///etc", secret: "=" };
  expect(fillPermissions(asked, wrong)).toEqual({ ...nothing, secrets: [] });
  expect(fillPermissions({ run: [{ binary: "{config.toString}" }] }, {})).toEqual({ run: [] });
});

test("before an operator has chosen, what would be asked for can be shown and compared", () => {
  const manifest = { ...bare, permissions: asked };
  const requested = requestedPermissions(manifest);
  expect(requested).toEqual({
    run: [
      { binary: "git", args: ["status"] },
      { binary: "{config.command}", args: ["{...}"], env: ["HOME_OF_IT"] },
    ],
    net: ["example.com:443"],
    env: [],
    secrets: [],
    read: ["workdir"],
  });
  const rows = explainPermissions({ requested, grant: { run: [{ binary: "anything" }] }, deny: {} });
  expect(rows).toContainEqual(
    expect.objectContaining({ permission: "run", target: "{config.command} {...}", granted: false, effective: [] }),
  );
});

test("a program without arguments is asked for without arguments", () => {
  const [run] = fillPermissions({ run: [{ binary: "x", args: ["{config.args}"] }] }, {}).run ?? [];
  expect(matchesArguments(parseArgumentPattern(run?.args?.[0] ?? "?"), [])).toBe(true);
  expect(matchesArguments(parseArgumentPattern(run?.args?.[0] ?? "?"), ["x"])).toBe(false);
});

test.each([
  ["http://localhost:8080/acp", ["localhost:8080"]],
  ["https://agent.example.com", ["agent.example.com:443"]],
  ["ws://127.0.0.1/x", ["127.0.0.1:80"]],
  ["agent.example.com:8443", ["agent.example.com:8443"]],
  ["https://user@agent.example.com/", ["agent.example.com:443"]],
  ["nonsense", []],
])("the address %s asks for %j", (url, net) => {
  expect(fillPermissions({ net: ["{config.url}"] }, { url })).toEqual({ net });
});

const choosing: Manifest = {
  ...bare,
  permissions: { run: [{ binary: "sh" }], net: ["{config.url}"], limits: { children: 4 } },
  permissions_for: {
    agent: {
      a: { run: [{ binary: "a" }], net: ["a.example.com:443"], mcp_servers: ["a"], limits: { children: 2 } },
      b: { run: [{ binary: "b", args: ["{config.args}"] }], secrets: [{ name: "KEY", env: ["B_KEY"] }] },
    },
    depth: { 1: { kv: true } },
  },
  config: {
    type: "object",
    properties: {
      agent: { type: "string", enum: ["a", "b"] },
      depth: { type: "integer", enum: [1, 2], default: 2 },
      url: { type: "string" },
      args: { type: "array" },
    },
  },
};

test("permissions for a value count beside the others once the option has it, and never twice", () => {
  const base = { run: [{ binary: "sh" }], net: [], limits: { children: 4 } };
  expect(requestedWith(choosing, {})).toEqual(base);
  expect(requestedWith(choosing, { agent: "toString" })).toEqual(base);
  const withA = {
    run: [{ binary: "sh" }, { binary: "a" }],
    net: ["here:443", "a.example.com:443"],
    mcp_servers: ["a"],
    limits: { children: 2 },
  };
  const config = { agent: "a", url: "https://here" };
  expect(requestedWith(choosing, config)).toEqual(withA);
  const settled = { ...choosing, permissions: chosenPermissions(choosing, config) };
  expect(requestedPermissions(settled)).toEqual(withA);
  expect(requestedWith(settled, config)).toEqual(withA);
  expect(requestedWith(choosing, { agent: "b", depth: 1, args: ["x"] })).toMatchObject({
    run: [{ binary: "sh" }, { binary: "b", args: ["x"] }],
    secrets: [{ name: "KEY", env: ["B_KEY"] }],
    kv: true,
  });
});

test("all values together are what a plugin may ever ask for", () => {
  expect(everRequested(choosing)).toEqual({
    run: [{ binary: "sh" }, { binary: "a" }, { binary: "b", args: ["{...}"] }],
    net: ["a.example.com:443"],
    mcp_servers: ["a"],
    secrets: [{ name: "KEY", env: ["B_KEY"] }],
    kv: true,
    limits: { children: 2 },
  });
});

test("an option that decides about permissions is told of with what it decides", () => {
  expect(optionChoices(choosing, { id: "options", hostManifest: undefined })).toEqual([
    { option: "args", decides: ["with which arguments"], value: null, hidden: false },
    { option: "url", decides: ["where it sends what it knows"], value: null, hidden: false },
    {
      option: "agent",
      decides: [
        "which program it starts",
        "which hosts its programs call",
        "which secret is used",
        "which program gets a session's MCP servers",
      ],
      value: null,
      hidden: false,
    },
    { option: "depth", decides: ["whether it keeps a small store"], value: 2, hidden: false },
  ]);
});

test("a manifest's permissions name options that it has, of the right type", async () => {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-options-"));
  const manifest = (run: string) => `
manifest: 1
id: options
name: Options
version: 1.0.0
description: Names options.
license: MIT
host: ^1.0.0
adapter_type: cli
entry: ./mod.js
capabilities: {}
permissions:
  run:
    - ${run}
  net: ["{config.url}"]
config:
  type: object
  properties:
    command: { type: string }
    args: { type: array }
    url: { type: string }
`;
  const read = async (run: string) => {
    await writeFile(join(folder, "plugin.yaml"), manifest(run));
    return await readManifest(folder);
  };
  try {
    await writeFile(join(folder, "mod.js"), "");
    const good = await read('{ binary: "{config.command}", args: ["{config.args}"] }');
    expect(good.permissions?.net).toEqual(["{config.url}"]);
    await expect(read('{ binary: "{config.comand}" }')).rejects.toThrow(
      /permissions\.run\[0\]\.binary: expected an option .* of type string, found .*; did you mean "command"\?/,
    );
    await expect(read('{ binary: "{config.args}" }')).rejects.toThrow(/of type string, found one of type array/);
    await expect(read('{ binary: x, args: ["{config.nothing}"] }')).rejects.toThrow(/permissions\.run\[0\]\.args\[0\]/);
  } finally {
    await rm(folder, { recursive: true });
  }
});
