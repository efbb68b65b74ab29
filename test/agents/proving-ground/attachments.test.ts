import { crc32, deflateSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { openGround } from "./ground.ts";

/** Agents that take images. */
const { agents, talk } = openGround(["claude-code", "codex", "acp-claude", "acp-gemini", "acp-codex", "acp-opencode"]);

/** A PNG of 16 pixels a side, in one shade of grey. */
function imageOf(shade: number): Uint8Array {
  const side = 16;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  header.set([8, 0, 0, 0, 0], 8);
  const rows = Buffer.concat(Array.from({ length: side }, () => Buffer.from([0, ...Array(side).fill(shade)])));
  const pieces = [chunk("IHDR", header), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), ...pieces]);
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");

describe.each(agents)("what is attached for $id", (agent) => {
  test("an image is in the request to its model, in the first turn and in a later one", {
    timeout: 240_000,
  }, async () => {
    const [first, second] = [imageOf(40), imageOf(200)];
    const left = await talk(agent, { scenario: "text", attached: { bytes: first } }, async (one) => {
      expect(await one.ended(1)).toMatchObject({ outcome: "completed" });
      const shown = (image: Uint8Array, words: string) =>
        one.requests.filter((body) => body.includes(base64(image)) && body.includes(words)).length;
      expect(shown(first, "wharf")).toBeGreaterThan(0);
      expect(shown(second, "")).toBe(0);
      await one.show("And now say quay.", second);
      expect(await one.ended(2)).toMatchObject({ outcome: "completed" });
      expect(shown(second, "quay")).toBeGreaterThan(0);
      expect(one.envelopes.filter(({ event }) => event.type === "attempt_started").length).toBe(1);
    });
    expect(left).toEqual([]);
  });

  test("a file is refused, and with best_effort its place is in the request", { timeout: 240_000 }, async () => {
    const attached = { bytes: Buffer.from("Ships land here.\n"), name: "harbour.txt" };
    const refused = talk(agent, { scenario: "text", attached }, () => Promise.resolve());
    await expect(refused).rejects.toMatchObject({ code: "unenforceable" });
    const options = { scenario: "text", attached, request: { best_effort: true } } as const;
    const left = await talk(agent, options, async (one) => {
      expect(await one.ended(1)).toMatchObject({ outcome: "completed" });
      expect(one.requests.some((body) => /Attached files[^]*harbour\.txt/.test(body))).toBe(true);
    });
    expect(left).toEqual([]);
  });
});
