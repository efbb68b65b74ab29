import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, unlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AttachmentStore } from "../../../../core/sessions/host/attachments/attachment-store.ts";
import { contentType } from "../../../../core/ground/platform/files/content-type.ts";
import type { AttachmentPart } from "../../../../plugin-sdk/messages.ts";
import { tinyPng } from "./tiny-png.ts";

let root = "";
let folder = "";
let store: AttachmentStore;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "bulkhead-attachments-"));
  folder = join(root, "attachments");
  store = new AttachmentStore(folder);
});

afterEach(() => rm(root, { recursive: true, force: true }));

const bytesOf = (text: string) => new TextEncoder().encode(text);

async function* pieces(...all: Uint8Array[]): AsyncGenerator<Uint8Array, void, void> {
  for (const piece of all) {
    await Promise.resolve();
    yield piece;
  }
}

const imageOf = (sha256: string): AttachmentPart => ({ type: "image", sha256, mime_type: "image/png" });
const fileOf = (sha256: string, name = "a.txt"): AttachmentPart => ({ type: "file", sha256, name, mime_type: "x/y" });
const code = (error: unknown) => (error as { code?: string }).code;
const failure = (act: Promise<unknown>) => act.then(() => "none", code);

async function age(path: string): Promise<void> {
  const past = new Date(Date.now() - 7_200_000);
  for (const name of await readdir(path)) await utimes(join(path, name), past, past);
}

describe("contentType", () => {
  test.each([
    ["image/png", tinyPng],
    ["image/jpeg", Uint8Array.of(0xff, 0xd8, 0xff, 0xe0)],
    ["image/gif", bytesOf("GIF89a...")],
    ["image/webp", bytesOf("RIFF....WEBPVP8 ")],
    ["application/pdf", bytesOf("%PDF-1.7")],
    ["text/plain", bytesOf("<html><script>alert(1)</script>")],
    ["text/plain", bytesOf("Grüße")],
    ["application/octet-stream", Uint8Array.of(0, 1, 2)],
    ["application/octet-stream", Uint8Array.of(0x41, 0xff, 0x41)],
  ])("finds %s", (type, bytes) => expect(contentType(bytes)).toBe(type));

  test("takes the first bytes of a PNG before a page for no image", () => {
    const page = new Uint8Array([...tinyPng.subarray(0, 8), ...bytesOf("<html>")]);
    expect(contentType(page)).toBe("application/octet-stream");
  });
});

