import { describe, expect, it } from "vitest";
import { hostManifestJsonSchema } from "../../../core/ground/config/host-manifest-schema.ts";
import { hostManifestProblem } from "../../../core/ground/config/host-manifest-places.ts";
import { parseHostManifest } from "../../../core/ground/config/parse-host-manifest.ts";
import { defaultLimits } from "../../../core/ground/config/limits.ts";
import type { BulkheadError } from "../../../plugin-sdk/errors.ts";

function refusal(text: string): BulkheadError {
  try {
    parseHostManifest(text, { file: "bulkhead.yaml" });
  } catch (error) {
    return error as BulkheadError;
  }
  throw new Error("was not refused");
}

describe("parseHostManifest", () => {
  it("takes times with a unit wherever milliseconds stand", () => {
    const text = `bulkhead: 1
limits: { timeout_ms: 10m, idle_timeout_ms: 1500 }
plugins: { a: { limits: { call_timeout_ms: 1.5s } } }
routing: { availability_ttl_ms: 0 }
journal: { keep_ms: 30d }
workspaces: { keep_ms: 12h }
daemon: { drain_ms: "\${DRAIN}" }
`;
    const env = (name: string) => (name === "DRAIN" ? "5s" : undefined);
    expect(parseHostManifest(text, { file: "b", env })).toMatchObject({
      limits: { timeout_ms: 600_000, idle_timeout_ms: 1500 },
      plugins: { a: { limits: { call_timeout_ms: 1500 } } },
      routing: { availability_ttl_ms: 0 },
      journal: { keep_ms: 2_592_000_000 },
      workspaces: { keep_ms: 43_200_000 },
      daemon: { drain_ms: 5000 },
    });
  });

  it("takes what is wanted of the operating system, for all plugins and for one, and containment in a grant", () => {
    const { os_walls, plugins } = parseHostManifest(
      `bulkhead: 1
os_walls: { bubblewrap: required, prlimit: off }
plugins:
  a:
    os_walls: { cgroup: optional, priority: off }
    grant: { run: [{ binary: git, contain: workdir, contain_net: true }] }
`,
      { file: "b" },
    );
    expect(os_walls).toEqual({ bubblewrap: "required", prlimit: "off" });
    expect(plugins["a"]?.os_walls).toEqual({ cgroup: "optional", priority: "off" });
    expect(plugins["a"]?.grant.run).toEqual([{ binary: "git", contain: "workdir", contain_net: true }]);
    for (const wrong of ["os_walls: { bwrap: required }", "os_walls: { prlimit: yes }", "os_walls: required"]) {
      expect(() => parseHostManifest(`bulkhead: 1\n${wrong}\n`, { file: "b" })).toThrow(/os_walls/);
    }
    const loose = "bulkhead: 1\nplugins: { a: { grant: { run: [{ binary: git, contain: none }] } } }\n";
    expect(() => parseHostManifest(loose, { file: "b" })).toThrow(/b:2:/);
  });

  it("takes the name of the agent whose settings a plugin's programs have, and no folder of a home", () => {
    const of = (name: string) =>
      parseHostManifest(`bulkhead: 1\nplugins: { zed: { settings_of: ${name} } }\n`, { file: "b" }).plugins["zed"];
    expect(of("codex")).toMatchObject({ settings_of: "codex" });
    for (const wrong of ["config", "local", '"../x"', '".ssh"', "a/b", '""', "[codex]"]) {
      expect(() => of(wrong)).toThrow(/b:2:.*settings_of/);
    }
  });

  it("leaves out an entry that is wrong, and refuses the whole file for anything else that is", () => {
    const text = 'bulkhead: 1\nplugins: { a: {}, b: { config: { x: "${NO_SUCH}" } }, c: { limits: { queue: no } } }\n';
    const manifest = parseHostManifest(text, { file: "b", env: () => undefined, leaveOut: true });
    expect(Object.keys(manifest.plugins)).toEqual(["a"]);
    expect(manifest.left_out).toMatchObject({
      b: { code: "invalid_config", message: expect.stringMatching(/^b:2:\d+ plugins\.b\.config\.x: .*NO_SUCH/) },
      c: { code: "invalid_config", message: expect.stringMatching(/^b:2:\d+ plugins\.c\.limits\.queue: /) },
    });
    for (
      const wrong of ["routing: 5", "daemon: { port: x }", "plugins: []", "blocked: [{}]", "limits: { queue: no }"]
    ) {
      const all = wrong.startsWith("plugins") ? `bulkhead: 1\n${wrong}\n` : `${text}${wrong}\n`;
      expect(() => parseHostManifest(all, { file: "b", env: () => "", leaveOut: true })).toThrow(/^b:[23]:\d+ /);
    }
  });

  it("says with line and column what is wrong with a file that is half saved, wherever it ends", () => {
    const text = `bulkhead: 1
plugins:
  one: { source: ./one, grant: { run: [git, { binary: sh }], read: [workdir] } }
  two:
    config: { depth: 3, name: "a b" }
tools:
  ag: { binary: ag, command_template: "{binary} {prompt}" }
routing: { agent: [one, ag] }
`;
    const refused: string[] = [];
    for (let end = 0; end < text.length; end++) {
      try {
        parseHostManifest(text.slice(0, end), { file: "b", leaveOut: true });
      } catch (error) {
        refused.push((error as BulkheadError).message);
        expect(error).toMatchObject({ code: "invalid_config", message: expect.stringMatching(/^b:\d+:\d+/) });
      }
    }
    expect(refused.length).toBeGreaterThan(text.length / 4);
  });

  it("refuses a session that could fill more than half of the journal, and says where", () => {
    const text = (bytes: number) =>
      `bulkhead: 1
journal: { max_bytes: 1000000 }
limits: { event_bytes_total: ${bytes} }
plugins:
  a: { limits: { event_bytes_total: ${bytes} } }
`;
    expect(parseHostManifest(text(500_000), { file: "b" }).limits.event_bytes_total).toBe(500_000);
    const { message } = refusal(text(500_001));
    expect(message).toMatch(
      /bulkhead.yaml:3:\d+ limits.event_bytes_total: expected at most 500000, half of journal.max_bytes/,
    );
    expect(message).toMatch(/bulkhead.yaml:5:\d+ plugins.a.limits.event_bytes_total: .* found number 500001/);
    expect(refusal("bulkhead: 1\nlimits: { event_bytes_total: 600000000 }\n").code).toBe("invalid_config");
  });

  it("takes what is blocked, and says where an entry names nothing or no range", () => {
    const { blocked } = parseHostManifest(
      "bulkhead: 1\nblocked:\n  - { plugin: a, versions: '<2', because: It leaks. }\n  - package: '@b/c'\n",
      { file: "b" },
    );
    expect(blocked).toEqual([{ plugin: "a", versions: "<2", because: "It leaks." }, { package: "@b/c" }]);
    const { message } = refusal("bulkhead: 1\nblocked:\n  - { versions: '*' }\n  - { plugin: a, versions: new }\n");
    expect(message.split("\n")).toEqual([
      expect.stringContaining("bulkhead.yaml:3:5 blocked[0]: expected plugin, an id, or package"),
      expect.stringContaining("bulkhead.yaml:4:28 blocked[1].versions: expected a range of versions such as <1.2.3"),
    ]);
  });

  it("fills in the defaults", () => {
    expect(parseHostManifest("bulkhead: 1\n", { file: "b" })).toEqual({
      bulkhead: 1,
      plugins: {},
      tools: {},
      routing: { agent: "auto" },
      limits: {},
    });
  });

  it("takes a plugin as enabled when it is listed, also with nothing after it", () => {
    const { plugins } = parseHostManifest("bulkhead: 1\nplugins:\n  a:\n  b: {}\n  c: {enabled: false}\n", {
      file: "b",
    });
    const rest = { trusted: false, isolation: "process", grant: {}, deny: {}, limits: {}, config: {} };
    expect(plugins).toEqual({
      a: { enabled: true, ...rest },
      b: { enabled: true, ...rest },
      c: { enabled: false, ...rest },
    });
  });

  it("takes a program's name alone as a grant of it", () => {
    const text =
      "bulkhead: 1\nplugins:\n  a:\n    grant:\n      run: [git, {binary: node, args: ['-v'], env: [X]}]\n    deny: {run: [rm]}\n";
    const { a } = parseHostManifest(text, { file: "b" }).plugins;
    expect(a?.grant.run).toEqual([{ binary: "git" }, { binary: "node", args: ["-v"], env: ["X"] }]);
    expect(a?.deny.run).toEqual([{ binary: "rm" }]);
  });

  it("reads everything else that can be said", () => {
    const text = `bulkhead: 1
plugins:
  a:
    source: ../a
    trusted: true
    isolation: thread
    limits: {queue: 3}
    config: {depth: 3, names: [x]}
tools:
  shout:
    binary: {linux: tr, default: tr}
    command_template: "{binary} a-z A-Z < {prompt_file}"
    output: {format: text}
    grant: {read: [workdir], run: [git]}
routing: {agent: [a, shout]}
limits: {workers: 1}
state_dir: /var/lib/bulkhead
workspaces: {keep_ms: 5000}
journal: {keep_ms: 60000, max_bytes: 1000000}
`;
    const manifest = parseHostManifest(text, { file: "b" });
    expect(manifest.plugins["a"]).toMatchObject({
      trusted: true,
      isolation: "thread",
      limits: { queue: 3 },
      config: { depth: 3 },
    });
    expect(manifest.tools["shout"]).toMatchObject({ output: { format: "text" }, grant: { run: [{ binary: "git" }] } });
    expect(manifest.routing.agent).toEqual(["a", "shout"]);
    expect(manifest.workspaces).toEqual({ keep_ms: 5000 });
    expect(manifest.journal).toEqual({ keep_ms: 60_000, max_bytes: 1_000_000 });
  });

  it("says where a value stood, afterwards too, and does without for one that a program made", () => {
    const manifest = parseHostManifest("bulkhead: 1\nplugins:\n  a: {}\n", { file: "b.yaml" });
    const fault = { path: ["plugins", "a"], of: "key", expected: "x", found: "y" } as const;
    expect(hostManifestProblem(manifest, fault)).toMatchObject({
      file: "b.yaml",
      line: 3,
      column: 3,
      path: "plugins.a",
    });
    expect(hostManifestProblem({ ...manifest }, fault)).toMatchObject({ file: "host manifest", line: 1 });
  });
});

