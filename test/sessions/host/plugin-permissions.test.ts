import { expect, test } from "vitest";
import { PluginPermissions } from "../../../core/sessions/host/plugin-permissions.ts";
import { fakePlugin } from "../../doors/cli/fake-host.ts";

test("a denied run is named by its row, but by its program where the row has a value that must not be shown", () => {
  const fake = fakePlugin("alpha", { hidden_texts: ["s3cret key"] });
  const run = [{ binary: "git", args: ["push", '--key "s3cret key"'] }];
  const plugin = { ...fake, manifest: { ...fake.manifest, permissions: { run } } };
  const { rights } = new PluginPermissions(plugin, { dataDir: "/data" }).in("/work");
  expect(rights.rowOf({ binary: "git", args: ["push"] })).toBe("git push");
  expect(rights.rowOf({ binary: "git", args: ["--key", "s3cret key"] })).toBe("git");
  expect(rights.rowOf({ binary: "git", args: ["other"] })).toBe("git");
});
