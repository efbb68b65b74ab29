import { Buffer } from "node:buffer";
import { connect, type NetConnectOpts, type Socket } from "node:net";
import { runtimeName } from "../../ground/platform/engine/platform.ts";

/** Folder inside a network's own `/dev` with a socket of the host for each port, where ports cannot be handed over. */
export const socketsInside = "/dev/bulkhead";

/** Bytes read at once, where as many are there. */
const readBytes = 262_144;

/** A connection to one end, before the other end is joined to it. */
interface FarEnd {
  socket: Socket;
  /** Passes bytes both ways until both ends are done, at the speed of the reader. Call it once connected. */
  join(client: Socket): void;
}

/** Opens a connection to join to a client. */
export function openFarEnd(where: NetConnectOpts): FarEnd {
  if (runtimeName === "node") return openReusing(where);
  // Deno reads on into the buffer while a write from it is under way.
  return piped(connect({ ...where, allowHalfOpen: true }));
}

/** A connection whose bytes arrive as pieces of their own. */
function piped(socket: Socket): FarEnd {
  return {
    socket,
    join(client) {
      tie(client, socket);
      socket.pipe(client);
    },
  };
}

/** A connection that reads into one buffer again and again, which spares garbage. Reads once it is joined. */
function openReusing(where: NetConnectOpts): FarEnd {
  const buffer = Buffer.allocUnsafeSlow(readBytes);
  let client: Socket | null = null;
  let waits = false;
  const goOn = () => {
    if (!waits) return;
    waits = false;
    socket.resume();
  };
  /** Returns false, which stops the reading, while the system has not taken all: until then the buffer is in use. */
  const pass = (count: number): boolean => {
    client?.write(buffer.subarray(0, count), goOn);
    waits = client?.writableLength !== 0;
    return !waits;
  };
  const socket = connect({ ...where, allowHalfOpen: true, onread: { buffer, callback: pass } });
  socket.pause();
  return {
    socket,
    join(reader) {
      client = reader;
      tie(reader, socket);
      socket.once("end", () => reader.end()).resume();
    },
  };
}

function tie(client: Socket, far: Socket): void {
  // An answer that comes word by word must not wait for the reader's acknowledgements.
  for (const socket of [client, far]) socket.setNoDelay(true);
  client.pipe(far);
  client.once("close", () => far.destroy());
  far.once("close", () => client.destroySoon());
}
