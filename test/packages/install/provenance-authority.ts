import { Buffer } from "node:buffer";
import { createHash, generateKeyPairSync, type KeyObject, type KeyPairKeyObjectResult, sign } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { fulcioHandler, initializeCA, initializeTLog, rekorHandler } from "@sigstore/mock";
import { attest } from "sigstore";

/**
 * A signing authority of the test's own: what Fulcio, its certificate log, Rekor and the repository of trust roots are for
 * npm, with keys made a moment ago. The libraries that check are those that npm has, and nothing in them is replaced.
 */
export interface ProvenanceAuthority {
  /** A statement of where something was built. */
  attest(subject: { name: string; digest: { sha512: string } }, options?: AttestOptions): Promise<unknown>;
  /** Makes whoever keeps trust roots in this folder trust this authority. */
  trustIn(folder: string): Promise<void>;
  close(): Promise<void>;
}

/** What a statement says besides. */
export interface AttestOptions {
  /** For whom it is signed; default {@link workflow}. */
  builder?: string;
  /** Default that of provenance. */
  predicateType?: string;
}

/** Somebody who builds a package, as an authority writes it into a certificate. */
export const workflow = "https://github.com/someone/greeter/.github/workflows/publish.yml@refs/tags/v1.0.0";

const validFor = { start: "2020-01-01T00:00:00.000Z" };

/** Starts one on loopback. */
export async function startAuthority(): Promise<ProvenanceAuthority> {
  const [caKeys, ctKeys, logKeys] = [newKeys(), newKeys(), newKeys()];
  const ca = await initializeCA(caKeys, certificateLog(ctKeys));
  const log = await initializeTLog("https://rekor.test", logKeys);
  const handlers = [fulcioHandler(ca), rekorHandler(log)];
  const server = createServer((asked, answer) => void serve(asked, answer, handlers));
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  return {
    attest: async (subject, { builder = workflow, predicateType = "https://slsa.dev/provenance/v1" } = {}) => ({
      predicateType,
      bundle: await attest(
        Buffer.from(JSON.stringify({ _type: "https://in-toto.io/Statement/v1", subject: [subject], predicateType })),
        "application/vnd.in-toto+json",
        { fulcioURL: url, rekorURL: url, identityToken: identityToken(builder), legacyCompatibility: true },
      ),
    }),
    trustIn: (folder) =>
      writeTrust(folder, {
        mediaType: "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
        tlogs: [logOf("https://rekor.test", logKeys)],
        ctlogs: [logOf("https://ctfe.test", ctKeys)],
        certificateAuthorities: [{
          subject: { organization: "test", commonName: "test" },
          uri: "https://fulcio.test",
          certChain: { certificates: [{ rawBytes: Buffer.from(ca.rootCertificate).toString("base64") }] },
          validFor,
        }],
        timestampAuthorities: [],
      }),
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((settle) => server.close(() => settle()));
    },
  };
}

/** A log of certificates: it signs that it saw one, as RFC 6962 (3.2) has it. */
function certificateLog({ privateKey, publicKey }: KeyPairKeyObjectResult): NonNullable<
  Parameters<typeof initializeCA>[1]
> {
  const der = publicKey.export({ type: "spki", format: "der" });
  const logID = createHash("sha256").update(der).digest();
  return {
    publicKey: der,
    logID,
    log: (certificate, issuerID) => {
      const time = number(Date.now(), 8);
      const body = firstInside(new Uint8Array(certificate));
      const [v1, noExtensions] = [number(0, 1), number(0, 2)];
      const entry = [number(1, 2), new Uint8Array(issuerID), number(body.length, 3), body, noExtensions];
      const signature = sign("sha256", Buffer.concat([v1, number(0, 1), time, ...entry]), privateKey);
      const sha256WithEcdsa = Buffer.of(4, 3);
      const seen = [v1, logID, time, noExtensions, sha256WithEcdsa, number(signature.length, 2), signature];
      const timestamp = Buffer.concat(seen);
      return Promise.resolve(Uint8Array.from(Buffer.concat([number(timestamp.length, 2), timestamp])).buffer);
    },
  };
}

