import { connect, type NetConnectOpts } from "node:net";

/** What came back over a connection until it closed, or was closed because nothing came for the given time. */
export interface RawAnswer {
  status: number;
  headers: Headers;
  body: string;
  /** All of it. */
  text: string;
  /** The server closed the connection. */
  closed: boolean;
  ms: number;
}

/** Sends bytes as they are and reads what comes. Nothing that is sent need be HTTP. */
export function sendRaw(
  to: NetConnectOpts,
  pieces: string | readonly string[],
  { quietMs = 10_000 }: { quietMs?: number } = {},
): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const began = performance.now();
    let text = "";
    let closed = true;
    const socket = connect(to, () => {
      for (const piece of typeof pieces === "string" ? [pieces] : pieces) socket.write(piece);
    });
    const quiet = setTimeout(() => {
      closed = false;
      socket.destroy();
    }, quietMs);
    socket.on("data", (data) => {
      text += data.toString("latin1");
      quiet.refresh();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(quiet);
      resolve({ ...parse(text), text, closed, ms: performance.now() - began });
    });
  });
}

function parse(text: string): Pick<RawAnswer, "status" | "headers" | "body"> {
  const end = text.indexOf("\r\n\r\n");
  const [first = "", ...lines] = (end === -1 ? text : text.slice(0, end)).split("\r\n");
  const headers = new Headers();
  for (const line of lines) {
    const at = line.indexOf(":");
    if (at > 0) headers.append(line.slice(0, at), line.slice(at + 1).trim());
  }
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1] ?? 0),
    headers,
    body: end === -1 ? "" : text.slice(end + 4),
  };
}
