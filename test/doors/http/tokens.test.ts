import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openSessionOwners } from "../../../core/doors/http/session-owners.ts";
import { openTokens } from "../../../core/doors/http/tokens.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "bulkhead-tokens-"));
});
afterEach(async () => {
  vi.useRealTimers();
  await rm(folder, { recursive: true });
});

describe("openTokens", () => {
  test("two programs see each other's changes, and make different tokens at once", async () => {
    const [one, other] = [openTokens(folder), openTokens(folder)];
    const made = await Promise.all(Array.from({ length: 8 }, (_, number) => {
      return (number % 2 === 0 ? one : other).create({ name: `t${number}`, scopes: ["read"] });
    }));
    for (const { token, record } of made) {
      for (const store of [one, other]) expect(await store.check(token)).toEqual({ id: record.id, scopes: ["read"] });
    }
    await one.revoke("t3");
    expect(await other.check(made[3]!.token)).toBeNull();
    expect(await other.list()).toHaveLength(7);
  });

  test("a token is its every character, and its id alone is none", async () => {
    const store = openTokens(folder);
    const { token, record } = await store.create({ name: "a", scopes: ["read"] });
    for (const wrong of [token.slice(0, -1), `${token}A`, `bh_${record.id}_`, record.sha256, token.toUpperCase(), ""]) {
      expect(await store.check(wrong)).toBeNull();
    }
    expect(await store.holds({ id: record.id, scopes: [] })).toBe(true);
    expect(await store.holds({ id: "f".repeat(32), scopes: [] })).toBe(false);
  });

  test("the first token is made once, and anew when it was revoked", async () => {
    const { token, file } = await openTokens(folder).first();
    expect((await openTokens(folder).first()).token).toBe(token);
    await openTokens(folder).revoke("first");
    const next = await openTokens(folder).first();
    expect([next.file, next.token === token]).toEqual([file, false]);
    expect(await openTokens(folder).check(next.token)).toMatchObject({ scopes: ["read", "run", "admin"] });
  });

  test("revoking a name ends the token that holds, also where one of that name has expired before", async () => {
    const store = openTokens(folder);
    const expired = new Date(Date.now() - 1000).toISOString();
    await store.create({ name: "ci", scopes: ["admin"], expires_at: expired });
    const { token, record } = await store.create({ name: "ci", scopes: ["admin"] });
    expect(await store.check(token)).toMatchObject({ id: record.id });
    expect(await store.revoke("ci")).toMatchObject({ id: record.id });
    expect([await store.check(token), await store.list()]).toEqual([null, []]);
    expect(await store.revoke("ci")).toBeNull();
  });

  test("a token that was seen to be expired stays so when the clock is set back, also after a restart", async () => {
    const store = openTokens(folder);
    const expires_at = new Date(Date.now() + 60_000).toISOString();
    const { token, record } = await store.create({ name: "ci", scopes: ["run"], expires_at });
    const { token: later } = await store.create({ name: "later", scopes: ["run"], expires_at });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 120_000 });
    expect(await store.check(token)).toBeNull();
    expect(await store.holds({ id: record.id, scopes: [] })).toBe(false);
    vi.useRealTimers();
    for (const again of [store, openTokens(folder)]) {
      expect(await again.check(token)).toBeNull();
      // Nobody used it, and it had expired as well.
      expect(await again.check(later)).toBeNull();
      expect(await again.holds({ id: record.id, scopes: [] })).toBe(false);
    }
    const { token: next } = await store.create({ name: "ci", scopes: ["run"], expires_at });
    expect(await openTokens(folder).check(next)).not.toBeNull();
  });

  test("a token that was revoked here or elsewhere is never kept again, whoever offers it", async () => {
    const store = openTokens(folder);
    const { token, record } = await store.create({ name: "ci", scopes: ["run"] });
    const unknown = { ...record, id: "a".repeat(32), name: "unknown" };
    await store.revoke("ci");
    await store.bury(unknown.id);
    const again = openTokens(folder);
    for (const offered of [record, unknown]) await again.keep(offered);
    expect([await again.check(token), await again.list()]).toEqual([null, []]);
    expect(await again.buried()).toEqual([record.id, unknown.id]);
  });

  test("another machine revokes by id, and neither the operator's token nor a page's", async () => {
    const store = openTokens(folder);
    const { token } = await store.first();
    const maker = (await store.check(token))!;
    const expires_at = new Date(Date.now() + 60_000).toISOString();
    const { record: page } = await store.createForConsole({ maker, scope: "read", expires_at });
    await store.create({ name: "ci", scopes: ["run"] });
    for (const { id, name } of await store.list()) {
      for (const said of name === "ci" ? [name] : [name, id]) {
        await store.bury(said);
      }
    }
    expect((await store.list()).map(({ name }) => name)).toEqual(["first", page.name, "ci"]);
  });

  test("admin is not bound to folders, and where an older version did it, it is no admin", async () => {
    const store = openTokens(folder);
    const made = store.create({ name: "a", scopes: ["admin"], workdirs: [folder] });
    await expect(made).rejects.toMatchObject({ code: "invalid_config" });
    const { token, record } = await store.create({ name: "b", scopes: ["run"], workdirs: [folder] });
    const file = join(folder, "http", "tokens.json");
    await writeFile(file, (await readFile(file, "utf8")).replace('["run"]', '["run","admin"]'));
    expect(await store.check(token)).toMatchObject({ id: record.id, scopes: ["read", "run"], workdirs: [folder] });
  });

  test.each(["", "{", "[]", '{"tokens":2,"entries":[]}', '{"tokens":1,"entries":[{"id":"x"}]}'])(
    "a damaged file (%j) opens nothing and says so",
    async (text) => {
      await mkdir(join(folder, "http"));
      await writeFile(join(folder, "http", "tokens.json"), text);
      await expect(openTokens(folder).check("bh_x")).rejects.toMatchObject({ code: "invalid_config" });
    },
  );
});

