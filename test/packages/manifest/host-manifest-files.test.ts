import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseHostManifest } from "../../../core/ground/config/parse-host-manifest.ts";
import { readTextFile } from "../../../core/ground/config/read-text-file.ts";
import {
  addGrant,
  type NewGrant,
  setGrant,
  starterHostManifest,
} from "../../../core/packages/manifest/edit-host-manifest.ts";
import {
  type GrantReplacement,
  removeGrant,
  removePluginEntry,
  replaceGrant,
  setEnabled,
} from "../../../core/packages/manifest/edit-plugin-entry.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { findHostManifest, loadHostManifest } from "../../../core/packages/manifest/find-host-manifest.ts";
import { stateFolders } from "../../../core/ground/platform/state/state-folders.ts";
import { newFolder, writePackage } from "../registry/package-folder.ts";

describe("findHostManifest", () => {
  it("takes --config, then the folders upwards, then XDG", async () => {
    const root = await writePackage({
      "a/bulkhead.yaml": "bulkhead: 1\n",
      "a/b/c/x.txt": "",
      "other.yaml": "bulkhead: 1\n",
      "xdg/bulkhead/bulkhead.yaml": "bulkhead: 1\n",
      "empty/x.txt": "",
      "trap/bulkhead.yaml/x.txt": "",
    });
    const env = { HOME: join(root, "empty"), XDG_CONFIG_HOME: join(root, "xdg") };
    expect(await findHostManifest({ config: "../../../other.yaml", from: join(root, "a/b/c"), env })).toBe(
      join(root, "other.yaml"),
    );
    expect(await findHostManifest({ from: join(root, "a/b/c"), env })).toBe(join(root, "a/bulkhead.yaml"));
    expect(await findHostManifest({ from: join(root, "trap"), env })).toBe(join(root, "xdg/bulkhead/bulkhead.yaml"));
    expect(await findHostManifest({ from: join(root, "empty"), env: { HOME: join(root, "empty") } })).toBe(null);
  });

  it("names a bulkhead.yml that lies where a host manifest would", async () => {
    const root = await writePackage({
      "a/bulkhead.yml": "bulkhead: 1\n",
      "a/b/x.txt": "",
      "xdg/bulkhead/bulkhead.yml": "",
    });
    const env = { HOME: root, XDG_CONFIG_HOME: join(root, "xdg") };
    for (const [from, file] of [["a/b", "a/bulkhead.yml"], ["xdg", "xdg/bulkhead/bulkhead.yml"]] as const) {
      await expect(findHostManifest({ from: join(root, from), env })).rejects.toMatchObject({
        code: "invalid_config",
        message: `Cannot use "${join(root, file)}": a host manifest is called bulkhead.yaml.`,
      });
    }
  });

  it("refuses a --config that is not there, whatever else there is", async () => {
    const root = await writePackage({ "bulkhead.yaml": "bulkhead: 1\n" });
    await expect(findHostManifest({ config: "nope.yaml", from: root })).rejects.toMatchObject({
      code: "not_found",
      message: 'Cannot read the host manifest "nope.yaml": there is no such file.',
    });
  });
});

describe("loadHostManifest", () => {
  it("gives the manifest with its file, or null without one", async () => {
    const root = await writePackage({ "bulkhead.yaml": "bulkhead: 1\nplugins: {a: {}}\n", "e/x": "" });
    expect(await loadHostManifest({ from: join(root, "e") })).toMatchObject({
      file: join(root, "bulkhead.yaml"),
      plugins: { a: {} },
    });
    const bare = await newFolder();
    expect(await loadHostManifest({ from: bare, env: { HOME: bare } })).toBe(null);
  });

  it("says which file and line is wrong", async () => {
    const root = await writePackage({ "bulkhead.yaml": "bulkhead: 1\nx: 1\n" });
    await expect(loadHostManifest({ from: root })).rejects.toMatchObject({
      code: "invalid_config",
      message: `${root}/bulkhead.yaml:2:1 x: expected a known key, found "x"`,
    });
  });
});

describe("readTextFile", () => {
  it("refuses bytes that are no UTF-8, and does not wait for a pipe", async () => {
    const root = await newFolder();
    await writeFile(join(root, "x"), Uint8Array.of(0x61, 0xff));
    await expect(readTextFile(join(root, "x"), { maxBytes: 9, code: "invalid_config", name: "x" })).rejects
      .toThrow("x:1:1: expected UTF-8 text, found bytes that are none");
    await expect(readTextFile("/dev/zero", { maxBytes: 9, code: "invalid_config", name: "x" })).rejects
      .toThrow("x:1:1: expected a file, found something else");
  });

  it("takes a file of just the limit", async () => {
    const root = await writePackage({ x: "123456789" });
    expect(await readTextFile(join(root, "x"), { maxBytes: 9, code: "invalid_config" })).toBe("123456789");
    await expect(readTextFile(join(root, "x"), { maxBytes: 8, code: "invalid_config" })).rejects.toThrow(
      "expected at most 8 bytes",
    );
  });
});

