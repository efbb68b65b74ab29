import { execFileSync } from "node:child_process";
import { appendFile, cp, mkdir, readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createHost, loadHostManifest } from "bulkhead";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { acceptChange } from "../../../core/ground/recorded/accept-change.ts";
import { changeManifest } from "../../../core/packages/install/manifest-transaction.ts";
import { npmOptions } from "../../../core/packages/install/npm-options.ts";
import { addGrant } from "../../../core/packages/manifest/edit-host-manifest.ts";
import { startHost } from "../../supervision/host-process.ts";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { firstManifest, makeProject, type RecordedProject } from "./recorded-project.ts";
import { adapterCode, completed, errorOf, writePlugin } from "./test-host.ts";

let made: RecordedProject;

beforeEach(async (context) => {
  await needsWall(context, "bubblewrap");
  made = await makeProject();
  return () => void vi.unstubAllEnvs();
});

const evil = firstManifest.replace("run: [sh]", "run: [{ binary: sh, contain: off }]");

/** What an editor does: it writes another file and gives it the name. */
async function replaceBy(file: string, text: string): Promise<void> {
  await writeFile(`${file}~`, text);
  await rename(`${file}~`, file);
}

const grantNet = (file: string) =>
  changeManifest(file, async ({ text, writeText }) => {
    const grant = { pluginId: "agent", permission: "net", target: "example.com:443" } as const;
    await writeText(addGrant(text, grant, { file }));
  });

describe("the host manifest", () => {
  test("a grant that Bulkhead writes while an agent runs keeps the agent from writing the file, and the next host starts", async () => {
    const { file, during, open } = made;
    const said = await during(
      () => grantNet(file),
      "grep example.com bulkhead.yaml; echo evil >> bulkhead.yaml || echo held",
    );
    expect(said).toBe("held\n");
    expect(await readFile(file, "utf8")).toContain("example.com:443");
    expect(await readFile(file, "utf8")).not.toContain("evil");
    await open();
  });

  test("a file that was replaced while an agent ran is refused with the difference, and taken once it is accepted", async () => {
    const { file, project, during, open } = made;
    await during(() => replaceBy(file, evil));
    const error = await errorOf(open());
    expect(error).toMatchObject({
      code: "unaccepted_change",
      message: expect.stringContaining(`${file}: it changed while an agent`),
    });
    expect(error.details).toMatchObject({
      path: file,
      difference: ["-       run: [sh]", "+       run: [{ binary: sh, contain: off }]"],
    });
    const digest = String(error.details?.["digest"]);
    expect(error.hint).toContain(`bulkhead accept ${file} --digest ${digest}`);
    await expect(acceptChange(file, digest.replace(/.$/, "x"))).rejects.toMatchObject({ code: "unaccepted_change" });
    expect(await errorOf(loadHostManifest({ from: project }))).toMatchObject({ code: "unaccepted_change" });
    await acceptChange(file, digest);
    await open();
  });

  test("one that the agent itself wrote once its guard was gone is refused, also by a reload and by an edit", async () => {
    const { file, project, during, open } = made;
    const text = await readFile(file, "utf8");
    const said = await during(
      () => replaceBy(file, text),
      "sed -i 's/run: .sh./run: [{ binary: sh, contain: off }]/' bulkhead.yaml && grep -c contain bulkhead.yaml",
    );
    expect(said).toBe("1\n");
    expect(await errorOf(open())).toMatchObject({ code: "unaccepted_change" });
    expect(await errorOf(loadHostManifest({ from: project }))).toMatchObject({ code: "unaccepted_change" });
    expect(await errorOf(grantNet(file))).toMatchObject({ code: "unaccepted_change" });
    expect(await readFile(file, "utf8")).not.toContain("example.com");
    await replaceBy(file, text);
    await open();
  });

  test("an edit between sessions, and one before the first, is never asked about", async () => {
    const { file, agent, open } = made;
    await appendFile(file, "# before\n");
    await agent("true");
    await replaceBy(file, `${await readFile(file, "utf8")}# between\n`);
    await open();
    await agent("true");
    await appendFile(file, "# again\n");
    await agent("true");
    await open();
  });

  test("one that the agent took away does not bring another one into force", async () => {
    const { file, root, during, open } = made;
    await writeFile(join(root, "bulkhead.yaml"), "bulkhead: 1\n");
    await during(() => rm(file));
    expect(await errorOf(open())).toMatchObject({
      code: "unaccepted_change",
      message: expect.stringContaining("it was removed"),
    });
  });

  test("one that an agent makes in a sub-folder, or moves there, is refused to whoever starts a host below it", async () => {
    const { project, agent } = made;
    await mkdir(join(project, "old"));
    await writeFile(join(project, "old", "bulkhead.yaml"), evil);
    await agent("mkdir -p a/b && printf 'bulkhead: 1\\n' > a/bulkhead.yaml; mv old new");
    for (const from of [join(project, "a", "b"), join(project, "new")]) {
      expect(await errorOf(loadHostManifest({ from }))).toMatchObject({ code: "unaccepted_change" });
    }
  });

  test("a checkout of another branch while an agent runs is asked about, and one that brings back the same is not", async () => {
    const { file, project, during, open } = made;
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=me", "-c", "user.email=me@example.com", ...args], {
        cwd: project,
        stdio: "pipe",
      });
    git("init", "-q", "-b", "one");
    git("add", "bulkhead.yaml");
    git("commit", "-qm", "one");
    git("checkout", "-qb", "two");
    await appendFile(file, "# two\n");
    git("commit", "-qam", "two");
    git("checkout", "-q", "one");
    await during(async () => void git("checkout", "-q", "two"));
    expect(await errorOf(open())).toMatchObject({ details: { difference: ["+ # two"] } });
    git("checkout", "-q", "one");
    await open();
  });

  test("a second host, with another state folder, finds the same records", async () => {
    const { file, root, during, open } = made;
    await during(async () => {
      await replaceBy(file, evil);
      expect(await errorOf(open({ stateDir: join(root, "other") }))).toMatchObject({ code: "unaccepted_change" });
    });
    expect(await errorOf(open({ stateDir: join(root, "other") }))).toMatchObject({ code: "unaccepted_change" });
  });
});

