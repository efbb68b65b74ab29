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
