import crypto from "node:crypto";

/**
 * Lets `verify()` of `node:crypto` take the usual digest of an elliptic-curve key, SHA-256, where none is named, as Node
 * does. Deno throws there, and libraries that check provenance take that for a signature that does not hold. It changes
 * what `require("crypto")` gives, and only what would throw.
 */
export function takeDefaultDigest(): void {
  if (knowsDefaultDigest()) return;
  const { verify } = crypto;
  Reflect.set(crypto, "verify", (algorithm: unknown, data: unknown, key: unknown, ...rest: unknown[]) => {
    const chosen = algorithm ?? (typeOf(key) === "ec" ? "sha256" : algorithm);
    return Reflect.apply(verify, crypto, [chosen, data, key, ...rest]) as unknown;
  });
}

function knowsDefaultDigest(): boolean {
  const { privateKey, publicKey } = crypto.generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const data = new Uint8Array(1);
  try {
    return crypto.verify(undefined, data, publicKey, crypto.sign("sha256", data, privateKey));
  } catch {
    return false;
  }
}

function typeOf(key: unknown): unknown {
  return typeof key === "object" && key !== null ? Reflect.get(key, "asymmetricKeyType") : undefined;
}