const corpus: [name: string, text: string, start: string][] = [
  ["an empty file", "", "bulkhead.yaml:1:1: expected a map, found nothing"],
  ["no version", "plugins: {}\n", 'bulkhead.yaml:1:1 bulkhead: expected the line "bulkhead: 1", found nothing'],
  ["another version", "bulkhead: 2\n", 'bulkhead.yaml:1:11 bulkhead: expected the line "bulkhead: 1", found number 2'],
  [
    "an unknown key",
    "bulkhead: 1\nplugin: {}\n",
    'bulkhead.yaml:2:1 plugin: expected a known key, found "plugin"; did you mean "plugins"?',
  ],
  [
    "an unknown key of a plugin",
    "bulkhead: 1\nplugins:\n  a:\n    enabeld: true\n",
    'bulkhead.yaml:4:5 plugins.a.enabeld: expected a known key, found "enabeld"; did you mean "enabled"?',
  ],
  [
    "a mistyped choice",
    "bulkhead: 1\napproval: eidts\n",
    'bulkhead.yaml:2:11 approval: expected "ask" or "reads" or "edits" or "all" or "deny", found string "eidts"; ' +
    'did you mean "edits"?',
  ],
  [
    "an unknown permission",
    "bulkhead: 1\nplugins:\n  a:\n    grant: {raed: [workdir]}\n",
    'bulkhead.yaml:4:13 plugins.a.grant.raed: expected a known key, found "raed"; did you mean "read"?',
  ],
  [
    "an unknown key of a program",
    "bulkhead: 1\nplugins:\n  a:\n    grant:\n      run:\n        - binary: git\n          arg: []\n",
    'bulkhead.yaml:7:11 plugins.a.grant.run[0].arg: expected a known key, found "arg"; did you mean "args"?',
  ],
  [
    "a program without name",
    "bulkhead: 1\nplugins:\n  a: {grant: {run: [{args: []}]}}\n",
    "bulkhead.yaml:3:21 plugins.a.grant.run[0].binary: expected string of 1 to 1024 characters, found nothing",
  ],
  [
    "a number as program",
    "bulkhead: 1\nplugins:\n  a: {grant: {run: [5]}}\n",
    "bulkhead.yaml:3:21 plugins.a.grant.run[0]: expected string of 1 to 1024 characters or a map, found number 5",
  ],
  [
    "an id in capitals",
    "bulkhead: 1\nplugins:\n  Demo: {}\n",
    'bulkhead.yaml:3:3 plugins.Demo: expected an id of lowercase letters, digits and single hyphens, found "Demo"',
  ],
  [
    "a reserved id",
    "bulkhead: 1\ntools:\n  auto: {binary: a, command_template: '{binary}'}\n",
    "bulkhead.yaml:3:3 tools.auto: expected an id other than all, any, auto",
  ],
  [
    "an unknown isolation",
    "bulkhead: 1\nplugins:\n  a:\n    isolation: vm\n",
    'bulkhead.yaml:4:16 plugins.a.isolation: expected "process" or "thread", found string "vm"',
  ],
  [
    "a thread without trust",
    "bulkhead: 1\nplugins:\n  a:\n    isolation: thread\n",
    'bulkhead.yaml:4:16 plugins.a.isolation: expected process, or trusted: true beside it, found string "thread"',
  ],
  [
    "a limit of zero",
    "bulkhead: 1\nlimits:\n  workers: 0\n",
    "bulkhead.yaml:3:12 limits.workers: expected integer of at least 1, found number 0",
  ],
  [
    "a limit of half",
    "bulkhead: 1\nlimits: {workers: 1.5}\n",
    "bulkhead.yaml:2:19 limits.workers: expected integer of at least 1, found number 1.5",
  ],
  [
    "a time without a known unit",
    "bulkhead: 1\nlimits: { timeout_ms: 10q }\n",
    'bulkhead.yaml:2:23 limits.timeout_ms: expected a time such as 90s, found string "10q"',
  ],
  [
    "a time of nothing",
    "bulkhead: 1\nlimits: { timeout_ms: 0s }\n",
    "bulkhead.yaml:2:23 limits.timeout_ms: expected a time such as 90s, found",
  ],
  [
    "an unknown limit",
    "bulkhead: 1\nlimits: {worker: 1}\n",
    'bulkhead.yaml:2:10 limits.worker: expected a known key, found "worker"; did you mean "workers"?',
  ],
  [
    "a list for a map",
    "bulkhead: 1\nplugins: [a]\n",
    "bulkhead.yaml:2:10 plugins: expected a map or nothing, found a list",
  ],
  [
    "an empty chain",
    "bulkhead: 1\nrouting: {agent: []}\n",
    "bulkhead.yaml:2:18 routing.agent: expected a list of 1 to 64 items, found a list of 0",
  ],
  [
    "a map as agent",
    "bulkhead: 1\nrouting: {agent: {}}\n",
    "bulkhead.yaml:2:18 routing.agent: expected string of 1 to 1024 characters or a list of 1 to 64 items, found a map",
  ],
  [
    "a tool without template",
    "bulkhead: 1\ntools:\n  a: {binary: x}\n",
    "bulkhead.yaml:3:6 tools.a.command_template: expected string of 1 to 8192 characters, found nothing",
  ],
  [
    "a tool with an unknown key",
    "bulkhead: 1\ntools:\n  a: {binary: x, command_template: '{binary}', modles: {}}\n",
    'bulkhead.yaml:3:48 tools.a.modles: expected a known key, found "modles"; did you mean "models"?',
  ],
  [
    "a tool with a bad grant",
    "bulkhead: 1\ntools:\n  a: {binary: x, command_template: '{binary}', grant: {kv: 1}}\n",
    "bulkhead.yaml:3:60 tools.a.grant.kv: expected boolean, found number 1",
  ],
  [
    "a tool with a schema of another document",
    "bulkhead: 1\ntools:\n  a: {binary: x, command_template: '{binary}', output_schema: {$ref: 'https://far/s'}}\n",
    'bulkhead.yaml:3:70 tools.a.output_schema["$ref"]: expected # or #/... to a place in this schema, found',
  ],
  [
    "a tool that is exposed as something else",
    "bulkhead: 1\ntools:\n  a: {binary: x, command_template: '{binary}', expose: agent}\n",
    'bulkhead.yaml:3:56 tools.a.expose: expected "tool", found string "agent"',
  ],
  [
    "a plugin and a tool of one name",
    "bulkhead: 1\nplugins: {a: {}}\ntools:\n  a: {binary: x, command_template: '{binary}'}\n",
    'bulkhead.yaml:4:3 tools.a: expected an id that does not stand under plugins, found string "a"',
  ],
  [
    "a grant of an unknown root",
    "bulkhead: 1\nplugins:\n  a: {grant: {read: [~]}}\n",
    "bulkhead.yaml:3:22 plugins.a.grant.read[0]: expected string of 1 to 1024 characters, found nothing",
  ],
  [
    "a grant of a home folder",
    "bulkhead: 1\nplugins:\n  a: {grant: {read: ['~/x']}}\n",
    "bulkhead.yaml:3:22 plugins.a.grant.read[0]: expected workdir, workdir:<path>, data, plugin",
  ],
  [
    "a denied address without port",
    "bulkhead: 1\nplugins:\n  a: {deny: {net: [x]}}\n",
    "bulkhead.yaml:3:20 plugins.a.deny.net[0]: expected host:port",
  ],
  [
    "a pattern that cannot be read",
    "bulkhead: 1\nplugins:\n  a: {grant: {run: [{binary: git, args: ['{x}']}]}}\n",
    "bulkhead.yaml:3:42 plugins.a.grant.run[0].args[0]: unknown placeholder {x} at character",
  ],
];