describe("AttachmentStore", () => {
  test("keeps an upload once, for this user alone", async () => {
    const one = await store.add(pieces(tinyPng.subarray(0, 10), tinyPng.subarray(10)), { client: "a" });
    const other = await store.add(pieces(tinyPng), { client: "b" });
    expect(one).toEqual({ sha256: other.sha256, bytes: tinyPng.length, mime_type: "image/png" });
    expect(await readdir(folder)).toEqual([one.sha256]);
    const file = join(folder, one.sha256, "content");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(new Uint8Array(await readFile(file))).toEqual(tinyPng);
    expect((await store.read(one.sha256)).bytes.length).toBe(tinyPng.length);
  });

  test("keeps nothing of an upload that breaks off, is empty or too large", async () => {
    async function* broken() {
      yield bytesOf("half");
      await Promise.resolve();
      throw new Error("gone");
    }
    async function* endless() {
      for (;;) {
        await Promise.resolve();
        yield new Uint8Array(4 * 1024 * 1024);
      }
    }
    expect(await failure(store.add(broken()))).toBe("io_error");
    expect(await failure(store.add(pieces()))).toBe("invalid_request");
    expect(await failure(store.add(endless()))).toBe("too_large");
    expect(await readdir(folder)).toEqual([]);
  });

  test("serves no half file of a host that was killed, and removes it", async () => {
    await mkdir(join(folder, "a".repeat(64)), { recursive: true });
    await writeFile(join(folder, "draft.1"), "half");
    expect(await failure(store.read("a".repeat(64)))).toBe("not_found");
    expect(await failure(store.check([imageOf("a".repeat(64))], {}))).toBe("not_found");
    await age(folder);
    await store.sweep(() => Promise.resolve(true));
    expect(await readdir(folder)).toEqual([]);
  });

  test("gives a file to its client, and to one that reads a session with it, and to no other", async () => {
    const { sha256 } = await store.add(pieces(tinyPng), { client: "a" });
    const parts = [imageOf(sha256)];
    expect(await store.check(parts, { client: "a" })).toEqual(parts);
    const foreign = await store.check(parts, { client: "b" }).catch((error: Error) => error.message);
    const absent = await store.check([imageOf("0".repeat(64))], { client: "b" }).catch((error: Error) => error.message);
    expect(foreign).toBe(`Cannot find attachment "${sha256.slice(0, 12)}".`);
    expect(absent).toBe(`Cannot find attachment "${"0".repeat(12)}".`);
    await store.name("s1", parts, { client: "a" });
    expect(await failure(store.check(parts, { client: "b", mayRead: (id) => id === "s2" }))).toBe("not_found");
    expect(await store.check(parts, { client: "b", mayRead: (id) => id === "s1" })).toEqual(parts);
    expect(await store.check(parts, {})).toEqual(parts);
    expect(await failure(store.check([imageOf("../../etc/passwd")], {}))).toBe("not_found");
  });

  test("says the true type, and refuses what is no image as one", async () => {
    const { sha256 } = await store.add(pieces(bytesOf("<svg onload=x>")), { client: "a" });
    expect(await failure(store.check([imageOf(sha256)], { client: "a" }))).toBe("invalid_request");
    expect(await store.check([fileOf(sha256)], { client: "a" })).toMatchObject([{ mime_type: "text/plain" }]);
  });

  test.each(["../a", "a/b", "a\\b", "..", "a\nb", "a\u202eb"])("refuses the name %j", async (name) => {
    const { sha256 } = await store.add(pieces(bytesOf("x")));
    expect(await failure(store.check([fileOf(sha256, name)], {}))).toBe("invalid_request");
  });

  test("bounds the number, an image and all of a message", async () => {
    const { sha256 } = await store.add(pieces(tinyPng));
    expect(await failure(store.check(Array.from({ length: 9 }, () => imageOf(sha256)), {}))).toBe("too_large");
    const large = await store.add(pieces(tinyPng, new Uint8Array(6 * 1024 * 1024)));
    expect(await failure(store.check([imageOf(large.sha256)], {}))).toBe("too_large");
    expect(await failure(store.check(Array.from({ length: 4 }, () => fileOf(large.sha256)), {}))).toBe("too_large");
    expect(await failure(store.check([fileOf(large.sha256)], {}))).toBe("none");
  });

  test("holds a flood of uploads to what one client may leave unused, and to its size", async () => {
    const small = new AttachmentStore(folder, { unusedBytes: 10, storeBytes: 25 });
    await small.add(pieces(bytesOf("12345678")), { client: "a" });
    expect(await failure(small.add(pieces(bytesOf("abc")), { client: "a" }))).toBe("limit_exceeded");
    await small.add(pieces(bytesOf("abcdefgh")), { client: "b" });
    await small.add(pieces(bytesOf("ABCDEFGH")), { client: "c" });
    expect(await failure(small.add(pieces(bytesOf("xyz")), { client: "d" }))).toBe("limit_exceeded");
    const both = [small, small].map((one) => one.add(pieces(bytesOf("1"), bytesOf("2")), { client: "e" }));
    expect(await Promise.all(both.map(failure))).toContain("limit_exceeded");
  });

  test("does not follow a link, and refuses a file that was changed", async () => {
    const { sha256 } = await store.add(pieces(tinyPng));
    const file = join(folder, sha256, "content");
    await writeFile(file, "other");
    expect(await failure(store.read(sha256))).toBe("io_error");
    await unlink(file);
    await writeFile(join(root, "secret"), tinyPng);
    await symlink(join(root, "secret"), file);
    expect(await failure(store.read(sha256))).toBe("not_found");
    expect(await failure(store.check([imageOf(sha256)], {}))).toBe("not_found");
    await store.add(pieces(tinyPng));
    expect((await store.read(sha256)).mime_type).toBe("image/png");
    expect((await stat(join(root, "secret"))).isFile()).toBe(true);
  });

  test("goes with the last session that names it, and stays for another client's new upload", async () => {
    const { sha256 } = await store.add(pieces(tinyPng), { client: "a" });
    await store.name("s1", [imageOf(sha256)], { client: "a" });
    await store.name("s2", [imageOf(sha256)], { client: "a" });
    await store.forget("s1");
    expect((await store.read(sha256)).bytes.length).toBe(tinyPng.length);
    await store.add(pieces(tinyPng), { client: "b" });
    await store.forget("s2");
    expect(await failure(store.check([imageOf(sha256)], { client: "b" }))).toBe("none");
    await store.name("s3", [imageOf(sha256)], { client: "b" });
    await store.forget("s3");
    expect(await readdir(folder)).toEqual([]);
    expect(await failure(store.name("s4", [imageOf(sha256)]))).toBe("not_found");
  });

  test("removes an upload that no session named in an hour, and what sessions named that are gone", async () => {
    const old = await store.add(pieces(bytesOf("old")), { client: "a" });
    const named = await store.add(pieces(bytesOf("named")), { client: "a" });
    const lost = await store.add(pieces(bytesOf("lost")), { client: "a" });
    const fresh = await store.add(pieces(bytesOf("fresh")), { client: "a" });
    await store.name("kept", [fileOf(named.sha256)], { client: "a" });
    await store.name("deleted", [fileOf(lost.sha256)], { client: "a" });
    for (const { sha256 } of [old, named, lost]) await age(join(folder, sha256));
    await store.sweep((id) => Promise.resolve(id === "kept"));
    expect((await readdir(folder)).sort()).toEqual([named.sha256, fresh.sha256].sort());
  });
});
