import { describe, expect, it } from "vitest";
import type { HostManifest } from "../../../core/ground/config/host-manifest.ts";
import { defaultLimits } from "../../../core/ground/config/limits.ts";
import { parseHostManifest } from "../../../core/ground/config/parse-host-manifest.ts";
import { readHostManifest } from "../../../core/packages/manifest/find-host-manifest.ts";
import { ownPluginsDir } from "../../../core/packages/manifest/find-plugins.ts";
import { createRegistry, type Registry, type RegistryProblem } from "../../../core/packages/registry/registry.ts";
import { manifestText, newFolder, writePackage } from "./package-folder.ts";

const code = { "mod.ts": "" };
function plugin(folder: string, changes: Record<string, string | null> = {}): Record<string, string> {
  return { [`${folder}/plugin.yaml`]: manifestText(changes), [`${folder}/mod.ts`]: "" };
}

async function registry(
  files: Record<string, string>,
  options: { text?: string; bundled?: Record<string, string>; data?: Record<string, string> } = {},
): Promise<Registry & { root: string }> {
  const root = await writePackage(files);
  const home = await writePackage(options.data ?? {});
  const bundledDir = options.bundled ? await writePackage(options.bundled) : null;
  const manifest: HostManifest | undefined = options.text === undefined
    ? undefined
    : parseHostManifest(`bulkhead: 1\n${options.text}`, { file: "bulkhead.yaml" });
  const made = await createRegistry({ manifest, root, bundledDir, env: { HOME: home } });
  return Object.assign(made, { root });
}

/** Why one enabled plugin cannot be used; every other one is there. */
async function refusal(made: Promise<Registry>, id: string): Promise<RegistryProblem["error"]> {
  const { problems, get } = await made;
  expect(get(id)).toBeUndefined();
  const [problem, ...others] = problems.filter(({ unavailable }) => unavailable);
  expect([problem?.id, others]).toEqual([id, []]);
  return problem!.error;
}

