import { mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { newPlugin } from "../../core/author/new-plugin.ts";
import { type TemplateName, templateNames } from "../../core/author/templates.ts";
import { type KitHost, openKitHost } from "../../core/conformance/kit-host.ts";
import { testPlugin } from "../../core/conformance/test-plugin.ts";
import { errorOf } from "../host/test-host.ts";

let folder: string;
let kit: KitHost;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-new-")));
  kit = await openKitHost();
});
afterEach(async () => {
  await kit[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

describe("newPlugin", () => {
  const commands: Partial<Record<TemplateName, string>> = { cli: `my-tool --say "a {b}" -`, acp: "my-agent --acp" };

  test.each(templateNames)("writes from template %s a plugin that keeps the contract", async (template) => {
    const to = join(folder, "made");
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
  }, 60_000);

  test("writes nothing over what is there, and says what a name lacks", async () => {
    await writeFile(join(folder, "mine.txt"), "mine");
    const refused = newPlugin({ folder, template: "code", name: "Mine" });
    expect(await errorOf(refused)).toMatchObject({ code: "already_exists" });
    expect(await readdir(folder)).toEqual(["mine.txt"]);
    const nameless = newPlugin({ folder: join(folder, "x"), template: "code", name: "---" });
    expect(await errorOf(nameless)).toMatchObject({ code: "invalid_config" });
  });
});