describe("starterHostManifest", () => {
  it("is a host manifest, names its schema, and still is one when the examples are taken in", () => {
    const text = starterHostManifest();
    expect(text.split("\n")[0]).toMatch(/^# yaml-language-server: \$schema=\S+$/);
    expect(parseHostManifest(text, { file: "b" })).toMatchObject({
      plugins: {},
      tools: {},
      routing: { agent: "auto" },
    });
    const taken = text.replace("plugins: {}", "plugins:").replace("tools: {}", "tools:").replace(
      /^# {2}(?=\S| )/gm,
      "  ",
    );
    expect(parseHostManifest(taken, { file: "b" })).toMatchObject({
      plugins: { example: { grant: { run: [{ binary: "git" }] } } },
      tools: { shout: { binary: "tr" } },
    });
  });
});

const granted = (text: string, id = "demo") => parseHostManifest(text, { file: "b" }).plugins[id]?.grant;

describe("addGrant", () => {
  const run: NewGrant = { pluginId: "demo", permission: "run", target: "git" };

  it.each([
    ["an empty map", "bulkhead: 1\nplugins: {}\n"],
    ["no plugins", "bulkhead: 1\n"],
    ["nothing after plugins", "bulkhead: 1\nplugins:\n"],
    ["a plugin with nothing after it", "bulkhead: 1\nplugins:\n  demo:\n"],
    ["an empty grant", "bulkhead: 1\nplugins:\n  demo: {grant: {}}\n"],
    ["an empty list", "bulkhead: 1\nplugins:\n  demo: {grant: {run: []}}\n"],
    ["the starter", starterHostManifest()],
  ])("adds to %s", (_name, text) => {
    const after = addGrant(text, run);
    expect(granted(after)).toEqual({ run: [{ binary: "git" }] });
    expect(addGrant(after, run)).toBe(after);
  });

  it("keeps comments, order and all other values", () => {
    const text =
      "# head\nbulkhead: 1 # one\nplugins:\n  # about demo\n  demo:\n    grant:\n      read: [workdir] # why\n      run:\n" +
      "        - {binary: node, args: ['-v']} # only this\n  other: {enabled: false}\nlimits: {queue: 3}\n";
    const after = addGrant(addGrant(text, run), { pluginId: "demo", permission: "net", target: "a.example.com:443" });
    for (const comment of ["# head", "# one", "# about demo", "# why", "# only this"]) expect(after).toContain(comment);
    expect(granted(after)).toEqual({
      read: ["workdir"],
      run: [{ binary: "node", args: ["-v"] }, { binary: "git" }],
      net: ["a.example.com:443"],
    });
    const before = parseHostManifest(text, { file: "b" });
    const changed = parseHostManifest(after, { file: "b" });
    expect({ ...changed.plugins["demo"], grant: null }).toEqual({ ...before.plugins["demo"], grant: null });
    expect([changed.plugins["other"], changed.limits]).toEqual([before.plugins["other"], before.limits]);
  });

  it("grants kv, and sees what is granted in full", () => {
    const after = addGrant("bulkhead: 1\n", { pluginId: "demo", permission: "kv", target: "kv" });
    expect(granted(after)).toEqual({ kv: true });
    expect(addGrant(after, { pluginId: "demo", permission: "kv", target: "kv" })).toBe(after);
    const full = "bulkhead: 1\nplugins: {demo: {grant: {run: [{binary: git}]}}}\n";
    expect(addGrant(full, run)).toBe(full);
    const part = "bulkhead: 1\nplugins: {demo: {grant: {run: [{binary: git, args: [log]}]}}}\n";
    expect(granted(addGrant(part, run))?.run).toEqual([{ binary: "git", args: ["log"] }, { binary: "git" }]);
  });

  it("grants a program with arguments, once, and takes back that grant alone", () => {
    const push: NewGrant = { ...run, target: 'push "a b" {...}' };
    const narrow: NewGrant = { ...run, target: "git push {...}" };
    expect(granted(addGrant("bulkhead: 1\n", push))?.run).toEqual([{ binary: "push", args: ['"a b" {...}'] }]);
    const after = addGrant(addGrant("bulkhead: 1\n", run), narrow);
    expect(granted(after)?.run).toEqual([{ binary: "git" }, { binary: "git", args: ["push {...}"] }]);
    expect(addGrant(after, narrow)).toBe(after);
    expect(granted(removeGrant(after, narrow, { file: "b" }))?.run).toEqual([{ binary: "git" }]);
    expect(() => addGrant("bulkhead: 1\n", { ...run, target: "git {x}" })).toThrow(/argument pattern|placeholder/);
    const path: NewGrant = { ...run, target: "/opt/My Tool/bin" };
    expect(granted(addGrant("bulkhead: 1\n", path))?.run).toEqual([{ binary: "/opt/My Tool/bin" }]);
  });

  it("writes targets that YAML would read otherwise so that they stay", () => {
    const after = addGrant("bulkhead: 1\n", { pluginId: "demo", permission: "mcp_servers", target: "a: #b" });
    expect(granted(after)?.mcp_servers).toEqual(["a: #b"]);
  });

  it("refuses what would be no host manifest, and leaves other grants that are shared alone", () => {
    expect(() => addGrant("bulkhead: 1\n", { ...run, pluginId: "auto" })).toThrow(/expected an id other than/);
    expect(() => addGrant("bulkhead: 1\n", { pluginId: "demo", permission: "net", target: "x" })).toThrow(
      /expected host:port/,
    );
    expect(() => addGrant("bulkhead: 2\n", run)).toThrow(/bulkhead.yaml:1:11/);
    expect(() => addGrant("bulkhead: 1\nplugins: {a: {grant: &g {run: [ls]}}, demo: {grant: *g}}\n", run)).toThrow(
      "plugins.demo.grant is an alias",
    );
    expect(() => addGrant("bulkhead: 1\nplugins: {demo: {grant: {run: &g [ls]}}, b: {grant: {run: *g}}}\n", run))
      .toThrow(
        'what it says of "demo" stands for others as well',
      );
    expect(() => addGrant("bulkhead: 1\ntools: {demo: {binary: x, command_template: '{binary}'}}\n", run)).toThrow(
      /it is a tool/,
    );
  });
});

describe("replaceGrant", () => {
  const text = "bulkhead: 1 # one\nplugins:\n  demo:\n    grant:\n      write: [workdir, data]\n" +
    "      run: [git, {binary: node, args: ['-v']}]\n      secrets: [KEY, KEY_TWO]\n      kv: true\n" +
    "  other: {grant: {write: [workdir]}}\n";
  const replace = (old: Partial<GrantReplacement>) =>
    replaceGrant(text, { pluginId: "demo", permission: "write", target: "workdir", instead: null, ...old }, {
      file: "b",
    });

  it("puts a grant in the place of another, and leaves all others", () => {
    const after = replace({ instead: "workdir:src" });
    expect(granted(after)).toEqual({ ...granted(text), write: ["data", "workdir:src"] });
    expect(granted(after, "other")).toEqual(granted(text, "other"));
    expect(after).toContain("# one");
  });

  it.each<[Partial<GrantReplacement>, Permissions]>([
    [{}, { write: ["data"] }],
    [{ permission: "run", target: "git" }, { run: [{ binary: "node", args: ["-v"] }] }],
    [{ permission: "run", target: "node" }, { run: [{ binary: "git" }] }],
    [{ permission: "secrets", target: "KEY" }, { secrets: [{ name: "KEY_TWO" }] }],
  ])("takes back %j alone", (old, left) => {
    expect(granted(replace(old))).toEqual({ ...granted(text), ...left });
  });

  it("lifts a denial of that name, where no grant has it", () => {
    const denied = addGrant(text, { pluginId: "demo", permission: "net", target: "a.b:443", under: "deny" });
    const old = { pluginId: "demo", permission: "net", target: "a.b:443", instead: null } as const;
    expect(denied).toContain("a.b:443");
    expect(replaceGrant(denied, old, { file: "b" })).not.toContain("a.b:443");
    expect(() => replaceGrant(denied, { ...old, instead: "c.d:443" }, { file: "b" })).toThrow(/has no such grant/);
  });

  it("takes back kv", () => {
    expect(granted(replace({ permission: "kv", target: "kv" }))?.kv).toBeUndefined();
  });

  it("refuses what has no grant of that name, and what may not be granted, as a whole", () => {
    expect(() => replace({ target: "workdir:src" })).toThrow(
      'Cannot replace "write:workdir:src": "demo" has no such grant.',
    );
    expect(() => replace({ permission: "net", target: "a.b:443" })).toThrow(/has no such grant/);
    expect(() => replace({ instead: "../up" })).toThrow(/expected/);
  });
});

describe("what two plugins share by an anchor", () => {
  const file = "bulkhead.yaml";
  const others = /^Cannot edit bulkhead.yaml: what it says of "a" stands for others as well/;
  const text = "bulkhead: 1\nplugins: {a: &p {enabled: false, grant: {run: [git], kv: true}}, b: *p}\n";

  it("is not changed for both by an edit that names one", () => {
    const grant = { pluginId: "a", permission: "run" as const, target: "git" };
    expect(() => setEnabled(text, { pluginId: "a", enabled: true, file })).toThrow(others);
    expect(() => setGrant(text, { pluginId: "a", grant: { run: [{ binary: "node" }] } }, { file })).toThrow(others);
    expect(() => removeGrant(text, grant, { file })).toThrow(others);
    expect(() => removePluginEntry(text, { pluginId: "a", file })).toThrow(others);
  });

  it("is not changed through the alias, and one that is named by nobody is", () => {
    for (const permission of ["run", "kv"] as const) {
      expect(() => removeGrant(text, { pluginId: "b", permission, target: "git" }, { file })).toThrow(
        "Cannot edit bulkhead.yaml: plugins.b is an alias.",
      );
    }
    const alone = removePluginEntry(text, { pluginId: "b", file });
    const after = removeGrant(alone, { pluginId: "a", permission: "run", target: "git" }, { file });
    expect(parseHostManifest(after, { file }).plugins).toMatchObject({ a: { grant: { kv: true } } });
    expect(after).not.toContain("git");
  });
});

describe("stateFolders", () => {
  it("follows XDG and passes over what is empty or not absolute", () => {
    expect(stateFolders({ HOME: "/h" })).toEqual({
      config: "/h/.config/bulkhead",
      data: "/h/.local/share/bulkhead",
      state: "/h/.local/state/bulkhead",
      cache: "/h/.cache/bulkhead",
    });
    expect(stateFolders({ HOME: "/h", XDG_CONFIG_HOME: "/c", XDG_DATA_HOME: "rel", XDG_STATE_HOME: "" })).toMatchObject(
      {
        config: "/c/bulkhead",
        data: "/h/.local/share/bulkhead",
        state: "/h/.local/state/bulkhead",
      },
    );
  });
});

describe("setGrant", () => {
  const text = `bulkhead: 1
# ours
plugins:
  demo: # the demo
    grant:
      read: [workdir] # to look
    config: {}
  other: { grant: &all { kv: true } }
  third: { grant: *all }
tools:
  tr: { binary: tr, command_template: "{binary}" }
`;

  it("replaces what a plugin is granted, and nothing else", () => {
    const after = setGrant(text, { pluginId: "demo", grant: { run: [{ binary: "git" }], kv: true } });
    const before = parseHostManifest(text, { file: "a.yaml" });
    const parsed = parseHostManifest(after, { file: "a.yaml" });
    expect(parsed.plugins["demo"]?.grant).toEqual({ run: [{ binary: "git" }], kv: true });
    expect({ ...parsed.plugins, demo: null }).toEqual({ ...before.plugins, demo: null });
    for (const comment of ["# ours", "# the demo"]) expect(after).toContain(comment);
  });

  it("null takes all away, and of a plugin without grants changes nothing", () => {
    const after = setGrant(text, { pluginId: "demo", grant: null });
    expect(parseHostManifest(after, { file: "a.yaml" }).plugins["demo"]?.grant).toEqual({});
    expect(setGrant(after, { pluginId: "demo", grant: null })).toBe(after);
    expect(setGrant(after, { pluginId: "new", grant: null })).toBe(after);
  });

  it("refuses tools, aliases and grants that are none", () => {
    for (const pluginId of ["tr", "third"]) {
      expect(() => setGrant(text, { pluginId, grant: { kv: false } })).toThrow(/Cannot/);
    }
    expect(() => setGrant(text, { pluginId: "demo", grant: { net: ["no port"] } })).toThrow(/net/);
    expect(() => setGrant(text, { pluginId: "../x", grant: {} })).toThrow();
  });
});

describe("an edit of a host manifest in which another entry is wrong", () => {
  const text = "bulkhead: 1\nplugins:\n  good: {}\n  bad: { grant: 5 }\ntools: {}\n";

  it("is made, and leaves that entry as it is", () => {
    const granted = addGrant(text, { pluginId: "good", permission: "run", target: "git" });
    expect(granted).toBe(text.replace("good: {}", "good:\n    grant:\n      run:\n        - git"));
    expect(setEnabled(text, { pluginId: "good", enabled: false, file: "b" })).toContain("enabled: false");
    expect(setGrant(granted, { pluginId: "good", grant: null })).toContain("bad: { grant: 5 }");
    expect(removePluginEntry(text, { pluginId: "good", file: "b" })).not.toContain("good");
  });

  it("is refused for the wrong entry itself, with its place", () => {
    const refused = /^bulkhead\.yaml:4:\d+ plugins\.bad\.grant: /;
    expect(() => addGrant(text, { pluginId: "bad", permission: "run", target: "git" })).toThrow(refused);
    expect(() => setEnabled(text, { pluginId: "bad", enabled: false, file: "bulkhead.yaml" })).toThrow(refused);
    expect(() => setGrant(text, { pluginId: "bad", grant: {} })).toThrow(refused);
  });
});
