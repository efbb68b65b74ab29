import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { WaitingUpdates } from "../../../core/packages/install/waiting-update.ts";
import { explainPermissions } from "../../../core/packages/permissions/explain-permissions.ts";
import type { Plugin } from "../../../core/packages/manifest/plugin.ts";
import { fakePlugin } from "../../doors/cli/fake-host.ts";
import { greeterPackage, newOperator } from "./operator.ts";

vi.mock("../../../core/packages/permissions/explain-permissions.ts", async (original) => {
  const real = await original<{ explainPermissions: typeof explainPermissions }>();
  return { ...real, explainPermissions: vi.fn(real.explainPermissions) };
});

test("WaitingUpdates works out once what an update asks for, until a grant changes", async () => {
  const operator = await newOperator();
  const one = await operator.write("one.tgz", greeterPackage({ permissions: ["env: [LANG]"] }));
  await operator.bulkhead("plugin", "add", one, "--yes");
  const two = await operator.write("two.tgz", greeterPackage({ version: "1.1.0", permissions: ["env: [LANG, TERM]"] }));
  expect(await operator.bulkhead("plugin", "add", two)).toMatchObject({ code: 4 });
  const updates = new WaitingUpdates(join(operator.folder, "bulkhead.yaml"));
  const explained = vi.mocked(explainPermissions);
  explained.mockClear();
  const plugin: Plugin = { ...fakePlugin("greeter"), origin: "installed" };
  const asked = async (one: Plugin) => {
    const { undecided = [] } = (await updates.find([one])).get("greeter") ?? {};
    return undecided.map(({ target }) => target);
  };
  for (let time = 0; time < 3; time++) expect(await asked(plugin)).toEqual(["LANG", "TERM"]);
  expect(explained).toHaveBeenCalledTimes(1);
  expect(await asked({ ...plugin, grant: { env: ["TERM"] } })).toEqual(["LANG"]);
  expect(explained).toHaveBeenCalledTimes(2);
});
