import { gzipSync } from "node:zlib";

/** One member of an archive, as somebody might make it by hand. */
export interface Member {
  path: string;
  content?: string | Uint8Array;
  /** The type's letter: `0` file, `1` hard link, `2` link, `3` and `4` devices, `5` folder, `6` pipe. */
  type?: string;
  link?: string;
  mode?: number;
  /** What the header says in place of the content's length. */
  size?: number;
  /** What the header says in place of `ustar`. */
  magic?: string;
}

const encoder = new TextEncoder();

/** The bytes of a tar archive, none of it checked. */
export function tarOf(members: readonly Member[]): Uint8Array {
  const blocks = members.flatMap((member) => {
    const content = typeof member.content === "string"
      ? encoder.encode(member.content)
      : member.content ?? new Uint8Array();
    return [header(member, content.length), content, new Uint8Array((512 - (content.length % 512)) % 512)];
  });
  return joined([...blocks, new Uint8Array(1024)]);
}

export function tgzOf(members: readonly Member[]): Uint8Array {
  return new Uint8Array(gzipSync(tarOf(members)));
}

/** A package: files by path, below `package/`. */
export function packageOf(files: Readonly<Record<string, string | Uint8Array>>): Uint8Array {
  return tgzOf(Object.entries(files).map(([path, content]) => ({ path: `package/${path}`, content })));
}

/** A member whose header is followed by one that says more, as the extended format has it. */
export function paxOf(fields: Readonly<Record<string, string>>): Member {
  const records = Object.entries(fields).map(([key, value]) => {
    const rest = ` ${key}=${value}\n`;
    let length = rest.length + 1;
    while (String(length).length + encoder.encode(rest).length !== length) length++;
    return `${length}${rest}`;
  });
  return { path: "pax", type: "x", content: records.join("") };
}

function header(
  { path, type = "0", link = "", mode = 0o644, size, magic = "ustar" }: Member,
  length: number,
): Uint8Array {
  const block = new Uint8Array(512);
  const put = (text: string, at: number, most: number) => block.set(encoder.encode(text).subarray(0, most), at);
  const octal = (value: number, at: number, width: number) =>
    put(value.toString(8).padStart(width - 1, "0"), at, width);
  put(path, 0, 100);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size ?? length, 124, 12);
  octal(0, 136, 12);
  put("        ", 148, 8);
  put(type, 156, 1);
  put(link, 157, 100);
  put(`${magic}\0${"00"}`, 257, 8);
  const sum = block.reduce((total, byte) => total + byte, 0);
  put(`${sum.toString(8).padStart(6, "0")}\0 `, 148, 8);
  return block;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((total, { length }) => total + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
