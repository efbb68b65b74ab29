import { spawn } from "node:child_process";
import { Buffer } from "node:buffer";
import { createHash, createSign, generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { createServer as createSocket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { packageOf } from "./tar-archive.ts";

/** A real npm registry on loopback, behind a server that signs what it serves. */
export interface LoopbackRegistry {
  url: string;
  /** What it does on the way; a test may set it. */
  ways: RegistryWays;
  /** Values of `Authorization` that were sent to it. */
  authorizations: Set<string>;
  /** Publishes an archive with npm itself. */
  npmPublish(file: string): Promise<void>;
  /** Publishes as npm would, and sooner. */
  publish(files: Readonly<Record<string, string | Uint8Array>>): Promise<void>;
  close(): Promise<void>;
}

/** How a registry, or whoever sits before it, may behave. */
export interface RegistryWays {
  /** `right`, `wrong` (over other bytes), `unknown` (by a key that it does not serve), `none`; absent keys: no keys either. */
  signs: "right" | "wrong" | "unknown" | "none" | "no keys";
  /** Another address for archives. */
  tarballHost?: string;
  /** Other bytes for archives. */
  tarball?: Uint8Array;
  /** Statements of where it was built, as the registry gives them. */
  attestations?: unknown;
  /** Changes what is told of a package. */
  edit?(packument: Packument): void;
}

interface Packument {
  name: string;
  "dist-tags": Record<string, string>;
  versions: Record<
    string,
    {
      name: string;
      version: string;
      deprecated?: string;
      dist: Record<string, unknown> & { integrity: string; tarball: string };
    }
  >;
}

const verdaccio = fileURLToPath(new URL("../../../node_modules/verdaccio/bin/verdaccio", import.meta.url));

/** Starts one; it keeps what is published until it is closed. */
export async function startRegistry(): Promise<LoopbackRegistry> {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-registry-"));
  const port = await freePort();
  await writeFile(join(folder, "config.yaml"), settings);
  // Its own runtime, whichever the tests run on.
  const child = spawn("node", [verdaccio, "--config", join(folder, "config.yaml"), "--listen", `127.0.0.1:${port}`], {
    cwd: folder,
    env: { PATH: process.env["PATH"] ?? "", HOME: folder },
    stdio: "ignore",
  });
  const gone = new Promise<void>((settle) => child.once("exit", () => settle()));
  const signer = newSigner();
  const ways: RegistryWays = { signs: "right" };
  const authorizations = new Set<string>();
  const server = createServer((asked, answer) => {
    if (asked.headers.authorization !== undefined) authorizations.add(asked.headers.authorization);
    void relay(asked, answer, { port, ways, signer });
  });
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/`;
  await answers(`http://127.0.0.1:${port}/-/ping`);
  return {
    url,
    ways,
    authorizations,
    npmPublish: (file) => npmPublish(file, { url, folder }),
    publish: (files) => publish(files, url),
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((settle) => server.close(() => settle()));
      child.kill("SIGKILL");
      await gone;
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

const settings = `storage: ./storage
auth: { htpasswd: { file: ./htpasswd, max_users: 10 } }
uplinks: {}
packages: { "**": { access: $all, publish: $all, unpublish: $all } }
log: { type: stdout, format: pretty, level: fatal }
web: { enable: false }
`;

async function freePort(): Promise<number> {
  const socket = createSocket();
  await new Promise<void>((settle) => socket.listen(0, "127.0.0.1", settle));
  const address = socket.address();
  await new Promise<void>((settle) => socket.close(() => settle()));
  return typeof address === "object" && address !== null ? address.port : 0;
}

async function answers(url: string): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    if (await fetch(url).then((answer) => answer.ok, () => false)) return;
    await wait(200);
  }
  throw new Error("The registry did not start.");
}

async function publish(files: Readonly<Record<string, string | Uint8Array>>, url: string): Promise<void> {
  const described = JSON.parse(String(files["package.json"])) as { name: string; version: string };
  const { name, version } = described;
  const archive = packageOf(files);
  const file = `${name}-${version}.tgz`;
  const dist = {
    integrity: `sha512-${createHash("sha512").update(archive).digest("base64")}`,
    shasum: createHash("sha1").update(archive).digest("hex"),
    tarball: `${url}${name}/-/${file}`,
  };
  const answer = await fetch(`${url}${name}`, {
    method: "PUT",
    headers: { "content-type": "application/json", authorization: "Bearer token" },
    body: JSON.stringify({
      _id: name,
      name,
      "dist-tags": { latest: version },
      versions: { [version]: { ...described, _id: `${name}@${version}`, dist } },
      _attachments: { [file]: { data: Buffer.from(archive).toString("base64"), length: archive.length } },
    }),
  });
  if (!answer.ok) throw new Error(`Publishing failed: ${await answer.text()}`);
}

async function npmPublish(file: string, { url, folder }: { url: string; folder: string }): Promise<void> {
  await writeFile(join(folder, ".npmrc"), `//${new URL(url).host}/:_authToken=token\n`);
  const args = [
    "publish",
    file,
    "--registry",
    url,
    "--userconfig",
    join(folder, ".npmrc"),
    "--cache",
    join(folder, "cache"),
  ];
  const child = spawn("npm", args, {
    cwd: folder,
    env: { PATH: process.env["PATH"] ?? "", HOME: folder },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (said += text));
  }
  const code = await new Promise<number | null>((settle) => child.once("close", settle));
  if (code !== 0) throw new Error(`npm publish: ${said}`);
}

interface Signer {
  privateKey: KeyObject;
  /** As a registry serves it. */
  key: { keyid: string; keytype: string; scheme: string; key: string; expires: null };
}

function newSigner(): Signer {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const key = publicKey.export({ type: "spki", format: "der" }).toString("base64");
  const keyid = `SHA256:${createHash("sha256").update(key).digest("base64").replace(/=$/, "")}`;
  return {
    privateKey,
    key: { keyid, keytype: "ecdsa-sha2-nistp256", scheme: "ecdsa-sha2-nistp256", key, expires: null },
  };
}

const stranger = newSigner();

async function relay(
  asked: IncomingMessage,
  answer: ServerResponse,
  { port, ways, signer }: { port: number; ways: RegistryWays; signer: Signer },
): Promise<void> {
  const { url = "/", method, headers } = asked;
  if (url === "/-/npm/v1/keys") {
    answer.writeHead(ways.signs === "no keys" ? 404 : 200, { "content-type": "application/json" });
    return void answer.end(JSON.stringify(ways.signs === "no keys" ? { error: "none" } : { keys: [signer.key] }));
  }
  if (url.startsWith("/-/npm/v1/attestations/")) {
    answer.writeHead(200, { "content-type": "application/json" });
    return void answer.end(JSON.stringify({ attestations: ways.attestations }));
  }
  if (ways.tarball !== undefined && url.endsWith(".tgz") && method === "GET") {
    answer.writeHead(200, { "content-type": "application/octet-stream" });
    return void answer.end(ways.tarball);
  }
  const { "accept-encoding": _, ...sent } = headers;
  const passed = request({ host: "127.0.0.1", port, path: url, method, headers: sent }, async (given) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of given as AsyncIterable<Uint8Array>) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const isJson = /json/.test(given.headers["content-type"] ?? "");
    const changed = method === "GET" && isJson ? signed(body, { ways, signer }) : body;
    const { "content-length": __, "transfer-encoding": ___, etag: ____, ...rest } = given.headers;
    answer.writeHead(given.statusCode ?? 500, rest);
    answer.end(changed);
  });
  passed.on("error", () => answer.destroy());
  asked.pipe(passed);
}

/** What the registry tells of a package, with signatures. */
function signed(body: Uint8Array, { ways, signer }: { ways: RegistryWays; signer: Signer }): Uint8Array | string {
  const packument = JSON.parse(new TextDecoder().decode(body)) as Partial<Packument>;
  if (packument.versions === undefined) return body;
  for (const { name, version, dist } of Object.values(packument.versions)) {
    const said = `${name}@${version}:${ways.signs === "wrong" ? "sha512-x" : dist.integrity}`;
    const { privateKey, key } = ways.signs === "unknown" ? stranger : signer;
    const sig = createSign("SHA256").update(said).sign(privateKey, "base64");
    if (ways.signs !== "none" && ways.signs !== "no keys") dist["signatures"] = [{ keyid: key.keyid, sig }];
    if (ways.tarballHost !== undefined) dist.tarball = dist.tarball.replace(/\/\/[^/]+\//, `//${ways.tarballHost}/`);
    if (ways.attestations !== undefined) {
      dist["attestations"] = {
        url: `http://x/-/npm/v1/attestations/${name}@${version}`,
        provenance: { predicateType: "https://slsa.dev/provenance/v1" },
      };
    }
  }
  ways.edit?.(packument as Packument);
  return JSON.stringify(packument);
}