describe("createRegistry", () => {
  it("finds plugins beside the host manifest, bundled, and installed in three places", async () => {
    const { list, problems } = await registry({
      ...plugin("plugins/beside", { id: "beside" }),
      ...plugin("node_modules/plain", { id: "plain" }),
      ...plugin("node_modules/@scope/scoped", { id: "scoped" }),
      "node_modules/other/index.js": "",
      "plugins/README.md": "",
    }, {
      bundled: plugin("own", { id: "own" }),
      data: plugin(".local/share/bulkhead/plugins/mine", { id: "mine" }),
    });
    expect(list().map(({ id, origin, enabled }) => [id, origin, enabled])).toEqual([
      ["beside", "folder", false],
      ["mine", "installed", false],
      ["own", "bundled", false],
      ["plain", "installed", false],
      ["scoped", "installed", false],
    ]);
    expect(problems).toEqual([]);
  });

  it("looks for bundled plugins in the project's own folder", () => {
    expect(ownPluginsDir).toMatch(/[\\/]plugins$/);
    expect(ownPluginsDir).not.toMatch(/core|dist/);
  });

  it("merges limits: defaults, then the host's, then the plugin's", async () => {
    const { get } = await registry(plugin("plugins/demo"), {
      text: "limits: {queue: 5, workers: 5}\nplugins: {demo: {limits: {workers: 7}}}\n",
    });
    expect(get("demo")?.limits).toEqual({ ...defaultLimits, queue: 5, workers: 7 });
  });

  it("holds manifests to the host's limits", async () => {
    const text = "limits: {manifest_bytes: 100}\nplugins: {demo: {}}\n";
    const { message } = await refusal(registry(plugin("plugins/demo"), { text }), "demo");
    expect(message).toBe('Cannot use plugin "demo": demo/plugin.yaml:1:1: expected at most 100 bytes, found more');
    const made = await registry(plugin("x"), { text: "limits: {manifest_bytes: 100}\n" });
    await expect(made.register("x")).rejects.toThrow("expected at most 100 bytes");
  });

  it("takes what the operator decided, and the options with their defaults", async () => {
    const { get } = await registry(
      plugin("plugins/demo", {
        config: "\n  type: object\n  properties:\n    depth: {type: integer, default: 3}\n    name: {type: string}",
      }),
      {
        text:
          "plugins:\n  demo:\n    trusted: true\n    isolation: thread\n    grant: {run: [git]}\n    config: {name: x}\n",
      },
    );
    expect(get("demo")).toMatchObject({
      enabled: true,
      trusted: true,
      isolation: "thread",
      grant: { run: [{ binary: "git" }] },
      config: { depth: 3, name: "x" },
    });
  });

  it("says where an option in the host manifest is wrong", async () => {
    const files = plugin("plugins/demo", { config: "\n  type: object\n  properties:\n    depth: {type: integer}" });
    const text = "plugins:\n  demo:\n    config: {depth: deep, dpeth: 1}\n";
    expect((await refusal(registry(files, { text }), "demo")).message).toBe(
      'bulkhead.yaml:4:27 plugins.demo.config.dpeth: expected a declared option, found "dpeth"; did you mean "depth"?\n' +
        'bulkhead.yaml:4:21 plugins.demo.config.depth: expected integer, found string "deep"',
    );
  });

  it("does not show what an option in the host manifest took from the environment", async () => {
    const files = plugin("plugins/demo", { config: "\n  type: object\n  properties:\n    depth: {type: integer}" });
    const made = registry(files, { text: 'plugins:\n  demo:\n    config: {depth: "${PATH}"}\n' });
    expect((await refusal(made, "demo")).message).toMatch(
      /bulkhead.yaml:4:21 plugins.demo.config.depth: expected integer, found something else$/,
    );
  });

  it("goes on with a broken plugin that is not enabled, and lists it", async () => {
    const { list, problems } = await registry({
      ...plugin("plugins/good", { id: "good" }),
      ...plugin("plugins/bad", { id: "bad", version: "x" }),
      "plugins/worse/plugin.yaml": "a: [",
    });
    expect(list().map(({ id }) => id)).toEqual(["good"]);
    expect(problems.map(({ id, error }) => [id, error.code])).toEqual([["bad", "invalid_manifest"], [
      "worse",
      "invalid_manifest",
    ]]);
  });

  it("goes on without a broken plugin that is enabled, naming it, its file and line", async () => {
    const files = { ...plugin("plugins/folder", { id: "bad", version: "1.0.x" }), ...plugin("plugins/demo") };
    const made = registry(files, { text: "plugins: {bad: {}, demo: {}}\n" });
    expect(await refusal(made, "bad")).toMatchObject({
      code: "invalid_manifest",
      message: 'Cannot use plugin "bad": folder/plugin.yaml:4:10 version: expected a version such as 0.1.0, ' +
        'found string "1.0.x"',
    });
    expect((await made).get("demo")).toMatchObject({ enabled: true });
  });

  it.each<[string, Record<string, string>, string, RegExp]>([
    [
      "a manifest that is half saved",
      { "plugins/bad/plugin.yaml": "id: bad\ncli: [" },
      "bad: {}",
      /bad\/plugin\.yaml:2:/,
    ],
    ["a manifest that is empty", { "x/plugin.yaml": "" }, "bad: {source: ./x}", /x\/plugin\.yaml:1:1/],
    ["no manifest", { "x/mod.ts": "" }, "bad: {source: ./x}", /plugin\.yaml: there is no such file/],
    ["no folder", {}, "bad: {source: ./x}", /x: there is no such folder/],
    ["a file for a folder", { x: "" }, "bad: {source: ./x}", /Cannot use plugin "bad"/],
    [
      "a range for another host",
      plugin("x", { id: "bad", host: "^2.0.0" }),
      "bad: {source: ./x}",
      /host: expected a range/,
    ],
    ["no such plugin", {}, "bad: {}", /plugins\.bad: expected the id of a plugin/],
    ["a thread without trust", plugin("x", { id: "bad" }), "bad: {source: ./x, isolation: thread}", /plugins\.bad/],
    [
      "an entry that is wrong",
      plugin("x", { id: "bad" }),
      "bad: {source: ./x, grant: {fly: true}}",
      /plugins\.bad\.grant/,
    ],
    ["an entry that is no map", plugin("x", { id: "bad" }), "bad: 5", /plugins\.bad/],
    ["a variable that is not set", plugin("x", { id: "bad" }), 'bad: {source: "${NOT_SET_1}"}', /NOT_SET_1/],
    ["an id that is none", {}, "Bad!: {}", /plugins\["Bad!"\]/],
  ])("goes on without a plugin that has %s, at a start and at a reload", async (_, files, entry, says) => {
    const id = entry.startsWith("Bad") ? "Bad!" : "bad";
    const root = await writePackage({ ...plugin("plugins/demo"), ...files });
    await writePackage({ "bulkhead.yaml": `bulkhead: 1\nplugins:\n  demo: {}\n  ${entry}\ntools: {}\n` }, root);
    const file = `${root}/bulkhead.yaml`;
    const options = { root, bundledDir: null, env: { HOME: root } };
    const made = await createRegistry({ ...options, manifest: await readHostManifest(file) });
    const error = await refusal(Promise.resolve(made), id);
    expect(error.message).toMatch(says);
    expect(`${error.message} ${error.hint}`).toMatch(/bulkhead\.yaml:4/);
    expect(made.get("demo")).toMatchObject({ enabled: true });
    const other = await createRegistry(options);
    expect(await other.reload(await readHostManifest(file))).toEqual({
      added: ["demo"],
      removed: [],
      changed: [],
      unavailable: [id],
    });
  });

  it("goes on without a tool that is wrong, and without an id that is a plugin and a tool", async () => {
    const file = "bulkhead.yaml";
    const tool = '{binary: tr, command_template: "{binary}"}';
    const text = `bulkhead: 1\nplugins: {demo: {}}\ntools: {good: ${tool}, bad: {binary: tr}, demo: ${tool}}\n`;
    const root = await writePackage(plugin("plugins/demo"));
    const manifest = parseHostManifest(text, { file, leaveOut: true });
    const { list, problems } = await createRegistry({ root, bundledDir: null, env: { HOME: root }, manifest });
    expect(list().map(({ id }) => id)).toEqual(["good"]);
    expect(problems.map(({ id, unavailable }) => [id, unavailable])).toEqual([["bad", true], ["demo", true]]);
  });

  it("registers no plugin whose entry is wrong: what it denies is not known", async () => {
    const root = await writePackage(plugin("x"));
    const text = "bulkhead: 1\nplugins: {demo: {deny: {run: 5}}}\n";
    const manifest = parseHostManifest(text, { file: "bulkhead.yaml", leaveOut: true });
    const { register } = await createRegistry({ root, bundledDir: null, env: { HOME: root }, manifest });
    await expect(register("x")).rejects.toThrow(/bulkhead\.yaml:2:\d+ plugins\.demo\.deny\.run: /);
  });

  it("does not fall back to a later plugin when the first is broken, or the one that source names", async () => {
    const bundled = registry(plugin("plugins/demo"), {
      bundled: plugin("demo", { version: "x.y.z" }),
      text: "plugins: {demo: {}}\n",
    });
    expect(await refusal(bundled, "demo")).toMatchObject({ code: "invalid_manifest" });
    const named = registry(plugin("plugins/demo", { version: "x.y.z" }), {
      bundled: plugin("demo"),
      text: "plugins: {demo: {source: plugins/demo}}\n",
    });
    expect(await refusal(named, "demo")).toMatchObject({ code: "invalid_manifest" });
  });

  it("uses the first of two folders with one id and names the other, unless source picks that", async () => {
    const files = { ...plugin("plugins/one"), ...plugin("plugins/two") };
    const first = await registry(files, { text: "plugins: {demo: {}}\n" });
    expect(first.get("demo")).toMatchObject({ folder: expect.stringMatching(/one$/), enabled: true });
    expect(first.problems).toMatchObject([{
      id: "demo",
      folder: expect.stringMatching(/two$/),
      error: {
        code: "duplicate_plugin",
        message: expect.stringMatching(/two: its id "demo" is that of .*one \(folder\)\.$/),
      },
    }]);
    const { get } = await registry(files, { text: "plugins: {demo: {source: ./plugins/two}}\n" });
    expect(get("demo")?.folder).toMatch(/two$/);
    const quiet = await registry(files);
    expect(quiet.list()).toMatchObject([{ id: "demo", enabled: false }]);
    expect(quiet.problems.map(({ error }) => error.code)).toEqual(["duplicate_plugin"]);
  });

  it.each([
    ["plugins", plugin("plugins/evil")],
    ["plugins, broken", { "plugins/demo/plugin.yaml": "id: demo\nentry: nothing\n" }],
    ["node_modules", plugin("node_modules/demo")],
  ])("keeps a bundled plugin, and one installed for the user, whatever appears in %s", async (_, planted) => {
    const text = "plugins: {demo: {}}\n";
    const asBundled = await registry(planted, { text, bundled: plugin("demo") });
    expect(asBundled.get("demo")).toMatchObject({ origin: "bundled", enabled: true });
    const asInstalled = await registry(planted, { text, data: plugin(".local/share/bulkhead/plugins/demo") });
    expect(asInstalled.get("demo")).toMatchObject({ origin: "installed", enabled: true });
    expect(asInstalled.get("demo")?.folder).toContain("share/bulkhead/plugins/demo");
    for (const { problems } of [asBundled, asInstalled]) {
      expect(problems).toMatchObject([{ id: "demo", error: { code: "duplicate_plugin" } }]);
    }
  });

  it("uses the folder that is called as the id before another one of the project", async () => {
    const { get } = await registry({ ...plugin("plugins/aaa"), ...plugin("plugins/demo") });
    expect(get("demo")?.folder).toMatch(/demo$/);
  });

  it("takes one folder that is reached twice as one", async () => {
    const root = await writePackage(plugin("plugins/demo"));
    await writePackage({ "node_modules/demo": `-> ${root}/plugins/demo` }, root);
    const { list } = await createRegistry({ root, bundledDir: `${root}/plugins`, env: { HOME: root } });
    expect(list().map(({ origin }) => origin)).toEqual(["bundled"]);
  });

  it("refuses an enabled plugin that is not there, and one that is off may be missing", async () => {
    const made = registry(plugin("plugins/demo"), { text: "plugins:\n  dmeo: {}\n" });
    expect((await refusal(made, "dmeo")).message).toBe(
      'bulkhead.yaml:3:3 plugins.dmeo: expected the id of a plugin, found "dmeo", which does not exist; did you mean "demo"?',
    );
    expect((await registry({}, { text: "plugins: {gone: {enabled: false}}\n" })).list()).toEqual([]);
  });

  it("tells of everything that is wrong at once", async () => {
    const text = "plugins: {a: {}, b: {}}\n";
    const { problems } = await registry(plugin("plugins/a", { id: "a", version: "x.y.z" }), { text });
    expect(problems.map(({ error }) => error.message)).toEqual([
      expect.stringMatching(/a\/plugin\.yaml:4:10 version: /),
      expect.stringMatching(/bulkhead\.yaml:2:18 plugins\.b: /),
    ]);
  });

  it("makes a plugin of an inline tool, with what it needs granted", async () => {
    const { get, root } = await registry({}, {
      text:
        'tools:\n  shout:\n    binary: tr\n    command_template: "{binary} a-z A-Z < {prompt_file}"\n    grant: {read: [workdir]}\n' +
        "    description: Answers in capitals.\n    expose: tool\n    output_schema: {type: object}\n",
    });
    expect(get("shout")).toMatchObject({
      id: "shout",
      folder: root,
      origin: "inline",
      enabled: true,
      grant: { run: [{ binary: "tr", args: ["a-z A-Z"] }], read: ["workdir"] },
      manifest: {
        adapter_type: "cli",
        cli: { binary: "tr" },
        description: "Answers in capitals.",
        expose: "tool",
        output_schema: { type: "object" },
      },
    });
  });

  it("says where an inline tool is wrong", async () => {
    const wrong = registry({}, { text: "tools:\n  shout:\n    binary: tr\n    command_template: '{binary} {x}'\n" });
    expect((await refusal(wrong, "shout")).message).toContain(
      "bulkhead.yaml:5:23 tools.shout.command_template: unknown placeholder {x} at character 10",
    );
    const text = "tools: {demo: {binary: tr, command_template: '{binary}'}}\n";
    // A folder that the host manifest does not name has no say.
    const planted = await registry(plugin("plugins/demo"), { text });
    expect(planted.get("demo")?.origin).toBe("inline");
    expect(planted.problems).toMatchObject([{ id: "demo", error: { code: "duplicate_plugin" } }]);
  });
});