describe("openSessionOwners", () => {
  test("remembers over restarts, and leaves out what a crash cut off", async () => {
    const id = "a".repeat(32);
    const owners = await openSessionOwners(folder);
    await owners.note("s1", { id, scopes: ["run"] });
    await owners.note("s2", { id: "owner", scopes: [] });
    await writeFile(join(folder, "http", "session-owners"), `s3 ${id.slice(5)}`, { flag: "a" });
    const again = await openSessionOwners(folder);
    expect(["s1", "s2", "s3"].map((session) => again.ownerOf(session))).toEqual([id, "owner", undefined]);
  });

  test("has written each of many at once when it says so", async () => {
    const owners = await openSessionOwners(folder);
    const ids = Array.from({ length: 50 }, (_, n) => `s${n}`);
    await Promise.all(ids.map(async (id) => {
      await owners.note(id, { id: "owner", scopes: [] });
      expect(await readFile(join(folder, "http", "session-owners"), "utf8")).toContain(`${id} owner\n`);
    }));
    const again = await openSessionOwners(folder);
    expect(ids.filter((id) => again.ownerOf(id) !== "owner")).toEqual([]);
  });

  test("knows until the host ends what cannot be written down, as on a full disk, and says so", async () => {
    const problems: string[] = [];
    const owners = await openSessionOwners(folder, { onProblem: (message) => void problems.push(message) });
    const file = join(folder, "http", "session-owners");
    await rm(file);
    await mkdir(file);
    await owners.note("s1", { id: "owner", scopes: [] });
    await owners.note("s2", { id: "owner", scopes: [] });
    expect([owners.ownerOf("s1"), problems]).toEqual(["owner", [expect.stringContaining("newest sessions")]]);
    await rm(file, { recursive: true });
    await owners.note("s3", { id: "owner", scopes: [] });
    const again = await openSessionOwners(folder);
    expect(["s1", "s2", "s3"].map((id) => again.ownerOf(id))).toEqual(["owner", "owner", "owner"]);
  });
});
