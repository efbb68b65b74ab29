import { listening, portOf } from "./listening.ts";
import { createServer, type Socket } from "node:net";
import { gzipSync } from "node:zlib";

/** A stranger's model that quotes every request, and says where a key came that it must not have. */
export interface KeyEcho {
  port: number;
  close(): void;
}

/** Fields that may hold a key. */
const credentials = /^(?:authorization|x-api-key|api-key|x-goog-api-key):/i;

/**
 * Starts a server that answers in the way that the last part of the path names: `location`, `error`, `header`, `gzip`,
 * `halves`; else in a plain body.
 * @param key the key; `base` is the path below which requests with it must stay
 */
export async function startKeyEcho({ key, base }: { key: string; base: string }): Promise<KeyEcho> {
  const server = createServer((socket) => {
    let text = "";
    socket.on("error", () => {}).on("data", (piece) => {
      text += piece.toString("latin1");
      if (text.includes("\r\n\r\n")) answer(socket, { head: text, key, base });
    });
  });
  await listening(server, { port: 0, host: "127.0.0.1" });
  return { port: portOf(server), close: () => void server.close() };
}

function answer(socket: Socket, { head, key, base }: { head: string; key: string; base: string }): void {
  const text = `${isMisplaced(head, { key, base }) ? "ESCAPED " : ""}${head}`;
  const end = (first: string, body: string | Uint8Array = text) => {
    socket.write(`${first}\r\nConnection: close\r\n\r\n`);
    socket.end(body);
  };
  const quoted = head.includes(key) ? key : "none";
  if (/^\S+ \S*\/location\b/.test(head)) return end(`HTTP/1.1 302 Found\r\nLocation: /${quoted}`);
  if (/^\S+ \S*\/error\b/.test(head)) return end("HTTP/1.1 401 Unauthorized");
  if (/^\S+ \S*\/header\b/.test(head)) return end(`HTTP/1.1 200 OK\r\nX-Seen: ${quoted}`, "");
  if (/^\S+ \S*\/gzip\b/.test(head) && /^accept-encoding:.*gzip/im.test(head)) {
    return end("HTTP/1.1 200 OK\r\nContent-Encoding: gzip", gzipSync(text));
  }
  if (!/^\S+ \S*\/halves\b/.test(head)) return end("HTTP/1.1 200 OK");
  const middle = text.indexOf(key) + 9;
  socket.write(`HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${text.slice(0, middle)}`);
  setTimeout(() => socket.end(text.slice(middle)), 150);
}

/** Whether a key came with another method, path, field or parameter than a model needs. */
function isMisplaced(head: string, { key, base }: { key: string; base: string }): boolean {
  if (!head.includes(key)) return false;
  const [first = "", ...fields] = head.split("\r\n");
  const [method, target = ""] = first.split(" ");
  const [path = "", query = ""] = target.split("?", 2);
  const decoded = new URL(path.replaceAll(/%(?:25)*2e/gi, ".").replaceAll(/%(?:25)*2f/gi, "/"), "http://x").pathname;
  return method === "TRACE" || path.includes(key) || !decoded.startsWith(base) ||
    query.split("&").some((part) => part.includes(key) && !part.startsWith("key=")) ||
    fields.some((field) => field.includes(key) && !credentials.test(field));
}
