import { Buffer } from "node:buffer";
import { randomBytes, randomInt } from "node:crypto";
import { expect, test } from "vitest";
import { createCover } from "../../../core/walls/agent/cover-bytes.ts";

const key = "sk-ant-api03-AbC+dEf/0123456789_-xyz";

/** The bytes as they come out when they go in by pieces of random lengths up to `most`. */
function covered(bytes: Buffer, most: number): Buffer {
  const stream = createCover([key, "another-secret-key"]).stream();
  const given: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = randomInt(1, most + 1);
    given.push(...stream.push(bytes.subarray(at, at + length)));
    at += length;
  }
  return Buffer.concat([...given, stream.end()]);
}

const forms = {
  plain: key,
  percent: encodeURIComponent(key),
  "percent of every byte": [...key].map((one) => `%${one.charCodeAt(0).toString(16)}`).join(""),
  json: JSON.stringify(key).slice(1, -1).replaceAll("/", "\\/"),
  "unicode escapes": [...key].map((one) => `\\u00${one.charCodeAt(0).toString(16)}`).join(""),
  hex: Buffer.from(key).toString("hex"),
  base64: Buffer.from(key).toString("base64"),
  "base64 after one byte": Buffer.from(`x${key}yy`).toString("base64"),
  "base64 after two": Buffer.from(`Bearer ${key}`).toString("base64"),
  base64url: Buffer.from(key).toString("base64url"),
  "base64 in lines": Buffer.from(key).toString("base64").replace(/.{20}/g, "$&\r\n"),
};

test.each(Object.entries(forms))("createCover: a key is covered wherever it is cut: %s", (_, form) => {
  const about = 'data: {"text": "sk-ant-api sk-ant-api03-no % c2st "}\n\n';
  const bytes = Buffer.from(`${about}${form}${about}`);
  const whole = covered(bytes, bytes.length);
  expect(whole.toString()).toMatch(/\*{30}/);
  expect(whole.length).toBe(bytes.length);
  expect(whole.toString().startsWith(about) && whole.toString().endsWith(about)).toBe(true);
  for (let round = 0; round < 60; round++) expect(covered(bytes, randomInt(1, 40)).equals(whole)).toBe(true);
});

test("createCover: other bytes stay as they are, and those of a key alone become others", () => {
  for (const most of [1, 7, 300, 70_000]) {
    const noise = randomBytes(200_000);
    expect(covered(noise, most).equals(noise)).toBe(true);
    const at = randomInt(noise.length - key.length);
    noise.write(key, at, "latin1");
    const found = covered(noise, most);
    expect(found.subarray(at, at + key.length).toString()).toBe("*".repeat(key.length));
    expect(found.subarray(0, at).equals(noise.subarray(0, at))).toBe(true);
    expect(found.subarray(at + key.length).equals(noise.subarray(at + key.length))).toBe(true);
  }
});

test("createCover: nothing waits but what may begin a key", () => {
  const stream = createCover([key]).stream();
  const given = (text: string) => Buffer.concat(stream.push(Buffer.from(text))).toString();
  expect(given("data: word\n\n")).toBe("data: word\n\n");
  expect(given("data: sk-an")).toBe("data: ");
  expect(given("d")).toBe("sk-and");
});
