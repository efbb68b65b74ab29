import { isBinary, isName } from "../../../core/ground/config/permission-problems.ts";
import { readNet } from "../../../core/ground/config/net-address.ts";
import { effectivePermissions } from "../../../core/packages/permissions/effective-permissions.ts";
import { coversTarget, sampleTarget } from "../../../core/ground/config/net-target.ts";
import { decide } from "../../../core/packages/permissions/decide.ts";
import { isLoaderName } from "../../../core/ground/platform/places/loader-names.ts";
import { forbiddenBecause } from "../../../core/walls/broker/forbidden-paths.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { promise, type Target } from "../target.ts";

const places = { workdir: "/home/me/work", data: "/home/me/.local/data", plugin: "/opt/plugin" };

/** Words of permissions, one a line: a manifest's, then a grant's. */
export const permissionTargets: readonly Target[] = [
  {
    name: "permission-words",
    weight: 12,
    seeds: [
      "example.com:443\n*.example.com:443",
      "workdir\n/home/me/work/x",
      "config:demo\n/etc",
      "[::1]:80\n127.0.0.1:80",
      "@runtime\n./bin/x",
      "LD_PRELOAD\nPATH",
      "/home/me/work/.git/hooks/x\n/proc/self/mem",
    ],
    tokens: [
      "*.",
      ":443",
      ":0",
      ":65536",
      "[::ffff:127.0.0.1]",
      "workdir",
      "/",
      "/..",
      "/./",
      "~",
      "plugin",
      "data",
      "config:",
      "xn--",
      ".",
      "@",
      "\n",
    ],
    read(input) {
      const [a = "", b = ""] = input.split("\n");
      for (const one of [a, b]) {
        const net = readNet(one);
        if (net !== null) {
          promise(net.port > 0 && net.port < 65_536 && net.host !== "", "an address has a host and a port");
        }
        if (isName(one)) promise(/^\w+$/.test(one), "a name is a word");
        isBinary(one);
        isLoaderName(one);
        forbiddenBecause(one, {
          access: "write",
          root: "/home/me",
          protectedPaths: ["/home/me/.local/state"],
          sealedPaths: [],
          dataDir: "/home/me/.local/data",
          autoexecNames: [".tool"],
        });
      }
      const sample = sampleTarget(a);
      if (sample !== null) promise(coversTarget(a, sample), "an address covers its sample");
      const [requested, grant] = [{ read: [a], net: [a] }, { read: [b], net: [b] }];
      const left = effectivePermissions({ requested, grant, deny: {}, places });
      for (const root of left.read ?? []) promise(root === a || root === b, "the narrower of two roots is one of them");
      const denied = effectivePermissions({ requested, grant, deny: grant, places });
      promise(denied.read === undefined && denied.net === undefined, "nothing is left of what is denied");
    },
  },
  {
    name: "effective-permissions",
    weight: 8,
    seeds: [
      "read workdir\nread /etc\nnet a.b:1\n| read /home\nnet *.b:1\n|",
      "run git status {...}\nrun git log {}\nenv A\n| run git {...}\nenv A\nenv B\n| run git log {*}",
      "run x {...} a {...} b\n| run x {...} b {...} a\n|",
    ],
    tokens: [
      "\nread ",
      "\nwrite ",
      "\nnet ",
      "\nenv ",
      "\nsecrets ",
      "\nrun git ",
      "\n|",
      "{...} ",
      "{} ",
      "{*} ",
      "a{}b ",
      '"" ',
      "workdir",
      "/home",
      "a.b:1",
    ],
    read(input) {
      const [requested, grant, deny] = input.split("|").slice(0, 3).map(permissionsOf);
      const sources = { requested: requested ?? {}, grant: grant ?? {}, deny: deny ?? {} };
      const effective = effectivePermissions(sources);
      for (const kind of ["env", "read"] as const) {
        for (const item of effective[kind] ?? []) promise(item !== undefined, "a permission is a word");
      }
      for (const name of effective.env ?? []) {
        promise(
          sources.requested.env?.includes(name) === true && sources.grant.env?.includes(name) === true,
          "nothing is wider than asked for or granted",
        );
        promise(sources.deny.env?.includes(name) !== true, "what is denied is not in force");
        promise(decide(sources, { kind: "env", name }).allowed, "what is in force is decided so");
      }
      const again = effectivePermissions({ ...sources, request: effective });
      promise(
        JSON.stringify(again.env ?? []) === JSON.stringify(effective.env ?? []),
        "narrowing to what is in force changes nothing",
      );
    },
  },
];

/** At most a dozen lines: a manifest of that many patterns is long already. */
function permissionsOf(text: string): Permissions {
  const found: Permissions = {};
  for (const line of text.split("\n").slice(0, 12)) {
    const [kind = "", ...rest] = line.trim().split(" ");
    const value = rest.join(" ").slice(0, 400);
    if (kind === "run") {
      (found.run ??= []).push({ binary: rest[0] ?? "", args: [rest.slice(1).join(" ").slice(0, 400)] });
    } else if (kind === "read" || kind === "write" || kind === "net" || kind === "env") {
      (found[kind] ??= []).push(value);
    }
  }
  return found;
}
