import { expect, test } from "vitest";
import { linksOf, listFiles } from "./source.ts";

test("a daemon without cluster: loads neither the cluster nor the client of its servers", () => {
  const links = listFiles("core").filter((path) => !path.startsWith("core/cluster/")).flatMap((path) =>
    linksOf(path).map((link) => ({ path, ...link }))
  );
  const loading = links.filter(({ kind, target, specifier }) =>
    kind !== "type" && (target?.startsWith("core/cluster/") === true || specifier.startsWith("@nats-io/"))
  );
  expect(new Set(loading.map(({ path, kind }) => `${kind} ${path}`))).toEqual(
    new Set(["dynamic core/doors/daemon/join-cluster.ts"]),
  );
});

test("a daemon whose manifests are known: loads the libraries of YAML, schemas, editors and MCP clients on use alone", () => {
  const parts = ["doors/cli/commands/up", "doors/daemon/daemon", "sessions/host/create-host"];
  const { files, packages } = loadedWith(...parts.map((part) => `core/${part}.ts`));
  expect(files).toContain("core/walls/broker/broker.ts");
  expect(packages).toContain("hono");
  const seldom = /^(?:yaml|zod|@modelcontextprotocol|@agentclientprotocol|esbuild|tinypool|pacote)\b/;
  expect([...packages].filter((name) => seldom.test(name))).toEqual([]);
});

/** Every file that is loaded with some, and the packages of those files. */
function loadedWith(...entries: string[]): { files: Set<string>; packages: Set<string> } {
  const files = new Set(entries);
  const packages = new Set<string>();
  for (const path of files) {
    for (const { kind, target, specifier } of linksOf(path)) {
      if (kind !== "value") continue;
      if (target === null) packages.add(specifier);
      else files.add(target);
    }
  }
  return { files, packages };
}