describe("instances", () => {
  const config = "\n  type: object\n  properties:\n    depth: {type: integer}\n    program: {type: string}";
  const permissions = '\n  run:\n    - binary: "{config.program}"';

  it("are made of a plugin's id, each with settings of its own", async () => {
    const { get, list, problems } = await registry(plugin("plugins/demo", { config, permissions }), {
      text: `plugins:
  one: {source: demo, config: {depth: 1, program: first}, grant: {run: [first]}, limits: {queue: 3}}
  two: {source: demo, config: {depth: 2}, isolation: thread, trusted: true}
`,
    });
    expect(list().map(({ id, enabled, manifest }) => [id, enabled, manifest.id])).toEqual([
      ["demo", false, "demo"],
      ["one", true, "demo"],
      ["two", true, "demo"],
    ]);
    expect(get("one")).toMatchObject({ config: { depth: 1, program: "first" }, grant: { run: [{ binary: "first" }] } });
    expect(get("one")?.manifest.permissions?.run).toEqual([{ binary: "first" }]);
    expect(get("two")).toMatchObject({ config: { depth: 2 }, grant: {}, isolation: "thread" });
    expect(get("two")?.manifest.permissions?.run).toEqual([]);
    expect([get("one")?.limits.queue, get("two")?.limits.queue]).toEqual([3, defaultLimits.queue]);
    expect([get("one")?.folder, get("two")?.folder]).toEqual([get("demo")?.folder, get("demo")?.folder]);
    expect(problems).toEqual([]);
  });

  it("ask for what their option's value needs, and for nothing of the other values", async () => {
    const files = plugin("plugins/demo", {
      config: "\n  type: object\n  properties:\n    agent: {type: string, enum: [first, second]}",
      permissions: "{read: [workdir]}",
      permissions_for: "{agent: {first: {run: [{binary: first}]}, second: {run: [{binary: second}]}}}",
    });
    const { get } = await registry(files, { text: "plugins: {one: {source: demo, config: {agent: second}}}\n" });
    expect(get("demo")?.manifest.permissions).toEqual({ read: ["workdir"] });
    expect(get("one")?.manifest.permissions).toEqual({ read: ["workdir"], run: [{ binary: "second" }] });
  });

  it("are made of bundled and installed plugins, and of folders", async () => {
    const { get } = await registry(plugin("elsewhere/x", { id: "other" }), {
      bundled: plugin("demo"),
      data: plugin(".local/share/bulkhead/plugins/mine", { id: "mine" }),
      text: "plugins: {a: {source: demo}, b: {source: mine}, c: {source: elsewhere/x}, mine: {source: mine}}\n",
    });
    const facts = ["a", "b", "c", "mine"].map((id) => [get(id)?.manifest.id, get(id)?.origin, get(id)?.enabled]);
    expect(facts).toEqual([
      ["demo", "bundled", true],
      ["mine", "installed", true],
      ["other", "folder", true],
      ["mine", "installed", true],
    ]);
  });

  it("are of the plugin whose folder the host manifest names, and a word that is no plugin is a folder", async () => {
    const files = { ...plugin("plugins/demo"), ...plugin("vendor/demo"), ...plugin("loose", { id: "loose" }) };
    const { get } = await registry(files, {
      text: "plugins: {a: {source: demo}, demo: {source: vendor/demo}, loose: {source: loose}, b: {source: loose}}\n",
    });
    expect(get("a")?.folder).toMatch(/vendor.demo$/);
    expect(get("b")?.folder).toBe(get("loose")?.folder);
  });

  it("say where an option of theirs is wrong", async () => {
    const text = "plugins:\n  one: {source: demo, config: {depth: deep}}\n";
    expect((await refusal(registry(plugin("plugins/demo", { config }), { text }), "one")).message).toBe(
      'bulkhead.yaml:3:39 plugins.one.config.depth: expected integer, found string "deep"',
    );
  });

  it.each([
    ["dmeo", '"dmeo", which is neither; did you mean "demo"?'],
    ["./nowhere", "there is no such folder"],
    ["one", '"one", which is an instance itself; name what that one names: demo'],
    ["three", '"three", which is an instance itself; name what that one names: elsewhere/x'],
  ])("are refused with the source %s", async (source, message) => {
    const files = { ...plugin("plugins/demo"), ...plugin("elsewhere/x", { id: "other" }) };
    const others = "one: {source: demo}, three: {source: elsewhere/x}";
    const text = (enabled: boolean) => `plugins: {two: {source: ${source}, enabled: ${enabled}}, ${others}}\n`;
    expect((await refusal(registry(files, { text: text(true) }), "two")).message).toContain(message);
    const off = await registry(files, { text: text(false) });
    expect(off.problems).toMatchObject([{ id: "two", error: { message: expect.stringContaining(message) } }]);
    expect(off.get("two")).toBeUndefined();
  });

  it("may not have the id of a bundled plugin, and keep theirs whatever folder has it", async () => {
    const bundled = { ...plugin("demo"), ...plugin("other", { id: "other" }) };
    const made = registry({}, { bundled, text: "plugins: {other: {source: demo}}\n" });
    expect((await refusal(made, "other")).message).toBe(
      'bulkhead.yaml:2:27 plugins.other.source: expected the folder of plugin "other", or an id that no other plugin has, ' +
        'found plugin "demo", and "other" is bundled; give this instance another id, other-2 for example',
    );
    const planted = await registry(plugin("plugins/mine", { id: "mine" }), {
      bundled,
      text: "plugins: {mine: {source: demo}}\n",
    });
    expect(planted.get("mine")).toMatchObject({ origin: "bundled", enabled: true, manifest: { id: "demo" } });
  });

  it("are blocked with their plugin, and alone", async () => {
    const text = (blocked: string) =>
      `plugins: {one: {source: demo}, two: {source: demo}}\nblocked: [{plugin: ${blocked}}]\n`;
    const enabled = async (blocked: string) => {
      const { list } = await registry(plugin("plugins/demo"), { text: text(blocked) });
      return list().flatMap((one) => (one.enabled ? one.id : []));
    };
    expect(await enabled("demo")).toEqual([]);
    expect(await enabled("one")).toEqual(["two"]);
  });

  it("stay the same objects in a reload that does not change them", async () => {
    const made = await registry(plugin("plugins/demo"), {
      text: "plugins: {one: {source: demo}, two: {source: demo}}\n",
    });
    const [one, two] = [made.get("one"), made.get("two")];
    const next = parseHostManifest(
      "bulkhead: 1\nplugins: {one: {source: demo}, two: {source: demo, grant: {kv: true}}, three: {source: demo}}\n",
      { file: "bulkhead.yaml" },
    );
    expect(await made.reload(next)).toEqual({
      added: ["three"],
      removed: [],
      changed: ["two"],
      unavailable: [],
    });
    expect(made.get("one")).toBe(one);
    expect(made.get("two")).not.toBe(two);
  });
});

