const HostEncoder = TextEncoder;
const HostDecoder = TextDecoder;

class SafeTextEncoder {
  readonly #encoder = new HostEncoder();
  get encoding(): string {
    return "utf-8";
  }
  encode(text: unknown = ""): Uint8Array {
    return this.#encoder.encode(String(text));
  }
  encodeInto(text: unknown, target: Uint8Array): { read: number; written: number } {
    const words = String(text);
    return plainly(() => {
      const { read, written } = this.#encoder.encodeInto(words, target);
      return { read, written };
    });
  }
}

class SafeTextDecoder {
  readonly #decoder: InstanceType<typeof TextDecoder>;
  constructor(label: unknown = "utf-8", options: { fatal?: unknown; ignoreBOM?: unknown } = {}) {
    this.#decoder = plainly(() =>
      new HostDecoder(String(label), { fatal: Boolean(options.fatal), ignoreBOM: Boolean(options.ignoreBOM) })
    );
  }
  get encoding(): string {
    return this.#decoder.encoding;
  }
  decode(bytes?: ArrayBuffer | ArrayBufferView, options: { stream?: unknown } = {}): string {
    return plainly(() => this.#decoder.decode(bytes as Uint8Array<ArrayBuffer>, { stream: Boolean(options.stream) }));
  }
}

/** Runs a host function and turns what it throws into a plain TypeError: host errors carry more than their text. */
export function plainly<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw new TypeError(error instanceof Error ? error.message : "The call failed.");
  }
}

/** Encoding of text, the same object for every compartment once it is hardened. */
export const textEndowments: Record<string, unknown> = {
  TextEncoder: SafeTextEncoder,
  TextDecoder: SafeTextDecoder,
  atob: (data: unknown) => plainly(() => atob(String(data))),
  btoa: (data: unknown) => plainly(() => btoa(String(data))),
};
