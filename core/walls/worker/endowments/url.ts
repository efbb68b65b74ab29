import { plainly } from "./text.ts";

const HostURL = URL;
const HostParams = URLSearchParams;

/** `URLSearchParams` without the host's object: the host's prototype is not frozen and would be shared. */
class SafeURLSearchParams {
  readonly #params: URLSearchParams;
  constructor(init: unknown = "") {
    this.#params = init instanceof HostParams ? init : new HostParams(initOf(init));
  }
  get size(): number {
    return [...this.#params.keys()].length;
  }
  append(name: unknown, value: unknown): void {
    this.#params.append(String(name), String(value));
  }
  delete(name: unknown): void {
    this.#params.delete(String(name));
  }
  get(name: unknown): string | null {
    return this.#params.get(String(name));
  }
  getAll(name: unknown): string[] {
    return [...this.#params.getAll(String(name))];
  }
  has(name: unknown): boolean {
    return this.#params.has(String(name));
  }
  set(name: unknown, value: unknown): void {
    this.#params.set(String(name), String(value));
  }
  sort(): void {
    this.#params.sort();
  }
  forEach(visit: (value: string, key: string) => void): void {
    for (const [key, value] of this.#entries()) visit(value, key);
  }
  keys(): Iterator<string> {
    return this.#entries().map(([key]) => key)[Symbol.iterator]();
  }
  values(): Iterator<string> {
    return this.#entries().map(([, value]) => value)[Symbol.iterator]();
  }
  entries(): Iterator<[string, string]> {
    return this.#entries()[Symbol.iterator]();
  }
  [Symbol.iterator](): Iterator<[string, string]> {
    return this.entries();
  }
  toString(): string {
    return this.#params.toString();
  }
  #entries(): [string, string][] {
    return Array.from(this.#params, ([key, value]): [string, string] => [key, value]);
  }
}

function initOf(init: unknown): string | [string, string][] {
  if (typeof init !== "object" || init === null) return String(init);
  const pairs = Symbol.iterator in init ? Array.from(init as Iterable<[unknown, unknown]>) : Object.entries(init);
  return pairs.map(([key, value]) => [String(key), String(value)]);
}

/** `URL` without the host's object. */
class SafeURL {
  readonly #url: URL;
  constructor(url: unknown, base?: unknown) {
    this.#url = plainly(() => base === undefined ? new HostURL(String(url)) : new HostURL(String(url), String(base)));
  }
  static canParse(url: unknown, base?: unknown): boolean {
    try {
      return new SafeURL(url, base) !== null;
    } catch {
      return false;
    }
  }
  get searchParams(): SafeURLSearchParams {
    return new SafeURLSearchParams(this.#url.searchParams);
  }
  get origin(): string {
    return this.#url.origin;
  }
  toString(): string {
    return this.#url.href;
  }
  toJSON(): string {
    return this.#url.href;
  }
  static readonly parts: readonly UrlPart[] = [
    "href",
    "protocol",
    "username",
    "password",
    "host",
    "hostname",
    "port",
    "pathname",
    "search",
    "hash",
  ];
  static {
    for (const part of SafeURL.parts) {
      Object.defineProperty(SafeURL.prototype, part, {
        get(this: SafeURL) {
          return this.#url[part];
        },
        set(this: SafeURL, value: unknown) {
          plainly(() => (this.#url[part] = String(value)));
        },
        enumerable: true,
      });
    }
  }
}

type UrlPart =
  | "href"
  | "protocol"
  | "username"
  | "password"
  | "host"
  | "hostname"
  | "port"
  | "pathname"
  | "search"
  | "hash";

/** Parsing of addresses. */
export const urlEndowments: Record<string, unknown> = { URL: SafeURL, URLSearchParams: SafeURLSearchParams };