describe("a plugin that cannot be used now", () => {
  const code = "printf 'evil' > dev/mod.js && echo written || echo held";

  test.each<[string, (manifest: string) => string, string]>([
    ["for its manifest", (manifest) => `${manifest}cli: [`, "dev: { source: ./dev }"],
    ["for its entry", (manifest) => manifest, "dev: { source: ./dev, grant: 5 }"],
  ])(
    "%s is guarded all the same, and what changed in it while an agent ran is not believed",
    async (_, spoil, entry) => {
      const { project, file, agent, during, open } = made;
      await writePlugin(join(project, "dev"), "dev", { code: adapterCode(`    yield ${completed};`) });
      const manifest = join(project, "dev", "plugin.yaml");
      const whole = await readFile(manifest, "utf8");
      await writeFile(manifest, spoil(whole));
      await writeFile(file, `${firstManifest}  ${entry}\n`);
      expect(await agent(code)).toBe("held\n");
      await during(async () => {
        await writeFile(manifest, whole);
        await replaceBy(join(project, "dev", "mod.js"), "// another\n");
      });
      await writeFile(file, `${firstManifest}  dev: { source: ./dev }\n`);
      const problem = (await open()).registry.problems().find(({ id }) => id === "dev");
      expect(problem).toMatchObject({ unavailable: true, error: { code: "unaccepted_change" } });
    },
  );
});

describe("a host that was killed", () => {
  test("leaves what it recorded at the start of its session to the next one", async () => {
    const { file, project, root, open } = made;
    const folder = join(project, "plugins", "agent");
    const prompt = "echo begun; sleep 300";
    const grant = { run: [{ binary: "sh" }] };
    const host = startHost({ stateDir: join(root, "state"), workdir: project, folder, settings: { grant }, prompt });
    await host.seen(({ envelope }) => envelope?.event.type === "output");
    await replaceBy(join(folder, "mod.js"), `${await readFile(join(folder, "mod.js"), "utf8")}// more\n`);
    await host.kill();
    // The other plugin was made so shortly before the session that its host, which did not know it, may ask about it too.
    const problem = (await open()).registry.problems().find(({ id }) => id === "agent");
    expect(problem).toMatchObject({ error: { code: "unaccepted_change" } });
    // What a person changes once that is compared is not asked about.
    await replaceBy(file, `${await readFile(file, "utf8")}# after\n`);
    await open();
  });
});

