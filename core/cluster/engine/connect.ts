import { connect, type ConnectionOptions, credsAuthenticator, type NatsConnection } from "@nats-io/transport-node";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { ClusterSettings } from "../../ground/config/cluster-settings.ts";
import { readFile } from "../../ground/platform/files/files.ts";

/** Looks up the value of a secret by its name. */
export type SecretOf = (name: string) => Promise<string>;

/** The oldest servers whose compare-and-set of a whole stream was measured to hold. */
const oldest = [2, 9, 0] as const;
/** Bytes that a server must take in one message. */
const leastPayload = 64 * 1024;
const firstAnswerMs = 5000;

/**
 * Connects to the cluster's servers, and from then on connects again by itself.
 * @throws {BulkheadError} `unavailable` with what is needed, `unauthorized`, `invalid_config`
 */
export async function connectServers(settings: ClusterSettings, secretOf: SecretOf): Promise<NatsConnection> {
  const options = await connectionOptions(settings, secretOf);
  const connection = await connect(options).catch((error: unknown) => {
    throw connectionError(settings, error);
  });
  const problem = serverProblem(connection);
  if (problem === null) return connection;
  await connection.close();
  throw new BulkheadError("unavailable", `Cannot join the cluster: ${problem}`, {
    hint: `Use nats-server ${oldest.join(".")} or newer, started with JetStream: nats-server -js -sd /var/lib/nats.`,
  });
}

async function connectionOptions(
  { servers, name, tls, credentials }: ClusterSettings,
  secretOf: SecretOf,
): Promise<ConnectionOptions> {
  const options: ConnectionOptions = {
    servers: servers.map((server) => server.replace(/^(?:nats|tls):\/\//, "")),
    name: `bulkhead ${name}`,
    timeout: firstAnswerMs,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 250,
    pingInterval: 3000,
    maxPingOut: 2,
    ignoreAuthErrorAbort: true,
    // A stack for each message costs more than the message.
    noAsyncTraces: true,
  };
  if (tls !== undefined || servers.some((server) => server.startsWith("tls:"))) {
    const { ca_file: caFile, cert_file: certFile, key_file: keyFile } = tls ?? {};
    options.tls = omitUndefined({ caFile, certFile, keyFile });
  }
  if (credentials === undefined) return options;
  if ("token" in credentials) return { ...options, token: await secretOf(credentials.token) };
  if ("user" in credentials) {
    return { ...options, user: credentials.user, pass: await secretOf(credentials.password) };
  }
  const file = await readFile(credentials.file).catch((cause: unknown) => {
    throw new BulkheadError("invalid_config", `Cannot read the credentials file "${credentials.file}".`, {
      hint: "Correct cluster.credentials.file in bulkhead.yaml.",
      cause,
    });
  });
  return { ...options, authenticator: credsAuthenticator(file) };
}

function serverProblem({ info }: NatsConnection): string | null {
  if (info === undefined) return "the server does not say what it is.";
  const { version, jetstream, headers, max_payload } = info;
  const numbers = version.split(/[.-]/, 3).map(Number);
  const at = oldest.findIndex((number, index) => number !== numbers[index]);
  if (at !== -1 && !((numbers[at] ?? 0) > oldest[at]!)) return `its server is nats-server ${version}.`;
  if (jetstream !== true) return "its server runs without JetStream.";
  if (headers !== true) return "its server takes no headers.";
  return max_payload >= leastPayload ? null : `its server takes at most ${max_payload} bytes in a message.`;
}

function connectionError({ servers }: ClusterSettings, cause: unknown): BulkheadError {
  const said = cause instanceof Error ? cause.message : String(cause);
  if (cause instanceof Error && /authorization|authentication/i.test(`${cause.name} ${said}`)) {
    return new BulkheadError("unauthorized", `Cannot join the cluster: its servers refuse this machine (${said}).`, {
      hint: "Correct cluster.credentials in bulkhead.yaml.",
      cause,
    });
  }
  const isUntrusted = /certificate|altname|issuer/i.test(said);
  const message = `Cannot join the cluster: ${servers.join(", ")} cannot be ${
    isUntrusted ? "trusted" : "reached"
  } (${said}).`;
  return new BulkheadError("unavailable", message, {
    hint: isUntrusted
      ? "Name each server by a host name in its certificate, and who signed it in cluster.tls.ca_file of bulkhead.yaml."
      : "Start a server: nats-server -js. Or take cluster: out of bulkhead.yaml to run alone.",
    cause,
  });
}
