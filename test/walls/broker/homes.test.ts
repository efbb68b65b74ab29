import { mkdir, mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { personHomes } from "../../../core/ground/platform/files/homes.ts";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { makeAgent, writeAll } from "./agent-fixture.ts";
import { anyShell, errorOf, runShell } from "./broker-fixture.ts";

/** Home of this user's passwd entry; null for a user without one. */
let passwdHome: string | null = null;

vi.mock("node:os", async (original) => ({
  ...await original<typeof import("node:os")>(),
  userInfo: () => {
    if (passwdHome === null) throw Object.assign(new Error("no entry"), { code: "ERR_SYSTEM_ERROR" });
    return { homedir: passwdHome };
  },
}));

beforeEach(() => void (passwdHome = null));

const none = ["", "/", "//", "/./", "home", "/no/such/folder", "/etc/passwd", undefined] as const;

function setHome(value: string | undefined): void {
  if (value === undefined) delete process.env["HOME"];
  else process.env["HOME"] = value;
}

/** Without grants of settings: an agent's records would be made in a home. */
const plain = { permissions: { run: [anyShell] } };

describe("personHomes", () => {
  test("takes a folder alone, of HOME and of the passwd entry", async () => {
    const { home, root } = await makeAgent(plain);
    await mkdir(join(root, "other"));
    await symlink("home", join(root, "link"));
    for (const value of none) {
      for (const entry of none) {
        setHome(value);
        passwdHome = entry ?? null;
        expect(await personHomes()).toEqual({ first: null, all: [] });
      }
      passwdHome = home;
      expect(await personHomes()).toEqual({ first: home, all: [home] });
    }
    setHome(join(root, "link"));
    expect(await personHomes()).toEqual({ first: home, all: [home] });
    setHome(join(root, "other"));
    expect(await personHomes()).toEqual({ first: join(root, "other"), all: [join(root, "other"), home] });
  });
});

describe("a contained program", () => {
  for (const contain of ["agent", "workdir"] as const) {
    const permissions = { run: [contain === "agent" ? anyShell : { ...anyShell, contain }] };

    test(`does not start where there is no home to hide (${contain})`, async (context) => {
      await needsWall(context, "bubblewrap");
      const { next } = await makeAgent({ permissions });
      for (const value of none) {
        setHome(value);
        passwdHome = value ?? null;
        const { broker } = await next();
        expect(await errorOf(runShell(broker, "echo began > began"))).toMatchObject({
          code: "unavailable",
          hint: expect.stringContaining("HOME"),
        });
      }
    });

    test(`sees the keys of neither home (${contain})`, async (context) => {
      await needsWall(context, "bubblewrap");
      const { next } = await makeAgent({ permissions });
      // Not in `/tmp`, for which it has a folder of its own.
      const root = await mkdtemp("/var/tmp/bulkhead-homes-");
      const homes = [join(root, "one"), join(root, "two")] as const;
      try {
        const keys = { ".ssh/id": "CANARY", ".aws/credentials": "CANARY", ".codex/auth.json": "CANARY" };
        for (const home of homes) await writeAll(home, { ...keys, ".nvm/nvm.sh": "seen" });
        for (const [value, entry] of [homes, [undefined, homes[0]], ["/", homes[1]], [homes[0], null]] as const) {
          setHome(value);
          passwdHome = entry;
          const { all } = await personHomes();
          // The host's own settings of ssh lie in the private home.
          const script = all.map((home) =>
            `rm -f ${home}/.ssh/config ${home}/.ssh/through-proxy; cat ${home}/.*/* 2>/dev/null;
            (echo x > ${home}/.ssh/made) 2>/dev/null;`
          );
          expect(await (await next()).says(script.join(""))).toBe(all.map(() => "seen").join(""));
          for (const home of all) expect(await readdir(join(home, ".ssh"))).toEqual(["id"]);
        }
      } finally {
        await rm(root, { recursive: true });
      }
    });
  }
});