describe("other files that a host acts on", () => {
  test("a host manifest that an agent makes where there was none is refused", async () => {
    const { file, project, root } = made;
    await rm(file);
    const host = await createHost({ root: project, stateDir: join(root, "state"), bundledDir: null });
    try {
      await host.registry.register("plugins/agent", { grant: { run: [{ binary: "sh" }] } });
      const prompt = "printf 'bulkhead: 1\\n' > bulkhead.yaml; cat bulkhead.yaml";
      const session = await host.runSession({ workdir: project, prompt }, { adapter: "agent", artifacts: "none" });
      expect((await session.result()).output).toBe("bulkhead: 1\n");
    } finally {
      await host.close();
    }
    expect(await errorOf(loadHostManifest({ from: project }))).toMatchObject({
      code: "unaccepted_change",
      message: expect.stringContaining("it appeared"),
    });
  });

  test("npm's settings that an agent made are not used to install a plugin", async () => {
    const { project, agent } = made;
    await npmOptions(project);
    await agent("echo registry=http://127.0.0.1:1/ > .npmrc");
    expect(await errorOf(npmOptions(project))).toMatchObject({
      code: "unaccepted_change",
      details: { difference: [] },
    });
  });

  test("a secret that an agent has exchanged opens no session", async () => {
    const { file, project, during, open } = made;
    const key = join(project, "key.txt");
    await writeFile(key, "a-key-of-mine");
    await writeFile(file, `${firstManifest}secrets: { KEY: "file:${key}" }\n`);
    await writePlugin(join(project, "plugins", "deploy"), "deploy", {
      code: adapterCode(`    yield ${completed};`),
      manifest: "permissions: { secrets: [{ name: KEY, env: [KEY] }] }",
    });
    await writeFile(
      file,
      (await readFile(file, "utf8")).replace("deploy: {}", "deploy: { grant: { secrets: [KEY] } }"),
    );
    await during(() => replaceBy(key, "a-key-of-the-agent"));
    const host = await open();
    const error = await errorOf(host.runSession({ workdir: project, prompt: "go" }, { adapter: "deploy" }));
    expect(error).toMatchObject({ code: "unaccepted_change", details: { path: key, kind: "secrets", difference: [] } });
  });
});

describe("the lock", () => {
  test("a broken one that an agent makes stops nothing but what is installed, and is told", async () => {
    const { agent, open } = made;
    await agent("echo '{ broken' > bulkhead.lock");
    const host = await open();
    expect(host.registry.get("deploy")?.enabled).toBe(true);
    expect(host.registry.problems()).toMatchObject([{ id: "bulkhead.lock", error: { code: "unaccepted_change" } }]);
    expect(await agent("echo fine", host)).toBe("fine\n");
  });
});

describe("a plugin's folder", () => {
  test("code that was put in its place by renaming the folder above is refused, and the other plugins run", async () => {
    const { project, during, agent, open } = made;
    await during(async () => {
      const plugins = join(project, "plugins");
      await rename(plugins, join(project, "p2"));
      await cp(join(project, "p2"), plugins, { recursive: true });
      const code = join(plugins, "deploy", "mod.js");
      await writeFile(code, (await readFile(code, "utf8")).replace("deployed", "stolen"));
    });
    const host = await open();
    const error = await errorOf(host.runSession({ workdir: project, prompt: "go" }, { adapter: "deploy" }));
    expect(error).toMatchObject({ code: "unaccepted_change", details: { kind: "plugin", difference: ["~ mod.js"] } });
    // A copy with the same content is the same.
    expect(await agent("echo fine", host)).toBe("fine\n");
    await acceptChange(join(project, "plugins", "deploy"), String(error.details?.["digest"]));
    const next = await open();
    const session = await next.runSession({ workdir: project, prompt: "go" }, { adapter: "deploy", artifacts: "none" });
    expect((await session.result()).output).toBe("stolen");
  });

  test("a running host neither loads nor reloads what changed", async () => {
    const { project, open, agent } = made;
    const host = await open();
    expect(await agent("echo x >> plugins/deploy/mod.js || echo held", host)).toBe("held\n");
    const manifest = (await loadHostManifest({ from: project }))!;
    await host.reload(manifest);
    await made.during(() => appendFile(join(project, "plugins", "deploy", "mod.js"), "// more\n"));
    expect(await errorOf(host.reload(manifest))).toMatchObject({ code: "unaccepted_change" });
    const session = await host.runSession({ workdir: project, prompt: "go" }, { adapter: "deploy", artifacts: "none" });
    expect((await session.result()).error).toMatchObject({ code: "unaccepted_change" });
  });

  test("one whose times were set back is still another one", async () => {
    const { project, during, open } = made;
    const code = join(project, "plugins", "deploy", "mod.js");
    await during(async () => {
      await writeFile(code, (await readFile(code, "utf8")).replace("deployed", "stealing"));
      await utimes(code, new Date(0), new Date(0));
    });
    const host = await open();
    expect(host.registry.problems().map(({ id }) => id)).toEqual(["deploy"]);
  });
});
