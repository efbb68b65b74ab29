import { Buffer } from "node:buffer";
import type { AttachmentPart } from "../../plugin-sdk/messages.ts";
import { tinyPngBase64 } from "../sessions/host/attachments/tiny-png.ts";

export const base64 = (text: string): string => Buffer.from(text).toString("base64");
export const notes = "Größe: 5 %, “好” 🙂\n";

function file(name: string, mime_type: string): AttachmentPart & { type: "file" } {
  const digit = { "application/pdf": "b", "text/plain": "c", "image/png": "d" }[mime_type] ?? "e";
  return { type: "file", sha256: digit.repeat(64), name, mime_type };
}

export const pdf = file("plan.pdf", "application/pdf");
export const text = file("notes.md", "text/plain");
export const picture = file("shot.png", "image/png");
export const bytes = file("tool.bin", "application/octet-stream");
export const attachments: Record<string, string> = {
  [pdf.sha256]: base64("%PDF-1.7"),
  [text.sha256]: base64(notes),
  [picture.sha256]: tinyPngBase64,
  [bytes.sha256]: base64("\u0000\u0001"),
};

/** What a file that no model reads is refused with. */
export const unread = {
  code: "unsupported",
  message: 'Cannot give the model the file "tool.bin": it is application/octet-stream.',
};
