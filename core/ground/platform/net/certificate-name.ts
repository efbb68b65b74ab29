import { X509Certificate } from "node:crypto";

/** The URI that a certificate (DER) was made out to; null: it names none, or cannot be read. */
export function certificateUri(der: Uint8Array): string | null {
  try {
    const names = new X509Certificate(der).subjectAltName ?? "";
    const [, quoted] = /(?:^|, )URI:("(?:[^"\\]|\\.)*"|[^,]*)/.exec(names) ?? [];
    const name = quoted?.startsWith('"') ? String(JSON.parse(quoted)) : quoted;
    return name === undefined || name === "" ? null : name;
  } catch {
    return null;
  }
}
