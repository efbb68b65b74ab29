import { expect, test } from "vitest";
import { routingFaults } from "../../../core/packages/registry/routing-faults.ts";
import { deniedGrants, unaskedGrants } from "../../../core/packages/permissions/unasked-grants.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { fakePlugin } from "../../doors/cli/fake-host.ts";

function unasked(asked: Permissions, grant: Permissions): string[] {
  const plugin = fakePlugin("alpha");
  const manifest = { ...plugin.manifest, permissions: asked };
  return unaskedGrants({ ...plugin, manifest, grant }).map(({ permission, target }) => `${permission} ${target}`);
}

test("unaskedGrants lists every grant for which the manifest does not ask", () => {
  const grant: Permissions = {
    run: [{ binary: "git" }, { binary: "curl" }],
    read: ["workdir:src", "plugin"],
    write: ["data"],
    net: ["api.example.com:443", "example.org:443"],
    env: ["HOME"],
    secrets: [{ name: "KEY" }],
    kv: true,
  };
  const asked: Permissions = {
    run: [{ binary: "git", args: ["status"] }],
    read: ["workdir"],
    net: ["*.example.com:443"],
  };
  expect(unasked(asked, grant)).toEqual([
    "run curl",
    "read plugin",
    "write data",
    "net example.org:443",
    "env HOME",
    "secrets KEY",
    "kv kv",
  ]);
  const secrets = [{ name: "KEY", hosts: ["example.com:443"] }];
  expect(unasked({ ...asked, ...grant, secrets }, grant)).toEqual([]);
});

test("unaskedGrants passes over hosts that contained programs may reach", () => {
  const { manifest, os_walls } = fakePlugin("alpha");
  const permissions: Permissions = { net: ["example.org:443"], run: [{ binary: "agent" }] };
  const agent = { manifest: { ...manifest, adapter_type: "cli" as const, permissions } };
  const grant: Permissions = { net: ["example.com:443"], env: ["KEY"] };
  expect(unaskedGrants({ ...agent, grant, os_walls })).toEqual([{ permission: "env", target: "KEY" }]);
  expect(unaskedGrants({ ...agent, grant, os_walls: { ...os_walls, agents: "off" } })).toHaveLength(2);
  const alone = { manifest: { ...agent.manifest, permissions: { net: ["example.org:443"] } } };
  expect(unaskedGrants({ ...alone, grant, os_walls })).toHaveLength(2);
});

test("unaskedGrants passes over a path that may be the asked-for folder in a session", () => {
  expect(unasked({ read: ["workdir"] }, { read: ["/srv/project"] })).toEqual([]);
  expect(unasked({ read: ["/srv"] }, { read: ["/etc"] })).toEqual(["read /etc"]);
});

test("deniedGrants lists every grant that a denial takes away as a whole", () => {
  const { manifest } = fakePlugin("alpha");
  const asked: Permissions = {
    run: [{ binary: "git", args: ["status", "log"] }],
    write: ["workdir"],
    net: ["*.example.com:443"],
  };
  const denied = (deny: Permissions) =>
    deniedGrants({ manifest: { ...manifest, permissions: asked }, grant: asked, deny });
  expect(denied({})).toEqual([]);
  expect(denied({ read: ["workdir"], run: [{ binary: "git", args: ["log"] }] })).toEqual([]);
  expect(denied({ run: [{ binary: "git" }], write: ["workdir"], net: ["api.example.com:443"] })).toEqual([
    { permission: "run", target: "git" },
    { permission: "write", target: "workdir" },
    { permission: "net", target: "*.example.com:443" },
  ]);
});

test("routingFaults names the agents that no enabled plugin is", () => {
  const plugins = [{ id: "alpha", enabled: true }, { id: "beta", enabled: false }];
  const faultsOf = (routing: { agent: string | string[]; order?: string[] }) =>
    routingFaults({ routing }, plugins).map(({ path, hint }) => [path.join("."), hint]);
  expect(faultsOf({ agent: "auto", order: ["alpha", "beta"] })).toEqual([]);
  expect(faultsOf({ agent: "alhpa" })).toEqual([["routing.agent", 'did you mean "alpha"?']]);
  expect(faultsOf({ agent: ["alpha", "beta"], order: ["gamma"] })).toEqual([
    ["routing.agent.1", "Run: bulkhead plugin enable beta"],
    ["routing.order.0", undefined],
  ]);
});