describe("parseHostManifest refuses", () => {
  it.each(corpus)("%s", (_name, text, start) => {
    const error = refusal(text);
    expect(error.message.slice(0, start.length)).toBe(start);
    expect(error.code).toBe("invalid_config");
    expect(error.details?.["problems"]).not.toEqual([]);
  });

  it("and lists every problem at once", () => {
    const error = refusal("bulkhead: 2\nplugins:\n  a: {x: 1}\ntools:\n  b: {}\n");
    expect(error.message.split("\n").map((line) => line.split(":").slice(0, 3).join(":"))).toEqual([
      "bulkhead.yaml:1:11 bulkhead",
      "bulkhead.yaml:3:7 plugins.a.x",
      "bulkhead.yaml:5:6 tools.b.binary",
      "bulkhead.yaml:5:6 tools.b.command_template",
    ]);
  });
});

describe("hostManifestJsonSchema", () => {
  it("names every limit, every key of a tool, and refuses unknown keys", () => {
    const schema = JSON.parse(JSON.stringify(hostManifestJsonSchema()));
    expect(schema.additionalProperties).toBe(false);
    expect(Object.keys(schema.properties.limits.properties)).toEqual(Object.keys(defaultLimits));
    const tool = schema.properties.tools.anyOf[0].additionalProperties;
    expect(Object.keys(tool.properties)).toEqual(
      expect.arrayContaining(["binary", "command_template", "exit_codes", "description", "output_schema", "expose"]),
    );
    expect(tool.required).toEqual(["binary", "command_template"]);
    expect(schema.required).toEqual(["bulkhead"]);
  });
});
