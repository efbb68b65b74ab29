import { readNet } from "../../ground/config/net-address.ts";

/** The narrower of two `host:port` grants where one holds the other; null where neither does. */
export function meetNet(a: string, b: string): string | null {
  const left = readNet(a);
  const right = readNet(b);
  if (!left || !right) return a === b ? a : null;
  if (left.port !== right.port) return null;
  if (left.host === right.host || holdsHost(left.host, right.host)) return formatNet(right);
  return holdsHost(right.host, left.host) ? formatNet(left) : null;
}

/** `*.example.com` holds every sub-domain of it and not itself. */
function holdsHost(wide: string, narrow: string): boolean {
  return wide.startsWith("*.") && narrow.endsWith(wide.slice(1)) && narrow.length > wide.length - 1;
}

function formatNet({ host, port }: { host: string; port: number }): string {
  return `${host}:${port}`;
}
