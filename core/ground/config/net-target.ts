/** A `host:port` that a URL leads to, as a grant writes it. IPv6 addresses stand in brackets. */
export interface NetTarget {
  host: string;
  port: number;
}

/**
 * Null for text that is no URL. Not by `URL.canParse`: once it is hot, Node 20 and 22 answer wrongly for text beyond ASCII,
 * with yes to what then throws and with no to what is a URL.
 */
export function readUrl(text: string, base?: string | URL): URL | null {
  try {
    return new URL(text, base);
  } catch {
    return null;
  }
}

/** Target of an http, https, ws or wss URL; ignores a dot at the end of a name. */
export function netTarget(url: URL): NetTarget {
  const port = url.port === "" ? (isEncrypted(url) ? 443 : 80) : Number(url.port);
  return { host: url.hostname.replace(/\.$/, ""), port };
}

/** True when traffic to such a URL is encrypted. */
export function isEncrypted({ protocol }: URL): boolean {
  return protocol === "https:" || protocol === "wss:";
}

/** `host:port`. */
export function formatTarget({ host, port }: NetTarget): string {
  return `${host}:${port}`;
}

/** True when a grant names exactly this host and port, without a wildcard. */
export function namesLiterally(grant: string, target: NetTarget): boolean {
  const parsed = parseGrant(grant);
  return parsed !== null && !parsed.wildcard && parsed.host === target.host && parsed.port === target.port;
}

/** True when a grant covers a host and port. `*.example.com:443` covers every name below, not `example.com` itself. */
export function coversTarget(grant: string, target: NetTarget): boolean {
  const parsed = parseGrant(grant);
  if (parsed === null || parsed.port !== target.port) return false;
  return parsed.wildcard ? target.host.endsWith(`.${parsed.host}`) : parsed.host === target.host;
}

/** Returns the target of a grant, for a domain one name below it. Null for text that is no `host:port`. */
export function sampleTarget(grant: string): NetTarget | null {
  const parsed = parseGrant(grant);
  return parsed && { host: parsed.wildcard ? `bulkhead-sample.${parsed.host}` : parsed.host, port: parsed.port };
}

/** True for names that can only mean a local machine: `localhost`, single labels, names kept out of public DNS. */
export function isLocalName(host: string): boolean {
  return !host.includes(".") && !host.startsWith("[") ||
    [".localhost", ".local", ".internal", ".home.arpa", ".lan"].some((ending) => host.endsWith(ending));
}

/** Null for text that is no `host:port`; it then covers nothing. A wildcard needs two labels behind it. */
function parseGrant(grant: string): { host: string; port: number; wildcard: boolean } | null {
  const [, star, name, digits] = /^(\*\.)?([^*/?#@\\\s]+):(\d{1,5})$/.exec(grant) ?? [];
  const host = canonicalHost(name ?? "");
  if (host === null || digits === undefined) return null;
  const wildcard = star !== undefined;
  if (wildcard && !/[^.]\.[^.]/.test(host)) return null;
  return { host, port: Number(digits), wildcard };
}

function canonicalHost(name: string): string | null {
  return readUrl(`http://${name}/`)?.hostname.replace(/\.$/, "") ?? null;
}
