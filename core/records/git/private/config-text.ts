/** One setting of a git config file (git-config(1), "Syntax"). */
export interface ConfigEntry {
  /** Section and name in lower case, the part between them as it is: `remote.origin.url`. */
  key: string;
  value: string;
}

/**
 * Reads the text of a git config file. Includes are not followed. What is no setting is left out, since git itself would
 * have refused the file.
 */
export function parseConfig(text: string): ConfigEntry[] {
  const entries: ConfigEntry[] = [];
  let section = "";
  for (const line of joined(text)) {
    const head = /^\s*\[\s*([-.\w]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]\s*(.*)$/.exec(line);
    const rest = head === null ? line : head[3] ?? "";
    if (head !== null) {
      const sub = head[2]?.replace(/\\(.)/g, "$1");
      section = head[1]!.toLowerCase() + (sub === undefined ? "" : `.${sub}`);
    }
    const setting = /^\s*([A-Za-z][-\w]*)\s*(?:=\s*(.*))?$/.exec(rest);
    if (setting === null || section === "") continue;
    // A name without a value is a true boolean.
    entries.push({ key: `${section}.${setting[1]!.toLowerCase()}`, value: unquoted(setting[2] ?? "true") });
  }
  return entries;
}

/** Lines, with those that a backslash continues as one. */
function joined(text: string): string[] {
  return text.replace(/^\ufeff/, "").replace(/\r\n/g, "\n").replace(/([^\\](?:\\\\)*)\\\n/g, "$1").split("\n");
}

/** A value without quotes, escapes, comment and blanks around it. */
function unquoted(raw: string): string {
  let value = "";
  let kept = 0;
  let isQuoted = false;
  for (let at = 0; at < raw.length; at++) {
    const one = raw[at]!;
    if (one === '"') {
      isQuoted = !isQuoted;
      kept = value.length;
    } else if (one === "\\") {
      const next = raw[++at] ?? "";
      value += { n: "\n", t: "\t", b: "\b" }[next] ?? next;
      kept = value.length;
    } else if (!isQuoted && (one === "#" || one === ";")) break;
    else {
      value += one;
      if (isQuoted || !/\s/.test(one)) kept = value.length;
    }
  }
  return value.slice(0, kept);
}

/** Writes settings as a git config file. */
export function configText(entries: readonly ConfigEntry[]): string {
  return entries.map(({ key, value }) => {
    const first = key.indexOf(".");
    const last = key.lastIndexOf(".");
    const sub = last === first ? "" : ` "${key.slice(first + 1, last).replace(/["\\]/g, "\\$&")}"`;
    return `[${key.slice(0, first)}${sub}]\n\t${key.slice(last + 1)} = ${quoted(value)}\n`;
  }).join("");
}

function quoted(value: string): string {
  return `"${value.replace(/["\\]/g, "\\$&").replace(/\n/g, "\\n").replace(/\t/g, "\\t")}"`;
}
