import { expect, test, vi } from "vitest";
import { type HostApi, RefusedCall } from "../../../../../core/doors/console/page/api.ts";
import { AttachedFiles, sizeText } from "../../../../../core/doors/console/page/talk/attached-files.ts";

const png = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
const bytesOf = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
const image = (name = "a.png", more = 0) => new File([bytesOf(png), new Uint8Array(more)], name);
const all = { agent: "alpha", images: true, files: true };
const away = new RefusedCall(0, { code: "network_error", message: "Cannot reach the host." });

/** A host that answers each upload with the next of these, and else takes it. */
function filesOf(answers: (Error | Promise<never>)[] = []) {
  const upload = vi.fn((_: string, __: Blob, { sent }: Parameters<HostApi["upload"]>[2]) => {
    sent(7);
    const answer = answers.shift();
    if (answer instanceof Error) return Promise.reject(answer);
    return answer ?? Promise.resolve({ sha256: "a".repeat(64), bytes: 16, mime_type: "image/png" });
  });
  const files = new AttachedFiles({ api: { upload: upload as HostApi["upload"] }, pictures: { keep: () => {} } });
  const states = () => files.list.value.map(({ state }) => state.kind);
  return { files, upload, states };
}

test("AttachedFiles sends a file at once, tells how far it is, and returns it as a part", async () => {
  const { files, upload } = filesOf();
  const seen: unknown[] = [];
  files.list.subscribe(([one]) => void seen.push(one?.state));
  await files.add([image()], all);
  expect(upload).toHaveBeenCalledOnce();
  expect(seen).toContainEqual({ kind: "uploading", sent: 7 });
  const parts = await files.parts();
  expect(parts).toEqual([{ type: "image", sha256: "a".repeat(64), mime_type: "image/png" }]);
  files.clear(parts);
  expect(files.list.value).toEqual([]);
});

test.each([
  [
    "an SVG as an image",
    new File(["<svg onload='x()'/>"], "logo.svg"),
    { ...all, files: false },
    "logo.svg was not added: it is no PNG, JPEG, GIF or WebP",
  ],
  [
    "an image for an agent without",
    image(),
    { ...all, images: false, files: false },
    "alpha takes no images and files. Put it into the agent's folder",
  ],
  ["an image for an agent of files", image(), { ...all, images: false }, "alpha takes no images."],
  ["nothing", new File([], "empty.txt"), all, "empty.txt was not added: it is empty"],
  ["an image above its bound", image("big.png", 6 * 1024 * 1024), all, "an image may have 5 MiB, and it has 6.0 MiB"],
])("AttachedFiles refuses %s in words", async (_, file, takes, words) => {
  const { files, upload } = filesOf();
  await files.add([file], takes);
  expect(files.refusals.value.join()).toContain(words);
  expect([files.list.value, upload.mock.calls]).toEqual([[], []]);
});

test("AttachedFiles holds the bounds of a message", async () => {
  const { files } = filesOf();
  await files.add(Array.from({ length: 9 }, () => image()), all);
  expect(files.list.value).toHaveLength(8);
  expect(files.refusals.value).toEqual(["a.png was not added: a message has 8 images and files at most."]);
  const other = filesOf().files;
  await other.add([1, 2].map(() => new File([new Uint8Array(11 * 1024 * 1024)], "big.bin")), all);
  expect(other.list.value).toHaveLength(1);
  expect(other.refusals.value.join()).toContain("all of a message may have 20 MiB together");
});

test("AttachedFiles takes what acts out of names, and does not believe them", async () => {
  const { files } = filesOf();
  const names = ["../../etc/passwd", "safe\u202etxt.exe", "..", "a".repeat(400), "picture.png"];
  await files.add(names.map((name) => new File(["words"], name)), all);
  expect(files.list.value.map(({ name, isImage }) => [name.slice(0, 20), isImage])).toEqual([
    [".._.._etc_passwd", false],
    ["safe_txt.exe", false],
    ["_", false],
    ["a".repeat(20), false],
    ["picture.png", false],
  ]);
  expect(files.list.value[3]?.name).toHaveLength(200);
});

test("AttachedFiles sends a file again while the host is away, and after its time there", async () => {
  const { files, upload, states } = filesOf([away, away]);
  await files.add([image()], all);
  await vi.waitFor(() => expect(states()).toEqual(["waits"]));
  await expect(files.parts()).rejects.toMatchObject({ status: 0 });
  await expect(files.parts()).resolves.toHaveLength(1);
  expect(upload).toHaveBeenCalledTimes(3);
  const now = Date.now();
  const clock = vi.spyOn(Date, "now").mockReturnValue(now + 50 * 60_000);
  await files.parts();
  await files.parts();
  expect(upload).toHaveBeenCalledTimes(4);
  clock.mockRestore();
});

test("AttachedFiles keeps the host's refusal beside its file, and forgets a file that is removed on its way", async () => {
  const full = new RefusedCall(429, { code: "limit_exceeded", message: "Cannot keep the upload.", hint: "Wait." });
  const { files, upload, states } = filesOf([full, new Promise<never>(() => {})]);
  await files.add([image()], all);
  await vi.waitFor(() => expect(states()).toEqual(["refused"]));
  expect(files.list.value[0]?.state).toMatchObject({ text: "Cannot keep the upload.", hint: "Wait." });
  await expect(files.parts()).rejects.toThrow("The host did not take a.png.");
  files.remove(files.list.value[0]!.key);
  await files.add([image()], all);
  files.remove(files.list.value[0]!.key);
  expect(upload.mock.calls[1]?.[2].signal.aborted).toBe(true);
  expect(await files.parts()).toEqual([]);
});

test("sizeText names bytes for a person", () => {
  expect([12, 1536, 5 * 1024 * 1024, 11.4 * 1024 * 1024].map(sizeText)).toEqual([
    "12 bytes",
    "1.5 KiB",
    "5 MiB",
    "11 MiB",
  ]);
});