function number(value: number, bytes: number): Buffer {
  return Buffer.from(value.toString(16).padStart(bytes * 2, "0"), "hex");
}

/** The first element of a DER sequence: of a certificate what is signed of it. Both are longer than 255 bytes. */
function firstInside(der: Uint8Array): Uint8Array {
  const inner = der.subarray(4);
  return inner.subarray(0, 4 + (inner[2]! << 8) + inner[3]!);
}

function newKeys(): KeyPairKeyObjectResult {
  return generateKeyPairSync("ec", { namedCurve: "prime256v1" });
}

type Handler = ReturnType<typeof fulcioHandler>;

async function serve(asked: IncomingMessage, answer: ServerResponse, handlers: readonly Handler[]): Promise<void> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of asked as AsyncIterable<Uint8Array>) chunks.push(chunk);
  const handler = handlers.find(({ path }) => path === asked.url);
  const { statusCode, response, contentType } = await handler?.fn(Buffer.concat(chunks).toString("utf8")) ??
    { statusCode: 404, response: "" };
  answer.writeHead(statusCode, { "content-type": contentType ?? "text/plain" }).end(response);
}

/** What a workflow shows to the authority; nobody but the authority would look at its signature. */
function identityToken(sub: string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = { iss: "https://token.actions.githubusercontent.com", sub, aud: "sigstore" };
  return `${part({ alg: "ES256" })}.${part(claims)}.${part({})}`;
}

function logOf(baseUrl: string, { publicKey }: KeyPairKeyObjectResult): object {
  const der = publicKey.export({ type: "spki", format: "der" });
  return {
    baseUrl,
    hashAlgorithm: "SHA2_256",
    publicKey: { rawBytes: der.toString("base64"), keyDetails: "PKIX_ECDSA_P256_SHA_256", validFor },
    logId: { keyId: createHash("sha256").update(der).digest("base64") },
  };
}

/** A repository of trust roots as its client keeps it, signed by a key of our own. */
async function writeTrust(folder: string, trustedRoot: object): Promise<void> {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const key = {
    keytype: "ed25519",
    scheme: "ed25519",
    keyval: { public: publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("hex") },
  };
  const keyid = createHash("sha256").update(canonical(key)).digest("hex");
  const signed = (fields: object) => {
    const body = { spec_version: "1.0.31", version: 1, expires: "2099-01-01T00:00:00Z", ...fields };
    return JSON.stringify({ signatures: [{ keyid, sig: signatureOf(canonical(body), privateKey) }], signed: body });
  };
  const target = JSON.stringify(trustedRoot);
  const role = { keyids: [keyid], threshold: 1 };
  const roles = { root: role, timestamp: role, snapshot: role, targets: role };
  const files = {
    "root.json": signed({ _type: "root", consistent_snapshot: true, keys: { [keyid]: key }, roles }),
    "targets.json": signed({ _type: "targets", targets: { "trusted_root.json": fileOf(target) } }),
    "snapshot.json": signed({ _type: "snapshot", meta: { "targets.json": { version: 1 } } }),
    "timestamp.json": signed({ _type: "timestamp", meta: { "snapshot.json": { version: 1 } } }),
    "targets/trusted_root.json": target,
  };
  const own = join(folder, "tuf-repo-cdn.sigstore.dev");
  await mkdir(join(own, "targets"), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(own, name), text);
}

function fileOf(text: string): object {
  return { length: Buffer.byteLength(text), hashes: { sha256: createHash("sha256").update(text).digest("hex") } };
}

function signatureOf(text: string, key: KeyObject): string {
  return sign(null, Buffer.from(text), key).toString("hex");
}

/** JSON with its keys in order, as signatures over it are made. */
function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return Array.isArray(value) ? `[${value.map(canonical).join(",")}]` : JSON.stringify(value);
  }
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join(",")}}`;
}
