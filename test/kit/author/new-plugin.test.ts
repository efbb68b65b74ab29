import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hostSpecifier, newPlugin } from "../../../core/kit/author/new-plugin.ts";
import { type TemplateName, templateNames } from "../../../core/kit/author/templates.ts";
import { type KitHost, openKitHost } from "../../../core/kit/conformance/kit-host.ts";
import { testPlugin } from "../../../core/kit/conformance/test-plugin.ts";
import { hostVersion } from "../../../core/ground/config/version.ts";
import { readManifest } from "../../../core/packages/manifest/read-manifest.ts";
import { errorOf } from "../../sessions/host/test-host.ts";

let folder: string;
let kit: KitHost;
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-new-")));
  kit = await openKitHost();
});
afterAll(async () => {
  await kit[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

describe("hostSpecifier", () => {
  const installed = async (resolved: string | null) => {
    const modules = join(await mkdtemp(join(folder, "installed-")), "node_modules");
    await mkdir(join(modules, "bulkhead"), { recursive: true });
    const packages = { "node_modules/bulkhead": { resolved } };
    if (resolved !== null) await writeFile(join(modules, ".package-lock.json"), JSON.stringify({ packages }));
    return join(modules, "bulkhead");
  };

  test("is a range of versions for a host that npm got from a registry", async () => {
    const host = await installed("https://registry.example.com/bulkhead/-/bulkhead-0.1.0.tgz");
    expect(await hostSpecifier(host)).toBe(`^${hostVersion}`);
  });

  test("is the folder for a host from a tarball, from a clone, and where nothing tells", async () => {
    for (const resolved of ["file:../bulkhead-0.1.0.tgz", null]) {
      const host = await installed(resolved);
      expect(await hostSpecifier(`${host}/`)).toBe(`file:${host}`);
    }
    expect(await hostSpecifier()).toMatch(/^file:\//);
  });
});

describe("newPlugin", () => {
  const commands: Partial<Record<TemplateName, string>> = { cli: `my-tool --say "a {b}" -`, acp: "my-agent --acp" };

  // At once: most of a trial is waiting for tools that hang.
  test.concurrent.each(templateNames)("writes from template %s a plugin that keeps the contract", async (template) => {
    const to = join(folder, template);
    const name = `It's "my" ${template}: agent`;
    const { id, files } = await newPlugin({ folder: to, template, name, command: commands[template] });
    expect(id).toBe(`it-s-my-${template}-agent`);
    expect(files).toEqual(expect.arrayContaining(["README.md", "conformance.yaml", "package.json", "plugin.yaml"]));
    const yaml = await readFile(join(to, "plugin.yaml"), "utf8");
    expect(yaml.split("\n")[0]).toBe("# yaml-language-server: $schema=./plugin.schema.json");
    for (const file of files) expect(await readFile(join(to, file), "utf8")).not.toMatch(/\{\{(?!workdir)\w+\}\}/);
    const { rules, passed } = await testPlugin(to, { kit });
    expect(rules.filter(({ outcome }) => outcome === "failed" || outcome === "noted")).toEqual([]);
    expect(passed).toBe(true);
  }, 120_000);

  test.each([
    ["scribe --quiet", "{binary} --quiet < {prompt_file}"],
    ["scribe run {prompt}", "{binary} run {prompt}"],
    ["scribe --in={prompt_file} --cd {workdir}", "{binary} --in={prompt_file} --cd {workdir}"],
    ["scribe run < {prompt_file}", "{binary} run < {prompt_file}"],
    [`scribe "say: {prompt}" {other}`, `{binary} "say: {prompt}" \\{other\\}`],
  ])("takes the placeholders of a command: %s", async (command, line) => {
    const to = await mkdtemp(join(folder, "placeholders-"));
    await newPlugin({ folder: join(to, "it"), template: "cli", name: "scribe", command });
    expect((await readManifest(join(to, "it"))).cli?.command_template).toBe(line);
  });

  test("refuses a command with a mistyped placeholder, and writes nothing", async () => {
    const to = join(folder, "mistyped");
    const refused = newPlugin({ folder: to, template: "cli", name: "scribe", command: "scribe {promt}" });
    expect(await errorOf(refused)).toMatchObject({ message: expect.stringContaining("did you mean {prompt}?") });
    await expect(readdir(to)).rejects.toThrow();
  });

  test("writes nothing over what is there, and says what a name lacks", async () => {
    const mine = join(folder, "mine");
    await mkdir(mine);
    await writeFile(join(mine, "mine.txt"), "mine");
    const refused = newPlugin({ folder: mine, template: "code", name: "Mine" });
    expect(await errorOf(refused)).toMatchObject({ code: "already_exists" });
    expect(await readdir(mine)).toEqual(["mine.txt"]);
    const nameless = newPlugin({ folder: join(folder, "x"), template: "code", name: "---" });
    expect(await errorOf(nameless)).toMatchObject({ code: "invalid_config" });
  });
});
