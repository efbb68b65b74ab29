import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { access, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { hasProgram, needsProgram } from "../../needs-program.ts";
import { type LoopbackRegistry, startRegistry } from "./loopback-registry.ts";
import { greeterFiles, greeterPackage, newOperator, type Operator } from "./operator.ts";
import { type ProvenanceAuthority, startAuthority, workflow } from "./provenance-authority.ts";

vi.setConfig({ testTimeout: 240_000 });

let registry: LoopbackRegistry;
let authority: ProvenanceAuthority;
beforeAll(async () => {
  // The registry runs on Node, and npm publishes to it.
  if (hasProgram("npm")) [registry, authority] = await Promise.all([startRegistry(), startAuthority()]);
}, 120_000);
afterAll(() => Promise.all([registry?.close(), authority?.close()]));
beforeEach((context) => {
  needsProgram(context, "npm");
  for (const way of ["tarball", "tarballHost", "attestations", "edit"] as const) delete registry.ways[way];
  registry.ways.signs = "right";
});

/** Somebody whose npm is configured for the registry, in a file as npm has it. */
async function operatorHere(): Promise<Operator> {
  const operator = await newOperator();
  const { host } = new URL(registry.url);
  await operator.write(".npmrc", `registry=${registry.url}\n//${host}/:_authToken=\${TOKEN_OF_TEST}\n`);
  return operator;
}

it(
  "goes the whole road: new, test, pack, npm publish, add, grant, run, an update that asks for more, remove",
  async () => {
    const operator = await operatorHere();
    const run = operator.bulkhead;
    // As a person's own shell has it; it is in a process of its own, like the host there.
    const inShell = (...args: string[]) => operator.spawned(args, { TOKEN_OF_TEST: "secret-of-test" }).ended;
    expect(await run("plugin", "new", "roadie", "--yes")).toMatchObject({ code: 0 });
    await edit(
      operator,
      "roadie/plugin.yaml",
      "# permissions:\n#   read: [workdir]",
      "permissions:\n  read: [workdir]",
    );
    await edit(operator, "roadie/mod.ts", "    ctx.signal.throwIfAborted();", "    await ctx.fs.list(ctx.workdir);");
    const tried = await run("plugin", "test", "roadie", "--json");
    expect({ code: tried.code, passed: JSON.parse(tried.out.trim()).passed }).toEqual({ code: 0, passed: true });
    const source = registry.npmPublish(join(operator.folder, "roadie"));
    await expect(source).rejects.toThrow("plugin pack . && npm publish ./bulkhead-plugin-roadie-0.1.0.tgz");
    expect(await run("plugin", "pack", "roadie")).toMatchObject({ code: 0, err: "" });
    await registry.npmPublish(join(operator.folder, "bulkhead-plugin-roadie-0.1.0.tgz"));

    const name = "bulkhead-plugin-roadie";
    expect(await run("plugin", "add", name)).toMatchObject({
      code: 4,
      err: expect.stringContaining("missing grants: read:workdir"),
    });
    const added = await inShell("plugin", "add", name, "--grant", "read:workdir");
    expect(added).toMatchObject({ code: 0, err: "" });
    expect(added.out).toContain("signed by registry key SHA256:");
    expect(added.out).toContain("no provenance");
    expect(registry.authorizations).toContain("Bearer secret-of-test");
    expect((await operator.lock()).plugins["roadie"]).toMatchObject({
      source: { type: "registry", name, registry: registry.url },
      version: "0.1.0",
      signed_by: expect.stringContaining("SHA256:"),
    });
    const session = () => run("run", "roadie", "Road");
    expect(await inShell("run", "roadie", "Road")).toMatchObject({
      code: 0,
      out: expect.stringContaining("You said: Road"),
    });

    await edit(operator, "roadie/plugin.yaml", "version: 0.1.0", "version: 0.2.0");
    await edit(operator, "roadie/plugin.yaml", "[workdir]", '[workdir]\n  net: ["api.example.com:443"]');
    await edit(operator, "roadie/package.json", "0.1.0", "0.2.0");
    await edit(operator, "roadie/mod.ts", '"0.1.0"', '"0.2.0"');
    await edit(operator, "roadie/mod.ts", "You said", "You wrote");
    expect(await run("plugin", "pack", "roadie")).toMatchObject({ code: 0, err: "" });
    await registry.npmPublish(join(operator.folder, "bulkhead-plugin-roadie-0.2.0.tgz"));
    const waiting = await run("plugin", "update", "roadie");
    expect(waiting).toMatchObject({ code: 4, err: expect.stringContaining("Version 0.1.0 stays in use.") });
    expect(waiting.out).toContain('send anything it knows to "api.example.com:443"');
    expect(waiting.out).not.toContain("read files");
    expect(await session()).toMatchObject({ code: 0, out: expect.stringContaining("You said: Road") });

    const update = "bulkhead plugin update roadie";
    const list = async () => (await operator.bulkhead("plugin", "list")).out;
    expect(await list()).toContain(
      `roadie 0.2.0 waits; it asks for more: net:api.example.com:443. To take it:\n   ${update}`,
    );
    expect(await run("plugin", "grant", "roadie", "net:api.example.com:443")).toMatchObject({ code: 0 });
    expect(await list()).toContain(`roadie 0.2.0 waits; what it asks for is granted. To take it:\n   ${update}\n`);
    expect(await run("plugin", "update", "roadie")).toMatchObject({
      code: 0,
      out: expect.stringContaining("roadie is 0.2.0 now"),
    });
    expect(await session()).toMatchObject({ code: 0, out: expect.stringContaining("You wrote: Road") });
    expect(await run("plugin", "add", `${name}@0.1.0`)).toMatchObject({
      code: 2,
      err: expect.stringContaining("--allow-downgrade"),
    });
    expect(await run("plugin", "remove", "roadie")).toMatchObject({ code: 0 });
    expect(await session()).toMatchObject({ code: 5 });
  },
  300_000,
);

it("I13: refuses bytes that are not those that were published", async () => {
  const operator = await operatorHere();
  await registry.publish(greeterFiles({ id: "swapped" }));
  registry.ways.tarball = greeterPackage({ id: "swapped", says: "Evil" });
  await refusedFor(operator, "bulkhead-swapped", "its bytes are not those that were published");
});

it("refuses a signature over other bytes, by an unknown key, and none where there was one", async () => {
  const operator = await operatorHere();
  await registry.publish(greeterFiles({ id: "signed-one" }));
  registry.ways.signs = "wrong";
  await refusedFor(operator, "bulkhead-signed-one", "its signature does not hold");
  registry.ways.signs = "unknown";
  await refusedFor(operator, "bulkhead-signed-one", "its signature does not hold");
  registry.ways.signs = "right";
  expect(await operator.bulkhead("plugin", "add", "bulkhead-signed-one")).toMatchObject({ code: 0 });
  await registry.publish(greeterFiles({ id: "signed-one", version: "1.0.1" }));
  registry.ways.signs = "none";
  expect(await operator.bulkhead("plugin", "update")).toMatchObject({
    code: 2,
    err: expect.stringContaining("it is not signed, and 1.0.0 was"),
  });
  expect((await operator.lock()).plugins["signed-one"]).toMatchObject({ version: "1.0.0" });
});

it("says so where a registry signs nothing", async () => {
  const operator = await operatorHere();
  await registry.publish(greeterFiles({ id: "unsigned" }));
  for (const signs of ["none", "no keys"] as const) {
    registry.ways.signs = signs;
    expect(await operator.bulkhead("plugin", "add", "bulkhead-unsigned")).toMatchObject({
      code: 0,
      out: expect.stringContaining("not signed"),
    });
    expect((await operator.lock()).plugins["unsigned"]).toMatchObject({ signed_by: null, provenance: null });
  }
});

it("refuses provenance of another package, of other bytes, and one that nobody signed", async () => {
  const operator = await operatorHere();
  await authority.trustIn(join(operator.cache, "tuf"));
  await registry.publish(greeterFiles({ id: "provenant" }));
  const { integrity } = await published("bulkhead-provenant");
  const sha512 = Buffer.from(integrity.slice(7), "base64").toString("hex");
  const name = "pkg:npm/bulkhead-provenant@1.0.0";
  for (
    const subject of [{ name: "pkg:npm/other@1.0.0", digest: { sha512 } }, { name, digest: { sha512: "00" } }, {
      name,
      digest: { sha512 },
    }]
  ) {
    registry.ways.attestations = [statementOf(subject)];
    await refusedFor(operator, "bulkhead-provenant", "its provenance does not hold");
  }
});

it("shows who built a package where its provenance holds, and keeps to that", async () => {
  const other = await startAuthority();
  try {
    const operator = await operatorHere();
    const add = (name: string) => operator.bulkhead("plugin", "add", name);
    const attested = async (version: string, from = authority, builder = workflow) => {
      await registry.publish(greeterFiles({ id: "built", version }));
      const { integrity } = await published("bulkhead-built", version);
      const digest = { sha512: Buffer.from(integrity.slice(7), "base64").toString("hex") };
      registry.ways.attestations = [
        await from.attest({ name: `pkg:npm/bulkhead-built@${version}`, digest }, { builder }),
      ];
    };
    await attested("1.0.0", other);
    await authority.trustIn(join(operator.cache, "tuf"));
    await refusedFor(operator, "bulkhead-built", "Failed to verify certificate chain");
    await attested("1.0.1");
    expect(await add("bulkhead-built")).toMatchObject({
      code: 0,
      err: "",
      out: expect.stringContaining(`provenance verified: built by ${workflow}`),
    });
    expect((await operator.lock()).plugins["built"]).toMatchObject({ version: "1.0.1", provenance: workflow });
    await attested("1.0.2", authority, workflow.replace("v1.0.0", "v1.0.2"));
    expect(await add("bulkhead-built")).toMatchObject({ code: 0, err: "" });

    await attested("1.0.3", authority, workflow.replace("someone", "somebody"));
    const kept = "and 1.0.2 was built by https://github.com/someone/greeter.";
    expect(await add("bulkhead-built")).toMatchObject({
      code: 2,
      err: expect.stringContaining(`it was built by https://github.com/somebody/greeter, ${kept}`),
    });
    registry.ways.attestations = [];
    expect(await add("bulkhead-built")).toMatchObject({
      code: 2,
      err: expect.stringContaining("speaks of it and gives"),
    });
    delete registry.ways.attestations;
    expect(await add("bulkhead-built")).toMatchObject({
      code: 2,
      err: expect.stringContaining(`nothing says who built it, ${kept}`),
    });
    expect((await operator.lock()).plugins["built"]).toMatchObject({ version: "1.0.2" });
  } finally {
    await other.close();
  }
});

it("I13: refuses an archive at another host, and keeps to the registry of the lock", async () => {
  const operator = await operatorHere();
  await registry.publish(greeterFiles({ id: "housed" }));
  registry.ways.tarballHost = "127.0.0.1:9";
  await refusedFor(operator, "bulkhead-housed", "its archive lies at 127.0.0.1:9");
  delete registry.ways.tarballHost;
  expect(await operator.bulkhead("plugin", "add", "bulkhead-housed")).toMatchObject({ code: 0 });
  await registry.publish(greeterFiles({ id: "housed", version: "1.0.1" }));
  // npm is told of another registry, where anybody may have taken the name.
  await operator.write(".npmrc", "registry=http://127.0.0.1:9/\n");
  expect(await operator.bulkhead("plugin", "update")).toMatchObject({
    code: 0,
    out: expect.stringContaining("housed is 1.0.1"),
  });
  await rm(join(operator.folder, ".npmrc"));
});

it("I12: refuses other files under a number that is locked", async () => {
  const operator = await operatorHere();
  registry.ways.signs = "none";
  await registry.publish(greeterFiles({ id: "steady", version: "1.0.1" }));
  expect(await operator.bulkhead("plugin", "add", "bulkhead-steady")).toMatchObject({ code: 0 });
  const other = greeterPackage({ id: "steady", version: "1.0.1", says: "Other" });
  registry.ways.tarball = other;
  registry.ways.edit = ({ versions }) => {
    for (const { dist } of Object.values(versions)) {
      dist.integrity = `sha512-${createHash("sha512").update(other).digest("base64")}`;
    }
  };
  const refused = { code: 2, err: expect.stringContaining("it has other files than the version of that number") };
  expect(await operator.bulkhead("plugin", "update")).toMatchObject(refused);
  expect(await operator.bulkhead("plugin", "add", "bulkhead-steady@1.0.1")).toMatchObject(refused);
});

it("I12: asks before it takes a version that its publisher says not to use", async () => {
  const operator = await operatorHere();
  await registry.publish(greeterFiles({ id: "leaking" }));
  registry.ways.edit = ({ versions }) => {
    for (const one of Object.values(versions)) one.deprecated = "It leaks.";
  };
  const warned = 'its publisher says not to use this version: "It leaks."';
  const add = ["plugin", "add", "bulkhead-leaking"];
  expect(await operator.bulkhead(...add, "--yes")).toMatchObject({
    code: 2,
    out: expect.stringContaining(warned),
    err: expect.stringContaining("--allow-deprecated"),
  });
  expect(await operator.typing("n\n", ...add)).toMatchObject({ code: 0, out: expect.stringContaining("Nothing was") });
  expect(await operator.typing("y\n", ...add)).toMatchObject({ code: 0, out: expect.stringContaining("Installed") });
  expect(await operator.bulkhead("plugin", "update")).toMatchObject({ code: 0, out: "Up to date: leaking 1.0.0.\n" });
  expect(await operator.bulkhead("plugin", "remove", "leaking")).toMatchObject({ code: 0 });
  expect(await operator.bulkhead(...add, "--allow-deprecated")).toMatchObject({ code: 0 });
});

it("updates within the range, tag or version that was asked for, and goes back where that is allowed", async () => {
  const operator = await operatorHere();
  const versions = ["1.0.0", "1.1.0", "2.0.0", "3.0.0-beta.1"];
  for (const version of versions) await registry.publish(greeterFiles({ id: "ranged", version }));
  const tags = { latest: "2.0.0", next: "3.0.0-beta.1" };
  registry.ways.edit = (packument) => Object.assign(packument["dist-tags"], tags);
  const plugin = (...args: string[]) => operator.bulkhead("plugin", ...args);
  const inUse = async () => (await operator.lock()).plugins["ranged"];
  const updated = async (out: string, version: string) => {
    expect(await plugin("update")).toEqual({ code: 0, out: expect.stringContaining(out), err: "" });
    expect(await inUse()).toMatchObject({ version });
  };
  expect(await plugin("add", "bulkhead-ranged@^1.0.0")).toMatchObject({ code: 0 });
  await updated("ranged 1.1.0 is the newest of ^1.0.0", "1.1.0");
  expect(await plugin("add", "bulkhead-ranged@1.1.0")).toMatchObject({ code: 0 });
  await updated("ranged 1.1.0 is the version that was asked for", "1.1.0");
  expect(await plugin("update", "ranged@next")).toMatchObject({ code: 0 });
  await updated("ranged 3.0.0-beta.1 is the newest of next", "3.0.0-beta.1");
  tags.next = "2.0.0";
  await updated("ranged 3.0.0-beta.1 stays in use, because next is 2.0.0 now", "3.0.0-beta.1");
  expect(await plugin("update", "--allow-downgrade")).toMatchObject({ code: 0 });
  expect(await inUse()).toMatchObject({ version: "2.0.0", highest: "2.0.0", source: { wanted: "next" } });
  expect(await plugin("add", "bulkhead-ranged@1.0.0")).toMatchObject({ code: 2 });
  expect(await plugin("add", "bulkhead-ranged@1.0.0", "--allow-downgrade")).toMatchObject({ code: 0 });
  await updated("ranged 1.0.0 is the version that was asked for", "1.0.0");
  expect(await plugin("update", "ranged@latest")).toMatchObject({ code: 0 });
  expect(await inUse()).toMatchObject({ version: "2.0.0", source: { wanted: "latest" } });
});

it("refuses a package whose own name is another's, and one that is not there", async () => {
  const operator = await operatorHere();
  await registry.publish(greeterFiles({ id: "honest" }));
  registry.ways.edit = (packument) => {
    for (const one of Object.values(packument.versions)) one.name = "bulkhead-other";
  };
  const { code } = await operator.bulkhead("plugin", "add", "bulkhead-honest");
  expect(code).toBe(2);
  delete registry.ways.edit;
  expect(await operator.bulkhead("plugin", "add", "bulkhead-nowhere")).toMatchObject({
    code: 5,
    err: expect.stringContaining("Cannot find the package bulkhead-nowhere@latest"),
  });
  expect(await operator.bulkhead("plugin", "add", "bulkhead-honest@9")).toMatchObject({ code: 5 });
});

it("restores what the lock names, byte by byte", async () => {
  const operator = await operatorHere();
  await registry.publish(greeterFiles({ id: "restored" }));
  await operator.bulkhead("plugin", "add", "bulkhead-restored");
  await registry.publish(greeterFiles({ id: "restored", version: "1.5.0" }));
  await rm(join(operator.data, "installed"), { recursive: true });
  registry.ways.tarball = greeterPackage({ id: "restored", says: "Evil" });
  expect(await operator.bulkhead("plugin", "add")).toMatchObject({ code: 2 });
  delete registry.ways.tarball;
  expect(await operator.bulkhead("plugin", "add")).toMatchObject({ code: 0, out: "Installed: restored 1.0.0.\n" });
  expect(await operator.bulkhead("plugin", "check", "restored")).toMatchObject({ code: 0 });
});

async function edit(operator: Operator, path: string, before: string, after: string): Promise<void> {
  const text = await readFile(join(operator.folder, path), "utf8");
  expect(text).toContain(before);
  await operator.write(path, text.replace(before, after));
}

async function refusedFor(operator: Operator, name: string, words: string): Promise<void> {
  const { code, err } = await operator.bulkhead("plugin", "add", name);
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(words) });
  expect(await access(join(operator.folder, "bulkhead.lock")).then(() => true, () => false)).toBe(false);
}

async function published(name: string, version = "1.0.0"): Promise<{ integrity: string }> {
  const packument = await (await fetch(`${registry.url}${name}`)).json() as {
    versions: Record<string, { dist: { integrity: string } }>;
  };
  return packument.versions[version]!.dist;
}

/** Where something was built, as a registry gives it, signed by nobody that is known. */
function statementOf(subject: unknown): unknown {
  const payload = Buffer.from(JSON.stringify({ subject: [subject], predicateType: "https://slsa.dev/provenance/v1" }))
    .toString("base64");
  return {
    predicateType: "https://slsa.dev/provenance/v1",
    bundle: {
      mediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
      verificationMaterial: { tlogEntries: [], certificate: { rawBytes: "AAAA" } },
      dsseEnvelope: { payload, payloadType: "application/vnd.in-toto+json", signatures: [{ sig: "AAAA", keyid: "" }] },
    },
  };
}