describe("Registry.register", () => {
  it("says what it takes to a program that gives the adapter's class", async () => {
    const { register } = await createRegistry({ root: await newFolder(), bundledDir: null });
    class Mine {}
    await expect(register(Mine as unknown as string)).rejects.toMatchObject({
      code: "invalid_config",
      message: 'Cannot register a plugin: expected the path of its folder, found the class or function "Mine".',
    });
  });

  it("adds a plugin with the same checks", async () => {
    const made = await registry({ ...plugin("more/demo"), ...plugin("more/bad", { id: "bad", entry: "./gone.ts" }) });
    const added = await made.register("more/demo", { grant: { kv: true }, limits: { queue: 2 } });
    expect(added).toMatchObject({ id: "demo", origin: "registered", enabled: true, grant: { kv: true } });
    expect(added.limits.queue).toBe(2);
    expect(made.get("demo")).toBe(added);
    await expect(made.register("more/bad")).rejects.toThrow("bad/plugin.yaml:9:8 entry: expected an existing file");
    await expect(made.register("more/none")).rejects.toMatchObject({ code: "not_found" });
    await expect(made.register("more/demo")).rejects.toMatchObject({ code: "duplicate_plugin" });
  });

  it("refuses an id that another folder has, and takes into use one that was found", async () => {
    const made = await registry({ ...plugin("plugins/demo"), ...plugin("more/demo") });
    await expect(made.register("more/demo")).rejects.toMatchObject({ code: "duplicate_plugin" });
    expect(made.get("demo")?.enabled).toBe(false);
    await made.register("plugins/demo");
    expect(made.get("demo")?.enabled).toBe(true);
  });

  it("adds several instances of one folder, each under an id of its own", async () => {
    const made = await registry({ ...plugin("plugins/demo"), ...plugin("plugins/other", { id: "other" }) });
    await made.register("plugins/demo", { id: "one", grant: { kv: true } });
    await made.register("plugins/demo", { id: "two" });
    expect(made.list().map(({ id, enabled, manifest, grant }) => [id, enabled, manifest.id, grant])).toEqual([
      ["demo", false, "demo", {}],
      ["one", true, "demo", { kv: true }],
      ["other", false, "other", {}],
      ["two", true, "demo", {}],
    ]);
    await expect(made.register("plugins/demo", { id: "two" })).rejects.toMatchObject({ code: "duplicate_plugin" });
    await expect(made.register("plugins/demo", { id: "other" })).rejects.toMatchObject({ code: "duplicate_plugin" });
    for (const id of ["auto", "Two!", ""]) {
      await expect(made.register("plugins/demo", { id })).rejects.toMatchObject({ code: "invalid_config" });
    }
  });

  it("keeps what the host manifest denies, and a thread needs trust", async () => {
    const made = await registry({ "x/plugin.yaml": manifestText(), "x/mod.ts": code["mod.ts"] }, {
      text: "plugins: {demo: {enabled: false, deny: {kv: true, read: [/a]}}}\n",
    });
    await expect(made.register("x", { isolation: "thread" })).rejects.toThrow("it is not trusted");
    const added = await made.register("x", { deny: { read: ["/b"] } });
    expect(added.deny).toEqual({ kv: true, read: ["/a", "/b"] });
  });

  it("lets only one of two registrations at once through", async () => {
    const made = await registry({ ...plugin("a"), ...plugin("b") });
    const results = await Promise.allSettled([made.register("a"), made.register("b")]);
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(made.list()).toHaveLength(1);
    expect(await newFolder()).toBeTruthy();
  });
});
