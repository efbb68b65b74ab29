import { mkdir, symlink } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { readManifest } from "../../../core/packages/manifest/read-manifest.ts";
import { requestedPermissions } from "../../../core/packages/permissions/requested-permissions.ts";
import type { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { codeManifest, manifestText, newFolder, writePackage } from "../registry/package-folder.ts";

const cli = { entry: null, cli: '\n  binary: tr\n  command_template: "{binary} a-z A-Z < {prompt_file}"' };

async function refusal(text: string, files: Record<string, string> = {}): Promise<BulkheadError> {
  const folder = await writePackage({ "p/plugin.yaml": text, "p/mod.ts": "", ...files });
  try {
    await readManifest(`${folder}/p`);
  } catch (error) {
    return error as BulkheadError;
  }
  throw new Error("was not refused");
}

describe("readManifest", () => {
  it("reads the least manifest there is", async () => {
    const folder = await writePackage({ "plugin.yaml": manifestText(), "mod.ts": "" });
    expect(await readManifest(folder)).toEqual(codeManifest);
  });

  it("reads one with everything in it", async () => {
    const text = manifestText({
      ...cli,
      normaliser: "./lines.ts",
      access_modes:
        "\n  - {type: subscription, priority: 1, enabled: true, plan: pro, rate_limits: {requests_per_day: 10}}\n" +
        "  - {type: api, priority: 2, enabled: true, model: m, max_tokens: 10,\n" +
        "     pricing: {input_per_1k_tokens: null, output_per_1k_tokens: 0, currency: USD}}\n" +
        "  - {type: local, priority: 3, enabled: false, model: m, endpoint: 'http://localhost:1'}",
      permissions:
        "\n  run: [{binary: git, args: ['log {...}'], env: [LANG]}]\n  read: [workdir, plugin, 'config:git', /etc/hosts]\n" +
        "  write: [workdir, data]\n  net: ['example.com:443', '*.example.com:443', '[::1]:80']\n  env: [HOME]\n  secrets: [{ name: KEY, env: [TOKEN], hosts: ['example.com:443'] }]\n" +
        "  kv: true\n  limits: {children: 2}",
      config:
        "\n  type: object\n  properties:\n    depth: {type: integer, minimum: 1, default: 3}\n  required: [depth]",
    });
    const folder = await writePackage({ "plugin.yaml": text, "lines.ts": "" });
    const manifest = await readManifest(folder);
    expect(manifest.access_modes).toHaveLength(3);
    expect(manifest.permissions?.net).toEqual(["example.com:443", "*.example.com:443", "[::1]:80"]);
  });

  it("refuses a folder without a manifest", async () => {
    await expect(readManifest(await newFolder())).rejects.toMatchObject({ code: "not_found" });
  });

  it("refuses a manifest that is a folder, or is no UTF-8, or is too long, without reading it all", async () => {
    const folder = await newFolder();
    await mkdir(`${folder}/plugin.yaml`);
    await expect(readManifest(folder)).rejects.toThrow(/plugin\.yaml:1:1: expected a file, found something else$/);
    expect((await refusal(`# ${"x".repeat(70_000)}`)).message).toBe(
      "p/plugin.yaml:1:1: expected at most 65536 bytes, found more",
    );
  });

  it("refuses an entry that a link takes out of the package", async () => {
    const out = await writePackage({ "out.ts": "" });
    const folder = await writePackage({ "plugin.yaml": manifestText() });
    await symlink(`${out}/out.ts`, `${folder}/mod.ts`);
    await expect(readManifest(folder)).rejects.toThrow("expected a file that no link takes outside the package");
  });

  it("lists all problems, in the order of the file, up to ten", async () => {
    const error = await refusal("manifest: 2\nnmae: Demo\nversion: 1\n");
    expect(error.code).toBe("invalid_manifest");
    expect(error.message.split("\n")).toEqual([
      "p/plugin.yaml:1:1 id: expected an id of lowercase letters, digits and hyphens such as my-agent, found nothing",
      "p/plugin.yaml:1:1 name: expected string of 1 to 128 characters, found nothing",
      "p/plugin.yaml:1:1 description: expected string of 1 to 1024 characters, found nothing",
      "p/plugin.yaml:1:1 license: expected string of 1 to 64 characters, found nothing",
      "p/plugin.yaml:1:1 host: expected a range of versions such as ^1.0.0, found nothing",
      'p/plugin.yaml:1:1 adapter_type: expected "agent" or "cli" or "acp" or "model" or "tool", found nothing',
      "p/plugin.yaml:1:1 capabilities: expected a map, found nothing",
      "p/plugin.yaml:1:11 manifest: expected 1, found number 2",
      'p/plugin.yaml:2:1 nmae: expected a known key, found "nmae"; did you mean "name"?',
      "p/plugin.yaml:3:10 version: expected a version such as 0.1.0, found number 1",
    ]);
    const mistyped = await refusal(manifestText({ adapter_type: "agnet" }));
    expect(mistyped.message).toContain('found string "agnet"; did you mean "agent"?');
    const many = await refusal(`${manifestText()}${Array.from({ length: 12 }, (_, n) => `zz${n}: 1\n`).join("")}`);
    expect(many.message.split("\n")).toHaveLength(11);
    expect(many.message).toMatch(/and 2 more$/);
    expect(many.details?.["problems"]).toHaveLength(12);
  });
});

// The least manifest has ten lines: what a case adds begins on line 11.
/** Permissions for the values of an option "agent", which may be a or b. */
function choosing(permissionsFor: string): Record<string, string> {
  return {
    config: "\n  type: object\n  properties:\n    agent: {type: string, enum: [a, b]}\n    name: {type: string}",
    permissions_for: `\n  ${permissionsFor}`,
  };
}

const permissionsForCases: [name: string, changes: Record<string, string | null>, start: string][] = [
  [
    "permissions for an option that does not exist",
    choosing("agnet: {a: {kv: true}}"),
    "p/plugin.yaml:17:3 permissions_for.agnet: expected an option of the manifest's config that has an enum, " +
    'found string "agnet"; did you mean "agent"?',
  ],
  [
    "permissions for an option without an enum",
    choosing("name: {a: {kv: true}}"),
    "p/plugin.yaml:17:3 permissions_for.name: expected an option of the manifest's config that has an enum",
  ],
  [
    "permissions for another value than those of the enum",
    choosing("agent: {c: {kv: true}}"),
    'p/plugin.yaml:17:11 permissions_for.agent.c: expected a value of the option: a, b, found string "c"',
  ],
  [
    "a fault in permissions for a value",
    choosing("agent: {a: {net: [nowhere]}}"),
    "p/plugin.yaml:17:21 permissions_for.agent.a.net[0]: expected host:port",
  ],
  [
    "a secret for a value that goes nowhere",
    choosing("agent: {a: {secrets: [{name: KEY}]}}"),
    "p/plugin.yaml:17:25 permissions_for.agent.a.secrets[0]: expected env or hosts",
  ],
  [
    "MCP servers for a program that no value runs",
    choosing("agent: {a: {run: [{binary: x}], mcp_servers: [y]}}"),
    'p/plugin.yaml:17:49 permissions_for.agent.a.mcp_servers[0]: expected a program that the manifest runs, found string "y"',
  ],
  [
    "programs of values of which none is handed the MCP servers that it accepts",
    { ...choosing("agent: {a: {run: [{binary: x}]}}"), accepts: "[mcp_servers]" },
    "p/plugin.yaml:1:1 permissions.mcp_servers: expected the programs that may be handed a session's MCP servers",
  ],
];

const added = (key: string, value: string) => ({ [key]: value });
const corpus: [name: string, changes: Record<string, string | null>, start: string][] = [
  [
    "an unknown key",
    added("permisions", "{}"),
    'p/plugin.yaml:11:1 permisions: expected a known key, found "permisions"; did you mean "permissions"?',
  ],
  [
    "an unknown key with nothing near",
    added("colour", "red"),
    'p/plugin.yaml:11:1 colour: expected a known key, found "colour"',
  ],
  [
    "a wrong id",
    { id: "Demo" },
    'p/plugin.yaml:2:5 id: expected an id of lowercase letters, digits and hyphens such as my-agent, found string "Demo"',
  ],
  ["a reserved id", { id: "auto" }, "p/plugin.yaml:2:5 id: expected an id other than all, any, auto"],
  [
    "no string as name",
    { name: "[a]" },
    "p/plugin.yaml:3:7 name: expected string of 1 to 128 characters, found a list of 1",
  ],
  ["nothing as name", { name: "" }, "p/plugin.yaml:3:1 name: expected string of 1 to 128 characters, found nothing"],
  [
    "no semantic version",
    { version: "1.0.0.0" },
    'p/plugin.yaml:4:10 version: expected a version such as 0.1.0, found string "1.0.0.0"',
  ],
  [
    "a version with a v",
    { version: "v1.0.0" },
    'p/plugin.yaml:4:10 version: expected a version such as 0.1.0, found string "v1.0.0"',
  ],
  [
    "no range",
    { host: "soon" },
    'p/plugin.yaml:7:7 host: expected a range of versions such as ^1.0.0, found string "soon"',
  ],
  [
    "no range of tested versions",
    { tested: "\n  agent: all" },
    'p/plugin.yaml:12:10 tested.agent: expected a range of versions such as 1.2.0 - 1.4.0, found string "all"',
  ],
  [
    "a range for another contract",
    { host: "^2.0.0" },
    'p/plugin.yaml:7:7 host: expected a range that allows this host\'s contract 1.0.0, found string "^2.0.0"',
  ],
  [
    "an unknown adapter type",
    { adapter_type: "robot" },
    'p/plugin.yaml:8:15 adapter_type: expected "agent" or "cli" or "acp" or "model" or "tool", found string "robot"',
  ],
  ["neither entry nor cli", { entry: null }, "p/plugin.yaml:1:1: expected either entry or cli, found neither"],
  [
    "entry and cli",
    { cli: '{binary: tr, command_template: "{binary}"}' },
    "p/plugin.yaml:11:1 cli: expected either entry or cli, found both",
  ],
  [
    "a normaliser without cli",
    added("normaliser", "./mod.ts"),
    "p/plugin.yaml:11:1 normaliser: expected a normaliser only beside cli",
  ],
  [
    "an entry outside",
    { entry: "../mod.ts" },
    'p/plugin.yaml:9:8 entry: expected a path inside the package, found string "../mod.ts"',
  ],
  ["an absolute entry", { entry: "/mod.ts" }, "p/plugin.yaml:9:8 entry: expected a path inside the package"],
  [
    "an entry that is not there",
    { entry: "./main.ts" },
    'p/plugin.yaml:9:8 entry: expected an existing file, found string "./main.ts"',
  ],
  ["an entry of another kind", { entry: "./mod.wasm" }, "p/plugin.yaml:9:8 entry: expected a file with one of .ts"],
  [
    "a capability that is no boolean",
    { capabilities: "{testing: yes}" },
    'p/plugin.yaml:10:25 capabilities.testing: expected boolean, found string "yes"',
  ],
  [
    "an unknown capability",
    { capabilities: "{tetsing: true}" },
    'p/plugin.yaml:10:16 capabilities.tetsing: expected a known key, found "tetsing"; did you mean "testing"?',
  ],
  [
    "a context of no tokens",
    { capabilities: "\n  max_context_tokens: 0" },
    "p/plugin.yaml:11:23 capabilities.max_context_tokens: expected integer of at least 1, found number 0",
  ],
  [
    "a map for a list",
    added("access_modes", "{type: api}"),
    "p/plugin.yaml:11:15 access_modes: expected a list of at most 16 items, found a map",
  ],
  [
    "an unknown access mode",
    added("access_modes", "\n  - type: free\n    priority: 1"),
    'p/plugin.yaml:12:11 access_modes[0].type: expected "subscription" or "api" or "local", found string "free"',
  ],
  [
    "an access mode without type",
    added("access_modes", "\n  - priority: 1"),
    'p/plugin.yaml:12:5 access_modes[0].type: expected "subscription" or "api" or "local", found nothing',
  ],
  [
    "a local mode without endpoint",
    added("access_modes", "\n  - {type: local, priority: 1, enabled: true, model: m}"),
    "p/plugin.yaml:12:5 access_modes[0].endpoint: expected string of 1 to 256 characters, found nothing",
  ],
  [
    "a subscription with a key of another mode",
    added("access_modes", "\n  - {type: subscription, priority: 1, enabled: true, plan: p, rate_limits: {}, model: m}"),
    'p/plugin.yaml:12:80 access_modes[0].model: expected a known key, found "model"',
  ],
  [
    "a binary that is no string",
    added("permissions", "\n  run:\n    - binary: 5"),
    "p/plugin.yaml:13:15 permissions.run[0].binary: expected string of 1 to 1024 characters, found number 5",
  ],
  [
    "a binary of the shell's kind",
    added("permissions", "\n  run:\n    - binary: ../git"),
    'p/plugin.yaml:13:15 permissions.run[0].binary: expected a name, an absolute path, ./path inside the plugin, or @runtime, found string "../git"',
  ],
  [
    "a run permission written short",
    added("permissions", "\n  run: [git]"),
    'p/plugin.yaml:12:9 permissions.run[0]: expected a map, found string "git"',
  ],
  [
    "a pattern with an open quote",
    added("permissions", '\n  run:\n    - {binary: git, args: ["log \'x"]}'),
    "p/plugin.yaml:13:28 permissions.run[0].args[0]: the quote ' is not closed at character",
  ],
  [
    "an unknown root",
    added("permissions", "\n  read: [workdir, home]"),
    'p/plugin.yaml:12:19 permissions.read[1]: expected workdir, workdir:<path>, data, plugin, config:<tool> or an absolute path, found string "home"',
  ],
  [
    "a root with steps up",
    added("permissions", "\n  read: [/data/../etc]"),
    "p/plugin.yaml:12:10 permissions.read[0]: expected workdir",
  ],
  [
    "writing to the plugin",
    added("permissions", "\n  write: [plugin]"),
    "p/plugin.yaml:12:11 permissions.write[0]: expected workdir, workdir:<path>, data, config:<tool> or an absolute path",
  ],
  [
    "an address without port",
    added("permissions", "\n  net: [example.com]"),
    'p/plugin.yaml:12:9 permissions.net[0]: expected host:port, found string "example.com"',
  ],
  [
    "an address with a port out of range",
    added("permissions", "\n  net: ['example.com:70000']"),
    "p/plugin.yaml:12:9 permissions.net[0]: expected host:port",
  ],
  [
    "a wildcard in the middle",
    added("permissions", "\n  net: ['api.*.com:443']"),
    "p/plugin.yaml:12:9 permissions.net[0]: expected host:port",
  ],
  [
    "a bad name of a variable",
    added("permissions", "\n  env: ['A B']"),
    "p/plugin.yaml:12:9 permissions.env[0]: expected the name of an environment variable",
  ],
  [
    "kv as a word",
    added("permissions", "\n  kv: please"),
    'p/plugin.yaml:12:7 permissions.kv: expected boolean, found string "please"',
  ],
  [
    "a template with a pipe",
    { ...cli, cli: '\n  binary: tr\n  command_template: "{binary} a | b"' },
    'p/plugin.yaml:12:21 cli.command_template: "|" stands outside quotes at character 12. A template is an argument list',
  ],
  [
    "an unknown placeholder",
    { ...cli, cli: '\n  binary: tr\n  command_template: "{binary} {promt}"' },
    "p/plugin.yaml:12:21 cli.command_template: unknown placeholder {promt} at character 10; did you mean {prompt}?",
  ],
  [
    "an optional argument that every command would have",
    { ...cli, cli: '\n  binary: tr\n  command_template: "{binary} -r {continue_from}"' },
    "p/plugin.yaml:12:21 cli.command_template: {continue_from} stands outside brackets at character 13. Put the arguments",
  ],
  [
    "a field that the template does not hand on",
    { ...cli, accepts: "[model, continue_from]" },
    "p/plugin.yaml:13:18 accepts[1]: expected a field that the command template hands on, in brackets such as [--option {continue_from}]",
  ],
  [
    "a parameter that is not declared",
    { ...cli, cli: '\n  binary: tr\n  command_template: "{binary} {params.depth}"' },
    'p/plugin.yaml:12:21 cli.command_template: {params.depth} names no option declared under "config" at character 10',
  ],
  [
    "a default model that is not listed",
    { ...cli, cli: '\n  binary: tr\n  command_template: "{binary}"\n  models: {fast: f-1}\n  default_model: fsat' },
    'p/plugin.yaml:14:18 cli.default_model: expected one of the models fast, found string "fsat"; did you mean "fast"?',
  ],
  ["an unknown output format", {
    ...cli,
    cli: '\n  binary: tr\n  command_template: "{binary}"\n  output: {format: xml}',
  }, 'p/plugin.yaml:13:20 cli.output.format: expected "text" or "jsonl", found string "xml"'],
  [
    "jsonl without rules",
    { ...cli, cli: '\n  binary: tr\n  command_template: "{binary}"\n  output: {format: jsonl}' },
    "p/plugin.yaml:13:11 cli.output.rules: expected a list of at most 256 items, found nothing",
  ],
  [
    "a rule with a field that its event does not have",
    {
      ...cli,
      cli: '\n  binary: tr\n  command_template: "{binary}"\n  output:\n    format: jsonl\n    rules:' +
        "\n      - when: { type: a }\n        event: { type: output, data: $.a }" +
        "\n      - when: { type: b }\n        event: { type: thinking, contents: $.b }",
    },
    'p/plugin.yaml:19:34 cli.output.rules[1].event.contents: "thinking" has no field "contents"; did you mean "content"?',
  ],
  [
    "a condition with an unknown test",
    {
      ...cli,
      cli: '\n  binary: tr\n  command_template: "{binary}"\n  output:\n    format: jsonl\n    rules:' +
        "\n      - {when: {a: {contans: x}}, ignore: true}",
    },
    'p/plugin.yaml:16:21 cli.output.rules[0].when.a.contans: expected a known key, found "contans"; did you mean "contains"?',
  ],
  [
    "a path with an unknown word",
    {
      ...cli,
      cli: '\n  binary: tr\n  command_template: "{binary}"\n  output:\n    format: jsonl\n    rules:' +
        '\n      - {when: {}, event: {type: output, data: "$.a | jsn"}}',
    },
    'p/plugin.yaml:16:48 cli.output.rules[0].event.data: "jsn" after a path has no meaning; did you mean "json"?',
  ],
  [
    "an else that nothing stands before",
    {
      ...cli,
      cli: '\n  binary: tr\n  command_template: "{binary}"\n  output:\n    format: jsonl\n    rules:' +
        "\n      - {else: {}, ignore: true}",
    },
    'p/plugin.yaml:16:10 cli.output.rules[0].else: no rule stands before its "else"',
  ],
  [
    "an unknown meaning of a failure",
    { ...cli, cli: '\n  binary: tr\n  command_template: "{binary}"\n  failures: {unavailible: [x]}' },
    'p/plugin.yaml:13:14 cli.failures.unavailible: expected a known key, found "unavailible"; did you mean "unavailable"?',
  ],
  [
    "a rule that lacks a field of its event",
    {
      ...cli,
      cli: '\n  binary: tr\n  command_template: "{binary}"\n  output:\n    format: jsonl\n    rules:' +
        "\n      - when: { type: b }\n        event: { type: thinking }",
    },
    'p/plugin.yaml:17:16 cli.output.rules[0].event: "thinking" needs the field "content". Fields of "thinking" are',
  ],
  [
    "an unknown system",
    { ...cli, cli: '\n  binary: {linx: tr}\n  command_template: "{binary}"' },
    'p/plugin.yaml:11:12 cli.binary.linx: expected linux, darwin, win32 or default, found string "linx"',
  ],
  ["an exit code out of range", {
    ...cli,
    cli: '\n  binary: tr\n  command_template: "{binary}"\n  exit_codes: {"300": fatal}',
  }, 'p/plugin.yaml:13:16 cli.exit_codes["300"]'.replace('["300"]', ".300")],
  ["a reference that is none", {
    ...cli,
    cli: '\n  binary: tr\n  command_template: "{binary}"\n  env_vars: {KEY: "${a b}"}',
  }, "p/plugin.yaml:13:19 cli.env_vars.KEY: expected ${NAME} or ${secret:NAME} in what it refers to"],
  [
    "an option with a default that does not fit",
    added("config", "\n  type: object\n  properties:\n    depth: {type: integer, default: deep}"),
    'p/plugin.yaml:14:37 config.properties.depth.default: expected integer, found string "deep"',
  ],
  [
    "an option with $ref",
    added("config", "\n  type: object\n  properties:\n    depth: {$ref: x, type: string}"),
    'p/plugin.yaml:14:13 config.properties.depth["$ref"]: expected a known key',
  ],
  [
    "an option that is required and not declared",
    added("config", "\n  type: object\n  properties: {}\n  required: [depth]"),
    "p/plugin.yaml:14:14 config.required[0]: expected the name of a declared option",
  ],
  [
    "bounds that nothing meets",
    added("config", "\n  type: object\n  properties:\n    depth: {type: integer, minimum: 5, maximum: 3}"),
    "p/plugin.yaml:14:49 config.properties.depth.maximum: expected at least the minimum 5, found 3",
  ],
  ...permissionsForCases,
  [
    "an endpoint of a variable that its program is not given",
    {
      permissions: "\n  run: [{binary: x, env: [X_URL]}]",
      endpoints: "\n  - {program: x, key: X_KEY, base_url: X_URL, url: 'https://example.com'}",
    },
    'p/plugin.yaml:14:23 endpoints[0].key: expected a variable that "env" of "x" names, found string "X_KEY"',
  ],
  [
    "a host of housekeeping without a port",
    { housekeeping: "[telemetry.example.com]" },
    'p/plugin.yaml:11:16 housekeeping[0]: expected host:port, found string "telemetry.example.com"',
  ],
  ["no YAML", { name: "[" }, "p/plugin.yaml:4:1: not valid YAML:"],
  [
    "a key twice",
    { description: "A\nname: B" },
    'p/plugin.yaml:6:1 name: expected each key once, found "name" a second time',
  ],
];

describe("readManifest refuses", () => {
  it.each(corpus)("%s", async (_name, changes, start) => {
    // A case that sets `cli` comes after the nine lines that are left.
    const error = await refusal(manifestText(changes));
    expect(error.message.slice(0, start.length)).toBe(start);
    expect(error.code).toBe("invalid_manifest");
    for (const problem of error.details?.["problems"] as Record<string, unknown>[]) {
      expect(Object.keys(problem).slice(0, 6)).toEqual(["file", "line", "column", "path", "expected", "found"]);
    }
  });
});

describe("requestedPermissions", () => {
  it("adds a tool's program, with its template's and its probes' arguments, and the names it uses", () => {
    const { entry: _, ...rest } = codeManifest;
    const requested = requestedPermissions({
      ...rest,
      permissions: { read: ["workdir"], env: ["LANG"] },
      cli: {
        binary: { linux: "asker", darwin: "asker", default: "asker" },
        command_template: '{binary} --model {model} -p {prompt} "a b"',
        version: { args: "--version" },
        auth: { args: "auth 'log in'" },
        env_vars: { KEY: "${HOST_KEY}", MODE: "x${LANG}" },
      },
    });
    expect(requested).toEqual({
      read: ["workdir"],
      env: ["LANG", "HOST_KEY"],
      run: [{
        binary: "asker",
        args: ['--model {} -p {*} "a b"', "--version", 'auth "log in"'],
        env: ["KEY", "MODE"],
      }],
    });
  });

  it("is what a manifest of code says, and no more", () => {
    expect(requestedPermissions(codeManifest)).toEqual({});
    expect(requestedPermissions({ ...codeManifest, permissions: { kv: true } })).toEqual({ kv: true });
  });
});
